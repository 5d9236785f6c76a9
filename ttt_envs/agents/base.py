"""The base class of all agents, and the functions that agents share."""

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

# Facts of games, for people.
_FACTS = {
    "simultaneous": "simultaneous choices",
    "stochastic": "chance",
    "hidden_information": "hidden information",
}


class Fault(NamedTuple):
    """A position in which an agent gave no legal action.

    Attributes:
        reason: what was wrong.
        stderr: the end of the standard error of the agent's process, if it has one.
    """

    reason: str
    stderr: str = ""


class AgentFailed(RuntimeError):
    """Raised by an agent that answered some positions, and not all of them.

    Attributes:
        actions: int64 (n,), -1 where it failed.
        faults: the positions in which it failed, by number.
    """

    def __init__(self, name: str, actions: np.ndarray, faults: Mapping[int, Fault]) -> None:
        """`name`: of the agent; the rest as the attributes."""
        first = next(iter(faults.values()))
        also = f" (and in {len(faults) - 1} more positions)" if len(faults) > 1 else ""
        stderr = f"; it wrote:\n{first.stderr}" if first.stderr else ""
        super().__init__(f"agent {name!r} {first.reason}{also}{stderr}")
        self.actions, self.faults = actions, dict(faults)


def gathered(name: str, n: int, answers: Mapping[int, int | Fault]) -> np.ndarray:
    """Return the actions that an agent of this name found, by position: int64 (n,), -1 where there is none.

    Raises AgentFailed if there are faults among them.
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
    """Copy the policy, with 0 for illegal actions; tell whether its numbers are finite and not negative."""
    for i in range(policy.shape[0]):
        for a in range(policy.shape[1]):
            if not 0 <= policy[i, a] < np.inf:
                return False
            out[i, a] = policy[i, a] if masks[i, a] else 0.0
    return True


@cache
def _kept_legal() -> Callable[..., bool]:
    numbers, masks = np.zeros((4, 2))[::2], np.zeros((4, 2), np.bool_)[::2]  # with gaps: of any strides
    return jit.entry(keep_legal, numbers, masks, numbers)


class Agent:
    """Base class of agents. A subclass defines `policy`, or `act`, or both.

    An agent sees a `View`, never a state. An agent that draws its random numbers from the view's seeds plays the same
    game whatever else is in the batch.

    Attributes:
        name: its name in reports: by default the class's. `agents.load` sets it to the text that the agent was loaded
            from.
        plays: facts of the games that it plays, such as {"simultaneous": False}; see `check`.
        equivariant: True if its policy in a position that a symmetry of the game turns is the turned policy, up to
            rounding: if true of one such position, it is true of all.
        remembers: True if it answers by `View.info_state_keys`, which the caller must then keep up to date.
        history: how many of its player's last decisions it wants to have in `View.past`.
        observes: True if it wants to see every ply: so for a class with a method `observe` of its own.
        interactive: True if it waits for a person, so that it must not be asked on trial or for many games at once.
        hint_simulations: of a tree search that estimates the value of every action, how many simulations make a hint:
            a second or two in the longest game. 0 for all other agents; see `agents.search_for`.
        takes_rest: a parameter that takes all that is left of a text, commas included, such as a command line.
        reaches: parameters that name an agent or a file, "agent" or "file". Apart from these, such a class uses the
            library's own data only: no process, module, file or server of others. None: it may do anything. Each class
            states it for itself: it is not inherited. See `agents.stranger`.
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
        """Return one legal action per position, int64 (n,); -1 where the player has none. By default a draw from
        `policy`, in which illegal actions count for nothing.

        Raises ValueError if `policy` does not give one row of probabilities per position.
        """
        out = np.empty(len(view), np.int64)
        sample_rows(self._checked(self.policy(view), view), stream_seeds(view.seeds, Stream.CHOICE), out)
        return out

    def policy(self, view: View) -> np.ndarray:
        """Return the probabilities of `act`'s answers, float64 (n, num_actions); zeros where there is no action.

        By default 1 for the action that `act` answers. An agent that draws at random should define it: otherwise its
        probabilities must be estimated from many seeds.
        """
        if type(self).act is Agent.act:
            raise NotImplementedError(f"{type(self).__name__} must define policy(view) or act(view)")
        actions = np.asarray(self.act(view))
        return np.asarray(actions[:, None] == np.arange(view.game.num_actions), np.float64)

    def action_values(self, view: View) -> np.ndarray:
        """Return the reward that the agent expects after each action, for the player: float64 (n, num_actions).

        NaN where it is illegal, and where the agent does not know: by default everywhere.
        """
        return np.full((len(view), view.game.num_actions), np.nan)

    def value(self, view: View) -> np.ndarray:
        """Return the reward that the agent expects for the player, as it plays itself: float64 (n,); NaN where unknown.

        By default the mean of `action_values` by `policy`, where all that it plays are known.
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
        """Observe a ply, for an agent that follows the game between its decisions: does nothing by default.

        It is called at every ply before anybody acts, with all running games in which the agent plays, once for each of
        its players, those to act and those not to act, whose masks are all False.
        """

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Called when games are over, for an agent that keeps something of each. By default it does nothing.

        Args:
            episodes: int64 (k,), their numbers as in `View.episodes`, whether or not the agent was asked in them.
            rewards: float32 (k,), the rewards of the agent's player; 0 for unfinished games.
        """

    def counts(self) -> Mapping[str, float]:
        """Return totals of resources used so far, such as tokens: they never fall. Reports show them."""
        return {}

    def close(self) -> None:
        """Release resources, such as a process. By default it does nothing. The agent can be used again."""

    def _checked(self, policy: Any, view: View) -> np.ndarray:
        """Return `policy` for the kernels, float64 (n, num_actions), with 0 for illegal actions."""
        probabilities = np.ascontiguousarray(policy, np.float64)
        shape = (len(view), view.game.num_actions)
        if probabilities.shape != shape:
            raise ValueError(f"agent {self.name}: its policy must have shape {shape}, not {probabilities.shape}")
        legal = np.empty(shape)
        if not _kept_legal()(probabilities, view.masks, legal):
            raise ValueError(f"agent {self.name}: its policy must be numbers of at least 0")
        return legal

    def check(self, game: Game) -> None:
        """Raise ValueError, naming the reason, if the agent cannot play `game`. By default compares `plays`."""
        for fact, value in self.plays.items():
            if getattr(game, fact) != value:
                # Imported by its name, as agents are: the search stands above this module.
                search = import_module("ttt_envs.agents").search_for(game)
                hint = f"agent {search} plays such games" if search else "`ttt agents` lists what each agent plays"
                raise ValueError(
                    f"agent {self.name} plays only games {'with' if value else 'without'} {_FACTS.get(fact, fact)}; "
                    f"{game} does not fit; {hint}"
                )


