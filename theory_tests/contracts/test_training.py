"""Refine, then calibrate: which epoch is kept, with which temperature, and how it goes on."""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.recalibration import TemperatureScaling
from propercal.simulation import TemperatureScaledSimplex
from propercal.training import LeastRefinement

QUICK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}


class Module:
    """What a network is to training: a state."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def state_dict(self) -> dict[str, Any]:
        return {"number": [self.number]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        (self.number,) = state["number"]


def epochs(order: list[float]) -> list[tuple[Any, Any]]:
    """Labels, and logits whose refinement grows with the number in `order`, ever surer."""
    y, p, _ = TemperatureScaledSimplex(3).sample(200, random_state=0)
    noise = np.random.default_rng(0).normal(size=p.shape)
    return [(y, (1 + i / 2) * (np.log(p) + noise * each)) for i, each in enumerate(order)]


def trained(kept: LeastRefinement, order: list[float]) -> LeastRefinement:
    for number, (y, logits) in enumerate(epochs(order), start=len(kept.history)):
        if kept.update(Module(number), y, logits).should_stop:
            break
    return kept


def test_the_epoch_of_least_refinement_is_kept_with_its_temperature() -> None:
    order = [2, 1, 0, 0.5, 1]
    kept = trained(LeastRefinement(patience=None, **QUICK), order)
    y, logits = epochs(order)[2]
    assert (kept.epoch, kept.wait, kept.should_stop) == (2, 2, False)
    assert kept.refinement == propercal.refinement(y, logits, from_logits=True, **QUICK)
    assert kept.refinement == min(each["refinement"] for each in kept.history)
    assert kept.temperature == TemperatureScaling(from_logits=True).fit(logits, y).temperature_ > 1
    assert [each["epoch"] for each in kept.history] == [0, 1, 2, 3, 4]
    for each in kept.history:
        assert each["risk"] == pytest.approx(each["refinement"] + each["calibration_error"])
    assert kept.restore(Module()).number == 2
    proba = kept.predict_proba(logits)
    scaled = np.exp(logits / kept.temperature)
    assert proba == pytest.approx(scaled / scaled.sum(1, keepdims=True))
    assert isinstance(kept.result, propercal.Decomposition)


@pytest.mark.parametrize(("patience", "n"), [(1, 4), (2, 5), (3, 6), (4, 7), (None, 7)])
def test_patience(patience: int | None, n: int) -> None:
    kept = trained(LeastRefinement(patience=patience, **QUICK), [2, 1, 0, 0.5, 1, 0.5, 1])
    assert len(kept.history) == n
    assert kept.epoch == 2


def test_what_is_no_improvement() -> None:
    found = trained(LeastRefinement(**QUICK), [1, 0]).history
    gain = found[0]["refinement"] - found[1]["refinement"]
    assert trained(LeastRefinement(min_delta=0.99 * gain, **QUICK), [1, 0]).epoch == 1
    assert trained(LeastRefinement(min_delta=1.01 * gain, **QUICK), [1, 0]).epoch == 0
    assert trained(LeastRefinement(**QUICK), [1, 1, 1]).epoch == 0 or found


def test_going_on_from_a_saved_state() -> None:
    order = [2, 1, 0, 0.5, 1, 0.5]
    whole = trained(LeastRefinement(patience=3, **QUICK), order)
    first = trained(LeastRefinement(patience=3, **QUICK), order[:4])
    saved = first.state_dict()
    second = LeastRefinement(patience=3, **QUICK)
    second.load_state_dict(saved)
    for number, (y, logits) in enumerate(epochs(order)[4:], start=4):
        second.update(Module(number), y, logits)
    assert second.state_dict() == whole.state_dict()
    assert second.should_stop
    assert second.restore(Module()).number == 2
    assert first.state_dict() == saved
    second.reset()
    assert second.refinement == math.inf
    assert second.history == []
    assert second.epoch is None


def test_what_is_loaded_knows_what_its_columns_were_called() -> None:
    pd = pytest.importorskip("pandas")
    y, p, _ = TemperatureScaledSimplex(3).sample(100, random_state=0)
    table, occurred = pd.DataFrame(p, columns=["z", "x", "y"]), (y == 0).astype(int)
    sick = pd.Series(p[:, 0], name="sick")
    for predictions, labels, other in ((table, y, table[["x", "y", "z"]]), (sick, occurred, (1 - sick).rename("well"))):
        kept = LeastRefinement(from_logits=False, **QUICK).update(Module(), labels, predictions)
        again = LeastRefinement(from_logits=False, **QUICK)
        again.load_state_dict(kept.state_dict())
        plain = predictions.to_numpy()
        expected = LeastRefinement(from_logits=False, **QUICK).update(Module(), labels, plain).predict_proba(plain)
        for each in (kept, again):
            np.testing.assert_array_equal(each.predict_proba(predictions), expected)
            with pytest.raises(ValueError, match=r"^y_proba = (columns \['x', 'y', 'z'\]: expected \['z', 'x', 'y'\], in the order of fit|a column named 'well': expected)"):
                each.predict_proba(other)


def test_weights_are_copies_on_the_cpu_that_torch_can_save() -> None:
    torch = pytest.importorskip("torch")
    y, logits = epochs([0])[0]
    module = torch.nn.Linear(3, 3)
    before = [each.clone() for each in module.parameters()]
    x = torch.as_tensor(logits, dtype=torch.float32)
    kept = LeastRefinement(**QUICK).update(module, torch.as_tensor(y), module(x) + x)
    with torch.no_grad():
        for each in module.parameters():
            each.add_(1)
    file = io.BytesIO()
    torch.save(kept.state_dict(), file)
    file.seek(0)
    again = LeastRefinement(**QUICK)
    again.load_state_dict(torch.load(file, weights_only=True))
    again.restore(module)
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), before, strict=True))
    assert all(each.device.type == "cpu" and not each.requires_grad for each in kept.weights.values())
    proba = again.predict_proba(x)
    assert torch.is_tensor(proba)
    assert proba.dtype == x.dtype


def test_two_classes_and_names() -> None:
    y, p, _ = TemperatureScaledSimplex(2).sample(200, random_state=0)
    logits = np.log(p[:, 1] / p[:, 0])
    one = LeastRefinement(**QUICK).update(Module(), y, logits)
    two = LeastRefinement(from_logits=False, **QUICK).update(Module(), y, p)
    assert one.refinement == pytest.approx(two.refinement)
    assert one.temperature == pytest.approx(two.temperature)
    assert one.predict_proba(logits) == pytest.approx(two.predict_proba(p))
    names = np.array(["no", "yes"])[y]
    named = LeastRefinement(labels=["no", "yes"], **QUICK).update(Module(), names, logits)
    assert named.temperature == pytest.approx(one.temperature)
    weight = np.where(np.arange(200) < 120, 1.0, 0.0)
    some = LeastRefinement(**QUICK).update(Module(), y, logits, weight)
    assert some.temperature == pytest.approx(LeastRefinement(**QUICK).update(Module(), y[:120], logits[:120]).temperature)


def test_doubts_are_said_of_the_epoch_that_is_kept() -> None:
    y = np.arange(60) % 3
    logits = 5.0 * np.eye(3)[y]
    kept = LeastRefinement(patience=1, **QUICK)
    assert kept.update(Module(), y, logits).temperature is not None
    with pytest.warns(UserWarning, match="the most probable class in every row"):
        kept.restore(Module())


@pytest.mark.parametrize(("options", "message"), [
    ({"patience": 0}, "patience = 0"),
    ({"patience": 1.5}, "patience"),
    ({"patience": True}, "patience"),
    ({"min_delta": -1}, "min_delta"),
    ({"min_delta": "0"}, "min_delta"),
    ({"min_delta": math.nan}, "min_delta"),
    ({"generator": "lgo"}, "generator"),
    ({"method": "riks"}, "method"),
    ({"bandwith": 0.1}, "bandwith"),
    ({"from_logits": None}, "from_logits"),
])
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LeastRefinement(**options)


def test_bad_epochs() -> None:
    y, logits = epochs([0])[0]
    kept = LeastRefinement(**QUICK)
    works: list[Callable[[], Any]] = [lambda: kept.restore(Module()), lambda: kept.predict_proba(logits)]
    for work in works:
        with pytest.raises(ValueError, match="no epoch is kept"):
            work()
    with pytest.raises(ValueError, match="module = a ndarray"):
        kept.update(y, logits, y)
    with pytest.raises(ValueError, match="y_true"):
        kept.update(Module(), y[:20], logits)
    with pytest.raises(ValueError, match="20 or more"):
        LeastRefinement().update(Module(), y[:10], logits[:10])
    assert kept.history == []
    assert kept.epoch is None


@pytest.mark.slow
def test_training_for_too_long() -> None:
    """On data where the validation loss rises, the kept epoch and its temperature lose less on new rows."""
    torch = pytest.importorskip("torch")
    from sklearn.datasets import make_classification

    x, y = make_classification(4000, 20, n_informative=8, n_classes=4, n_clusters_per_class=3, flip_y=0.05, random_state=0)
    x, y = torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y)
    train, valid, test = slice(400), slice(400, 1400), slice(1400, None)
    gains = []
    for seed in range(3):
        torch.manual_seed(seed)
        layers = [torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)]
        model = torch.nn.Sequential(*layers)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
        loss = torch.nn.functional.cross_entropy
        # A recalibration by temperature alone, as the paper has it: quick.
        kept = LeastRefinement(patience=None, recalibrator=TemperatureScaling(), kernel=None)
        on_test = []
        for epoch in range(20):
            for batch in torch.randperm(400).split(50):
                optimizer.zero_grad()
                loss(model(x[train][batch]), y[train][batch]).backward()
                optimizer.step()
            with torch.no_grad():
                kept.update(model, y[valid], model(x[valid]), epoch=epoch)
                on_test.append(float(loss(model(x[test]), y[test])))
        least = int(np.argmin([each["risk"] for each in kept.history]))
        with torch.no_grad():
            proba = kept.predict_proba(kept.restore(model)(x[test]))
        found = -float(proba[torch.arange(len(proba)), y[test]].log().mean())
        assert kept.temperature is not None
        assert kept.temperature > 1
        assert kept.history[-1]["risk"] > kept.history[least]["risk"]
        gains.append((on_test[least] - found, on_test[-1] - found))
    assert min(min(each) for each in gains) > 0


@pytest.mark.parametrize(
    "other", [{"from_logits": False}, {"generator": "brier"}, {"labels": ["c", "a", "b"]}, {"pos_label": 1}, {"method": "risk"}, {"n_folds": 4}, {"kernel": None}, {"recalibrator": TemperatureScaling()}], ids=str
)
def test_a_state_is_of_the_arguments_of_its_training(other: dict[str, Any]) -> None:
    state = LeastRefinement(labels=["a", "b", "c"] if "labels" in other else None).state_dict()
    with pytest.raises(ValueError, match=f"state_dict = that of a training with {next(iter(other))} = "):
        LeastRefinement(**other).load_state_dict(state)
    # Earlier versions kept no settings.
    LeastRefinement(**other).load_state_dict({name: value for name, value in state.items() if name != "settings"})


# ---------------------------------------------------------------- columns of later epochs

K3, CAB = list("abc"), [2, 0, 1]
CLASSES = np.arange(60) % 3
GIVEN = 0.5 * np.random.default_rng(3).dirichlet(np.ones(3), 60) + 0.5 * np.eye(3)[CLASSES]
BINARY = CLASSES % 2


def seen(*chunks: tuple[Any, Any], through_a_file: bool = False) -> LeastRefinement:
    kept = LeastRefinement(from_logits=False, generator="brier", **QUICK)
    for labels, proba in chunks:
        kept.update(Module(), labels, proba)
        if through_a_file:
            state, kept = kept.state_dict(), LeastRefinement(from_logits=False, generator="brier", **QUICK)
            kept.load_state_dict(state)
    return kept


@pytest.mark.parametrize("through_a_file", [False, True])
def test_labels_count_columns_in_the_order_of_the_first_epoch(through_a_file: bool) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(GIVEN, columns=K3)
    spam, ham = pd.Series(GIVEN[:, 1], name="spam"), pd.Series(1 - GIVEN[:, 1], name="ham")
    for labels in (CLASSES, np.eye(3)[CLASSES]):
        for first in (table, GIVEN):
            with pytest.raises(ValueError, match=r"^y_proba = columns \['c', 'a', 'b'\]: expected (\[.*\]|columns without names), as in epochs before, since y_true names none"):
                seen((labels, first), (labels, table.iloc[:, CAB]), through_a_file=through_a_file)
    with pytest.raises(ValueError, match=r"^y_proba = columns \['ham'\]: expected \['spam'\], as in epochs before"):
        seen((BINARY, spam), (BINARY, ham), through_a_file=through_a_file)
    words, marks = np.array(K3)[CLASSES], pd.DataFrame(np.eye(3)[CLASSES], columns=K3)
    for chunks in (
        [(CLASSES, table), (CLASSES, table)], [(CLASSES, GIVEN), (CLASSES, table)], [(CLASSES, table), (CLASSES, GIVEN)],
        [(words, table), (words, table.iloc[:, CAB])], [(marks, table), (marks, table.iloc[:, CAB])],
        [(BINARY, spam), (BINARY, spam.rename("p_spam"))], [(BINARY, spam), (BINARY, spam.to_numpy())],
        [(np.where(BINARY, "spam", "ham"), spam), (np.where(BINARY, "spam", "ham"), ham)],
    ):  # fmt: skip
        one, two = seen(*chunks, through_a_file=through_a_file).history
        assert two["risk"] == pytest.approx(one["risk"], rel=1e-9)


def test_epochs_of_other_rows_are_said() -> None:
    """As of one batch after another; the same rows in another order are the same."""
    (y, logits), *_ = epochs([0])
    kept = LeastRefinement(patience=None, **QUICK)
    kept.update(Module(), y, logits)
    kept.update(Module(), y[::-1], logits[::-1])
    for rows in (slice(50, None), slice(None, 150)):
        with pytest.warns(UserWarning, match="of this epoch are others than those of the epoch before"):
            kept.update(Module(), y[rows], logits[rows])
    state = kept.state_dict()
    for again in (pickle.loads(pickle.dumps(kept)), LeastRefinement(patience=None, **QUICK)):  # noqa: S301
        again.load_state_dict(state)
        with pytest.warns(UserWarning, match="of this epoch are others than those of the epoch before"):
            again.update(Module(), y[:100], logits[:100])
        again.load_state_dict(state)
        again.update(Module(), y[:150], logits[:150])
    kept.reset()
    kept.update(Module(), y, logits)


def test_numbers_of_epochs() -> None:
    """A second module that is measured without reset() is compared with the first."""
    (y, logits), *_ = epochs([0])
    kept = LeastRefinement(patience=None, **QUICK)
    wrongs: list[Any] = ["last", "3", 1.7, math.nan, True, np.array([1, 2])]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"^epoch = .*: expected a whole number; leave it out"):
            kept.update(Module(), y, logits, epoch=wrong)
    assert kept.history == []
    numbers: list[Any] = [-1, np.int64(6), 7, 7]
    for number in numbers:
        kept.update(Module(), y, logits, epoch=number)
    with pytest.warns(UserWarning, match=r"epoch = 0 comes after epoch 7, and is compared .* Call reset\(\) before another"):
        kept.update(Module(), y, logits, epoch=0)
    kept.reset()
    assert kept.update(Module(), y, logits, epoch=0).epoch == 0


@pytest.mark.parametrize("state", [{}, {"weight": 1, "bias": 2}, None, [1]], ids=str)
def test_other_states_are_refused(state: Any) -> None:
    with pytest.raises(ValueError, match=r"^state_dict = a .*: expected what state_dict\(\) of a LeastRefinement returned"):
        LeastRefinement().load_state_dict(state)


def test_states_of_other_bandwidths_and_of_equal_objects() -> None:
    class Own(TemperatureScaling):
        __repr__ = object.__repr__

    state = LeastRefinement(**QUICK).state_dict()
    with pytest.raises(ValueError, match=r"^state_dict = that of a training with bandwidth = 0\.1: expected bandwidth = 2\.0"):
        LeastRefinement(method="risk", bandwidth=2.0).load_state_dict(state)
    LeastRefinement(recalibrator=Own()).load_state_dict(LeastRefinement(recalibrator=Own()).state_dict())


def test_a_list_of_labels_that_is_changed_later_says_nothing() -> None:
    (y, logits), *_ = epochs([0])
    labels = [0, 1, 2]
    kept, usual = LeastRefinement(labels=labels, **QUICK), LeastRefinement(**QUICK)
    labels.reverse()
    assert kept.update(Module(), y, logits).refinement == usual.update(Module(), y, logits).refinement
