"""Lightning: stop at least refinement, and calibrate what was kept.

The callback is one of ``lightning`` or of ``pytorch_lightning``, whichever is in use. A loop of
one's own has the same in :class:`propercal.training.LeastRefinement`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Self, Unpack, cast

from propercal._data.inputs.reading import Names
from propercal._data.inputs.settings import check_flag
from propercal._data.words.messages import bad_value, held_warnings, warn
from propercal.generators.registry import GeneratorLike
from propercal.methods import MethodLike, Settings
from propercal.recalibration.called import calling
from propercal.training import LeastRefinement

__all__ = ["StopAtLeastRefinement"]

_PACKAGES = "lightning.pytorch", "pytorch_lightning"
#: Terms of each validation that are logged.
_LOGGED = "risk", "refinement", "calibration_error"

RowsOf = Callable[[Any, Any], Sequence[Any]]


class StopAtLeastRefinement:
    r"""Callback of Lightning that keeps the epoch of least refinement and fits the temperature.

    After each validation it decomposes the loss of all validation rows, of all processes. It logs
    the terms, stops when the refinement has not fallen for long enough, and when training ends
    gives the module the weights of the epoch where it was least.

    Parameters
    ----------
    patience : int or None
        Stop after so many validations in a row without an improvement; None never stops.
    min_delta : float
        How much lower, in units of the loss, a refinement has to be to count as an improvement.
    from_logits : bool
        Whether predictions are logits, rather than probabilities.
    rows : callable, optional
        A function of what ``validation_step`` returned and of the batch, which returns predictions
        and labels (and weights). By default ``validation_step`` returns a dictionary with "logits"
        ("preds", if these are no logits) and "target", and "sample_weight" if there are any.
    generator, method, labels, pos_label, **settings
        As in :class:`propercal.training.LeastRefinement`.
    ignore_index : optional
        Rows of this label are left out, such as −100.
    restore : bool
        Whether the module gets the weights that are kept when training ends.
    prefix : str
        What the names of the terms begin with where they are logged, as "val_refinement".
    dataloader_idx : int
        Which validation data to look at, if there are several.

    Attributes
    ----------
    kept : LeastRefinement
        The epoch, its weights and temperature, and the history of all validations.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Notes
    -----
    ``softmax(logits / callback.temperature)``, or ``callback.predict_proba(logits)``, are the
    calibrated predictions of the weights that are kept. Validation rows choose epoch and
    temperature: report on others. A validation of 10⁴ rows of ten classes takes two or three
    seconds more.

    Weights are copied to the CPU, whole, by each process: sharded modules have to gather theirs.
    Checkpoints hold them too, so that training that is resumed goes on as it would have.
    ``fast_dev_run`` and the check before training are passed over.

    Examples
    --------
    .. code-block:: python

        class Network(L.LightningModule):
            def validation_step(self, batch, batch_idx):
                x, y = batch
                return {"logits": self(x), "target": y}


        callback = StopAtLeastRefinement(patience=10)
        trainer = L.Trainer(max_epochs=200, callbacks=[callback])
        trainer.fit(network, train_loader, valid_loader)
        proba = callback.predict_proba(network(x_test))
    """

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Make a callback of the package that is in use."""
        return cast("Self", object.__new__(_as_callback(cast("Any", cls), _bases())))

    def __init__(
        self,
        *,
        patience: int | None = 10,
        min_delta: float = 0.0,
        from_logits: bool = True,
        rows: RowsOf | None = None,
        generator: GeneratorLike = "log",
        method: MethodLike = "debiased",
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
        ignore_index: Any = None,
        restore: bool = True,
        prefix: str = "val_",
        dataloader_idx: int = 0,
        **settings: Unpack[Settings],
    ) -> None:
        self.kept = LeastRefinement(
            patience=patience,
            min_delta=min_delta,
            from_logits=from_logits,
            generator=generator,
            method=method,
            labels=labels,
            pos_label=pos_label,
            **settings,
        )
        check_flag("restore", restore)
        if rows is not None and not callable(rows):
            raise bad_value(
                "rows",
                f"a {type(rows).__name__}",
                "a function of outputs and batch that returns predictions and labels",
                "leave it out if validation_step returns a dictionary of both",
            )
        self.restore_at_end, self.prefix, self.dataloader_idx = restore, prefix, dataloader_idx
        self.ignore_index = ignore_index
        self._rows_of = rows
        self._metric: Any = None
        self._goes_on = False

    @property
    def state_key(self) -> str:
        """What a checkpoint calls its state, which tells several callbacks of a training apart."""
        usual = inspect.signature(StopAtLeastRefinement).parameters
        said = {
            "prefix": self.prefix,
            "dataloader_idx": self.dataloader_idx,
            "generator": self.kept.generator.name,
        }
        more = {name: value for name, value in said.items() if value != usual[name].default}
        return f"{type(self).__qualname__}{more or ''}"

    @property
    def temperature(self) -> float | None:
        """By which to divide logits of the weights that are kept; None before any validation."""
        return self.kept.temperature

    def predict_proba(self, logits: object) -> Any:
        """Return calibrated probabilities for logits of the weights that are kept.

        Parameters
        ----------
        logits : array-like of shape (n,), (n, 1) or (n, k)
            Or probabilities, of a callback with ``from_logits=False``.

        Returns
        -------
        array of shape (n, k)
            Probabilities, of the library and on the device of `logits`.
        """
        return self.kept._calibrated(logits, Names(proba="logits"))

    def on_train_start(
        self,
        trainer: Any,
        pl_module: Any,  # noqa: ARG002  # the signature is Lightning's
    ) -> None:
        """Begin anew with another training, unless a state was loaded that it goes on from."""
        n, goes_on = len(self.kept.history), self._goes_on
        self._goes_on = False
        # The trainer of a training that goes on has steps behind it.
        if n == 0 or goes_on or trainer.fast_dev_run or trainer.global_step > 0:
            return
        self.kept.reset()
        warn(
            f"StopAtLeastRefinement forgets the {n} epochs of a training before, since this "
            "trainer.fit(...) begins another. Make a callback for each training; to go on from "
            "one, pass its checkpoint, trainer.fit(..., ckpt_path=...)."
        )

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin with no rows."""
        if _passes_over(trainer):
            return
        from propercal.torchmetrics import Refinement

        kept = self.kept
        self._metric = Refinement(
            generator=kept.generator,
            method=kept.method,
            from_logits=kept.from_logits,
            labels=kept.labels,
            pos_label=kept.pos_label,
            ignore_index=self.ignore_index,
        ).to(pl_module.device)

    def on_validation_batch_end(
        self,
        trainer: Any,
        pl_module: Any,  # noqa: ARG002  # the signature is Lightning's
        outputs: Any,
        batch: Any,
        batch_idx: int,  # noqa: ARG002
        dataloader_idx: int = 0,
    ) -> None:
        """Add the rows of a batch."""
        if _passes_over(trainer) or dataloader_idx != self.dataloader_idx:
            return
        self._metric.update(*self._rows(outputs, batch))

    def _rows(self, outputs: Any, batch: Any) -> Sequence[Any]:
        """Return predictions, labels, and weights if any."""
        if self._rows_of is not None:
            return self._rows_of(outputs, batch)
        proba = "logits" if self.kept.from_logits else "preds"
        if not isinstance(outputs, Mapping) or not {proba, "target"} <= set(outputs):
            found = f"a {type(outputs).__name__}"
            if isinstance(outputs, Mapping):
                found = f"a dictionary of {sorted(map(str, outputs))}"
            raise bad_value(
                "outputs of validation_step",
                found,
                f'a dictionary with "{proba}" and "target"',
                "return one, or pass rows=lambda outputs, batch: (predictions, labels) to the "
                "callback",
            )
        return [outputs[proba], outputs["target"], outputs.get("sample_weight")]

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Decompose the loss, log its terms, and keep the epoch or count it."""
        if _passes_over(trainer):
            return
        metric, kept = self._metric, self.kept
        with metric.sync_context(), held_warnings() as doubts:
            if not metric._n_rows():
                raise bad_value(
                    "validation rows", "none", "20 or more", "see whether ignore_index leaves any"
                )
            rows, result = metric._rows(), metric._decompose()
        with (
            held_warnings() as of_temperature,
            calling(Names("target", "logits" if kept.from_logits else "preds")),
        ):
            scaling = kept._scaling().fit(rows.preds, rows.target, rows.weight)
        self._metric = None
        kept._note(pl_module, result, scaling, int(trainer.current_epoch), doubts, of_temperature)
        pl_module.log_dict(
            {f"{self.prefix}{name}": kept.history[-1][name] for name in _LOGGED},
            sync_dist=trainer.world_size > 1,
        )
        trainer.should_stop = trainer.should_stop or kept.should_stop

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Give the module the weights that are kept."""
        if trainer.fast_dev_run or not self.restore_at_end:
            return
        if self.kept.epoch is None:
            warn(
                "StopAtLeastRefinement saw no validation, so it kept no weights: pass validation "
                "data to trainer.fit(...)."
            )
            return
        self.kept.restore(pl_module)

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint keeps, the weights of the best epoch included."""
        return self.kept.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.kept.load_state_dict(state_dict)
        self._goes_on = True

    def __reduce__(self) -> Any:
        """Pickle by the class that has a name."""
        return _unpickled, (type(self).__mro__[1],), self.__dict__


