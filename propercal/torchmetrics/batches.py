"""Batches of tensors as a training loop has them: checked, flattened to rows that count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from propercal._data.inputs.reading import (
    Names,
    check_scalar,
    check_tensor,
    is_missing,
    not_real,
    read_array,
)
from propercal._data.predictions.predictions import validate
from propercal._data.predictions.probabilities import AS_LOGITS
from propercal._data.predictions.weights import check_ignored
from propercal._data.words.messages import bad_value, held_warnings, some_rows, warn
from propercal._data.words.tokens import is_number, plain

#: Types of predictions that are kept as they are.
TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
#: No label is so large.
_BEYOND = 2**63
#: What update calls its arguments.
NAMES = Names(labels="target", proba="preds")


class Rows(NamedTuple):
    """Rows that count."""

    preds: torch.Tensor
    """(n, k) as they are, without gradient; k = 1 for the probability of one class of two."""
    target: torch.Tensor
    """(n,) labels, int64; or an indicator matrix (n, k), uint8."""
    weight: torch.Tensor
    """(n,) positive weights, float64."""


@dataclass(frozen=True)
class Reader:
    """How the batches of a metric are read."""

    from_logits: bool
    link: str | None
    ignore_index: Any
    one_class: bool
    """Whether rows mark one class each."""

    def __post_init__(self) -> None:
        """Check what would be found wrong with the first batch only."""
        check_scalar("ignore_index", self.ignore_index)

    def read(self, preds: object, target: object, sample_weight: object = None) -> Rows | None:
        """Return the rows of a batch that count, None if there are none, or raise."""
        p, y = _tensors(preds, target)
        p, y = _flat(p.detach(), y)
        _check_booleans(p, y)
        w = _weights(sample_weight, p)
        if self.ignore_index is not None:
            w = torch.where(self._ignored(y), 0.0, w)
        if not p.shape[0] or not bool((w > 0).any()):
            return None
        self._check_values(p, y, w)
        keep = w > 0
        rows = Rows(p, y, w) if bool(keep.all()) else Rows(p[keep], y[keep], w[keep])
        return rows._replace(target=_whole(rows.target, keep))

    def _ignored(self, target: torch.Tensor) -> torch.Tensor:
        """(n,) whether the label of a row says that it has none."""
        if target.ndim > 1:
            raise bad_value(
                "ignore_index",
                f"{self.ignore_index!r} with target of shape {tuple(target.shape)}",
                "one label for each row",
                "give these rows sample_weight 0",
            )
        check_ignored(self.ignore_index, target.dtype == torch.bool, NAMES)
        if is_missing(self.ignore_index):
            return torch.isnan(target)
        # A number and its digits are the same name.
        ignored = plain(self.ignore_index)
        if not is_number(ignored) or abs(ignored) >= _BEYOND:
            return torch.zeros_like(target, dtype=torch.bool)
        # Torch would bring the number into a narrow type of labels: in uint8, -100 is 156.
        wide = torch.float64 if target.is_floating_point() else torch.int64
        return torch.eq(target.to(wide), ignored)

    def _check_values(
        self, preds: torch.Tensor, target: torch.Tensor, weight: torch.Tensor
    ) -> None:
        """Raise if predictions cannot be read, before they are kept.

        How labels are numbered, and what is to be warned of, all rows together tell, but for what
        tells a batch of probabilities among those of logits.
        """
        marks = target if target.ndim > 1 else torch.zeros_like(target, dtype=torch.int64)
        with held_warnings() as said:
            validate(
                marks,
                preds,
                from_logits=self.from_logits,
                sample_weight=weight.cpu().numpy(),
                pos_label=1 if preds.shape[1] == 1 else None,
                link=self.link,
                one_class=self.one_class,
                smallest=1,
                names=NAMES,
            )
        for message in said:
            if AS_LOGITS in message:
                warn(message)


def _tensors(preds: object, target: object) -> tuple[torch.Tensor, torch.Tensor]:
    """Return both if they are tensors of one device."""
    for name, value in (("preds", preds), ("target", target)):
        if not isinstance(value, torch.Tensor):
            raise bad_value(
                name,
                f"a {type(value).__name__}",
                "a tensor of torch",
                "call torch.as_tensor on it, or on its .to_numpy() if it is a table or a series",
            )
        check_tensor(name, value)
    assert isinstance(preds, torch.Tensor) and isinstance(target, torch.Tensor)  # noqa: PT018, S101
    if preds.device != target.device:
        raise bad_value(
            "target",
            f"a tensor on {target.device}",
            f"one on {preds.device}, where preds are",
            "move it there, target.to(preds.device)",
        )
    if preds.is_complex() or target.is_complex():
        raise bad_value("preds", f"values of type {preds.dtype}", "real numbers", "take .real")
    return preds, target


def _check_booleans(preds: torch.Tensor, target: torch.Tensor) -> None:
    """Raise where booleans are to tell which of more than two classes occurred."""
    if target.dtype == torch.bool and target.ndim == 1 and preds.shape[1] > 2:
        raise bad_value(
            NAMES.labels,
            "booleans",
            f"which of the {preds.shape[1]} columns of {NAMES.proba} occurred",
            f"pass the class of each row, or the probability of this event alone as {NAMES.proba}",
        )


def _flat(preds: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return predictions (n, k), classes from axis 1, and the target of each."""
    shape, found = tuple(preds.shape), tuple(target.shape)
    if preds.dtype not in TYPES:
        preds = preds.to(torch.get_default_dtype())
    if preds.ndim < 2:
        if preds.ndim == 0 or found not in (shape, (*shape, 1)):
            raise _unlike(shape, found)
        return preds[:, None], target.reshape(-1)
    k, places = shape[1], (shape[0], *shape[2:])
    rows = preds.movedim(1, -1).reshape(-1, k)
    if found in (places, (shape[0], 1, *shape[2:])):
        return rows, target.reshape(-1)
    if preds.ndim == 2 and found == (shape[0], max(2, k)):
        return rows, target
    raise _unlike(shape, found)


