"""The code of the guide on studies runs as it is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr

ROOT = Path(__file__).resolve().parents[2]
(CODE,) = re.findall(r"```python\n(.*?)```", (ROOT / "book" / "guides" / "own_study.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_the_study_of_the_guide_runs_in_forty_lines(tmp_path: Path) -> None:
    script = tmp_path / "toy.py"
    script.write_text(CODE, encoding="utf-8")
    assert sum(bool(line.strip()) for line in CODE.splitlines()) <= 40
    command = [sys.executable, str(script), "--tiny", "--workers", "1", "--output", str(tmp_path / "out")]
    run = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert "Means of more numbers vary less (law of large numbers): holds" in run.stdout
    with xr.open_dataset(tmp_path / "out" / "toy.nc", engine="h5netcdf") as found:
        # Of uniform numbers; six standard errors of 5 replicates.
        for n in (10, 100):
            assert float(found["mean"].sel(sample_size=n).mean()) == pytest.approx(0.5, abs=6 / (12 * 5 * n) ** 0.5)
