"""Metamorphic properties: changes of the data, and what each does to every estimate.

A transform takes ``(y_true, y_proba, sample_weight, options)`` to other data of which a function
must say the same, up to the order of rows and of classes. :data:`TRANSFORMS` lists them.

>>> import numpy as np
>>> import propercal
>>> rng = np.random.default_rng(0)
>>> data = Data(rng.integers(0, 3, 50), rng.dirichlet([1, 1, 1], 50))
>>> changed = PERMUTE_CLASSES(data, random_state=1)
>>> def means(data):
...     return propercal.conditional_mean(data.y_true, data.y_proba, bandwidth=0.1)
>>> np.allclose(means(changed.data), changed.expected(means(data)))
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "ARRAY_API_STRICT",
    "LOGITS",
    "MERGE_DUPLICATES",
    "PERMUTE_CLASSES",
    "PERMUTE_ROWS",
    "REMOVE_WEIGHTLESS",
    "SCALE_WEIGHTS",
    "SPLIT_INTO_CHUNKS",
    "TORCH",
    "TRANSFORMS",
    "Changed",
    "Data",
    "Transform",
    "convert",
    "logits",
    "scale_weights",
]

Order = npt.NDArray[np.int64]


class Data(NamedTuple):
    """What a function of predictions is given.

    Attributes
    ----------
    y_true : ndarray of int, shape (n,)
        Labels 0 … k − 1; a list of such arrays once the rows are split into chunks.
    y_proba : ndarray, shape (n, k)
        Predicted probabilities, or logits where ``options["from_logits"]`` says so; a list of
        such arrays once the rows are split into chunks.
    sample_weight : ndarray, shape (n,), or None
        Weights of rows.
    options : mapping
        Further keyword arguments of the function.
    """

    y_true: Any
    y_proba: Any
    sample_weight: Any = None
    options: Mapping[str, Any] = {}

    @property
    def weight(self) -> Any:
        """Weights, 1 where there are none; shape (n,)."""
        return np.ones(len(self.y_true)) if self.sample_weight is None else self.sample_weight

    def take(self, rows: Order) -> Data:
        """Return some of the rows, in their order."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return self._replace(
            y_true=self.y_true[rows], y_proba=self.y_proba[rows], sample_weight=weight
        )


@dataclass(frozen=True)
class Changed:
    """Data after a transform, and where rows and classes of the data before it are now.

    Attributes
    ----------
    data : Data
        What the function is to be called with.
    rows : ndarray of int, shape (m,), or None
        Row i was row ``rows[i]`` before; None where rows stay.
    classes : ndarray of int, shape (k,), or None
        Class c was class ``classes[c]`` before; None where classes stay.
    """

    data: Data
    rows: Order | None = None
    classes: Order | None = None

    def expected(self, before: Any) -> Any:
        """Return what the function must give now, from what it gave before.

        Parameters
        ----------
        before : float or ndarray, shape (n,) or (n, k)
            The result for the data before: a number, which must be the same, or one row for each
            row of the data, whose columns are classes where there are k of them.

        Returns
        -------
        float or ndarray
        """
        if np.ndim(before) == 0:
            return before
        after = before if self.rows is None else before[self.rows]
        of_classes = np.ndim(after) == 2 and self.classes is not None
        return after[:, self.classes] if of_classes else after


@dataclass(frozen=True)
class Transform:
    """One change of the data that leaves every estimate as it is, up to order.

    Attributes
    ----------
    name : str
    law : str
        How the result must relate to the one before, in a sentence with its formula.
    change : callable
        From :class:`Data` and a ``numpy.random.Generator`` to :class:`Changed`.
    needs : str, optional
        A module without which the transform cannot be made.
    """

    name: str
    law: str
    change: Callable[[Data, np.random.Generator], Changed] = field(repr=False)
    needs: str | None = None

    def __call__(self, data: Data, random_state: Any = 0) -> Changed:
        """Change the data.

        Parameters
        ----------
        data : Data
        random_state : int or numpy.random.Generator
            Seed of the orders that are drawn.

        Returns
        -------
        Changed
        """
        return self.change(data, np.random.default_rng(random_state))


def scale_weights(factor: float) -> Transform:
    r"""Return the transform that multiplies every weight by a positive factor.

    Only ratios matter: every mean is :math:`\sum_i w_i x_i / \sum_i w_i`. Without weights, all
    become the factor.

    Parameters
    ----------
    factor : float

    Returns
    -------
    Transform

    Examples
    --------
    >>> scale_weights(7.0)(Data([0, 1], [0.2, 0.7])).data.sample_weight.tolist()
    [7.0, 7.0]
    """
    return Transform(
        f"scale weights by {factor:g}",
        "T(c w) = T(w) for every c > 0",
        lambda data, _: Changed(data._replace(sample_weight=data.weight * factor)),
    )


