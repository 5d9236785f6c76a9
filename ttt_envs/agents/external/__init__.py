"""Agents from outside the library: programs in any language, language models, and OpenSpiel's search."""
