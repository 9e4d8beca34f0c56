"""What the metrics share: how rows are read, and a decomposition behind the number."""

from __future__ import annotations

import copy
import math
import zlib
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

import torch
from torchmetrics import Metric

from propercal._data.inputs.settings import check_confidence_level, check_flag
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.weights import weighted_by_both
from propercal._data.words.messages import bad_value, warn
from propercal._methods.method import Method
from propercal._methods.recipe import SMALLEST_SAMPLE
from propercal._threads import Lock
from propercal.generators.registry import as_generator
from propercal.methods import Settings, as_method
from propercal.result import Decomposition
from propercal.sketch.origins import Origins, new_origin, origins_of_both
from propercal.torchmetrics.batches import NAMES, Reader, too_few

#: Arguments of metrics of torchmetrics that have another form here.
_FOREIGN = {
    "task": "leave it out: preds of shape (n,) are of two classes, (n, k) of k",
    "num_classes": "leave it out: preds have a column for each class (StreamingCalibrationError: "
    "n_classes)",
    "num_labels": 'leave it out, and pass notion="classwise" with a target of shape (n, k)',
    "n_bins": 'leave it out: there are no bins (but of method="risk", kernel="uniform-bins")',
    "norm": 'pass generator="brier" for squared differences',
    "average": 'pass notion="classwise" for the mean over classes',
    "top_k": 'pass notion="top-label" for the most probable class',
    "threshold": "leave it out: no label is predicted",
    "validate_args": "leave it out: rows are always checked",
}


