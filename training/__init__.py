"""Training scripts, one a method, run as `python -m training.NAME GAME`: `ppo`, `dqn`, `value_learning`, `tabular`.

`demo` trains, rates and films an agent; `compare` draws several runs on one page. What the methods share: `settings`
has their common settings and command line, `seeds` trains with several seeds, `loop` has the outer loop, `opponents`
who they play against, `checkpoint` what a run folder keeps, `logs` and `probes` what is logged and measured on the way,
`metrics` reads that again, `intervals` has means over seeds, `nets` the networks as torch modules; `curves`, `progress`
and `interrupts` the rest.
"""
