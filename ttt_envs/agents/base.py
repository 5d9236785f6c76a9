"""The base class of all agents, and functions shared by agents."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.rng import Stream, choose_rows, sample_rows, stream_seeds
from ttt_envs.core.view import View, numbers_of

# Descriptions of the facts of games, for messages.
_FACTS = {
    "simultaneous": "simultaneous choices",
    "stochastic": "chance",
    "hidden_information": "hidden information",
}


class Fault(NamedTuple):
    """A position in which an agent gave no legal action.

    Attributes:
        reason: what went wrong, worded as the end of a sentence, such as "gave no answer within 10 s".
        stderr: the end of the standard error of the agent's process, if any.
    """

    reason: str
    stderr: str = ""


class AgentFailed(RuntimeError):
    """Raised by an agent that failed in some positions.

    Attributes:
        actions: int64 (n,), -1 in the positions in which the agent failed.
        faults: position number -> fault.
    """

    def __init__(self, name: str, actions: np.ndarray, faults: Mapping[int, Fault]) -> None:
        """`name`: the agent's name; `actions` and `faults`: see the attributes."""
        first = next(iter(faults.values()))
        also = f" (and in {len(faults) - 1} more positions)" if len(faults) > 1 else ""
        stderr = f"; it wrote:\n{first.stderr}" if first.stderr else ""
        super().__init__(f"agent {name!r} {first.reason}{also}{stderr}")
        self.actions, self.faults = actions, dict(faults)


def gathered(name: str, n: int, answers: Mapping[int, int | Fault]) -> np.ndarray:
    """Return the agent's actions, int64 (n,), from `answers`: position -> action or fault. Other positions get -1.

    Raises AgentFailed with the agent's `name` if any answer is a fault.
    """
    actions, faults = np.full(n, -1), {i: each for i, each in answers.items() if isinstance(each, Fault)}
    for i, each in answers.items():
        if not isinstance(each, Fault):
            actions[i] = each
    if faults:
        raise AgentFailed(name, actions, faults)
    return actions


@jit.kernel
def keep_legal(policy, masks, out):  # type: ignore[no-untyped-def]
    """Copy `policy` to `out`, with 0 for illegal actions; return False if a number is negative or not finite."""
    for i in range(policy.shape[0]):
        for a in range(policy.shape[1]):
            if not 0 <= policy[i, a] < np.inf:
                return False
            out[i, a] = policy[i, a] if masks[i, a] else 0.0
    return True


@cache
def _kept_legal() -> Callable[..., bool]:
    numbers, masks = np.zeros((4, 2))[::2], np.zeros((4, 2), np.bool_)[::2]  # not contiguous, so any strides work
    return jit.entry(keep_legal, numbers, masks, numbers)


