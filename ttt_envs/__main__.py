"""`python -m ttt_envs`: the command `ttt`."""

import sys

from ttt_envs.cli import main

if __name__ == "__main__":
    sys.exit(main())
