"""TextArena: a scripted model plays a random one in TextArena's loop, and each answer is judged exactly.

    python examples/textarena_play.py [games]  # 0.583 (0.556 to 0.607) against random

The loop, the registry and the observations are TextArena's own. The info of each step has what an answer loses against
optimal play, as by `JudgedGame`. The script stands where a language model would; `ta.agents` has agents for servers.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "textarena==0.7.4"]
# ///

import random
import re
import sys
from typing import Any

import textarena as ta
from judged import JudgedGame
from textarena.envs.registration import ENV_REGISTRY, register_with_versions
from textarena.wrappers import GameBoardObservationWrapper, LLMObservationWrapper

import ttt_envs
from ttt_envs import agents, evaluation

OPTIONS = {"rounds": "single"}


class TextArenaGame(ta.Env):
    """A game whose players are asked one after the other, as TextArena's.

    A player is shown the prompt with the rules first and the position at each decision, and nothing of what others
    have answered, which their view of the position shows as far as they may know it.
    """

    def __init__(self, game: str | ttt_envs.Game, *, simulations: int = 0, retries: int = 2, **options: Any) -> None:
        """Make the game; `reset` starts it.

        Args:
            game: an id, or a Game.
            simulations: as of `JudgedGame`.
            retries: as for `ttt_envs.make_text`.
            options: of the game, if `game` is an id.

        Raises TypeError or ValueError for a wrong value.
        """
        asked = ttt_envs.make_text(game, retries=retries, rules=False, **options)
        self.judged = JudgedGame(asked, simulations=simulations)
        self._told: set[int] = set()

    def reset(self, num_players: int, seed: int | None = None) -> None:
        """Start a game; `seed` fixes it and all that follow. ValueError for another number of players."""
        game = self.judged.env.game
        if num_players != game.num_players:
            raise ValueError(f"{game} has {game.num_players} players, not {num_players}")
        self.state = ta.FFAMultiPlayerState(num_players=num_players)  # a seed would set Python's own generator
        self.state.reset(role_mapping=dict(enumerate(game.player_names)))
        self._told = set()
        self._ask(self.judged.reset(seed))

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Take the answer of the player whose turn it is; returns whether the game is over, and info."""
        judged, player, known = self.judged, self.state.current_player_id, len(self.judged.moves)
        asked = judged.answer(action)
        self.state.add_observation(action, ta.ObservationType.PLAYER_ACTION, from_id=player, to_id=player)
        info: dict[str, Any] = {"regret": None, "judged_by": judged.judged_by(player)}
        if len(judged.moves) > known:
            info["regret"] = judged.moves[-1].regret
            self.state.turn += 1
        if judged.env.done:
            self._end()
        else:
            self._ask(asked)
        return self.state.done, info

    def _ask(self, asked: str) -> None:
        """Show the player to answer what they are asked, the rules for the first time only."""
        player = self.state.current_player_id = self.judged.env.player
        if player not in self._told:
            self._told.add(player)
            rules = self.judged.env.game.rules_text
            self.state.add_observation(rules, ta.ObservationType.PROMPT, to_id=player)
        self.state.add_observation(asked, ta.ObservationType.GAME_BOARD, to_id=player)

    def _end(self) -> None:
        """Tell TextArena the results."""
        judged = self.judged
        self.state.rewards, self.state.done = judged.env.rewards, True
        for player, facts in judged.env.facts.items():
            by = judged.judged_by(player)
            regret = None if by == "result" else 0.0 - judged.reward(player)
            self.state.game_info[player] |= facts | {"regret": regret, "judged_by": by}


def register() -> dict[str, str]:
    """Enter all games of `ttt_envs.GAMES` into TextArena's registry; returns their names there, by id.

    They are those of `gymnasium.make`. With "-train" behind it a player is shown the rules and the present position,
    without it also the positions before. Games that are registered already are left as they are.
    """
    words = {game_id: game_id.replace("_", " ").title().replace(" ", "") for game_id in ttt_envs.GAMES}
    names = {game_id: f"ttt_envs/{word}-v0" for game_id, word in words.items()}
    for game_id, name in names.items():
        if name not in ENV_REGISTRY:
            register_with_versions(
                id=name,
                entry_point=TextArenaGame,
                wrappers={"default": [LLMObservationWrapper], "-train": [GameBoardObservationWrapper]},
                game=game_id,
            )
    return names


def legal(prompt):
    """Return the legal actions that the last question in a prompt lists."""
    return re.findall(r"YOUR LEGAL ACTIONS.*?\n\n(.*?)\n\n", prompt, re.DOTALL)[-1].split("\n")


def scripted(prompt):
    """Return the centre, then corners, then edges."""
    return f"I play [{min(legal(prompt), key='EACGIBDFH'.index)}]"


def any_of_them(prompt):
    """Return a random answer."""
    return f"I play [{random.choice(legal(prompt))}]"


if __name__ == "__main__":
    number = int(sys.argv[1]) if sys.argv[1:] else 400
    random.seed(0)
    name = register()["tic_tac_dice"]
    lost, paid = {scripted: 0.0, any_of_them: 0.0}, {scripted: 0.0, any_of_them: 0.0}
    for game in range(number):
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
        print(f"{model.__name__}: regret {lost[model] / number:.3f} and result {paid[model] / number:+.3f} a game")

    agent = agents.from_text(scripted, name="scripted")
    dice, games = ttt_envs.load("tic_tac_dice", **OPTIONS), 1000 if number > 1 else 100
    report = evaluation.tournament(dice, [agent, "random"], games=games, strict=True)
    print(report.comparison("scripted", "random"))
