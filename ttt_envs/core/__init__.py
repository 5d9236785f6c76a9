"""The parts that all games share: state records, compiled loops, batches, views. Knows no game."""
