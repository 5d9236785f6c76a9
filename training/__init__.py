"""Training scripts: `demo` trains, rates and films an agent; `ship` makes the bundled agents; `layouts` measures regret
on solved layouts; `ppo_self_play` and `value_learning` are methods in one file each. The library's methods are in
`ttt_envs.learning`.
"""
