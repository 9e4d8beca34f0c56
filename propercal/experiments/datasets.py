"""Finished datasets: written whole or not at all, with a checksum beside them."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal._data.messages import bad_value

if TYPE_CHECKING:
    import xarray as xr

# What HDF5 and xarray raise for files that they cannot read.
_UNREADABLE = (OSError, KeyError, ValueError, RuntimeError, TypeError, AttributeError, IndexError)
# File systems that reserve no space say so by one of these.
_NOT_RESERVED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)


def write_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write netCDF so that `path` holds a whole dataset or what it held before.

    ``PATH.sha256`` beside it has the checksum, as ``sha256sum`` writes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = _netcdf(dataset)
    checksum = _checksum_file(path)
    parts = [each.with_name(f".{each.name}.partial") for each in (checksum, path)]
    try:
        write_file(parts[0], _line(content, path))
        write_file(parts[1], content)
        parts[0].replace(checksum)
        parts[1].replace(path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def read_dataset(path: Path) -> xr.Dataset:
    """Read a dataset into memory and close the file.

    Where a checksum lies beside it, that is compared before HDF5 sees the file, which a flipped
    bit may send into an endless loop.

    Raises
    ------
    ValueError
        If the file is not what was written, or no dataset.
    """
    import xarray as xr

    if is_damaged(path):
        expected = f"the bytes whose checksum is in {_checksum_file(path).name}"
        raise bad_value("path", f"{path} (damaged)", expected, "take it from a copy, or delete it")
    try:
        return xr.load_dataset(path, engine="h5netcdf")
    except FileNotFoundError:
        raise
    except _UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise bad_value(
            "path",
            f"{path} (not readable: {reason})",
            "a dataset of a study",
            "take it from a copy, or delete it",
        ) from error


def is_damaged(path: Path) -> bool:
    """Return whether the file is not that of the checksum beside it, where there is one."""
    checksum = _checksum_file(path)
    if not checksum.exists():
        return False
    content = path.read_bytes()
    return checksum.read_bytes().split()[:1] != _line(content, path).split()[:1]


def keep_beside(path: Path, why: str, label: str) -> None:
    """Rename a dataset, and its checksum, to make room for another, and say so."""
    content = path.read_bytes()
    end = hashlib.sha256(content).hexdigest()[:8]
    kept = path.with_name(f"{path.stem}-{label}-{end}{path.suffix}")
    checksum = _checksum_file(path)
    if checksum.exists():
        named = checksum.read_bytes().split()[:1]
        _checksum_file(kept).write_bytes(b"".join(named) + f"  {kept.name}\n".encode())
    path.replace(kept)
    checksum.unlink(missing_ok=True)
    say(f"{path.name} {why}: it is kept as {kept.name}, and computed anew.")


def say(text: str) -> None:
    """Tell the user what was found and done, in one line on standard error."""
    sys.stderr.write(text + "\n")


def write_file(path: Path, content: bytes) -> None:
    """Write a file whose size is reserved first, and see it on the disk."""
    try:
        with path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                try:
                    os.posix_fallocate(file.fileno(), 0, len(content))
                except OSError as error:
                    if error.errno not in _NOT_RESERVED:
                        raise
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _netcdf(dataset: xr.Dataset) -> bytes:
    """Return the bytes of netCDF; in memory, since HDF5 may crash where a disk is full."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    dataset = dataset.copy()
    for variable in dataset.variables.values():
        variable.encoding = {}
    for name in dataset.data_vars:
        variable = dataset[name].variable
        if variable.dtype.kind == "f" and variable.ndim:
            variable.encoding = {
                "zlib": True,
                "complevel": 9,
                "shuffle": True,
                "_FillValue": None,
            }
    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        store: Any = H5NetCDFStore(file)
        dataset.dump_to_store(store)
    return buffer.getvalue()


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _line(content: bytes, path: Path) -> bytes:
    return f"{hashlib.sha256(content).hexdigest()}  {path.name}\n".encode()
