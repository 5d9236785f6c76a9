"""A program that plays its first legal action, and does something else as player 1: `mischief.py HOW [FOLDER]`.

It appends its number to the file `pids` of the folder.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HOW = sys.argv[1]
FOLDER = Path(sys.argv[2]) if len(sys.argv) > 2 else None


def say(**message):
    print(json.dumps(message), flush=True)


def note(name, text):
    if FOLDER is not None:
        with (FOLDER / name).open("a") as file:
            file.write(f"{text}\n")


def answer(message, **other):
    say(**{"type": "answer", "id": message["id"], "action": message["legal"][0], **other})


def write(data):
    os.write(1, data)


def allocate():
    kept = []
    while len(kept) < 1024:  # ten times the limit, and not all that a machine has
        kept.append(bytearray(b"x") * (1 << 20))


def hang_with_a_child():
    note("pids", subprocess.Popen(["sleep", "1000"]).pid)
    time.sleep(1000)


def write_for_ever(fd):
    while True:
        os.write(fd, b"x" * 1000)


def close_output():
    os.close(1)
    time.sleep(1000)


DEEDS = {
    "crash": lambda m: os.kill(os.getpid(), signal.SIGSEGV),
    "exit": lambda m: sys.exit(3),
    "raise": lambda m: 1 / 0,
    "hang": lambda m: time.sleep(1000),
    "hang with a child": lambda m: hang_with_a_child(),
    "garbage": lambda m: write(b"resign \x1b[31m\n"),
    "too long": lambda m: write_for_ever(1),
    "no type": lambda m: say(id=m["id"], action=m["legal"][0]),
    "old": lambda m: answer(m, id=m["id"] - 1),
    "illegal": lambda m: answer(m, action=next(a for a in range(6) if a not in m["legal"])),
    "no such action": lambda m: answer(m, action=99),
    "no such name": lambda m: answer(m, action="resign"),
    "memory": lambda m: allocate(),
    "output": lambda m: close_output(),
    "errors": lambda m: write_for_ever(2),
    "many errors": lambda m: (os.write(2, b"x" * 300_000), answer(m)),
    "name": lambda m: answer(m, action=m["names"][0].upper()),
    "slow": lambda m: (time.sleep(0.2), answer(m)),
}

GREETINGS = {
    "refuse": lambda: say(type="refuse", reason="only chess"),
    "version": lambda: say(type="ready", protocol=2),
    "no greeting": lambda: say(type="hello"),
    "silent": lambda: time.sleep(1000),
    "no start": lambda: sys.exit("no licence"),
    "one start": lambda: sys.exit("no licence") if len((FOLDER / "pids").read_text().split()) > 1 else ready(),
}


def ready():
    say(type="ready", protocol=1)


note("pids", os.getpid())
print("hello from", HOW, file=sys.stderr, flush=True)
for line in sys.stdin:
    note("lines", line.strip())
    message = json.loads(line)
    if message["type"] == "hello":
        files = [int(each) for each in os.listdir("/proc/self/fd")] if os.path.isdir("/proc/self/fd") else [0, 1, 2]
        files = [fd for fd in files if os.path.exists(f"/proc/self/fd/{fd}")]
        note("process", json.dumps({"environment": dict(os.environ), "files": files, "session": os.getsid(0)}))
        GREETINGS.get(HOW, ready)()
    elif message["type"] == "question":
        if message["player"] == 1 and HOW in DEEDS:
            DEEDS[HOW](message)
        elif HOW == "one start":
            sys.exit(4)
        else:
            answer(message)
    elif message["type"] == "quit":
        break
note("pids", "")
