"""Results in the hands of a caller, who sorts them, changes tables, or passes a sketch to itself."""

from __future__ import annotations

import copy
import pickle

import pytest

import propercal
from propercal.simulation import TemperatureScaledSimplex

pytest.importorskip("xarray")

Y, P, _ = TemperatureScaledSimplex(3).sample(200, random_state=0)


def test_names_go_with_results_that_are_sorted() -> None:
    found = propercal.decompose(Y, P, generator=["log", "brier", "spherical"])
    right = {name: each.risk for name, each in zip(found.names, found, strict=True)}
    for move in (
        found.reverse,
        lambda: found.sort(key=lambda one: one.risk),
        lambda: found.sort(key=lambda one: one.generator.name, reverse=True),
    ):
        move()
        assert {name: each.risk for name, each in zip(found.names, found, strict=True)} == right
        assert all(found.to_dict()[f"generator/{name}/risk"] == value for name, value in right.items())
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert again.to_dict() == found.to_dict() == copy.deepcopy(found).to_dict()
    with pytest.raises(ValueError, match="key = None"):
        found.sort()
    found[0], found[1] = found[1], found[0]
    with pytest.raises(ValueError, match="a list of 3 for 3 names, in another order"):
        found.to_dict()


def test_what_is_returned_may_be_changed() -> None:
    monitor = propercal.CalibrationMonitor(3)
    monitor.update(Y, P)
    other = P**2 / (P**2).sum(axis=1, keepdims=True)
    hosmer_lemeshow = propercal.hosmer_lemeshow(Y, P, event=1)
    compared = propercal.compare_models(Y, {"a": P, "b": other}, term="risk")
    for written, made in (
        (monitor.to_bytes, monitor.history),
        (hosmer_lemeshow.to_json, hosmer_lemeshow.to_xarray),
        (compared.to_json, compared.to_xarray),
    ):
        before, data = written(), made()
        for name in data.data_vars:
            data[name].values[...] = 0
        assert written() == before


def test_a_sketch_is_not_merged_with_itself() -> None:
    sketch = propercal.CalibrationSketch(3)
    sketch.update(Y, P)
    with pytest.raises(ValueError, match="other = the sketch itself: expected a CalibrationSketch"):
        sketch.merge(sketch)
    with pytest.raises(ValueError, match="other = a sketch with rows that this one holds already"):
        sketch.merge(copy.copy(sketch))
    assert sketch.n_samples == 200
