"""Files of predictions: their formats, their columns, and how several are matched."""
