"""The games as OpenSpiel games, for OpenSpiel's searches, CFR, best responses and learners. Needs `open_spiel`.

Example::

    import pyspiel
    from ttt_envs.integrations import open_spiel

    open_spiel.register()
    game = pyspiel.load_game("ttt_envs_some_game(option=value)")

If `core.chance` can enumerate a game's chance, chance nodes are exact, as CFR and exact best responses require.
Otherwise, because dice are rerolled or there are too many deals, a chance node lists sampled outcomes, and each new
initial state has a new sample (`SpielGame.is_sampled`). Searches work in such a game, but exact algorithms solve the
sample instead of the game. Both kinds have the chance mode EXPLICIT_STOCHASTIC. OpenSpiel cannot serialize states of a
SAMPLED_STOCHASTIC game in Python, because this requires a method that only games in C++ have.

Games and states can be copied, pickled and serialized at any time, like OpenSpiel's own. Samples that are drawn later
are not copied: a copy of a state draws its own.

Players who act simultaneously choose one after the other. An information state covers a player's observations and
actions. As a string it is the digest of `ttt_envs.solvers.tree`, with perfect recall. As a tensor it is the observation
and the player's last `history` decisions. A state of OpenSpiel refers to a node, which is created on first use. The
latest nodes are kept, because algorithms return to them.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, get_args

import numpy as np
import pyspiel

from ttt_envs import registry
from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.observation_layout import check_history
from ttt_envs.core.options import as_text, parameters
from ttt_envs.core.view import View
from ttt_envs.integrations.open_spiel_tree import Graph, Node
from ttt_envs.registry import options_of, parse_options

__all__ = ["HISTORY", "PREFIX", "SEED", "BotAgent", "Observer", "SpielGame", "State", "register"]

PREFIX = "ttt_envs_"

#: Parameters besides the game's options: the seed of samples, and the number of decisions in an information state
#: tensor.
SEED, HISTORY = "rng_seed", "history"

# Represents None in a numeric parameter.
_NOTHING = -1


class State(pyspiel.State):
    """An OpenSpiel state, which refers to a `Node`, the position with the players' information."""

    _node: Node | tuple[Any, ...]

    def __init__(self, game: "SpielGame") -> None:
        super().__init__(game)
        self.node = game.root()

    def __reduce__(self) -> tuple[Any, ...]:
        return _read_state, (pyspiel.serialize_game_and_state(self.get_game(), self),)

    @property
    def node(self) -> Node:
        """The node."""
        if isinstance(self._node, tuple):  # read from a text
            *node, past = self._node
            self._node = Node(self.get_game().graph, *node, past=past)
        return self._node

    @node.setter
    def node(self, node: Node) -> None:
        self._node = node

    def current_player(self) -> int:
        """Return the player to choose, or OpenSpiel's numbers for chance and for a finished game."""
        if self.node.done:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.CHANCE) if self.node.outcomes is not None else self.node.player

    def _legal_actions(self, player: int) -> list[int]:
        return self.node.legal if player == self.node.player else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the numbers and the probabilities of the outcomes of chance."""
        assert self.node.outcomes is not None
        return list(enumerate(self.node.outcomes[0].tolist()))

    def _apply_action(self, action: int) -> None:
        self.node = self.node.child(int(action))

    def _action_to_string(self, player: int, action: int) -> str:
        return f"outcome {action}" if player < 0 else self.node.graph.game.action_names[action]

    def is_terminal(self) -> bool:
        """Return True once the game is over."""
        return self.node.done

    def returns(self) -> list[float]:
        """Return the reward of each player, 0 before the end."""
        if not self.node.done:
            return [0.0] * self.node.graph.game.num_players
        assert self.node.states is not None
        return [float(each) for each in self.node.states["rewards"][0]]

    def _who(self, player: int | None) -> int:
        """Return the player, by default the player to choose; raise ValueError for other numbers, such as chance."""
        player = self.current_player() if player is None else player
        if not 0 <= player < self.node.graph.game.num_players:
            raise ValueError(f"a player is a number from 0 to {self.node.graph.game.num_players - 1}, not {player}")
        return player

    def information_state_string(self, player: int | None = None) -> str:
        """Return a digest of the player's observations and actions."""
        player = self._who(player)
        return f"{player}:{self.node.known[player].tobytes().hex()}"

    def information_state_tensor(self, player: int | None = None) -> list[float]:
        """Return the player's observation and last decisions, see `SpielGame.history`."""
        return [float(each) for each in self.node.information_state(self._who(player))]

    def observation_string(self, player: int | None = None) -> str:
        """Return the position as text from the player's view; empty before the start."""
        player = self._who(player)
        return "" if self.node.states is None else self.node.graph.game.format_state(self.node.states[0], player)

    def observation_tensor(self, player: int | None = None) -> list[float]:
        """Return the player's observation."""
        return [float(each) for each in self.node.observation(self._who(player))]

    def hides_state_from_agents(self) -> bool:
        """Return whether players have different information; Kaggle's environments then show no serialized state."""
        return _has_secrets(self.node.graph.game)

    def __str__(self) -> str:
        if self.node.states is None:
            return "before the start"
        text = self.node.graph.game.format_state(self.node.states[0], None)
        return f"{text}\nchosen: {self.node.chosen}" if self.node.chosen else text


