"""Pictures of the derivations, one module each, which `book/_ext/pictures.py` draws."""