class Around(Agent):
    """Base class of agents that play by another agent and pass on to it the notifications they receive.

    Attributes:
        agent: the other agent.
    """

    def __init__(self, agent: Agent) -> None:
        """`agent`: the other agent. ValueError if it is a person."""
        if agent.interactive:
            raise ValueError(
                f"agent {self.name} cannot play as {agent.name!r}: a person sees and chooses all by themselves"
            )
        self.agent = agent
        self.remembers, self.observes = agent.remembers, agent.observes

    @property
    def candidates(self) -> Sequence[Agent]:
        """The agents that it may play by."""
        return [self.agent]

    def agent_for(self, game: Game) -> Agent:
        """Return the agent that it plays this game by."""
        return self.agent

    @property
    def history(self) -> int:  # type: ignore[override]
        """The most that another agent wants, whose answer may depend on the game."""
        return max(agent.history for agent in self.candidates)

    def action_values(self, view: View) -> np.ndarray:
        """Return the other agent's values: float64 (n, num_actions)."""
        return self.agent_for(view.game).action_values(view)

    def value(self, view: View) -> np.ndarray:
        """Return the other agent's value, as it plays: float64 (n,)."""
        return self.agent_for(view.game).value(view)

    def observe(self, view: View) -> None:
        """Let the other agent look."""
        self.agent_for(view.game).observe(view)

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Tell the other agents: int64 (k,), float32 (k,)."""
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
        """Write the other agent's actions in the k positions of `part` into `actions`, int64 (n,), at `rows`.

        Raises AgentFailed, with the positions' numbers among all n, if it fails in some of them.
        """
        if not len(rows):
            return
        try:
            actions[rows] = numbers_of(f"agent {self.agent.name!r}", self.agent.act(part), part)
        except AgentFailed as error:
            actions[rows] = error.actions
            raise AgentFailed(self.name, actions, {int(rows[k]): each for k, each in error.faults.items()}) from None


def by_round(view: View, answer: Callable[[View], np.ndarray]) -> np.ndarray:
    """Ask `answer` about n positions, and about the current round of a match: (n, ...).

    An agent that knows only the rules cannot look as far as the end of a match: inside a round it would choose nearly
    at random. `answer` sees the current round as a game of its own, whatever the score is, and the match only between
    two rounds.
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