class SpielGame(pyspiel.Game):
    """A game of this library as an OpenSpiel game.

    Attributes:
        game: the game.
        graph: the nodes of the game.
        history: number of a player's decisions in an information state as a tensor, see `Game.layout`.
    """

    def __init__(self, game: Game, seed: int = -1, history: int | None = None) -> None:
        """Create the game; `seed` determines the samples; a negative one draws random samples. `history`: see the
        attribute; None means 8 in games with hidden information or simultaneous choices, and 0 in others.
        """
        game.check_rewards("OpenSpiel's form")
        self.game, self.history = game, check_history(_usual_history(game) if history is None else history)
        self.graph = Graph(game, None if seed < 0 else seed, self.history)
        self._root: Node | None = None
        facts = pyspiel.GameInfo(
            num_distinct_actions=game.num_actions,
            max_chance_outcomes=1 << 20 if game.stochastic else 0,
            num_players=game.num_players,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=game.num_players * game.max_plies,
        )
        super().__init__(_kind(game), facts, {HISTORY: self.history, **_parameters(game, game.options), SEED: seed})

    def __reduce__(self) -> tuple[Any, ...]:
        return _read_game, (str(self),)

    @property
    def is_sampled(self) -> bool:
        """Whether chance nodes list samples, because the game's chance cannot be enumerated."""
        return not self.graph.explicit

    def root(self) -> Node:
        """Return the start; if chance is sampled, each call returns another one."""
        if self._root is None or not self.graph.explicit:
            self._root = self.graph.start()
        return self._root

    def new_initial_state(self) -> State:
        """Return a state at the start."""
        return State(self)

    def state_at(self, states: np.ndarray) -> State:
        """Return a state at a position of the game, structured (1,), without the players' earlier information.

        Raises ValueError or TypeError for an invalid position.
        """
        state = State(self)
        state.node = Node.position(self.graph, self.game.check_states(states), *self.graph.beginning())
        return state

    def information_state_tensor_shape(self) -> list[int]:
        """Return the shape of `State.information_state_tensor`."""
        return [self.game.encoded_size(self.history)]

    def observation_tensor_shape(self) -> list[int]:
        """Return the shape of `State.observation_tensor`."""
        return [self.game.observation_size]

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "Observer":
        """Return an observer for OpenSpiel's algorithms."""
        return Observer(self, iig_obs_type is not None and iig_obs_type.perfect_recall)


class Observer:
    """An OpenSpiel observer: a player's information as a tensor and as a string.

    Attributes:
        tensor: float32, the player's observation; with perfect recall, the information state.
        dict: the parts of the tensor by name.
    """

    def __init__(self, game: SpielGame, perfect_recall: bool = False) -> None:
        self._recall = perfect_recall
        self.tensor = np.zeros(game.game.encoded_size(game.history if perfect_recall else 0), np.float32)
        self.dict = {"info_state" if perfect_recall else "observation": self.tensor}

    def set_from(self, state: State, player: int) -> None:
        """Write the player's information to the tensor."""
        self.tensor[:] = state.information_state_tensor(player) if self._recall else state.observation_tensor(player)

    def string_from(self, state: State, player: int) -> str:
        """Return the player's information state."""
        return state.information_state_string(player)


