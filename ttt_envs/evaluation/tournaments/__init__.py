"""Tournaments: every two agents play each other, by one process, by several, or on a Ray cluster."""
