"""How many threads are worth it."""

import os

#: The number of processors that this process may use.
MOST = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
