"""Best play of any small game: its tree in sequence form, counterfactual regret minimisation."""
