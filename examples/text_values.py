"""Text: a small model that reads prompts, answers in sentences, and learns from `make_text` which answers win.

    python examples/text_values.py [games]  # one run: 0.565 (0.540 to 0.590) against random

It stands where a language model would: it knows no game, only the words of the prompt, and what it says is read by the
library's tolerant parser. The value of an answer is a sum over pairs of words of the position, and moves towards the
results of games in which it was given. For models behind a server see the agent `llm` in docs/language_models.md.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs"]
# ///

import collections
import itertools
import random
import re
import sys

import ttt_envs
from ttt_envs import agents, evaluation

GAME = ttt_envs.load("tic_tac_dice", rounds="single")  # short games: results reach their starts soon
GAMES = int(sys.argv[1]) if sys.argv[1:] else 10_000
RATE, CURIOSITY = 0.1, 0.2

PROMPT = re.compile(
    r"You are (?P<me>.+?)\. Against you: (?P<other>.+?)\..*"
    r"POSITION, as you see it\n\n(?P<position>.*?)\n\nYOUR LEGAL ACTIONS.*?\n\n(?P<actions>.*?)\n\n",
    re.DOTALL,
)


class Model:
    """Weights of pairs of words for each answer; it keeps what it has answered until it learns from it."""

    def __init__(self):
        self.weights = collections.defaultdict(float)
        self.learning = True
        self.given = []

    def __call__(self, prompt):
        """Text in, text out, as a language model."""
        found = PROMPT.search(prompt)
        actions = found["actions"].split("\n")
        seen = found["position"].replace(found["me"], "mine").replace(found["other"], "theirs")
        # Words that name a player, without numbers, and where they stand.
        words = [(i, re.sub(r"\d", "", word)) for i, word in enumerate(seen.split()) if re.search("mine|theirs", word)]
        pairs = list(itertools.combinations(words, 2)) or [()]
        values = [sum(self.weights.get((action, pair), 0) for pair in pairs) for action in actions]
        best = values.index(max(values))
        if self.learning:
            best = random.randrange(len(actions)) if random.random() < CURIOSITY else best
            self.given.append((actions[best], pairs, values[best]))
        return f"I have compared {len(actions)} answers.\nThe best one is [{actions[best]}]!"

    def learn(self, reward):
        """Move the values of the answers of a game towards its result."""
        for action, pairs, value in self.given:
            for pair in pairs:
                self.weights[action, pair] += RATE * (reward - value) / len(pairs)
        self.given.clear()


random.seed(0)
model = Model()
env = ttt_envs.make_text(GAME, opponent="random", rules=False)
for game in range(GAMES):
    prompt, _ = env.reset(seed=game)
    while not env.done:
        prompt, reward, *_ = env.step(model(prompt))
    model.learn(reward)

model.learning = False
agent = agents.from_text(model, rules=False, name="text")
report = evaluation.tournament(GAME, [agent, "random"], games=1000 if GAMES > 1 else 100)
report.show()
print(report.comparison("text", "random"))
