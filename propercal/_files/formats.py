"""File formats: what a file holds, as named arrays or as a table, whatever is in it.

A file may be damaged or made to deceive: only regular files of a stated size are opened, nothing
is unpickled, no memory is given on the word of a header, and every failure of a library is one
ValueError that names the file.
"""

from __future__ import annotations

import base64
import csv
import gzip
import io
import math
import os
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from propercal._files.names import listed, reason, shortened
from propercal._files.quoted import fields

if TYPE_CHECKING:
    import pandas as pd

#: Bytes of content, unpacked.
LIMIT = 4 << 30
#: What holds columns, by the end of its name.
SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PACKED = ".gz"
#: What other programs put between fields, and how few of them are no part of a name.
_SEPARATED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
_FEWEST = {" ": 3}
#: A first line that says what stands between fields.
_SEPARATOR_SAID = re.compile(r"sep=\S?", re.IGNORECASE)


def format_of(path: Path) -> tuple[str, bool]:
    """Return the suffix that tells the format, in lower case, and whether the file is packed."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [_PACKED]:
        return (suffixes[-2] if len(suffixes) > 1 else ""), True
    return (suffixes[-1] if suffixes else ""), False


def check_regular(path: Path) -> None:
    """Raise unless the file is regular, and not larger than the limit.

    A pipe would wait for ever, and a device never end.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise ValueError(
            f"{path}: not a regular file: expected one on disk; save it first, or give - and send "
            "it to standard input."
        )
    check_size(path, found.st_size)


def check_size(path: Path, n_bytes: int) -> None:
    """Raise if so much content is more than is read."""
    if n_bytes > LIMIT:
        raise ValueError(
            f"{path}: {n_bytes} bytes: expected {LIMIT} (4 GiB) at most, unpacked; give parts of "
            "it to a CalibrationSketch."
        )


