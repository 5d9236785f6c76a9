"""Environments for all games, with the interfaces of PettingZoo, Gymnasium and Stable-Baselines3."""
