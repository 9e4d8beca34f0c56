"""What tests of sketches compare: the sums over all rows, whatever folds these were dealt to."""

from __future__ import annotations

import numpy as np

from propercal.sketch.state import State


def check_same_sums(found: State, wanted: State) -> None:
    """Check that two states have seen the same rows."""
    n = 1 + wanted.n_samples
    np.testing.assert_array_equal(found.totals.rows, wanted.totals.rows)
    np.testing.assert_array_equal(found.totals.zeros, wanted.totals.zeros)
    np.testing.assert_allclose(found.totals.sums, wanted.totals.sums, rtol=1e-12, atol=1e-13 * n)
    np.testing.assert_allclose(found.totals.bounds, wanted.totals.bounds, rtol=1e-12)
    for one, other in zip(found.tables, wanted.tables, strict=True):
        assert one.exact == other.exact
        np.testing.assert_allclose(one.keys, other.keys, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(one.size.sum(axis=1), other.size.sum(axis=1))
        for name in ("low", "high"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.total, other.total, rtol=1e-11, atol=1e-12 * n)
        for name in ("weights", "square_sums"):
            a, b = (getattr(each, name).sum(axis=1) for each in (one, other))
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert (found.nodes is None) == (wanted.nodes is None)
    if found.nodes is not None and wanted.nodes is not None:
        np.testing.assert_array_equal(found.nodes.sizes, wanted.nodes.sizes)
        np.testing.assert_allclose(found.nodes.cells, wanted.nodes.cells, atol=1e-11 * n)
