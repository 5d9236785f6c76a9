"""The page to play, watch and replay games in a browser, and its server; `ttt serve` starts it. Needs the extra `web`.

Hidden information stays on the server: a browser receives the views of the people's seats, and otherwise only what all
players see. Games are in memory, and each one is saved as a record.
"""
