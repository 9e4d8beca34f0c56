"""Finished datasets: written whole or not at all, with a checksum beside them."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal._data.words.messages import bad_value

if TYPE_CHECKING:
    import xarray as xr

# What HDF5 and xarray raise for files that they cannot read.
_UNREADABLE = (OSError, KeyError, ValueError, RuntimeError, TypeError, AttributeError, IndexError)
# What reads a file of which nothing says that it is whole, in a process that can be ended, and the
# time that it has.
_TRIAL = "import sys, xarray; xarray.load_dataset(sys.argv[1], engine='h5netcdf')"
_TRIAL_SECONDS = 60.0
# File systems that reserve no space say so by one of these.
_NOT_RESERVED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)


def check_netcdf() -> None:
    """Say what to install where netCDF can be neither read nor written."""
    try:
        import h5netcdf  # noqa: F401
        import h5py  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "datasets of studies need h5netcdf and h5py; install them with: "
            'pip install "propercal[study]"'
        ) from error


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

    A flipped bit may send HDF5 into an endless loop that Ctrl-C does not end. Where a checksum lies
    beside the file, that is compared first; any other file is first read by another process, which
    is ended after a minute.

    Raises
    ------
    ValueError
        If the file is not what was written, or no dataset.
    """
    check_netcdf()
    import xarray as xr

    if is_damaged(path):
        expected = f"the bytes whose checksum is in {_checksum_file(path).name}"
        raise bad_value("path", f"{path} (damaged)", expected, "take it from a copy, or delete it")
    if path.exists() and not path.is_file():
        raise _unreadable(path, "not a regular file")
    if path.exists() and not _checksum_file(path).exists():
        reason = _trial(path)
        if reason:
            raise _unreadable(path, reason)
    try:
        return xr.load_dataset(path, engine="h5netcdf")
    except FileNotFoundError:
        raise
    except _UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise _unreadable(path, reason) from error


def _trial(path: Path) -> str:
    """Return why another process cannot read a file, or nothing if it can."""
    # The folder that the command was started in stands in for no package.
    command = [sys.executable, "-P", "-c", _TRIAL, str(path.resolve())]
    try:
        run = subprocess.run(  # noqa: S603 (the command is this file's own)
            command, capture_output=True, check=False, timeout=_TRIAL_SECONDS
        )
    except subprocess.TimeoutExpired:
        line = f"sha256sum {path.name} > {_checksum_file(path).name}"
        return f"not within {_TRIAL_SECONDS:g} s; if it is whole, write its checksum: {line}"
    if run.returncode < 0:
        return f"HDF5 ended by signal {-run.returncode}"
    if run.returncode == 0:
        return ""
    said = run.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"status {run.returncode}"


def _unreadable(path: Path, reason: str) -> ValueError:
    found = f"{path} (not readable: {reason})"
    return bad_value("path", found, "a dataset of a study", "take it from a copy, or delete it")


def is_damaged(path: Path) -> bool:
    """Return whether the file is not that of the checksum beside it, where there is one."""
    checksum = _checksum_file(path)
    if not (checksum.exists() and path.is_file()):
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
    check_netcdf()
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
