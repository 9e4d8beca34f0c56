"""Which row is which: indexes, coordinates, dimensions, times."""
