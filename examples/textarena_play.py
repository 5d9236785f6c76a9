"""TextArena: a scripted model plays a random one in TextArena's loop, and each answer is judged exactly.

    python examples/textarena_play.py [games]  # 0.583 (0.556 to 0.607) against random

The loop, the registry and the observations are TextArena's own. What answers lose against best play stands in the info
of each step. It stands where a language model would; `ta.agents` has agents for servers and providers.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "textarena==0.7.4"]
# ///

import random
import re
import sys

import textarena as ta

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.integrations import textarena

OPTIONS = {"rounds": "single"}
GAMES = int(sys.argv[1]) if sys.argv[1:] else 400


def legal(prompt):
    """The legal actions that the last question in a prompt lists."""
    return re.findall(r"YOUR LEGAL ACTIONS.*?\n\n(.*?)\n\n", prompt, re.DOTALL)[-1].split("\n")


def scripted(prompt):
    """The centre, then corners, then edges."""
    return f"I play [{min(legal(prompt), key='EACGIBDFH'.index)}]"


def any_of_them(prompt):
    """A random answer."""
    return f"I play [{random.choice(legal(prompt))}]"


random.seed(0)
name = textarena.register()["tic_tac_dice"]
lost, paid = {scripted: 0.0, any_of_them: 0.0}, {scripted: 0.0, any_of_them: 0.0}
for game in range(GAMES):
    env = ta.make(f"{name}-train", **OPTIONS)
    env.reset(num_players=2, seed=game // 2)
    models = (scripted, any_of_them) if game % 2 else (any_of_them, scripted)
    done = False
    while not done:
        player, observation = env.get_observation()
        done, info = env.step(action=models[player](observation))
        lost[models[player]] += info["regret"]
    rewards, facts = env.close()
    for player, model in enumerate(models):
        paid[model] += rewards[player]
for model in models:
    print(f"{model.__name__}: regret {lost[model] / GAMES:.3f} and result {paid[model] / GAMES:+.3f} a game")

agent = agents.from_text(scripted, name="scripted")
report = evaluation.tournament(
    ttt_envs.load("tic_tac_dice", **OPTIONS), [agent, "random"], games=1000 if GAMES > 1 else 100
)
report.show()
print(report.comparison("scripted", "random"))
