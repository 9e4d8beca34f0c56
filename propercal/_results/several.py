"""Results of several generators or methods: a list that has the forms of one."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from propercal._data.words.messages import bad_value
from propercal._results.flat import distinct, keys_of
from propercal._results.pages import escaped
from propercal._results.plain import plain_value

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

#: A result, or a list of them.
One = TypeVar("One")


class Results(list[One]):
    """A list of results, one for each generator or method, in the order that was asked for.

    Parameters
    ----------
    results : iterable
        Results, or lists of them.
    names : sequence of str
        What each is called.
    along : str
        What they differ in, such as "generator".

    Examples
    --------
    >>> from propercal import decompose
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(500, random_state=0)
    >>> found = decompose(y_true, y_proba, generator=["log", "brier"])
    >>> len(found), found.names, "generator/brier/risk_lower" in found.to_dict()
    (2, ('log', 'brier'), True)
    >>> found.to_xarray()["risk"].dims
    ('generator',)
    """

    def __init__(self, results: Iterable[One], names: Sequence[str], along: str) -> None:
        super().__init__(results)
        self.names, self.along = tuple(names), along
        self._named = tuple(self)
        if len(self.names) != len(self) or len(set(self.names)) < len(self):
            raise bad_value("names", list(names), f"{len(self)} different ones", "name each result")

    @overload
    def __getitem__(self, which: SupportsIndex) -> One: ...
    @overload
    def __getitem__(self, which: slice) -> list[One]: ...
    def __getitem__(self, which: SupportsIndex | slice) -> One | list[One]:
        """Return one result by its number, or several as results again."""
        found = super().__getitem__(which)
        if isinstance(which, slice) and len(self.names) == len(self):
            return Results(found, self.names[which], self.along)  # type: ignore[arg-type]
        return found

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Put the results in order, and their names with them.

        Parameters
        ----------
        key : callable
            From a result to what is compared.
        reverse : bool
            Whether the largest comes first.
        """
        if key is None:
            raise bad_value("key", "None", "what to sort by", "pass key=lambda each: each.risk")
        pairs = list(zip(self._all(), self.names, strict=True))
        self._reorder(sorted(pairs, key=lambda pair: key(pair[0]), reverse=reverse))

    def reverse(self) -> None:
        """Turn the order of the results, and of their names."""
        self._reorder(list(zip(self._all(), self.names, strict=True))[::-1])

    def _reorder(self, pairs: Sequence[tuple[Any, str]]) -> None:
        self[:] = [each for each, _ in pairs]
        self._named, self.names = tuple(self), tuple(name for _, name in pairs)

    def to_xarray(self) -> xr.Dataset:
        """Return all results as one dataset.

        Returns
        -------
        xarray.Dataset
            What each of them has, along the dimension that they differ in; settings that differ as
            variables along it, those of all as attributes.
        """
        return lined_up([each.to_xarray() for each in self._all()], self.names, self.along)

    def to_dict(self) -> dict[str, float]:
        """Return all results as flat floats.

        Returns
        -------
        dict of str to float
            Their keys after where each is: ``generator/log/risk``.
        """
        prefixes = keys_of(self.names)
        return {
            f"{self.along}/{prefix}/{key}": value
            for prefix, each in zip(prefixes, self._all(), strict=True)
            for key, value in each.to_dict().items()
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the tables of all results below each other.

        Returns
        -------
        pandas.DataFrame
            With the name of each result as the first level of its index.
        """
        import pandas as pd

        frames = [each.to_frame() for each in self._all()]
        # Of what differs, pandas keeps nothing, but asks every pair.
        attrs = same_attrs([frame.attrs for frame in frames])
        for frame in frames:
            frame.attrs = {}
        inner = list(frames[0].index.names)
        found: pd.DataFrame = pd.concat(frames, keys=list(self.names), names=[self.along, *inner])
        found.attrs = attrs
        return found

    def to_json(self) -> str:
        """Return all results as text of JSON: an object with the name of each.

        Returns
        -------
        str
        """
        found = {
            name: json.loads(each.to_json())
            for name, each in zip(self.names, self._all(), strict=True)
        }
        return json.dumps(found, allow_nan=False)

    def _repr_html_(self) -> str:
        return "".join(
            f"<div><b>{escaped(self.along)}: {escaped(name)}</b>{each._repr_html_()}</div>"
            for name, each in zip(self.names, self._all(), strict=True)
        )

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    def _all(self) -> list[Any]:
        """Return the results, as many as there are names."""
        moved = any(a is not b for a, b in zip(self, vars(self).get("_named", self), strict=False))
        if len(self.names) != len(self) or not self or moved:
            raise bad_value(
                "results",
                f"a list of {len(self)} for {len(self.names)} names"
                + (", in another order" if moved else ""),
                "the results as they were returned",
                "do not append to it or take from it: make a list of your own, list(results)",
            )
        return list(self)


def lined_up(parts: Sequence[xr.Dataset], names: Sequence[str], along: str) -> xr.Dataset:
    """Return datasets along a new dimension; settings that differ become variables."""
    import xarray as xr

    same = same_attrs([part.attrs for part in parts])
    varied = {name for part in parts for name in {*part.attrs, *part.data_vars}} - {*same, along}
    # Of one result.
    varied -= {"digest"}
    parts = [part.assign(_as_variables(part, varied)) for part in parts]
    found = xr.concat(
        parts,
        xr.Variable(along, list(names)),
        data_vars="all",
        coords="minimal",
        compat="override",
        join="outer",
        combine_attrs="drop",
    )
    return found.assign_attrs(same)


def _as_variables(part: xr.Dataset, names: Collection[Any]) -> dict[Any, Any]:
    """Return settings of these names that a dataset may have as variables."""
    return {
        name: value
        for name, value in part.attrs.items()
        if name in names and name not in part.variables and isinstance(value, str | int | float)
    }


def same_attrs(attrs: Sequence[Mapping[Any, Any]]) -> dict[Any, Any]:
    """Return the settings that all have."""
    first, *others = attrs
    return {
        name: value
        for name, value in first.items()
        if all(name in each and plain_value(each[name]) == plain_value(value) for each in others)
    }


def distinct_names(objects: Sequence[Any]) -> list[str]:
    """Return a name for each generator or method: its own, or how it is written where two share it.

    Where these are the same too, they are numbered.
    """
    short = [str(each.name) for each in objects]
    return distinct(
        [
            name if short.count(name) == 1 else repr(each)
            for name, each in zip(short, objects, strict=True)
        ]
    )


def one_or_several(
    results: Sequence[Any], objects: Sequence[Any], along: str, several: bool
) -> Any:
    """Return results of generators or methods, or the only one where one was asked for."""
    return Results(results, distinct_names(objects), along) if several else results[0]
