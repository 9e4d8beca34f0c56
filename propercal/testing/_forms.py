"""The forms in which the same labels and the same numbers may be passed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.words.messages import bad_value
from propercal.testing._hypothesis import SearchStrategy, st

Labels = npt.NDArray[np.int64]


def _names(n_classes: int) -> npt.NDArray[np.str_]:
    """Names whose alphabetical order is the order of classes."""
    return np.array([f"class {i:03d}" for i in range(n_classes)])


def _pandas() -> Any:
    return import_module("pandas")


def _backwards(n: int) -> npt.NDArray[np.int64]:
    """Return an index that must not be heeded: it runs against the order of rows.

    Its numbers are not those of a default index, of which it would say that rows were shuffled.
    """
    return 2 * np.arange(n, 0, -1)


def _frozen(array: Any) -> Any:
    copy = np.array(array)
    copy.setflags(write=False)
    return copy


def _one_hot(y: Labels, k: int, dtype: Any = int) -> Any:
    return np.eye(k, dtype=dtype)[y]


def _categorical(y: Labels, k: int) -> Any:
    pandas = _pandas()
    return pandas.Series(pandas.Categorical(_names(k)[y], categories=list(_names(k))))


def _every_second(a: Any) -> Any:
    for axis in range(a.ndim):
        a = np.repeat(a, 2 + axis, axis=axis)
    return a[tuple(slice(None, None, 2 + axis) for axis in range(a.ndim))]


#: Forms of labels 0 … k − 1 by name, as functions of the labels, shape (n,), and of k.
LABEL_FORMS: Mapping[str, Callable[[Labels, int], Any]] = {
    "int64": lambda y, _: y,
    "int8": lambda y, _: y.astype(np.int8),
    "uint8": lambda y, _: y.astype(np.uint8),
    "float": lambda y, _: y.astype(float),
    "list": lambda y, _: y.tolist(),
    "tuple": lambda y, _: tuple(y.tolist()),
    "objects": lambda y, _: np.array(list(y), dtype=object),
    "strings": lambda y, k: _names(k)[y],
    "object strings": lambda y, k: _names(k)[y].astype(object),
    "list of strings": lambda y, k: _names(k)[y].tolist(),
    "one-hot int": _one_hot,
    "one-hot bool": lambda y, k: _one_hot(y, k, bool),
    "one-hot float": lambda y, k: _one_hot(y, k, float),
    "one-hot list": lambda y, k: _one_hot(y, k).tolist(),
    "one-hot frame": lambda y, k: _pandas().DataFrame(_one_hot(y, k), columns=list(_names(k))),
    "series": lambda y, _: _pandas().Series(y, index=_backwards(len(y))),
    "series of strings": lambda y, k: _pandas().Series(_names(k)[y], index=_backwards(len(y))),
    "categorical": _categorical,
    "nullable": lambda y, _: _pandas().Series(y, dtype="Int64"),
    "xarray": lambda y, _: import_module("xarray").DataArray(y, dims="sample"),
    "masked, no mask": lambda y, _: np.ma.masked_array(y),
    "read-only": lambda y, _: _frozen(y),
    "strided": lambda y, _: np.repeat(y, 2)[::2],
    "torch": lambda y, _: import_module("torch").tensor(np.array(y)),
    "array-api-strict": lambda y, _: import_module("array_api_strict").asarray(y),
}

#: Forms of an array of numbers, of any shape with rows first, by name, as functions of the array.
ARRAY_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "float64": lambda a: a,
    "list": lambda a: a.tolist(),
    "Fortran": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "strided": _every_second,
    "backwards": lambda a: np.flip(np.flip(a).copy()),
    "read-only": _frozen,
    "masked, no mask": np.ma.masked_array,
    "frame": lambda a: _table(a, index=_backwards(len(a))),
    "frame with names": lambda a: (
        _table(a, columns=list(_names(a.shape[1]))) if a.ndim == 2 else _table(a, name="class 001")
    ),
    "xarray": lambda a: import_module("xarray").DataArray(a),
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "torch": lambda a: import_module("torch").tensor(np.array(a)),
    "array-api-strict": lambda a: import_module("array_api_strict").asarray(np.array(a)),
}
_OPTIONAL = {"torch": "torch", "array-api-strict": "array_api_strict"}


def _table(a: Any, **settings: Any) -> Any:
    pandas = _pandas()
    return (pandas.DataFrame if a.ndim == 2 else pandas.Series)(a, **settings)


def label_forms(y_true: npt.ArrayLike, *, n_classes: int) -> SearchStrategy[Any]:
    r"""Draw a form of the same labels: other types, names, one-hot rows, tables, libraries.

    Every form :math:`f` means the same outcomes, so a function :math:`T` of labels that reads
    them all has :math:`T(f(y)) = T(y)`.

    Parameters
    ----------
    y_true : array_like of int, shape (n,)
        Labels 0 … k − 1.
    n_classes : int
        Number of classes k. Forms that name classes occur only where each of them does, since
        names of classes are known by their occurrence.

    Returns
    -------
    strategy of array_like, shape (n,) or (n, k)
        Forms of torch and array-api-strict are among them where these are installed.

    Raises
    ------
    ValueError
        If a label is outside 0 … k − 1.

    Examples
    --------
    >>> import numpy as np
    >>> from hypothesis import given
    >>> import propercal
    >>> y_true, y_proba = np.array([0, 1, 1]), np.array([[0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> given_as_numbers = propercal.conditional_mean(y_true, y_proba, bandwidth=0.1)
    >>> @given(labels=label_forms(y_true, n_classes=2))
    ... def test_every_form_means_the_same(labels):
    ...     found = propercal.conditional_mean(labels, y_proba, bandwidth=0.1)
    ...     assert (found == given_as_numbers).all()
    >>> test_every_form_means_the_same()
    """
    labels = np.asarray(y_true)
    outside = labels[(labels < 0) | (labels >= n_classes)]
    if outside.size:
        raise bad_value("y_true", outside[0], f"labels 0 to {n_classes - 1}", "pass n_classes")
    some_are_absent = len(np.unique(labels)) < n_classes
    return _one_of(
        {
            name: lambda form=form: form(labels, n_classes)  # type: ignore[misc]
            for name, form in LABEL_FORMS.items()
            if not (some_are_absent and ("strings" in name or name == "categorical"))
        }
    )


def array_forms(values: npt.ArrayLike) -> SearchStrategy[Any]:
    r"""Draw a form of the same numbers: other memory layouts, tables, libraries.

    Every form :math:`f` holds the same doubles, so a function :math:`T` of them has
    :math:`T(f(a)) = T(a)`, up to the order of its sums.

    Parameters
    ----------
    values : array_like of float, shape (n,) or (n, k)
        Probabilities, logits or weights, one row a sample.

    Returns
    -------
    strategy of array_like, shape (n,) or (n, k)
        Forms of torch and array-api-strict are among them where these are installed.

    Raises
    ------
    ValueError
        If the array has neither one axis nor two.

    Examples
    --------
    >>> import numpy as np
    >>> from hypothesis import given
    >>> @given(form=array_forms([[0.25, 0.75], [0.5, 0.5]]))
    ... def test_numbers_are_kept(form):
    ...     assert np.asarray(form).tolist() == [[0.25, 0.75], [0.5, 0.5]]
    >>> test_numbers_are_kept()
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in {1, 2}:
        raise bad_value("values", f"shape {array.shape}", "(n,) or (n, k)", "one row a sample")
    return _one_of(
        {name: lambda form=form: form(array) for name, form in ARRAY_FORMS.items()}  # type: ignore[misc]
    )


def _one_of(forms: Mapping[str, Callable[[], Any]]) -> SearchStrategy[Any]:
    names = [name for name in forms if find_spec(_OPTIONAL.get(name, "numpy"))]
    return st.sampled_from(names).map(lambda name: forms[name]())
