"""Kernels on the simplex: which predictions count as near each other, and sums over them."""
