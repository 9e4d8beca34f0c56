"""Logits that are none: probabilities, odds, and logarithms of them, which a softmax may be given.

A softmax of the logarithms of probabilities gives these back; a sigmoid of them, p / (1 + p), does
not. Logarithms of probabilities are at most 0, as logits of rare events are. Two things tell them
apart, where the caller does not call them so: many are near 0 and none is above, at which logits do
not end; or labels are e⁷ times as probable by exp(x) as by 1 / (1 + exp(−x − b)), for whatever b,
so that logits that are only too small stay logits. Of 2,000 sets of such logits (20 to 2000 rows,
too sharp, too flat or too small, too) none is taken for logarithms, and of logarithms of
probabilities most are, from 200 rows on if half of the probabilities exceed ½.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, to_numpy
from propercal._data.classes.labels import Classes
from propercal._data.classes.other_readings import LEAST
from propercal._data.inputs.held import Held
from propercal._data.inputs.missing_codes import warn_of_codes
from propercal._data.inputs.reading import Names
from propercal._data.predictions.probabilities import rounding
from propercal._data.words.messages import bad_value, warn
from propercal._data.words.of_choice import says_logarithm
from propercal._typing import Array

Floats = npt.NDArray[np.floating[Any]]

#: Rows that are not all between 0 and 1, or in a narrow part of it, by chance.
_MANY = 10
#: Near 0 are logarithms of probabilities above 0.9. That twelve logits are, and none is as far
#: above 0, happens once in 4000 times if both are as frequent, which those that vary more are.
_NEAR, _NEAR_ROWS, _SPREAD = 0.1, 12, 0.2
#: Of a shift of logits.
_LARGEST_SHIFT = 50.0
_CERTAIN = 1e-6
#: What is certain, on usual scales: of scores, percentages, grey values, and shares of a thousand.
_FULL = 10.0, 100.0, 255.0, 1000.0
#: To which percentages are rounded.
_STEPS = 1.0, 0.1, 0.01
#: By how much of a step such values are off, in single precision too.
_GRID = 1e-3
#: By how many standard deviations a sum of rounded values is off at most, and how much of the
#: variance of values, if rows sum to one number but for that.
_OFF, _LEFT = 5.0, 0.05
#: Values of logits that are more than a few.
_SOME = 3
_TINY = 1e-10
#: Of a factor of logits, by its logarithm.
_SCALES = -10.0, 3.0


def check_logits_of_names(proba: Held, values: Array, sigmoid: bool, names: Names) -> None:
    """Raise where columns of a sigmoid are called logarithms of probabilities, and may be that.

    Of one column numbers that stand for no value are said, which several have for what cannot be.
    """
    if sigmoid and values.shape[1] == 1:
        given = to_numpy(values)
        warn_of_codes(given, names.proba, proba, np.arange(len(given)))
    called = [proba.name] if values.shape[1] == 1 else proba.columns
    if not sigmoid or not called or not all(map(says_logarithm, called)):
        return
    if to_numpy(namespace(values).max(values)) > 0:
        return
    one = values.shape[1] == 1
    raise bad_value(
        names.proba,
        f"logarithms of probabilities, as {'its name' if one else 'their names'} "
        f"{', '.join(repr(each) for each in called[:3])} {'says' if one else 'say'}",
        "logits, log(p / (1 − p)), where columns are read by a sigmoid",
        f"pass numpy.exp({names.proba}) without from_logits, or rename "
        f"{'it if it is a logit' if one else 'them if they are logits'}",
    )


def check_logits_by_values(
    values: Array, dtype: Any, classes: Classes, sigmoid: bool, names: Names
) -> None:
    """Say so if what is said to be logits looks like probabilities or logarithms of them, or raise.

    Rows of a softmax that are −log p are none by chance.
    """
    xp = namespace(values)
    least, most = (float(to_numpy(of(values))) for of in (xp.min, xp.max))
    if sigmoid and most <= 0:
        _warn_of_logarithms(to_numpy(values), classes, names)
    elif not sigmoid and most <= 0:
        _warn_of_base(values, dtype, names)
    elif sigmoid and least >= 0 and most > 1:
        _warn_of_readings(to_numpy(values), classes, names)
    elif not sigmoid and least >= 0:
        _check_sign(values, dtype, names)
        _warn_of_shares(to_numpy(values), dtype, names)
        _warn_of_odds(to_numpy(values), dtype, names)
    if least < 0 or most > 1:
        return
    found = "rows between 0 and 1 that sum to 1"
    # A single column has no sum to tell.
    several = values.shape[1] > 1
    sums_to_1 = several and to_numpy(xp.all(xp.abs(xp.sum(values, axis=1) - 1) <= rounding(dtype)))
    if not sums_to_1:
        if values.shape[0] < _MANY or to_numpy(xp.all(values == xp.round(values))):
            return
        found = "no value below 0 or above 1"
    divided = "" if sigmoid or sums_to_1 else ", and divide each row by its sum"
    warn(
        f"{names.proba} has {found}, though from_logits=True says that they are logits: leave it "
        f"out if they are probabilities{divided}."
    )


def _warn_of_base(values: Array, dtype: Any, names: Names) -> None:
    """Say so if logits are logarithms of probabilities to a base other than e."""
    for base in (2, 10):
        if _sum_to_1(values * math.log(base), dtype):
            warn(
                f"{names.proba} has rows whose powers of {base} sum to 1: logarithms of "
                f"probabilities to base {base}, it seems, though logits are natural logarithms. "
                f"Multiply them by numpy.log({base})."
            )
            return


def _check_sign(values: Array, dtype: Any, names: Names) -> None:
    """Raise if logits are logarithms of probabilities with the other sign, such as losses."""
    xp = namespace(values)
    # Logits of a class that is certain are 0 beside large ones.
    if to_numpy(xp.any(xp.min(values, axis=1) < _CERTAIN)):
        return
    for base, by in ((math.e, "-1"), (2, "-numpy.log(2)"), (10, "-numpy.log(10)")):
        if _sum_to_1(values * -math.log(base), dtype):
            raise bad_value(
                names.proba,
                f"rows whose powers of {'1/e' if base == math.e else f'1/{base}'} sum to 1, which "
                "are −log p",
                "logits, which rise with the probability p",
                f"multiply them by {by}",
            )


def _warn_of_shares(values: Floats, dtype: Any, names: Names) -> None:
    """Say so if rows of logits, none of which is below 0, are shares: all sum to one number."""
    sums = values.sum(axis=1)
    total = float(sums.mean())
    # One large number beside zeros says a class that is certain.
    certain = (np.count_nonzero(values, axis=1) <= 1).all()
    if len(sums) < _MANY or certain or total <= 1 + rounding(dtype):
        return
    off = np.abs(sums - total).max()
    exact = off <= rounding(dtype) * total
    if exact or off <= _rounding_of_sums(values, sums):
        fix = f"them by {total:.6g}" if exact else "each row by its sum"
        warn(
            f"{names.proba} has no value below 0, and rows that sum to {total:.6g}"
            f"{'' if exact else ', but for rounding'}, "
            "though from_logits=True says that they are logits: percentages or counts, it seems. "
            f"If they are, divide {fix}, and leave from_logits out."
        )


def _rounding_of_sums(values: Floats, sums: Floats) -> float:
    """Return by how much sums of shares that were rounded may be off; 0 of others."""
    step = _step(values)
    if not step or sums.var() > _LEFT * values.var(axis=0).sum():
        return 0.0
    k = values.shape[1]
    return float(step * min(k / 2, _OFF * math.sqrt(k / 12) + 1) * (1 + _GRID))


def _step(values: Floats) -> float:
    """Return to what values were rounded, 0 if to nothing."""
    for step in _STEPS:
        whole = values / step
        if np.isfinite(whole).all() and np.abs(whole - np.rint(whole)).max() <= _GRID:
            return step
    return 0.0


def _warn_of_odds(values: Floats, dtype: Any, names: Names) -> None:
    """Say so if rows of logits, none of which is below 0, are odds p / (1 − p) of each class."""
    if len(values) >= _MANY and _sum_to_1(_log_of_odds(values), dtype):
        warn(
            f"{names.proba} has no value below 0, and rows whose x / (1 + x) sum to 1, "
            "though from_logits=True says that they are logits: odds of each class, it seems. If "
            f"they are, pass {names.proba} / (1 + {names.proba}), and leave from_logits out."
        )


def _warn_of_readings(values: Floats, classes: Classes, names: Names) -> None:
    """Say so if columns of a sigmoid, none of which is below 0, are rather on another scale."""
    proba = names.proba
    readings = [
        ("odds, p / (1 − p)", f"pass {proba} / (1 + {proba})", _log_of_odds(values), True),
        ("−log p", f"pass numpy.exp(-{proba})", -values, False),
        *_shares(values),
    ]
    found = [
        (_evidence(values, logs, classes, scaled=scaled), what, fix)
        for what, fix, logs, scaled in readings
    ]
    nats, what, fix = max(found)
    if nats >= LEAST or (nats > 0 and _are_counted(values)):
        above = next((f" or above {each:g}" for each in _FULL if values.max() <= each), "")
        times = f"e^{nats:.0f} times as" if nats >= LEAST else "more"
        warn(
            f"{proba} has no value below 0{above}, and labels are {times} probable "
            f"if they are {what}, though from_logits=True says that they are logits. If they are "
            f"{what}, {fix}, and leave from_logits out."
        )


def _shares(values: Floats) -> list[tuple[str, str, Floats, bool]]:
    """Return readings as shares of what is certain: of a usual scale, or of whole numbers.

    Counts of votes are read as shares of the largest one, where the number of all is not known.
    """
    most, half = float(values.max()), 0.5 * _step(values)
    full = [each for each in _FULL if most <= each][:1]
    found = [
        ("percentages", "divide them by 100")
        if each == 100  # per cent
        else (f"scores of {each:g}", f"divide them by {each:g}")
        for each in full
    ]
    if _are_counted(values) and most not in full:
        full.append(most)
        found.append(("counts, such as of votes", "divide them by the number of all"))
    return [
        (*words, np.log(np.maximum((values + half) / (each + 2 * half), _TINY)), False)
        for words, each in zip(found, full, strict=True)
    ]


def _are_counted(values: Floats) -> bool:
    """Tell whether values are whole numbers, or halves, of which logits have few."""
    whole = np.abs(2 * values - np.rint(2 * values)).max() == 0
    return bool(whole and len(values) >= _MANY and len(np.unique(values)) > _SOME)


def _log_of_odds(values: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(values, _TINY)) - np.log1p(values))


def _sum_to_1(logs: Array, dtype: Any) -> bool:
    xp = namespace(logs)
    deviation = xp.abs(xp.sum(xp.exp(logs), axis=1) - 1)
    return bool(to_numpy(xp.max(deviation)) <= rounding(dtype))


def _warn_of_logarithms(values: Floats, classes: Classes, names: Names) -> None:
    """Say so if columns of a sigmoid, none of which is above 0, are rather log p."""
    near = int(np.count_nonzero((values > -_NEAR) & (values < 0)))
    if near >= _NEAR_ROWS and values.std(where=np.isfinite(values)) >= _SPREAD:
        though = f"no value above 0, and {near} between {-_NEAR} and 0, where logits do not end"
    else:
        nats = _evidence(values, values, classes)
        if nats < LEAST:
            return
        though = f"no value above 0, and labels are e^{nats:.0f} times as probable by exp(x)"
    warn(
        f"{names.proba} has {though}: logarithms of probabilities, it seems, though "
        "from_logits=True says that they are logits, log(p / (1 − p)). If they are, take "
        f"numpy.exp({names.proba}), and leave from_logits out."
    )


def _evidence(values: Floats, logs: Floats, classes: Classes, *, scaled: bool = False) -> float:
    """Return how many nats more probable labels are by exp(logs) than by any shift of logits.

    Or by any shift of any multiple of them, where they are to be `scaled`.
    """
    if values.shape[1] == 1:
        if classes.codes is None:
            return 0.0
        occurred = classes.codes[:, None] == 1
    elif classes.indicator is None:
        return 0.0
    else:
        occurred = classes.indicator
    if len(values) < _MANY or len(occurred) != len(values) or not np.isfinite(values).all():
        return 0.0
    return sum(
        _gain(values[:, j], logs[:, j], occurred[:, j], scaled=scaled)
        for j in range(values.shape[1])
    )


def _gain(x: Floats, log_prob: Floats, occurred: npt.NDArray[np.bool_], *, scaled: bool) -> float:
    from scipy.optimize import minimize_scalar

    if int(occurred.sum()) in (0, len(x)):
        # Some shift makes certain what all rows have in common.
        return 0.0
    prob = np.minimum(np.exp(log_prob), 1 - math.exp(-10))
    own = float(np.where(occurred, log_prob, np.log1p(-prob)).sum())
    if not scaled:
        return own - _fit(x, occurred)
    found = minimize_scalar(
        lambda log_scale: -_fit(math.exp(log_scale) * x, occurred), bounds=_SCALES, method="bounded"
    )
    return own + float(found.fun)


def _fit(x: Floats, occurred: npt.NDArray[np.bool_]) -> float:
    """Return the logarithm of the probability of labels by the best shift of logits."""
    from scipy.optimize import brentq
    from scipy.special import expit, log_expit

    n, wide = int(occurred.sum()), _LARGEST_SHIFT + float(np.abs(x).max())
    shift = brentq(lambda b: float(expit(x + b).sum()) - n, -wide, wide)
    return float(log_expit(np.where(occurred, x + shift, -x - shift)).sum())
