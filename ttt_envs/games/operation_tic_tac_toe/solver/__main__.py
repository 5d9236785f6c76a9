"""The command that works out the values of rounds that matches are solved with."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ttt_envs.core.options import whole
from ttt_envs.games.operation_tic_tac_toe.solver.tables import make_tables, table_path, write_tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m ttt_envs.games.operation_tic_tac_toe.solver",
        description="Work out the values of rounds that matches are solved with, and write them to a file.",
    )
    parser.add_argument("--max-idle-turns", type=int, default=20, help="the option of this name (default: 20)")
    parser.add_argument("--allow-pass", action="store_true", help="with the option allow_pass=True")
    parser.add_argument("--overtime", action="store_true", help="rounds with two specialists a player too: takes long")
    parser.add_argument("--out", type=Path, help="file to write (default: where the oracle looks for it)")
    given = parser.parse_args(arguments)
    try:
        idle_turns = whole("max_idle_turns", given.max_idle_turns, 1, 99)
        path = given.out or table_path(idle_turns, given.allow_pass)
        _check_place(path)
        write_tables(path, *make_tables(idle_turns, given.allow_pass, given.overtime, f"for {path}"))
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130
    print(f"wrote {path}: {path.stat().st_size:,} bytes")
    return 0


def _check_place(path: Path) -> None:
    """OSError in words if no file can be written there: better now than after all the work."""
    if path.is_dir():
        raise IsADirectoryError(f"--out must be a file, and {path} is a folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"nothing can be written in the folder {path.parent}")


if __name__ == "__main__":
    sys.exit(main())
