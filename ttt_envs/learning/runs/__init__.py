"""Shared parts of all training runs, whatever the method.

`settings` has the common settings and the command line, `loop` the outer loop and training with several seeds,
`checkpoint` what a run folder keeps, `logs` and `measurements` what is logged and measured on the way.
"""
