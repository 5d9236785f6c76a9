"""Training scripts, one for each method, and the demo. `python -m training.NAME --help` explains one."""