class BotAgent(Agent):
    """An agent that plays an OpenSpiel bot, such as MCTSBot, in games of perfect information."""

    plays: ClassVar[Mapping[str, bool]] = {"hidden_information": False, "simultaneous": False}

    def __init__(self, game: SpielGame, bot: Any, name: str = "bot") -> None:
        """`game`: the bot's game. `bot`: an object with `step(state) -> action`. `name`: for reports."""
        self.game, self.bot, self.name = game, bot, name

    def act(self, view: View) -> np.ndarray:
        """Return the bot's actions, int64 (n,), -1 where none is legal. The bot draws its own random numbers."""
        out, masks, worlds = np.full(len(view), -1), view.masks, view.sample_worlds()
        for i in np.flatnonzero(masks.any(axis=1)):
            out[i] = self.bot.step(self.game.state_at(worlds[i : i + 1]))
        return out

    def check(self, game: Game) -> None:
        """Raise ValueError for other games than the bot's."""
        super().check(game)
        if (game.id, game.options) != (self.game.game.id, self.game.game.options):
            raise ValueError(f"agent {self.name} was made for {self.game.game}, not for {game}")


def _read_game(text: str) -> SpielGame:
    register()
    return pyspiel.load_game(text)


def _read_state(text: str) -> State:
    register()
    return pyspiel.deserialize_game_and_state(text)[1]


def _parameters(game: Game, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as OpenSpiel parameters, whose types are fixed. None becomes _NOTHING if the option can be a
    number. Values other than numbers and bools become texts with ";" for ",", because a comma would end the parameter.
    """
    numbers = {each.name for each in parameters(game.factory) if int in get_args(each.annotation)}
    given: dict[str, Any] = {}
    for name, value in options.items():
        if value is None and name in numbers:
            given[name] = _NOTHING
        else:
            given[name] = value if type(value) in (bool, int, float) else as_text(value).replace(",", ";")
    return given


def _as_option(value: Any) -> str:
    return "none" if type(value) is int and value == _NOTHING else as_text(value).replace(";", ",")


def _kind(game: Game, usual: Mapping[str, Any] | None = None) -> Any:
    kind = pyspiel.GameType
    chance = kind.ChanceMode.EXPLICIT_STOCHASTIC if game.stochastic else kind.ChanceMode.DETERMINISTIC
    return kind(
        short_name=PREFIX + game.id,
        long_name=game.title,
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=chance,
        information=kind.Information.IMPERFECT_INFORMATION
        if _has_secrets(game)
        else kind.Information.PERFECT_INFORMATION,
        utility=kind.Utility.ZERO_SUM,
        reward_model=kind.RewardModel.TERMINAL,
        max_num_players=game.num_players,
        min_num_players=game.num_players,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=dict(usual or {}),
    )


def _usual_history(game: Game) -> int:
    """Return the default of `history`: 8 in games with hidden or simultaneous choices, otherwise 0."""
    return 8 if _has_secrets(game) else 0


def _has_secrets(game: Game) -> bool:
    """Return whether players' information differs, also if only because an earlier choice of a ply is secret."""
    return game.hidden_information or game.simultaneous


def register() -> None:
    """Add all games of the registry to OpenSpiel's registry, as `ttt_envs_ID`; existing entries are not changed.

    The games' options are OpenSpiel parameters. Values other than numbers are texts, as on the command line, but with
    ";" for ",". -1 means None if the option can be a number. `rng_seed` determines the samples. `history` is the number
    of decisions in an information state tensor.
    """
    known = set(pyspiel.registered_names())
    for game_id in registry.GAMES:
        if PREFIX + game_id not in known:
            game = registry.load(game_id)
            usual = _parameters(game, {each.name: each.default for each in options_of(game_id)})
            kind = _kind(game, {HISTORY: _usual_history(game), **usual, SEED: -1})
            pyspiel.register_game(kind, _class_for(game_id, usual))


def _class_for(game_id: str, usual: Mapping[str, Any]) -> type[SpielGame]:
    """Return a class that OpenSpiel calls with parameters to create the game. It must not be a function: OpenSpiel's
    registry would release it after the end of Python's interpreter, which is safe for a class alone.
    """

    class Registered(SpielGame):
        def __init__(self, chosen: Mapping[str, Any] | None = None) -> None:
            given = {name: value for name, value in (chosen or {}).items() if value != usual.get(name)}
            seed, history = given.pop(SEED, -1), None if HISTORY in usual else given.pop(HISTORY, None)
            texts = [f"{name}={_as_option(value)}" for name, value in given.items()]
            super().__init__(registry.load(game_id, **parse_options(game_id, texts)), seed, history)

    return Registered
