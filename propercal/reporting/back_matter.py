"""What a page cannot say, what its words mean, and how it was made."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from propercal.reporting.content import Block, Cell, Items, Paragraph, Section, Table, Terms
from propercal.reporting.measured import Measured
from propercal.reporting.recalibrations import N_FOLDS
from propercal.reporting.words import count, grouped, level, loss_called, name_of

_PACKAGES = ("numpy", "scipy", "matplotlib")
_CALLED: Mapping[str, str] = {
    "reliability": "Reliability diagram",
    "recalibration": "Recalibration",
    "classes": "Classes",
    "groups": "Groups",
    "test": "Test of calibration",
}


def limits(found: Measured) -> Section:
    """Return what the page cannot see."""
    result = found.result
    texts = [
        (
            "It speaks of rows like these. Where the world, the population or the model changes, "
            "predictions that were calibrated may no longer be so."
        ),
        (
            "Calibrated is not the same as good: whoever predicts the frequency of each class for "
            "every row is calibrated, and knows nothing."
        ),
    ]
    if result.n_groups is None:
        texts.append(
            "Rows are taken to be independent of each other. If some belong together (several of "
            "one patient, repetitions, a series), intervals are too narrow; name their groups."
        )
    if found.groups is None:
        looked = "No groups were named, so none were looked at."
        if "groups" in found.absent:
            looked = "The groups that were named could not be looked at."
        texts.append(
            "A model can be calibrated over all rows while it is not in any group of them. "
            f"{looked}"
        )
    if found.is_estimated:
        texts.append(
            "Intervals are for chance in the choice of rows. A shape of miscalibration that "
            "neither the recalibrations nor a comparison of neighbours follow is not in them: the "
            "miscalibration may be larger than estimated, hardly ever smaller."
        )
    texts.append(
        "Labels are taken as right. Where they are wrong, so is what is said of the model."
    )
    missing = [
        f"{_CALLED[key]}: {reason}"
        for key, reason in found.absent.items()
        if key in _CALLED and key not in ("reliability", "recalibration", "groups")
    ]
    return Section("limits", "What this page cannot see", [Items([*texts, *missing])])


def glossary(found: Measured) -> Section:
    """Return the meaning of five words."""
    result = found.result
    loss = loss_called(result.generator.name)
    unit = f", in {result.units}" if result.units else ""
    pairs = [
        (
            "Loss",
            (
                f"What a prediction costs, here by the {loss}{unit}: nothing if it was certain and "
                "right, the more the less probable it made what happened."
            ),
        ),
        (
            "Miscalibration",
            (
                "Of all rows with the same prediction, the outcomes should be as frequent as it "
                "says. Miscalibration (calibration error) is the part of the loss that is due to "
                "those that are not."
            ),
        ),
        (
            "Recalibration",
            (
                "A rule, learnt from labelled rows, that turns predictions into better ones "
                "without looking at anything else, such as temperature scaling."
            ),
        ),
        (
            f"{level(result.confidence_level)} interval",
            (
                "If the whole were repeated with other rows from the same source, about "
                f"{level(result.confidence_level)} of such intervals would hold the truth."
            ),
        ),
        (
            "p-value",
            (
                "How probable it is that chance alone, with a calibrated model, shows as much as "
                "was found. Small values speak against calibration; large ones prove nothing."
            ),
        ),
    ]
    return Section("words", "Five words", [Terms(pairs)])


def settings(found: Measured) -> Section:
    """Return files, settings and versions."""
    blocks: list[Block] = []
    if found.data is not None and found.data.files:
        rows = [
            [Cell(name_of(each.name, 90)), Cell(_bytes(each.size))] for each in found.data.files
        ]
        blocks.append(Table("Files", ("File", "Size"), rows))
    pairs = _of_result(found) | _of_asking(found)
    blocks.append(
        Table(
            "Settings",
            ("Setting", "Value"),
            [[Cell(name), Cell(value)] for name, value in pairs.items()],
            frozenset({0, 1}),
        )
    )
    versions = " ".join(f"{name} {number}" for name, number in _versions().items())
    blocks.append(Paragraph(f"Made with {versions}.", "small"))
    return Section("settings", "How it was made", blocks)


def _bytes(size: int | None) -> str:
    return "standard input" if size is None else f"{count(size, 'byte')}"


def _of_result(found: Measured) -> dict[str, str]:
    result = found.result
    pairs = {
        "Loss": f"{loss_called(result.generator.name)} ({result.generator!r})",
        "Notion of calibration": result.notion,
        "Method": result.method,
        "Rows": grouped(result.n_samples),
        "Classes": grouped(result.n_classes),
        "Confidence level": level(result.confidence_level),
    }
    if result.n_groups is not None:
        pairs["Groups of rows that depend on each other"] = grouped(result.n_groups)
    if result.kernel_rows is not None:
        used = math.isfinite(result.bandwidth)
        width = f"{result.kernel}, bandwidth {result.bandwidth:.4g}"
        pairs["Kernel correction"] = width if used else "none"
        pairs["Rows that the kernel sums over"] = grouped(result.kernel_rows)
    if result.training_rows is not None:
        pairs["Rows that recalibrations are fitted to"] = grouped(result.training_rows)
    return pairs


def _of_asking(found: Measured) -> dict[str, str]:
    pairs: dict[str, str] = {}
    if found.asked is not None:
        pairs["Settings of the method"] = repr(found.asked.method)
        pairs["Seed"] = str(_seed(found.asked.random_state))
    if found.savings:
        pairs["Folds of the recalibrations"] = str(N_FOLDS)
    if found.test is not None:
        pairs["Samples of the test of calibration"] = grouped(found.test.n_resamples)
    if found.groups is not None:
        pairs["Samples of the test of groups"] = grouped(found.groups.test.n_resamples)
    if found.data is not None and found.data.reading.get("from_logits"):
        pairs["Predictions"] = "logits"
    return pairs


def _seed(random_state: Any) -> Any:
    known = isinstance(random_state, int) or random_state is None
    return random_state if known else f"a {type(random_state).__name__}"


def own_version() -> str:
    """Return the version of this package, whose first module stands above this one."""
    return str(sys.modules["propercal"].__version__)


def _versions() -> dict[str, str]:
    found = {"propercal": own_version(), "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
