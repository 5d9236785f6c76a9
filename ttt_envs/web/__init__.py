"""The page to play, watch and replay games in a browser, and its server; `ttt serve` starts it. Needs the extra `web`.

Secrets never leave the server: a browser receives pictures, texts and legal actions of the seats that it holds, and
otherwise what all players see. Games are in memory, and each one is saved as a record.
"""