# View -> agent -> name of a method -> its answer.
_KEPT: "WeakKeyDictionary[View, WeakKeyDictionary[Agent, dict[str, Any]]]" = WeakKeyDictionary()


def kept(method: Method) -> Method:
    """Decorate a method of an agent that takes a view: asked again about the same view, it gives the same answer.

    An agent whose policy and values are both requested then searches once. The answer lives as long as the view.
    """

    @wraps(method)
    def ask(self: Agent, view: View) -> Any:
        answers = _KEPT.setdefault(view, WeakKeyDictionary()).setdefault(self, {})
        if method.__qualname__ not in answers:
            answers[method.__qualname__] = method(self, view)
        return answers[method.__qualname__]

    return ask  # type: ignore[return-value]


def uniform(choices: np.ndarray) -> np.ndarray:
    """Return the uniform policy over the legal actions, bool (n, num_actions): float64 (n, num_actions)."""
    return np.asarray(choices / np.maximum(choices.sum(axis=1, keepdims=True), 1), np.float64)


@cache
def _choose_rows() -> Callable[..., None]:
    """Return the entry of `choose_rows`, for masks that are read-only, too: kernels are compiled once."""
    return jit.entry(choose_rows, np.empty((1, 1), np.bool_), np.empty(1, np.uint64), np.empty(1, np.int64))


def uniform_actions(masks: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Draw a legal action per row evenly, int64 (n,): masks bool (n, num_actions), seeds uint64 (n,), contiguous."""
    out = np.empty(len(masks), np.int64)
    _choose_rows()(masks, seeds, out)
    return out


def best_of(values: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return the legal actions of highest value: bool (n, num_actions), as `values` and `masks`."""
    known = np.where(masks, values, -np.inf)
    return np.asarray(masks & (known == known.max(axis=1, keepdims=True)))


def softmax_rows(values: np.ndarray, masks: np.ndarray, temperature: float) -> np.ndarray:
    """Return probabilities of legal actions by values: float64 (n, num_actions); temperature 0: the best, evenly."""
    out = np.zeros(masks.shape)
    _softmax_rows(values, masks, float(temperature), out)
    return out


@jit.kernel
def _softmax_rows(values, masks, temperature, out):  # type: ignore[no-untyped-def]
    """Fill the legal entries of `out`; the others are not written. A third of the time that NumPy takes."""
    for i in range(values.shape[0]):
        best, total = -np.inf, 0.0
        for a in range(values.shape[1]):
            if masks[i, a] and not values[i, a] <= best:  # also where it is nan, which the caller then finds
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