class Agent:
    """Base class of agents. A subclass defines `policy`, or `act`, or both.

    An agent sees a `View`, never a state. If an agent draws all random numbers from the view's seeds, its games are the
    same in batches of any size.

    Attributes:
        name: name in reports, by default that of the class. `agents.load` sets it to the agent's spec.
        plays: facts that a game must have, such as {"simultaneous": False}; see `check`.
        equivariant: True if the policy commutes with the game's symmetries, up to rounding: if a symmetry transforms
            the position, the policy is transformed in the same way.
        remembers: True if the agent uses `View.info_state_keys`, which the caller must then track.
        history: number of its player's last decisions that the agent needs in `View.past`.
        observes: True if the agent must see every ply; set automatically for a class with its own method `observe`.
        interactive: True if the agent waits for a person. Do not use such an agent in tests or for many games at once.
        hint_simulations: for a tree search that values every action, the number of simulations for a hint, which take
            one or two seconds in the longest game. For all other agents 0. See `agents.search_for`.
        takes_rest: name of the parameter whose value is the rest of a spec, including commas, such as a command line.
        reaches: parameter -> "agent" or "file", for parameters that name an agent or a file. Apart from these, the
            class uses only the library's own data: no other process, module, file or server. None means that the class
            may do anything. Subclasses do not inherit `reaches`. See `agents.stranger`.
    """

    name: str = "agent"
    plays: ClassVar[Mapping[str, bool]] = {}
    equivariant: bool = False
    remembers: bool = False
    history: int = 0
    observes: bool = False
    interactive: ClassVar[bool] = False
    hint_simulations: ClassVar[int] = 0
    takes_rest: ClassVar[str] = ""
    reaches: ClassVar[Mapping[str, Literal["agent", "file"]] | None] = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" not in vars(cls):
            cls.name = cls.__name__
        if "observe" in vars(cls):
            cls.observes = True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def act(self, view: View) -> np.ndarray:
        """Return one legal action per position, int64 (n,); -1 if the player has none. By default, sample `policy`.

        Raises ValueError if `policy` does not return one row of probabilities per position.
        """
        out = np.empty(len(view), np.int64)
        sample_rows(self._checked(self.policy(view), view), stream_seeds(view.seeds, Stream.CHOICE), out)
        return out

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions); zeros if there is no legal action.

        By default, the action that `act` returns has probability 1. Define this method if the agent plays at random:
        otherwise its probabilities can only be estimated from many seeds.
        """
        if type(self).act is Agent.act:
            raise NotImplementedError(f"{type(self).__name__} must define policy(view) or act(view)")
        actions = np.asarray(self.act(view))
        return np.asarray(actions[:, None] == np.arange(view.game.num_actions), np.float64)

    def action_values(self, view: View) -> np.ndarray:
        """Return the agent's estimate of the player's expected reward after each action: float64 (n, num_actions).

        Illegal actions and actions without an estimate are NaN. By default, all are NaN.
        """
        return np.full((len(view), view.game.num_actions), np.nan)

    def value(self, view: View) -> np.ndarray:
        """Return the agent's estimate of its player's expected reward: float64 (n,); NaN if unknown.

        By default, return the mean of `action_values` under `policy`; NaN if an action that it plays has no value.
        """
        values = self.action_values(view)
        out = np.full(len(view), np.nan)
        rows = np.flatnonzero(~np.isnan(values).all(axis=1))
        if len(rows):
            played = self._checked(self.policy(view), view)[rows]
            total = played.sum(axis=1)
            out[rows] = np.where(played > 0, played * values[rows], 0).sum(axis=1) / np.where(total > 0, total, np.nan)
        return out

    def observe(self, view: View) -> None:
        """Observe a ply, for example to remember what other players did. By default, do nothing.

        Callers call this method at every ply, before any player acts, for all running games in which the agent plays.
        The view has one row for each player whom the agent plays. The masks of players who do not act are all False.
        """

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Handle the end of games, for example forget what the agent has stored about them. By default, do nothing.

        Args:
            episodes: int64 (k,), the games' numbers as in `View.episodes`, even if the agent never acted in them.
            rewards: float32 (k,), the rewards of the agent's player; 0 for unfinished games.
        """

    def counts(self) -> Mapping[str, float]:
        """Return the resources used so far, such as tokens, for reports. The totals never decrease."""
        return {}

    def close(self) -> None:
        """Release resources, such as a process; by default, do nothing. The agent can be used again afterwards."""

    def _checked(self, policy: Any, view: View) -> np.ndarray:
        """Return `policy` as float64 (n, num_actions), 0 for illegal actions; raise ValueError if it is invalid."""
        probabilities = np.ascontiguousarray(policy, np.float64)
        shape = (len(view), view.game.num_actions)
        if probabilities.shape != shape:
            raise ValueError(f"agent {self.name}: its policy must have shape {shape}, not {probabilities.shape}")
        legal = np.empty(shape)
        if not _kept_legal()(probabilities, view.masks, legal):
            raise ValueError(f"agent {self.name}: its policy must be numbers of at least 0")
        return legal

    def check(self, game: Game) -> None:
        """Raise ValueError, naming the reason, if the agent cannot play `game`. By default, check `plays`."""
        for fact, value in self.plays.items():
            if getattr(game, fact) != value:
                # Imported by name, because `ttt_envs.agents` imports this module.
                search = import_module("ttt_envs.agents").search_for(game)
                hint = f"agent {search} plays such games" if search else "`ttt agents` lists what each agent plays"
                raise ValueError(
                    f"agent {self.name} plays only games {'with' if value else 'without'} {_FACTS.get(fact, fact)}; "
                    f"{game} does not fit; {hint}"
                )


