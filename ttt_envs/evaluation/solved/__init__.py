"""Positions whose best play is known: mistakes in them, fixed sets of questions, and an exam of agents by these."""
