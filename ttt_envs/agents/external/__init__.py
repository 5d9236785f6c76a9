"""Agents in processes of their own: programs in any language, and the library's agents apart from the tournament."""
