"""Settings by name, as scikit-learn copies estimators and searches over their settings."""

from __future__ import annotations

import inspect
from typing import Any, Self

from propercal._data.words.messages import unknown_name


class Parameters:
    """Settings by name, as the constructor takes them and keeps them as attributes."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({settings})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the settings, for ``sklearn.base.clone`` and searches over settings.

        Parameters
        ----------
        deep : bool
            Of no effect, since no setting has settings of its own.

        Returns
        -------
        dict
            By name.
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change settings; what was fitted stays as it is until the next `fit`.

        Parameters
        ----------
        **params
            Settings by name.

        Returns
        -------
        Self
            Itself.

        Raises
        ------
        ValueError
            If there is no setting of such a name.
        """
        known = tuple(self.get_params())
        for name in params:
            if name not in known:
                raise unknown_name("setting", name, known)
        for name, value in params.items():
            setattr(self, name, value)
        return self