class ProperMetric(Metric):  # type: ignore[misc]
    """A term of a decomposition.

    The result is a scalar of the type of the predictions, float32 at least, where they are.
    """

    is_differentiable: bool = False
    higher_is_better: bool = False
    full_state_update: bool = False
    if TYPE_CHECKING:
        # Scripting reads annotations.
        _computed: Any
        _origins: Origins
        _weighted: frozenset[bool]
    #: The term that `compute` returns.
    term: ClassVar[str]

    def __init__(
        self,
        *,
        generator: Any,
        notion: Any,
        method: Any,
        from_logits: bool,
        labels: Any,
        pos_label: Any,
        link: str | None,
        ignore_index: Any,
        confidence_level: float,
        options: dict[str, Any],
    ) -> None:
        for name, value in options.items():
            if name in _FOREIGN:
                raise bad_value(name, repr(value), "no such argument", _FOREIGN[name])
        settings = {name: options.pop(name) for name in Settings.__annotations__ if name in options}
        super().__init__(**options)
        check_flag("from_logits", from_logits)
        self.generator = as_generator(generator)
        self.notion = as_notion(notion)
        self.method: Method = as_method(method, **settings)
        self.confidence_level = check_confidence_level(confidence_level)
        # A list that is changed later says another order.
        self.from_logits, self.labels = bool(from_logits), copy.copy(labels)
        self.pos_label = pos_label
        self.link, self.ignore_index = link, ignore_index
        self._reader = Reader(self.from_logits, link, ignore_index, not self.notion.per_class)
        self._decomposed: Decomposition | None = None
        # States that threads add to in turn would pair a label with another row's prediction.
        self._lock = Lock()
        # No state: these would tell metrics of one collection apart that are to share them.
        self._origins = ()
        self._weighted = frozenset()
        self._note_reading()

    def _note_reading(self, *more: Any) -> None:
        """Note in a state how rows are read, and what `more` their states depend on.

        Collections let metrics of equal states share them, and states are put together.
        """
        labels = self.labels.tolist() if hasattr(self.labels, "tolist") else self.labels
        digest = zlib.crc32(repr((self._reader, labels, self.pos_label, *more)).encode())
        reading = torch.tensor(list(digest.to_bytes(4, "big")))
        self.add_state("reading", reading, dist_reduce_fx="max")

    def _note_rows(self) -> None:
        """Note that rows came, which are told from those of other metrics."""
        self._origins = self._origins or new_origin()

    def _note_weights(self, sample_weight: object) -> None:
        """Note whether a batch has weights; warn if it alone has, or has not."""
        now = frozenset({sample_weight is not None})
        self._weighted = weighted_by_both(self._weighted, now, NAMES)

    def reset(self) -> None:
        """Forget all rows."""
        super().reset()
        self._origins, self._weighted = (), frozenset()

    @torch.jit.unused
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch, as `update` does, and return the term of it alone."""
        # It resets the metric on its way.
        before, weighted = self._origins, self._weighted
        found = super().forward(*args, **kwargs)
        self._origins = before or self._origins
        self._weighted = weighted_by_both(weighted, self._weighted, NAMES)
        return found

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add what another metric of the same settings has seen.

        Parameters
        ----------
        incoming_state : dict or metric
            Another metric, or its states.

        Raises
        ------
        ValueError
            If it reads its rows in another way, or is a metric that was merged before, or a copy.
        """
        origins, weighted = self._origins, self._weighted
        if isinstance(incoming_state, ProperMetric):
            weighted = weighted_by_both(weighted, incoming_state._weighted, NAMES)
            others = incoming_state._origins
            origins = origins_of_both(origins, others, "incoming_state", "metric")
        states = getattr(incoming_state, "metric_state", incoming_state)
        if isinstance(states, Mapping):
            self._check_reading("incoming_state", states)
            self._check_form(states)
        super().merge_state(incoming_state)
        self._origins, self._weighted = origins, weighted
        self._forget_results()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *more: Any) -> None:
        """Take states that were saved, or raise if their rows are read in another way."""
        self._check_reading("state_dict", state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *more)
        self._forget_results()

    def _forget_results(self) -> None:
        """Forget what was computed: `update` and `reset` alone do so by themselves."""
        self._computed = self._decomposed = None

    def _check_reading(self, argument: str, states: Mapping[str, Any], prefix: str = "") -> None:
        """Raise unless states are of rows that are read as those of this metric."""
        theirs = states.get(f"{prefix}reading")
        own = cast("torch.Tensor", self._defaults["reading"])
        if theirs is None or torch.equal(own, theirs.to(own.device)):
            return
        raise bad_value(
            argument,
            f"that of a {type(self).__name__} with other settings",
            "the same labels, pos_label, from_logits, link, ignore_index and notion, and in a "
            "stream the same classes, generator and folds",
            "make this metric with the settings of the other",
        )

    def compute(self) -> torch.Tensor:
        """Return the term of all rows, of all processes.

        Returns
        -------
        scalar tensor
            NaN, with a warning, of fewer rows than the method can take (debiased: 20), as a last
            batch or a check before training may have.
        """
        n, least = self._n_rows(), SMALLEST_SAMPLE if self.method.corrects_bias else 2
        if n < least:
            warn(f"{type(self).__name__} has {too_few(n, least)}")
            self._decomposed = None
            return torch.tensor(math.nan, device=self._place())
        with torch.no_grad():
            self._decomposed = self._decompose()
        found = getattr(self._decomposed, self.term)
        return torch.as_tensor(found, device=self._place(), dtype=self._result_type())

    def decomposition(self) -> Decomposition:
        """Return all terms of the rows of all processes, with intervals.

        It costs nothing more after :meth:`compute`.

        Returns
        -------
        Decomposition

        Raises
        ------
        ValueError
            If there are fewer rows than the method can take.
        """
        if self._computed is None or self._decomposed is None:
            self._computed = None
            self.compute()
        if self._decomposed is None:
            raise bad_value(
                "preds", "too few rows", "more than update() has seen so far", "update() with more"
            )
        return self._decomposed

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw the value, or several, as metrics of torchmetrics do.

        Parameters
        ----------
        val : tensor or sequence of tensors, optional
            What :meth:`compute` or the metric itself returned, of several steps; its present value
            by default.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        tuple
            The figure and the Axes.
        """
        return self._plot(val, ax)

    def _apply(self, fn: Any, exclude_state: Any = ()) -> Any:
        """Move states to another device; `set_dtype` is for predictions that are kept alone.

        Counts, labels, weights and sums would be rounded, or overflow, in few bits.
        """
        if self._dtype_convert:
            exclude_state = [name for name in self._defaults if name != "preds"]
            self._forget_results()
        return super()._apply(fn, exclude_state)

    @abstractmethod
    def _check_form(self, states: Mapping[str, Any]) -> None:
        """Raise if the rows of other states cannot stand below those of this metric."""

    @abstractmethod
    def _n_rows(self) -> int:
        """Return how many rows count."""

    @abstractmethod
    def _decompose(self) -> Decomposition:
        """Decompose the risk of the rows seen."""

    @abstractmethod
    def _place(self) -> torch.device:
        """Return the device of the result."""

    def _result_type(self) -> torch.dtype:
        """Return the type of the result."""
        return torch.get_default_dtype()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the decomposition, which holds the rows once more."""
        return cast("dict[str, Any]", {**super().__getstate__(), "_decomposed": None})
