"""Training that refines first and calibrates afterwards.

The loss of validation rows rises when a network becomes too sure, though it may go on to learn: its
minimum is a compromise between refinement and calibration error. :class:`LeastRefinement` keeps the
weights of the epoch of least refinement, and the temperature that calibrates them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np

from propercal._array import detached
from propercal._data.classes.columns import name_columns
from propercal._data.inputs.holders import hold
from propercal._data.inputs.reading import USUAL_NAMES, Names
from propercal._data.inputs.settings import check_flag, names_given, taken_at_word
from propercal._data.predictions.notions import as_notion
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value, columns_said, held_warnings, warn
from propercal._epochs import (
    Rows,
    check_min_delta,
    check_patience,
    check_state,
    number_of,
    on_cpu,
    rows_of,
    settings_said,
    warn_of_other_rows,
)
from propercal.decomposition import decompose
from propercal.generators.order import check_turned
from propercal.generators.registry import GeneratorLike, as_generator
from propercal.methods import MethodLike, Settings, as_method
from propercal.recalibration.arguments import Columns, are_those_of_fit
from propercal.recalibration.called import calling
from propercal.recalibration.temperature import TemperatureScaling
from propercal.result import Decomposition

__all__ = ["LeastRefinement"]

#: What an epoch leaves in the history.
_RECORDED = "risk", "refinement", "calibration_error"
#: What is written as it is.
_WRITTEN = "refinement", "epoch", "temperature", "wait", "history", "doubts"


class LeastRefinement:
    r"""Keeps the weights of the epoch of least refinement, and fits the temperature.

    Parameters
    ----------
    patience : int or None
        Stop after so many epochs in a row without an improvement; None never stops.
    min_delta : float
        How much lower, in units of the loss, a refinement has to be to count as an improvement.
    from_logits : bool
        Whether predictions are logits, rather than probabilities.
    generator : str, BregmanGenerator, class or callable
        The convex function F, see :func:`propercal.decompose`.
    method : {"debiased", "direct", "risk"} or Method
        How the refinement is estimated.
    labels : sequence of length k, optional
        The class that each column stands for.
    pos_label : optional
        The class that a single column is the probability of.
    **settings
        Settings of a method that is named, as in :func:`propercal.decompose`.

    Attributes
    ----------
    refinement : float
        The least so far; infinite before the first epoch.
    epoch : int or None
        The epoch of it.
    temperature : float or None
        By which to divide its logits, fitted to the rows that it was found with: above 1 for
        over-confident predictions.
    result : Decomposition or None
        That of the last call of :meth:`update`.
    history : list of dict
        Epoch, risk, refinement, calibration error and temperature of each.
    wait : int
        Epochs since the least refinement.
    doubts : list of str
        What :func:`propercal.decompose` had to warn of at the epoch that is kept.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Notes
    -----
    Validation rows choose the epoch and the temperature: report on others. Weights are kept on the
    CPU. The loss of the kept epoch, before it is calibrated, may be far from the least; that is
    meant.

    References
    ----------
    Berta, Holzmüller, Jordan & Bach (2025), "Rethinking early stopping: refine, then calibrate",
    arXiv:2501.19195.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_digits
    >>> x, y = (torch.as_tensor(each) for each in load_digits(n_class=3, return_X_y=True))
    >>> x = x.float() / 16
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Linear(64, 3)
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    >>> kept = LeastRefinement(patience=2)
    >>> for epoch in range(5):
    ...     optimizer.zero_grad()
    ...     torch.nn.functional.cross_entropy(model(x[:200]), y[:200]).backward()
    ...     _ = optimizer.step()
    ...     if kept.update(model, y[200:400], model(x[200:400]).detach()).should_stop:
    ...         break
    >>> _ = kept.restore(model)
    >>> proba = kept.predict_proba(model(x[400:]).detach())
    """

    def __init__(
        self,
        *,
        patience: int | None = 10,
        min_delta: float = 0.0,
        from_logits: bool = True,
        generator: GeneratorLike = "log",
        method: MethodLike = "debiased",
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
        **settings: Unpack[Settings],
    ) -> None:
        check_flag("from_logits", from_logits)
        self.patience = check_patience(patience)
        self.min_delta = check_min_delta(min_delta)
        self.from_logits = bool(from_logits)
        # A list that is changed later says another order.
        self.labels, self.pos_label = copy.copy(labels), pos_label
        self.generator, self.method = as_generator(generator), as_method(method, **settings)
        self.reset()

    def reset(self) -> None:
        """Forget all epochs."""
        self.refinement = math.inf
        self.epoch: int | None = None
        self.temperature: float | None = None
        self.result: Decomposition | None = None
        self.history: list[dict[str, float]] = []
        self.wait = 0
        self.doubts: list[str] = []
        self._weights: dict[str, Any] | None = None
        self._fitted: Any = None
        self._first: Any = None
        self._rows: Rows | None = None
        self._to_say: list[str] = []

    @property
    def should_stop(self) -> bool:
        """Whether there was no improvement for as many epochs as `patience` says."""
        return self.patience is not None and self.wait >= self.patience

    @advises("labels", "pos_label", "from_logits", "method", "generator", "sample_weight")
    def update(
        self,
        module: Any,
        y_true: object,
        y_proba: object,
        sample_weight: object = None,
        *,
        epoch: int | None = None,
    ) -> Self:
        """Look at an epoch: decompose its loss, and keep it if its refinement is the least so far.

        Parameters
        ----------
        module : torch.nn.Module
            What made the predictions; anything with ``state_dict()`` and ``load_state_dict()``.
        y_true, y_proba, sample_weight
            Labels of validation rows, and their logits, or probabilities, as in
            :func:`propercal.decompose`; without gradient.
        epoch : int, optional
            Its number; by default epochs count on from 0, also those of another module, unless
            :meth:`reset` is called.

        Returns
        -------
        LeastRefinement
            Itself.

        Raises
        ------
        ValueError
            If an argument cannot be used, there are fewer than 20 rows (debiased), or labels count
            columns that stand in another order than in epochs before.

        Warns
        -----
        UserWarning
            If rows are others than in the epoch before, or `epoch` comes before it.
        """
        if not callable(getattr(module, "state_dict", None)):
            raise bad_value(
                "module",
                f"a {type(module).__name__}",
                "what has state_dict() and load_state_dict(), such as a torch.nn.Module",
                "pass the model that made the predictions, update(module, y_true, y_proba)",
            )
        number = number_of(epoch, self.history)
        y_true, y_proba = (detached(each) for each in (y_true, y_proba))
        with held_warnings() as doubts:
            result = decompose(
                y_true,
                y_proba,
                generator=self.generator,
                method=self.method,
                from_logits=self.from_logits,
                sample_weight=sample_weight,
                labels=self.labels,
                pos_label=self.pos_label,
            )
        with held_warnings() as of_temperature, calling(USUAL_NAMES):
            scaling: Any = self._scaling().fit(y_proba, y_true, sample_weight)
        self._check_columns(y_true, y_proba, scaling.columns_)
        self._first = self._first or scaling
        return self._note(module, result, scaling, number, doubts, of_temperature)

    def _check_columns(self, y_true: object, y_proba: object, own: Columns) -> None:
        """Raise where labels count columns that stand otherwise than in the first epoch."""
        first = self._first
        if first is None or are_those_of_fit(y_proba, first):
            return
        names = (own.name,) if own.single else own.names
        if names is not None and name_columns(hold("y_true", y_true), names):
            if self.labels is None and not hold("y_true", y_true).ordered:
                before, whole = first.columns_.names or (), as_notion("canonical")
                check_turned(before, names, [self.generator], whole)
            return
        known = (first.columns_.name,) if first.columns_.single else first.columns_.names
        raise bad_value(
            "y_proba",
            columns_said(names),
            f"{columns_said(known, '')}, as in epochs before, since y_true names "
            "none of them, but counts columns",
            "select the same columns in one order for each epoch",
        )

    def _note(
        self,
        module: Any,
        result: Decomposition,
        scaling: TemperatureScaling,
        epoch: int,
        doubts: Sequence[str],
        of_temperature: Sequence[str],
    ) -> Self:
        """Keep an epoch if it is the best so far; warn where its rows are others than before."""
        rows = rows_of(result)
        warn_of_other_rows(self._rows, rows)
        self._rows = rows
        found = {name: float(getattr(result, name)) for name in _RECORDED}
        temperature = float(scaling.temperature_)
        self.result = result
        self.history.append({"epoch": float(epoch), **found, "temperature": temperature})
        if found["refinement"] < self.refinement - self.min_delta:
            self.refinement, self.epoch, self.wait = found["refinement"], epoch, 0
            self.temperature, self._fitted = temperature, scaling
            self.doubts, self._to_say = list(doubts), list(of_temperature)
            self._weights = on_cpu(module.state_dict())
        else:
            self.wait += 1
        return self

    def restore(self, module: Any) -> Any:
        """Give a module the weights that are kept.

        Parameters
        ----------
        module : torch.nn.Module
            As in :meth:`update`.

        Returns
        -------
        torch.nn.Module
            The same module.

        Raises
        ------
        ValueError
            If there was no epoch yet.

        Warns
        -----
        UserWarning
            If no temperature is the best, or the best is infinite, as the fit to that epoch said.
        """
        module.load_state_dict(self.weights)
        for each in self._to_say:
            warn(each)
        return module

    @property
    def weights(self) -> dict[str, Any]:
        """What ``module.state_dict()`` was at the epoch of least refinement, on the CPU."""
        if self._weights is None:
            raise bad_value(
                "epoch",
                None,
                "one of finite refinement, but no epoch is kept",
                "call update(...) after each epoch",
            )
        return self._weights

    def predict_proba(self, y_proba: object) -> Any:
        """Calibrate logits, or probabilities, of the kept epoch by its temperature.

        Parameters
        ----------
        y_proba : array-like of shape (n,), (n, 1) or (n, k)
            As in :meth:`update`.

        Returns
        -------
        array of shape (n, k)
            Probabilities, of the library and on the device of `y_proba`.

        Raises
        ------
        ValueError
            If there was no epoch yet, or the predictions cannot be used.
        """
        return self._calibrated(y_proba, USUAL_NAMES)

    def _calibrated(self, y_proba: object, names: Names) -> Any:
        """Return calibrated predictions, which errors call by these names."""
        _ = self.weights
        with calling(names):
            return self._fitted.predict_proba(y_proba)

    def state_dict(self) -> dict[str, Any]:
        """Return all there is to know, so that training can be resumed: numbers and tensors."""
        fitted = self._fitted
        return {
            **{name: copy.deepcopy(getattr(self, name)) for name in _WRITTEN},
            "settings": self._said(),
            "to_say": list(self._to_say),
            "rows": self._rows,
            "weights": self._weights,
            "classes": None if fitted is None else fitted.classes_.tolist(),
            "columns": None if fitted is None else fitted.columns_.written(),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state_dict` returned; arguments are those of this object.

        Parameters
        ----------
        state_dict : mapping
            It is not changed.

        Raises
        ------
        ValueError
            If it is no such state, predictions were read in another way, or the loss or the method
            was another one.
        """
        check_state(state_dict, {*_WRITTEN, "weights", "to_say"}, self._said())
        self.reset()
        for name in _WRITTEN:
            setattr(self, name, copy.deepcopy(state_dict[name]))
        self._weights, self._to_say = state_dict["weights"], list(state_dict["to_say"])
        # Earlier versions kept none.
        rows = state_dict.get("rows")
        self._rows = None if rows is None else (int(rows[0]), float(rows[1]))
        if self._weights is not None:
            self._fitted = self._scaling()
            self._fitted.temperature_ = state_dict["temperature"]
            self._fitted.classes_ = np.array(state_dict["classes"])
            self._fitted.columns_ = Columns.read(state_dict["columns"], self._fitted)
            self._first = self._fitted

    def _said(self) -> dict[str, Any]:
        """Return what the numbers of a state depend on."""
        labels = None if self.labels is None else names_given(self.labels).tolist()
        return {
            "generator": repr(self.generator),
            "method": self.method.name,
            "from_logits": self.from_logits,
            "labels": labels,
            "pos_label": self.pos_label,
            **settings_said(self.method),
        }

    def _scaling(self) -> TemperatureScaling:
        return TemperatureScaling(
            from_logits=self.from_logits,
            labels=taken_at_word(self.labels),
            pos_label=self.pos_label,
        )