def _unlike(preds: tuple[int, ...], target: tuple[int, ...]) -> ValueError:
    many = len(preds) > 2 and preds == target
    return bad_value(
        "target",
        f"a tensor of shape {target} beside preds of shape {preds}",
        "preds of shape (n,) or (n, k, ...), classes along axis 1, and a label for each row and "
        "place, (n, ...), or an indicator matrix (n, k)",
        "call .flatten() on both if each number is a prediction of its own"
        if many
        else "align the two",
    )


def _weights(sample_weight: object, preds: torch.Tensor) -> torch.Tensor:
    """(n,) weights in double precision, where the predictions are."""
    n = int(preds.shape[0])
    if sample_weight is None:
        return torch.ones(n, dtype=torch.float64, device=preds.device)
    if isinstance(sample_weight, torch.Tensor) and sample_weight.device != preds.device:
        raise bad_value(
            "sample_weight",
            f"a tensor on {sample_weight.device}",
            f"one on {preds.device}, where preds are",
            "move it there",
        )
    if not isinstance(sample_weight, torch.Tensor):
        sample_weight = _numbers(sample_weight)
    given = torch.as_tensor(sample_weight, device=preds.device)
    weight = given.detach().to(torch.float64).reshape(-1)
    fix = "pass one finite weight ≥ 0 per row"
    if len(weight) != n or given.is_complex():
        raise bad_value(
            "sample_weight", f"a tensor of shape {tuple(given.shape)}", f"{n} numbers", fix
        )
    odd = ~(torch.isfinite(weight) & (weight >= 0))
    if bool(odd.any()):
        rows = torch.nonzero(odd)[:, 0].tolist()
        raise bad_value(
            "sample_weight", f"{weight[rows[0]]} at {some_rows(rows)}", "finite weights ≥ 0", fix
        )
    return weight


def _numbers(sample_weight: object) -> NDArray[np.float64]:
    """Return weights of lists, arrays and series as numbers, or raise."""
    values = np.asarray(read_array("sample_weight", sample_weight))
    if values.dtype.kind not in "biuf":
        found, expected, fix = not_real(values)
        raise bad_value("sample_weight", found, expected, fix)
    return values.astype(np.float64)


def _whole(target: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """Return labels as int64, an indicator matrix as uint8, or raise; `keep` are the rows."""
    if target.ndim > 1:
        return target.to(torch.uint8)
    if target.is_floating_point():
        odd = ~(torch.isfinite(target) & (target == target.round()))
        if bool(odd.any()):
            rows = torch.nonzero(keep)[:, 0][odd].tolist()
            raise bad_value(
                "target",
                f"{float(target[odd][0])} at {some_rows(rows)}",
                "whole class numbers without missing values",
                "drop rows whose label is missing, or name them by ignore_index=...; pass the "
                "class that occurred, not a probability",
            )
    return target.to(torch.int64)


def too_few(n: int, least: int) -> str:
    """Say why a metric is NaN."""
    rows = "1 row" if n == 1 else f"{n} rows"
    return (
        f"{rows} that count: the estimate needs {least} or more, so the metric is nan. Call "
        "update() on each batch and compute() at the end of the epoch, rather than the metric "
        "itself on each batch."
    )
