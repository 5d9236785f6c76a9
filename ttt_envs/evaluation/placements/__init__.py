"""Ladders: fixed opponents of one game, the place of an agent among them, and how they are calibrated."""
