"""The library's version, defined only here: `pyproject.toml` reads it, and a test compares other files."""

__version__ = "0.1.0"
