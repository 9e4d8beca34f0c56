"""Labels, predictions and weights in one order → Predictions → problems of a notion."""
