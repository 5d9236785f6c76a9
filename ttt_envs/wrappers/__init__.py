"""Environments for other libraries' interfaces: PettingZoo, Gymnasium, Stable-Baselines3. Generic over Game."""
