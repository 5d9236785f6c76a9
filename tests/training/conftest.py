from ttt_envs.core.compile import jit

if jit.DISABLED:  # training is far too slow
    collect_ignore_glob = ["test_*.py"]
