"""Scripts around training: `demo` trains, rates and films an agent, `compare` draws several runs on one page, `ship`
makes the agents that come with the library. The methods are in `ttt_envs.learning`; `ttt train METHOD GAME` runs one.
"""
