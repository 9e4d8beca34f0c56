"""Data as users have it → checked predictions, and the problems that a notion makes of them."""
