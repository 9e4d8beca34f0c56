"""Pictures of the derivations, one module each with a function `draw`; `book/_ext/pictures.py` draws them."""
