"""Many games at once: who plays whom, from which seats, on which seeds."""
