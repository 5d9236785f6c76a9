"""Tree searches."""
