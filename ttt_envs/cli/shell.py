"""What all verbs share."""

import sys
from pathlib import Path


def python() -> str:
    """How to call this Python from the current folder, for commands that are suggested to people."""
    here, program = Path.cwd(), Path(sys.executable)
    return str(program.relative_to(here)) if here in program.parents else "python"
