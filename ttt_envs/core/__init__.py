"""The parts that all games share, such as state records, compiled loops, batches and views. They know no game."""
