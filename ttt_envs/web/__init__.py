"""The page to play, watch and replay games in a browser, and its server; `ttt serve` starts it. Needs the extra `web`.

What a player may not know never leaves the server: a browser is sent pictures, texts and legal actions of the seats
that it holds, and else what all players see. Games are in memory, and each one is
saved as a record.
"""
