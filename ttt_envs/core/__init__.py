"""What every game shares: state records, compiled loops, batches, views. Knows no game."""
