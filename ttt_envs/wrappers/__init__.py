"""The outside world's shapes of a game: PettingZoo, Gymnasium, Stable-Baselines3. Generic over Game."""
