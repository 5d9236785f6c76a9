"""One folder a game. Only `ttt_envs.registry` imports from here."""