@contextmanager
def damage_said(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a library raises at the contents of a file into one error that names it."""
    try:
        yield
    except (ImportError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith(f"{path}: "):
            raise
        found = reason(error) or type(error).__name__
        if isinstance(error, UnicodeDecodeError) and kind != "parquet":
            raise ValueError(
                f"{path}: text that is not in UTF-8 ({found}): expected UTF-8; save it so, such as "
                "'CSV UTF-8' in a spreadsheet program."
            ) from error
        raise ValueError(
            f"{path}: not a readable {kind} file: {found}; it is damaged, or of another type: "
            "write it anew."
        ) from error


class Npz:
    """The arrays of an npz file, read one by one."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        self.path = path
        if content is None:
            check_regular(path)
        with damage_said(path, "npz"):
            source = path if content is None else io.BytesIO(content)
            if not zipfile.is_zipfile(source):
                raise ValueError(
                    f"{path}: not an npz archive: it is cut short, corrupt or of another type; "
                    "write it anew with numpy.savez."
                )
            self._archive = zipfile.ZipFile(source)
            self._members = {info.filename: info for info in self._archive.infolist()}
        self.names = [name.removesuffix(".npy") for name in self._members]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def array(self, key: str) -> npt.NDArray[Any]:
        """Return the array of that name."""
        info = self._members.get(f"{key}.npy")
        if info is None:
            raise ValueError(
                f"{self.path}: member {key!r} is not a NumPy array: the file was not written by "
                "numpy.savez; write it anew."
            )
        check_size(self.path, info.file_size)
        try:
            content = self._archive.read(info)
        except Exception as error:
            # zlib, zipfile and what they call raise a dozen kinds.
            raise _corrupt(self.path, f"array {key!r}", reason(error)) from error
        return _array(self.path, content, f"array {key!r}")

    def text(self, key: str) -> npt.NDArray[Any]:
        """Return the same, bytes as the text that they are."""
        return as_text(self.array(key))

    def described(self, key: str) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
        """Return the shape and the type that an array says to have; None for what is none."""
        info = self._members.get(f"{key}.npy")
        try:
            with self._archive.open(info) as stream:  # type: ignore[arg-type]
                shape, dtype = _header(stream)
        except Exception:  # noqa: BLE001
            # What is not needed may be damaged.
            return None
        return shape, dtype


def as_text(found: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array, bytes as the text that they are."""
    return np.char.decode(found, "utf-8", "surrogateescape") if found.dtype.kind == "S" else found


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Return the array of an npy file."""
    check_regular(path)
    return _array(path, path.read_bytes(), "its array")


def _array(path: Path, content: bytes, what: str) -> npt.NDArray[Any]:
    stream = io.BytesIO(content)
    try:
        shape, dtype = _header(stream)
        there = len(content) - stream.tell()
        if not dtype.hasobject and math.prod(shape) * dtype.itemsize == there:
            stream.seek(0)
            return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
    except Exception as error:
        # Of a damaged header NumPy's parser raises whatever Python's own does.
        raise _corrupt(path, what, reason(error)) from error
    if not dtype.hasobject:
        raise _corrupt(path, what, f"{there} bytes for an array of shape {shape} of {dtype}")
    raise ValueError(
        f"{path}: {what} holds pickled Python objects, which are refused because unpickling can "
        "run any code; store it as a plain numeric or string array."
    )


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    old = np.lib.format.read_magic(stream) == (1, 0)
    header = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(stream)
    return shape, dtype


def _corrupt(path: Path, what: str, reason: str) -> ValueError:
    return ValueError(
        f"{path}: {what} cannot be read ({reason}): the file is corrupt; write it anew."
    )


def read_text(path: Path, *, packed: bool) -> str:
    """Return the text of a file, unpacked."""
    check_regular(path)
    with damage_said(path, format_of(path)[0].removeprefix(".")):
        if not packed:
            return path.read_text(encoding="utf-8-sig")
        try:
            with gzip.open(path) as stream:
                content = stream.read(LIMIT + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"{path}: not a readable gzip file: {reason(error)}; pack it anew."
            ) from error
        check_size(path, len(content))
        return content.decode("utf-8-sig")


def read_separated(path: Path, source: IO[str], separator: str) -> pd.DataFrame:
    """Return the columns of a csv or tsv file as they are written, as text."""
    import pandas as pd

    kind = "tsv" if separator == "\t" else "csv"
    with damage_said(path, kind):
        start = source.tell()
        check_separator(path, next(fields(path, source, separator), []), separator)
        source.seek(start)
        _check_quoted(path, source, separator)
        source.seek(start)
        # Text keeps labels as written ("01", "NA"); numbers are parsed once it is known which
        # column holds the labels. The header is a row like any other, since pandas renames the
        # second of two equal names, and takes surplus fields for an index.
        try:
            rows = pd.read_csv(
                source,
                sep=separator,
                dtype=str,
                header=None,
                keep_default_na=False,
                skipinitialspace=True,
            )
        except pd.errors.ParserError as error:
            raise ValueError(
                f"{path}: not a readable {kind} file: {reason(error)}; name every column, end no "
                "row with a separator, and write numbers with points, not with commas."
            ) from error
    header = [str(name).strip() for name in rows.iloc[0]]
    check_distinct(path, header)
    return rows.iloc[1:].set_axis(header, axis="columns").reset_index(drop=True)


def _check_quoted(path: Path, source: IO[str], separator: str) -> None:
    """Raise where text in quotation marks holds rows; very long text is not looked at."""
    start = source.tell()
    if not any('"' in line for line in source):
        return
    source.seek(start)
    with suppress(csv.Error):
        strict = csv.reader(source, delimiter=separator, skipinitialspace=True, strict=True)
        if sum(1 for _ in strict) == strict.line_num:
            # Each mark has another one in its line.
            return
    source.seek(start)
    with suppress(csv.Error):
        for _ in fields(path, source, separator):
            pass


def check_separator(path: Path, header: Sequence[str], separator: str) -> None:
    """Raise if a header of one field has several where another sign stands between them.

    So do lines before it, of comments.
    """
    first = header[0].strip() if header else ""
    if first.startswith("#") and (len(header) == 1 or " " in first.strip("# ")):
        raise ValueError(
            f"{path}: the first line begins with '{shortened(first, 60)}': expected the names of "
            "the columns; leave out lines of comments."
        )
    if _SEPARATOR_SAID.fullmatch(first) and not any(each.strip() for each in header[1:]):
        raise ValueError(
            f"{path}: the first line, '{first}...', tells a spreadsheet program what stands "
            "between fields: expected the names of the columns; leave that line out."
        )
    if len(header) != 1:
        return
    others = [each for each in _SEPARATED if each != separator]
    found = max(others, key=lambda sign: header[0].strip().count(sign))
    n = len(header[0].strip().split(found))
    if n < _FEWEST.get(found, 2):
        return
    suffix = next((end for end, sign in SEPARATORS.items() if sign == found), None)
    fix = f"write it with {_SEPARATED[separator]} between fields, and points in numbers"
    if suffix is not None:
        fix = f"let its name end in {suffix}, or {fix}"
    raise ValueError(
        f"{path}: header '{shortened(header[0].strip(), 60)}' is one field, or {n} between "
        f"{_SEPARATED[found]}: expected {_SEPARATED[separator]} between fields; {fix}."
    )


def check_distinct(path: Path, names: Sequence[str]) -> None:
    """Raise if two columns have one name: labels could not tell them apart."""
    counts = Counter(name for name in names if name)
    if repeated := sorted(name for name, count in counts.items() if count > 1):
        raise ValueError(
            f"{path}: columns {listed(repeated)} occur more than once; give every column its own "
            "name."
        )


class Parquet(NamedTuple):
    """What a parquet file holds."""

    table: pd.DataFrame
    lost: set[str]
    """Columns of categories that it does not keep."""
    indexed: bool
    """Whether rows have an index that pandas wrote."""


def read_parquet(path: Path) -> Parquet:
    """Return the columns of a parquet file, under the index that pandas wrote."""
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f'{path}: reading parquet needs pyarrow: pip install "propercal[parquet]".'
        ) from error
    import pandas as pd

    check_regular(path)
    with path.open("rb"), damage_said(path, "parquet"):
        file = pq.ParquetFile(path)
        metadata = file.metadata
        check_size(path, 8 * metadata.num_rows * metadata.num_columns)
        table = pd.read_parquet(path, engine="pyarrow")
        names = [str(column).strip() for column in table.columns]
        lost = _lost_categories(metadata.metadata, file.schema_arrow)
        indexed = bool((file.schema_arrow.pandas_metadata or {}).get("index_columns"))
    check_distinct(path, names)
    return Parquet(table.set_axis(names, axis="columns"), lost, indexed)


def _lost_categories(metadata: Mapping[bytes, bytes] | None, schema: Any) -> set[str]:
    """Return columns that were categorical when the file was written, and are no more.

    Parquet keeps the categories of text alone.
    """
    import pyarrow as pa

    written = (metadata or {}).get(b"ARROW:schema")
    if written is None:
        return set()
    before = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written)))
    kept = {each.name for each in schema if pa.types.is_dictionary(each.type)}
    return {
        each.name.strip()
        for each in before
        if pa.types.is_dictionary(each.type) and each.name not in kept
    }


def beside(path: Path, kinds: Sequence[str]) -> tuple[str, Path]:
    """Return what an npy file is said to hold, by its name, and where its labels are."""
    named = [kind for kind in kinds if kind in path.stem.lower()]
    if len(named) != 1:
        raise ValueError(
            f"{path}: expected one of {listed(kinds)} in the name of an npy file, which says what "
            "it holds, and 'labels' in its place in the name of the file of its labels; rename "
            "them, or save both in one npz file."
        )
    start = path.stem.lower().index(named[0])
    stem = path.stem[:start] + "labels" + path.stem[start + len(named[0]) :]
    labels = path.with_name(stem + path.suffix)
    if not os.path.lexists(labels):
        raise ValueError(f"{path}: expected its labels in {labels.name} beside it; save them so.")
    return named[0], labels
