"""What all tests share: solved games are kept beside pytest's own cache, and not in the user's folder."""

import os
from pathlib import Path

os.environ.setdefault("TTT_ENVS_CACHE", str(Path(__file__).resolve().parent.parent / ".pytest_cache" / "ttt_envs"))