class Around(Agent):
    """Base class of agents that play with another agent and forward notifications to it.

    Attributes:
        agent: the other agent.
    """

    def __init__(self, agent: Agent) -> None:
        """`agent`: the other agent. Raises ValueError if this agent is a person."""
        if agent.interactive:
            raise ValueError(
                f"agent {self.name} cannot play as {agent.name!r}: a person sees and chooses all by themselves"
            )
        self.agent = agent
        self.remembers, self.observes = agent.remembers, agent.observes

    @property
    def candidates(self) -> Sequence[Agent]:
        """All agents that this agent may use."""
        return [self.agent]

    def agent_for(self, game: Game) -> Agent:
        """Return the agent to use in this game."""
        return self.agent

    @property
    def history(self) -> int:  # type: ignore[override]
        """The longest history that any of the candidates needs."""
        return max(agent.history for agent in self.candidates)

    def action_values(self, view: View) -> np.ndarray:
        """Return the other agent's values: float64 (n, num_actions)."""
        return self.agent_for(view.game).action_values(view)

    def value(self, view: View) -> np.ndarray:
        """Return the other agent's value: float64 (n,)."""
        return self.agent_for(view.game).value(view)

    def observe(self, view: View) -> None:
        """Call `observe` of the other agent."""
        self.agent_for(view.game).observe(view)

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Call `episodes_over` of the other agents; `episodes` is int64 (k,), `rewards` float32 (k,)."""
        for agent in self.candidates:
            agent.episodes_over(episodes, rewards)

    def counts(self) -> Mapping[str, float]:
        """Return the counts of the other agents."""
        total: Counter[str] = Counter()
        for agent in self.candidates:
            total.update(agent.counts())
        return total

    def close(self) -> None:
        """Close the other agents."""
        for agent in self.candidates:
            agent.close()

    def _ask(self, part: View, rows: np.ndarray, actions: np.ndarray) -> None:
        """Store the other agent's actions in `part`, a view of k positions, in actions[rows]; `actions`: int64 (n,).

        If the other agent fails in some positions, raises AgentFailed with their numbers among all n positions.
        """
        if not len(rows):
            return
        try:
            actions[rows] = numbers_of(f"agent {self.agent.name!r}", self.agent.act(part), part)
        except AgentFailed as error:
            actions[rows] = error.actions
            raise AgentFailed(self.name, actions, {int(rows[k]): each for k, each in error.faults.items()}) from None


def by_round(view: View, answer: Callable[[View], np.ndarray]) -> np.ndarray:
    """Return `answer(view)`, (n, ...). In a match, `answer` gets the current rounds instead of the match's positions.

    A search without a value function cannot look ahead to the end of a match: inside a round it would choose nearly at
    random. Therefore `answer` sees each round as a separate game, regardless of the match's score. Only in positions
    between two rounds, `answer` sees the match itself.
    """
    if view.game.extras.current_round is None:
        return answer(view)
    rows, part = view.current_round()
    if len(rows) == len(view):
        return answer(part)
    between = np.setdiff1d(np.arange(len(view)), rows)
    of_match = answer(view.take(between))
    found = np.empty((len(view), *of_match.shape[1:]), of_match.dtype)
    found[between] = of_match
    if len(rows):
        found[rows] = answer(part)
    return found


Method = TypeVar("Method", bound=Callable[..., Any])

# View -> agent -> name of a method -> cached result.
_KEPT: "WeakKeyDictionary[View, WeakKeyDictionary[Agent, dict[str, Any]]]" = WeakKeyDictionary()


def kept(method: Method) -> Method:
    """Decorate an agent's method to cache its result for each view.

    An agent whose policy and values are both requested then searches only once. The cache ends with the view.
    """

    @wraps(method)
    def ask(self: Agent, view: View) -> Any:
        answers = _KEPT.setdefault(view, WeakKeyDictionary()).setdefault(self, {})
        if method.__qualname__ not in answers:
            answers[method.__qualname__] = method(self, view)
        return answers[method.__qualname__]

    return ask  # type: ignore[return-value]


def uniform(choices: np.ndarray) -> np.ndarray:
    """Return the uniform policy over `choices`, bool (n, num_actions): float64 (n, num_actions)."""
    return np.asarray(choices / np.maximum(choices.sum(axis=1, keepdims=True), 1), np.float64)


@cache
def _choose_rows() -> Callable[..., None]:
    """Return `choose_rows`, compiled to accept read-only masks, too."""
    return jit.entry(choose_rows, np.empty((1, 1), np.bool_), np.empty(1, np.uint64), np.empty(1, np.int64))


def uniform_actions(masks: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Draw a legal action per row uniformly: int64 (n,). masks bool (n, num_actions), seeds uint64 (n,), contiguous."""
    out = np.empty(len(masks), np.int64)
    _choose_rows()(masks, seeds, out)
    return out


def best_of(values: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return a mask of each row's best legal actions, bool (n, num_actions); `values` has the same shape."""
    known = np.where(masks, values, -np.inf)
    return np.asarray(masks & (known == known.max(axis=1, keepdims=True)))


def softmax_rows(values: np.ndarray, masks: np.ndarray, temperature: float) -> np.ndarray:
    """Return softmax(values / temperature) over legal actions, float64 (n, num_actions); at 0 uniform over the best."""
    out = np.zeros(masks.shape)
    _softmax_rows(values, masks, float(temperature), out)
    return out


@jit.kernel
def _softmax_rows(values, masks, temperature, out):  # type: ignore[no-untyped-def]
    """Write to the legal entries of `out`. This kernel takes a third of the time of NumPy code."""
    for i in range(values.shape[0]):
        best, total = -np.inf, 0.0
        for a in range(values.shape[1]):
            if masks[i, a] and not values[i, a] <= best:  # also true for NaN, which then spreads to `out`
                best = np.float64(values[i, a])
        for a in range(values.shape[1]):
            if masks[i, a]:
                if temperature > 0:
                    out[i, a] = np.exp((np.float64(values[i, a]) - best) / temperature)
                else:
                    out[i, a] = values[i, a] == best
                total += out[i, a]
        for a in range(values.shape[1]):
            if masks[i, a]:
                out[i, a] /= total
