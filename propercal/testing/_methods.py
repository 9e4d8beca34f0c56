"""Which methods a generator has, and which of them an exception comes from."""

from __future__ import annotations

import itertools
from types import FrameType

import numpy as np

from propercal.generators import BregmanGenerator, autodiff

METHODS = ("value", "gradient", "hessian")


def no_hessian(generator: BregmanGenerator, n_classes: int) -> str:
    """Say why ∇²F cannot be derived for a generator that does not give it; empty if it can be.

    What a closed form raises is no such reason, nor is anything where ∇F itself fails.
    """
    p = np.full(n_classes, 1 / n_classes)
    with np.errstate(all="ignore"):
        try:
            generator.gradient(p.copy())
        except Exception:  # noqa: BLE001 - a user's generator may raise anything
            return ""
        try:
            generator.hessian(p.copy())
        except Exception as error:  # noqa: BLE001
            if not is_from_autodiff(error):
                return ""
            if isinstance(error, ImportError):
                return (
                    "no hessian: torch is not installed to derive it; give hessian(p) to have it "
                    "checked"
                )
            return (
                f"no hessian: torch cannot differentiate this gradient ({in_short(error)}); give "
                "hessian(p), or write it with operators, to have it checked"
            )
    return ""


def raised_by(error: BaseException | None) -> str:
    """Name the method of a generator that raised: the innermost one, of those called on arrays.

    Where torch derives a method, it is that one, not the one that is differentiated. Empty if no
    method raised, but what was done with its result.
    """
    frames = _frames(error)
    calls = (_method(frame) for frame in itertools.takewhile(lambda f: not _is_autodiff(f), frames))
    return next(filter(None, reversed(list(calls))), "")


def methods_in(error: BaseException | None) -> list[str]:
    """Name the methods of a generator that `error` passed through, on arrays or on tensors."""
    return [name for frame in _frames(error) if (name := _method(frame))]


def is_from_autodiff(error: BaseException) -> bool:
    """Tell whether something was being differentiated by torch when `error` was raised."""
    return any(map(_is_autodiff, _frames(error)))


def in_short(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    line, *_ = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {line}"


def _method(frame: FrameType) -> str:
    code = frame.f_code
    owner = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    # A function may have such a name too: np.gradient.
    return code.co_name if code.co_name in METHODS and isinstance(owner, BregmanGenerator) else ""


def _is_autodiff(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == autodiff.__name__


def _frames(error: BaseException | None) -> list[FrameType]:
    frames, traceback = [], None if error is None else error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return frames
