"""Many games in parallel: agents, seats and seeds."""
