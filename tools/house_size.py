"""Compare lines of Python per room, and words of the pages, with house_size.json. `make check` runs this.

A room is a folder of the checkout or a package of ttt_envs. Raise one room's budget only if you lower another's.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

BUDGET: dict[str, int] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def room_of(name: str) -> str:
    """Return the room of a Python file, or of a script or style sheet of the web page."""
    if name.endswith((".js", ".css")):
        return "web static"
    parts = name.split("/")
    if parts[0] == "ttt_envs":
        return "/".join(parts[:2]) if len(parts) > 2 else "ttt_envs (top)"
    return parts[0]


def sizes() -> Counter[str]:
    """Return the lines per room and of the library, in files tracked by git, and the words of the pages."""
    found: Counter[str] = Counter()
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        path = Path(name)
        if not path.is_file():
            continue
        if name.endswith(".py") or (name.endswith((".js", ".css")) and name.startswith("ttt_envs/")):
            found[room_of(name)] += path.read_text(encoding="utf-8").count("\n")
        elif name.endswith(".md") and name.split("/")[0] in ("docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
            found["words of docs"] += len(re.findall(r"\S+", path.read_text(encoding="utf-8")))
    found["library"] = sum(lines for room, lines in found.items() if room.startswith("ttt_envs"))
    return found


def main() -> int:
    """Print the table; return the exit status, 1 if a room is over its budget."""
    found = sizes()
    over = [room for room in BUDGET if found[room] > BUDGET[room]]
    for room in sorted(found, key=lambda room: -found[room]):
        allowed = f"of {BUDGET[room]:,}" if room in BUDGET else ""
        print(f"{room:24} {found[room]:8,} {allowed}{'  OVER' if room in over else ''}")
    if over:
        print(f"over budget: {', '.join(over)}. Make a room smaller, or raise its number together with a lower one.")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
