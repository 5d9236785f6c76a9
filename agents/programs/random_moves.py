#!/usr/bin/env python3
"""A program that plays at random, in Python without the library. Rate it:

ttt tournament tic_tac_dice --agents random program:agents/programs/random_moves.py
"""

import json
import random
import sys


def say(**message):
    print(json.dumps(message), flush=True)  # without flush the answer would wait in a buffer


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        if message["protocol"] == 1:
            say(type="ready", protocol=1)
        else:
            say(type="refuse", reason="this program speaks version 1 of the protocol")
    elif message["type"] == "question":
        say(type="answer", id=message["id"], action=random.choice(message["legal"]))
    elif message["type"] == "quit":
        break
    # `start` and `end` say which games are played: this program need not know.
