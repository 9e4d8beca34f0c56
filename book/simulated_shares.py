"""Shares of simulations that derivations state: python -m book.simulated_shares [NAME ...].

No study keeps them, since each is one number or a small table. They are kept in
simulated_shares.json, with the number of draws, and a test compares the chapters with it.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, softmax

import propercal
from book.filling import filled
from propercal.generators import as_generator
from propercal.simulation import TemperatureScaledSimplex

KEPT = Path(__file__).with_suffix(".json")
#: Draws of each number.
DRAWS = 200
#: Monotone, from what is predicted to what happens; one is calibrated.
_MEANS: dict[str, Callable[[Any], Any]] = {
    "calibrated": lambda p: p,
    "over-confident": lambda p: 0.25 + 0.5 * p,
    "step": lambda p: 0.1 + 0.7 * (p > 0.4),
}
_PREDICTIONS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "uniform": lambda rng, n: rng.random(n),
    "beta": lambda rng, n: np.clip(rng.beta(0.3, 0.3, n), 1e-9, 1 - 1e-9),
    "ten values": lambda rng, n: rng.choice(np.linspace(0.05, 0.95, 10), n),
}


def confidence_band() -> dict[str, Any]:
    """How often the confidence band of a reliability curve holds at all predictions."""
    rng = np.random.default_rng(1)
    shares = {}
    for n in (100, 500, 2000):
        for law, draw in _PREDICTIONS.items():
            for kind, mean in _MEANS.items():
                held = 0
                for _ in range(DRAWS):
                    p = draw(rng, n)
                    y = (rng.random(n) < mean(p)).astype(int)
                    with warnings.catch_warnings():
                        # Where the ends of a band cross, it does not hold, and is counted so.
                        warnings.filterwarnings(
                            "ignore", "the ends of the confidence band", UserWarning
                        )
                        found = propercal.reliability(y, p, n_resamples=19)
                    at = mean(found["prediction"].values)
                    inside = (found["confidence_lower"].values <= at + 1e-12) & (
                        at <= found["confidence_upper"].values + 1e-12
                    )
                    held += bool(inside.all())
                shares[f"{n}, {law}, {kind}"] = held / DRAWS
    return shares


def murphy_band() -> dict[str, Any]:
    """How often the band of the difference of two Murphy curves holds at all thresholds."""
    rng = np.random.default_rng(2)
    at = np.arange(1, 200) / 200
    # P(Y = 1) = p, uniform; the other model says s(p) = 1.5 p − 0.25, cut off at 0 and 1.
    t = np.clip((at + 0.25) / 1.5, 0, 1)
    truth = (t - at) * at - (t**2 - at**2) / 2
    shares = {}
    for n in (100, 500, 2000):
        held = 0
        for _ in range(DRAWS):
            p = rng.random(n)
            y = (rng.random(n) < p).astype(int)
            models = {"calibrated": p, "over": np.clip(1.5 * p - 0.25, 0, 1)}
            found = propercal.murphy(y, models, thresholds=at)
            low, high = found["difference_lower"].values, found["difference_upper"].values
            held += bool(((low <= truth + 1e-12) & (truth <= high + 1e-12)).all())
        shares[str(n)] = held / DRAWS
    return shares


def _shape(name: str, log_g: Any, rng: np.random.Generator) -> Any:
    """Return the direction in which the logarithms of predictions are changed."""
    k = log_g.shape[1]
    if name == "temperature":
        return -log_g
    if name == "slope and shift":
        return rng.standard_normal(k) * log_g + rng.standard_normal(k)
    return np.sin(12 * np.exp(log_g) + np.arange(k))


def _at_error(generator: str, log_g: Any, direction: Any, error: float) -> Any:
    """Return probabilities, changed in a direction until the calibration error is `error`."""
    of, g = as_generator(generator), np.exp(log_g)

    def changed(t: float) -> Any:
        return softmax(log_g + t * direction, axis=1)

    def above(t: float) -> float:
        return float(np.mean(of.divergence(changed(t), g))) - error

    high = 0.01
    while above(high) < 0:
        high *= 2
    return changed(brentq(above, 0.0, high))


def power_at_the_floor() -> dict[str, Any]:
    """How often the test rejects at 5 % where labels are drawn at the detection floor."""
    shares = {}
    for shape in ("temperature", "slope and shift", "oscillation"):
        for generator in ("log", "brier"):
            for k in (2, 5):
                for n in (200, 1000):
                    rng = np.random.default_rng([k, n])
                    seen = 0
                    for i in range(DRAWS):
                        log_g = np.log(softmax(1.5 * rng.standard_normal((n, k)), axis=1))
                        # The floor depends on predictions alone.
                        floor = _floor(generator, log_g)
                        r = _at_error(generator, log_g, _shape(shape, log_g, rng), floor)
                        y = (rng.random((n, 1)) > np.cumsum(r, axis=1)[:, :-1]).sum(axis=1)
                        found = propercal.calibration_test(
                            y, np.exp(log_g), generator=generator, n_resamples=199, random_state=i
                        )
                        seen += found.pvalue <= 0.05
                    shares[f"{shape}, {generator}, {k}, {n}"] = seen / DRAWS
    return shares


def _floor(generator: str, log_g: Any) -> float:
    """Return what `detection_floor` of a result is, which needs no labels."""
    from propercal._methods.label_noise import detection_floor, temperature_moments

    n = len(log_g)
    moments = temperature_moments(as_generator(generator), log_g)
    noise = np.concatenate([np.zeros((n, 2)), moments], axis=1)
    return float(detection_floor(noise, np.full(n, 1 / n), np.full(n, 1 / n**2), 1))


def ten_events() -> dict[str, Any]:
    """How often intervals hold the truth with about ten positives among 1000 rows."""
    rng = np.random.default_rng(3)
    z = -5.6 + 1.6 * rng.standard_normal(400_000)
    g, r = expit(z), expit(0.6 * z - 1.75)
    truth = {
        "log": np.mean(r * np.log(r / g) + (1 - r) * np.log((1 - r) / (1 - g))),
        "brier": np.mean(2 * (r - g) ** 2),
    }
    covered = dict.fromkeys(truth, 0)
    for _ in range(DRAWS):
        z = -5.6 + 1.6 * rng.standard_normal(1000)
        y = (rng.random(1000) < expit(0.6 * z - 1.75)).astype(int)
        with warnings.catch_warnings():
            few = "the .* loss is that of about|(only [0-9]+ rows?|no row) had an outcome"
            warnings.filterwarnings("ignore", few, UserWarning)
            found = propercal.decompose(y, expit(z), generator=list(truth), pos_label=1)
        for name, each in zip(truth, found, strict=True):
            low, high = each.interval("calibration_error")
            covered[name] += int(low <= truth[name] <= high)
    return {name: count / DRAWS for name, count in covered.items()}


def upper_bound() -> dict[str, Any]:
    """The bound from above of one miscalibrated model, and its calibration error."""
    model = TemperatureScaledSimplex(2)
    found = {"truth": model.truth("brier", "canonical")[0]}
    for n in (1000, 20_000, 1_000_000):
        y, p, _ = model.sample(n, random_state=0)
        found[str(n)] = float(propercal.upper_bound(y, p, variation=0.5))
    return found


def _spread(shares: dict[str, float]) -> tuple[str, str]:
    return tuple(f"{100 * end:.3g}" for end in (min(shares.values()), max(shares.values())))  # type: ignore[return-value]


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


def sentences() -> list[tuple[str, str, tuple[str, ...]]]:
    """Return chapters, patterns of their sentences, and the numbers in these."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    bound, events = kept["upper_bound"], kept["ten_events"]
    found = [
        (
            "reliability",
            r"it held everywhere in (\S+) to (\S+) % of (\d+) samples, for",
            (*_spread(kept["confidence_band"]), str(kept["draws"])),
        ),
        (
            "reliability",
            r"held everywhere in (\S+) to (\S+) % of (\d+) samples for",
            (*_spread(kept["murphy_band"]), str(kept["draws"])),
        ),
        (
            "debiasing",
            r"held it in (\S+) % \(log loss\) and (\S+) % \(Brier score\) of (\d+) samples",
            (*(f"{100 * events[name]:.3g}" for name in ("log", "brier")), str(kept["draws"])),
        ),
        (
            "intervals",
            r"of (\S+) and \$v = .5\$, it is (\S+) at \$n = 1000\$, (\S+) at 20 000 and (\S+) at",
            (
                f"{bound['truth']:.4f}".removeprefix("0"),
                *(f"{bound[n]:.3f}".removeprefix("0") for n in ("1000", "20000", "1000000")),
            ),
        ),
    ]
    rows = {
        "temperature": "temperature",
        "a slope and a shift a class": "slope and shift",
        "$\\log g_i + t \\sin(12 g_i + i)$, of no family": "oscillation",
    }
    for words, shape in rows.items():
        cells = [(loss, k) for loss in ("log", "brier") for k in (2, 5)]
        numbers = [
            _short(kept["power_at_the_floor"][f"{shape}, {loss}, {k}, {n}"])
            for loss, k in cells
            for n in (200, 1000)
        ]
        pattern = rf"\| {re.escape(words)} " + r"\| (\S+), (\S+) " * len(cells) + r"\|"
        found.append(("intervals", pattern, tuple(numbers)))
    return found


def numbered(chapter: str, text: str) -> str:
    """Return a chapter with the kept numbers in its sentences."""
    for name, pattern, numbers in sentences():
        if name != chapter:
            continue
        # Rows of tables have no breaks.
        somewhere = pattern if "\\|" in pattern else pattern.replace(" ", r"\s+")
        text = filled(chapter, text, somewhere, numbers)
    return text


NUMBERS = {
    each.__name__: each
    for each in (upper_bound, murphy_band, ten_events, confidence_band, power_at_the_floor)
}


def main(names: Sequence[str]) -> None:
    """Simulate anew, and keep what came out."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for name in names or NUMBERS:
        kept[name] = NUMBERS[name]()
        kept["draws"] = DRAWS
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(name, flush=True)
    for chapter in sorted({name for name, _, _ in sentences()}):
        path = KEPT.parent / "derivations" / f"{chapter}.md"
        path.write_text(numbered(chapter, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