_self, *_others = inspect.signature(StopAtLeastRefinement.__init__).parameters.values()
# What __new__ takes says nothing.
StopAtLeastRefinement.__signature__ = inspect.Signature(_others)  # type: ignore[attr-defined]


def _unpickled(cls: type[StopAtLeastRefinement]) -> StopAtLeastRefinement:
    return cls.__new__(cls)


def _passes_over(trainer: Any) -> bool:
    """Tell whether a validation is none of a training."""
    return bool(trainer.sanity_checking or trainer.fast_dev_run or trainer.state.fn != "fit")


def _bases() -> tuple[type, ...]:
    """Return the callback of each package that is in use, or else installed."""
    used = [name for name in _PACKAGES if name in sys.modules]
    if not used:
        used = [name for name in _PACKAGES if importlib.util.find_spec(name.partition(".")[0])][:1]
    if not used:
        raise ImportError(
            "propercal.lightning has a callback of Lightning, which is not installed; run "
            '`pip install "propercal[lightning]"`, or use propercal.training.LeastRefinement in a '
            "loop of your own."
        )
    return tuple(importlib.import_module(name).Callback for name in used)


@cache
def _as_callback(cls: Any, bases: tuple[Any, ...]) -> Any:
    """Return a class that is a callback of these packages too."""
    named = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (cls, *bases), named)
