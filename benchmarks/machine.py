"""What a run was made on and with: nothing that names the machine or its user."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from studies.paths import ROOT

_PACKAGES = ("numpy", "scipy", "xarray", "torch")


def provenance() -> dict[str, str]:
    """Return attributes of a dataset."""
    from propercal._threads import n_threads

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = {
        "cpu": _cpu(),
        "cores": cores,
        "threads": n_threads(),
        "memory_gib": round(_meminfo("MemTotal") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }
    return {
        "machine": json.dumps(machine),
        "versions": json.dumps(_versions()),
        "commit": _commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def available_bytes() -> float:
    """Return the memory that can be had, infinity where the system does not say."""
    return _meminfo("MemAvailable") or float("inf")


def has_gpu() -> bool:
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def gpu_name(device: str) -> str:
    import torch

    return torch.cuda.get_device_name(device)


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _meminfo(name: str) -> float:
    """Return an entry of /proc/meminfo in bytes, 0 where there is none."""
    path = Path("/proc/meminfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith(name + ":"):
                return 1024.0 * int(line.split()[1])
    return 0.0


def _versions() -> dict[str, str]:
    from threadpoolctl import threadpool_info

    from propercal import __version__

    found = {"python": platform.python_version(), "propercal": __version__}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    blas = sorted(
        {
            f"{library['internal_api']} {library['version']}"
            for library in threadpool_info()
            if library["user_api"] == "blas"
        }
    )
    return {**found, "blas": ", ".join(blas) or "unknown"}


def _commit() -> str:
    """Return the commit of the source tree, "none" outside of one."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "none"
    return done.stdout.strip()
