"""Glue to other frameworks that users would otherwise write. Each module needs its framework."""
