"""What a type checker knows of the makers: `make check` fails where one of these is not the error that it must be.

No line is ever run.
"""

import numpy as np
from numpy.typing import NDArray

import ttt_envs
from ttt_envs import agents

SUPER = "super_tic_tac_toe"
ttt_envs.make_aec("tic_tac_dice", size=4, render_mode="ansi", encoding="planes", illegal="raise", mask="info")
ttt_envs.make_single(SUPER, player=1, opponent={"random": 1, "greedy": 2})
ttt_envs.make_vec(SUPER, 2, player="alternate", opponent=[agents.load("random"), "greedy"], autoreset_mode="next_step")
ttt_envs.evaluation.play_games(SUPER, "random", games=2)
batch = ttt_envs.Batch(ttt_envs.load(SUPER), 2)
masks: NDArray[np.bool_] = batch.view().masks | ttt_envs.make_single(SUPER, dtype="float32").action_masks()
seen: NDArray[np.float32] = batch.observations()  # type: ignore[assignment]
paid: NDArray[np.int64] = batch.rewards  # type: ignore[assignment]
batch.play("random")  # type: ignore[arg-type]
ttt_envs.make_aec(SUPER, dtype="float64")  # type: ignore[arg-type]
ttt_envs.make_parallel(SUPER, reward=0.5)  # type: ignore[arg-type]
ttt_envs.make_vec(SUPER, 2, render_mode="human")  # type: ignore[arg-type]
ttt_envs.make_aec(SUPER, illegal="loose")  # type: ignore[arg-type]
ttt_envs.make_parallel(SUPER, encoding="plain")  # type: ignore[arg-type]
ttt_envs.make_single(SUPER, player="first")  # type: ignore[arg-type]
ttt_envs.make_single(SUPER, opponent=3)  # type: ignore[arg-type]
ttt_envs.make_single(SUPER, render_mode="text")  # type: ignore[arg-type]
ttt_envs.make_vec(SUPER, 2, autoreset_mode="never")  # type: ignore[arg-type]
ttt_envs.make_text(SUPER, illegal="forfeit")  # type: ignore[arg-type]
ttt_envs.make_singel(SUPER)  # type: ignore[attr-defined]
ttt_envs.load("tic_tac_dice", sise=4)  # type: ignore[misc]
ttt_envs.make_text("tic_tac_dice", sise=4)  # type: ignore[misc]
