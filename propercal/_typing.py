"""Names for types that mypy cannot express across array libraries."""

from typing import Any, TypeAlias

Array: TypeAlias = Any
"""An array of any supported library (NumPy, torch, another array API namespace)."""

Namespace: TypeAlias = Any
"""An array API namespace, such as ``array_api_compat.numpy``."""
