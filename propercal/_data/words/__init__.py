"""The form of errors and warnings; what names say: words, numbers, opposites."""
