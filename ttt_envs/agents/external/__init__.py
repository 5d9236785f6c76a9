"""Agents that are not the library's own: programs in any language, language models, and OpenSpiel's search."""
