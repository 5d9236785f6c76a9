"""Parts of training runs that all methods share: `settings` (common settings and the command line), `loop` (the outer
loop, and training with several seeds), `checkpoint` (the files of a run folder), `logs` and `measurements` (logs and
measurements during the run).
"""
