"""What is left out by its name stays that name on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from propercal.cli.command import main
from propercal.cli.words import FLAGS, in_words


@pytest.mark.parametrize("name", [name for name in FLAGS if "_" in name])
def test_names_of_arguments_are_columns_after_drop(name: str) -> None:
    assert in_words(f"leave it out with --drop {name}, or rename it") == f"leave it out with --drop {name}, or rename it"
    assert in_words(f"pass {name} instead") == f"pass {FLAGS[name]} instead"


def test_a_column_of_weights_is_left_out_as_the_message_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.5] * 3, 60)
    label = [rng.choice(3, p=each) for each in proba]
    path = tmp_path / "p.csv"
    rows = [",".join(map(str, [y, *p, 1.5])) for y, p in zip(label, proba, strict=True)]
    path.write_text("\n".join(["label,0,1,2,sample_weight", *rows]), encoding="utf-8")
    asked = ["decompose", str(path), "--method", "risk", "--bandwidth", "0.1"]
    assert main(asked) == 1
    assert "--drop sample_weight" in capsys.readouterr().err
    assert main([*asked, "--drop", "sample_weight"]) == 0
