"""Training scripts, one a method, run as `python -m training.NAME GAME`: `ppo` and `demo`; and what they share.

`settings` has the settings and the command line that all methods have in common, `opponents` who they play against,
`checkpoint` what a run folder keeps, `probes` what is measured on the way, `curves`, `progress` and `interrupts` the
rest. None of these knows a method or a library of networks, but for `checkpoint`, which keeps modules of torch.
"""
