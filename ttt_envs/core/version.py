"""The library's version: in this file alone. `pyproject.toml` reads it here, and other files are tested to agree."""

__version__ = "0.1.0"