def logits(shift: float) -> Transform:
    """Return the transform that says the same predictions in logarithms, moved row by row.

    Softmax does not see c in log g + c. What the sum rounds, about ``shift`` times 1e-16, it does.

    Parameters
    ----------
    shift : float
        Every row is moved by a number c of its own between −shift and shift.

    Returns
    -------
    Transform

    Examples
    --------
    >>> import numpy as np
    >>> logits(0.0)(Data(np.array([0]), np.array([[0.5, 0.5]]))).data.options
    {'from_logits': True}
    """

    def change(data: Data, rng: np.random.Generator) -> Changed:
        with np.errstate(divide="ignore"):
            moved = np.log(data.y_proba) + rng.uniform(-shift, shift, (len(data.y_true), 1))
        return Changed(data._replace(y_proba=moved, options={**data.options, "from_logits": True}))

    law = "T(log g + c, from_logits) = T(g)"
    return Transform(f"logits moved by up to {shift:g}", law, change)


def convert(module: str, *, dtype: str = "float64", device: Any = None) -> Transform:
    """Return the transform that hands all arrays over in another array library.

    Parameters
    ----------
    module : str
        An array library that follows the array API standard: ``"torch"``, ``"array_api_strict"``.
    dtype : str
        Type of probabilities and weights. For ``"float32"``, round the data before too.
    device : optional
        Where the library keeps the arrays.

    Returns
    -------
    Transform

    Examples
    --------
    >>> convert("array_api_strict").needs
    'array_api_strict'
    """

    def change(data: Data, _: np.random.Generator) -> Changed:
        library = import_module(module)

        def made(values: Any, of: str) -> Any:
            given = np.array(values)
            return library.asarray(given, dtype=getattr(library, of), device=device)

        weight = None if data.sample_weight is None else made(data.sample_weight, dtype)
        return Changed(
            data._replace(
                y_true=made(data.y_true, "int64"),
                y_proba=made(data.y_proba, dtype),
                sample_weight=weight,
            )
        )

    where = f" on {device}" if device else ""
    name = f"arrays of {module.replace('_', '-')}, {dtype}{where}"
    return Transform(name, "every array library gives the numbers of NumPy", change, module)


def _permute_rows(data: Data, rng: np.random.Generator) -> Changed:
    rows = rng.permutation(len(data.y_true))
    return Changed(data.take(rows), rows=rows)


def _permute_classes(data: Data, rng: np.random.Generator) -> Changed:
    classes = rng.permutation(data.y_proba.shape[1])
    place = np.argsort(classes)
    changed = data._replace(y_true=place[data.y_true], y_proba=data.y_proba[:, classes])
    return Changed(changed, classes=classes)


def _merge_duplicates(data: Data, _: np.random.Generator) -> Changed:
    found = np.column_stack([data.y_true, data.y_proba])
    found, first, group = np.unique(found, axis=0, return_index=True, return_inverse=True)
    weight = np.bincount(group.ravel(), data.weight)
    return Changed(data.take(first)._replace(sample_weight=weight), rows=first)


def _remove_weightless(data: Data, _: np.random.Generator) -> Changed:
    rows = np.flatnonzero(data.weight)
    return Changed(data.take(rows), rows=rows)


def _split(data: Data, rng: np.random.Generator) -> Changed:
    n = len(data.y_true)
    cuts = np.sort(rng.integers(1, max(n, 2), 3))
    return Changed(
        data._replace(
            y_true=[each for each in np.split(data.y_true, cuts) if len(each)],
            y_proba=[each for each in np.split(data.y_proba, cuts) if len(each)],
        )
    )


#: The order of rows changes nothing but the order of what is told of each.
PERMUTE_ROWS = Transform("permute rows", "T(y∘π, g∘π) = T(y, g)∘π", _permute_rows)
#: The names of classes change nothing but the order of columns, for a generator that treats classes
#: alike; the top label among ties and half-open bins choose an order of their own.
PERMUTE_CLASSES = Transform("permute classes", "T(σ(y), σ(g)) = σ(T(y, g))", _permute_classes)
#: A whole weight is as many copies, where a row may see its own label (``exclude_self=False``).
MERGE_DUPLICATES = Transform(
    "merge duplicates into weights", "T of w copies = T of weight w", _merge_duplicates
)
#: A row of weight 0 is an absent one.
REMOVE_WEIGHTLESS = Transform("remove weightless rows", "w_i = 0 is absence", _remove_weightless)
#: Only ratios of weights matter.
SCALE_WEIGHTS = scale_weights(7.0)
#: Sums over rows add up; for functions that take their rows in parts.
SPLIT_INTO_CHUNKS = Transform("split into chunks", "T(A ∪ B) from A, then B", _split)
#: Arrays of array-api-strict give NumPy's numbers.
ARRAY_API_STRICT = convert("array_api_strict")
#: Tensors give NumPy's numbers.
TORCH = convert("torch")
#: log g is the same prediction, said to be one of logits.
LOGITS = logits(0.0)

#: Every transform of this module, with its parameters chosen.
TRANSFORMS = (
    PERMUTE_ROWS,
    PERMUTE_CLASSES,
    MERGE_DUPLICATES,
    REMOVE_WEIGHTLESS,
    SCALE_WEIGHTS,
    SPLIT_INTO_CHUNKS,
    ARRAY_API_STRICT,
    TORCH,
    LOGITS,
)
