"""Which column is which class: labels, names, the positive class; readings in doubt."""
