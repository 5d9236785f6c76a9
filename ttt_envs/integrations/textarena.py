"""TextArena: all games in its registry, with the regret of each move beside the result.

::

    import textarena as ta
    from ttt_envs.integrations import textarena

    names = textarena.register()
    env = ta.make(names["some_game"], retries=1)
    env.reset(num_players=2, seed=0)
    done = False
    while not done:
        player, observation = env.get_observation()
        done, info = env.step(action=models[player](observation))
    rewards, facts = env.close()

The info of a step has "regret", what the move loses against best play, and "judged_by"; `facts` of each player have
"regret", the sum, and what `ttt_envs.make_text` says. What a move loses is worked out as by `JudgedGame`, with an
estimate where `simulations` are given: by default only what the oracle knows is judged, and other moves have None.

Two faults of TextArena 0.7.4 are steered round: a seed would set Python's own generator of random numbers, and wrappers
keep what players were shown in the games before, unless each game is made anew.
"""

from typing import Any

import textarena as ta
from textarena.envs.registration import ENV_REGISTRY, register_with_versions
from textarena.wrappers import GameBoardObservationWrapper, LLMObservationWrapper

from ttt_envs import registry
from ttt_envs.core.game import Game
from ttt_envs.integrations.judged import JudgedGame
from ttt_envs.wrappers.text import TextGame

__all__ = ["TextArenaGame", "register"]


class TextArenaGame(ta.Env):
    """A game whose players are asked one after the other, as TextArena's.

    A player is shown the prompt with the rules first and the position at each decision, and nothing of what others
    have answered, which their view of the position shows as far as they may know it.
    """

    def __init__(self, game: str | Game, *, simulations: int = 0, retries: int = 2, **options: Any) -> None:
        """Make the game; `reset` starts it.

        Args:
            game: an id, or a Game.
            simulations: as of `JudgedGame`.
            retries: as for `ttt_envs.make_text`.
            options: of the game, if `game` is an id.

        Raises TypeError or ValueError for a wrong value.
        """
        made = registry.game_for(TextArenaGame, game, options)
        self.judged = JudgedGame(TextGame(made, retries=retries, rules=False), simulations=simulations)
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
            told = {"regret": 0.0 - judged.reward(player), "judged_by": judged.judged_by(player)}
            self.state.game_info[player] |= facts | (
                told if told["judged_by"] != "result" else {**told, "regret": None}
            )


def register() -> dict[str, str]:
    """Enter all games of `ttt_envs.GAMES` into TextArena's registry; returns their names there, by id.

    They are those of `gymnasium.make`. With "-train" behind it a player is shown the rules and the present position,
    without it also the positions before. Games that are registered already are left as they are.
    """
    names = {game_id: registry.gymnasium_id(game_id) for game_id in registry.GAMES}
    for game_id, name in names.items():
        if name not in ENV_REGISTRY:
            register_with_versions(
                id=name,
                entry_point=TextArenaGame,
                wrappers={"default": [LLMObservationWrapper], "-train": [GameBoardObservationWrapper]},
                game=game_id,
            )
    return names
