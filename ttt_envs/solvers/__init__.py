"""Solvers for any small game: its tree in sequence form, and counterfactual regret minimisation."""
