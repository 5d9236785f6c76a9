"""The pairs of a tournament: every two agents, or fewer pairs where there are many agents.

- all: every two agents, which is the default.
- sampled, a number n: each agent is drawn against about n others. Agent number i is drawn against n/2 of those before
  it, preferring of two candidates the one with fewer opponents so far. So a further agent changes no pair of the
  others, all are connected by chains of pairs, and few games lie between any two.
- Swiss, "swiss" or "swiss:rounds": in each round agents of about equal score meet that have not met before; the first
  round is drawn. By default there are as many rounds as it takes to have one winner of all, and two more.
- listed: pairs of names or numbers.

All of it follows from the seed and, in a Swiss tournament, from the results.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from ttt_envs.core.options import MOST, unknown, within
from ttt_envs.evaluation.reports.ratings import connected
from ttt_envs.evaluation.tournaments.jobs import Pair
from ttt_envs.storage.outside import brief

# What tells these draws from others with the tournament's seed.
_DRAWN, _SWISS = 1, 2

_WORDS = "a number of opponents such as 8, 'swiss' or 'swiss:6', or pairs such as 0-1"


@dataclass(frozen=True)
class Pairs:
    """A rule that chooses the pairs of a tournament.

    Attributes:
        kind: see the module.
        number: of opponents, or of rounds; 0 for the usual number of rounds.
        listed: the pairs of a list, in order.
    """

    kind: Literal["all", "sampled", "swiss", "listed"]
    number: int = 0
    listed: tuple[Pair, ...] = ()

    def texts(self) -> tuple[str, ...]:
        """The words on the command line; none for all pairs."""
        if self.kind == "listed":
            return tuple(f"{a}-{b}" for a, b in self.listed)
        swiss = f"swiss:{self.number}" if self.number else "swiss"
        return {"all": (), "sampled": (str(self.number),), "swiss": (swiss,)}[self.kind]

    def rounds(self, agents: int, seed: int, points: Callable[[Sequence[Pair]], np.ndarray]) -> Iterator[list[Pair]]:
        """The pairs that are to be played, round by round, each sorted; all but a Swiss tournament have one round.

        Args:
            agents: their number.
            seed: of the tournament.
            points: gives float64 (agents,): what each has won in these pairs, whose games have all been played.
        """
        if self.kind == "swiss":
            yield from _swiss(agents, self.number_of_rounds(agents), seed, points)
        elif self.kind == "sampled" and self.number < agents - 1:
            yield _sampled(agents, self.number, seed)
        else:
            yield sorted(self.listed or combinations(range(agents), 2))

    def number_of_rounds(self, agents: int) -> int:
        """The number of rounds."""
        if self.kind != "swiss":
            return 1
        return min(self.number or int(np.ceil(np.log2(agents))) + 2, agents - 1 + agents % 2)


def pairs_of(given: Any, names: Sequence[str]) -> Pairs:
    """The pairs that the argument `pairs` of a tournament asks for.

    Args:
        given: None or nothing for all; a number; "swiss" or "swiss:rounds"; a sequence of pairs of names or numbers; or
            these as the words of a command line.
        names: of the agents, in order.

    Raises:
        ValueError: something else, an unknown agent, an agent against itself, agents that play nobody, or groups of
            agents that never meet each other.
    """
    words = list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]
    if not words:
        return Pairs("all")
    first = words[0] if len(words) == 1 else ""
    if isinstance(first, (int, np.integer)) or (isinstance(first, str) and first.isdigit()):
        within(2, MOST, pairs=int(first))
        return Pairs("sampled", int(first))
    if isinstance(first, str) and (found := re.fullmatch(r"swiss(?::(\d{1,9}))?", first)):
        number = int(found[1] or 0)
        if found[1]:
            within(1, MOST, **{"the rounds of pairs": number})
        return Pairs("swiss", number)
    listed = sorted({_pair(each, names) for each in words})
    if len(groups := connected(len(names), listed)) > 1:
        shown = " and ".join(brief("{" + ", ".join(names[k] for k in group) + "}") for group in groups[:3])
        raise ValueError(
            f"these pairs leave {len(groups)} groups of agents that no chain of games connects, so that their ratings "
            f"cannot be compared: {shown}{' ...' if len(groups) > 3 else ''}"
        )
    return Pairs("listed", listed=tuple(listed))


def _pair(given: Any, names: Sequence[str]) -> Pair:
    """Two agents by their numbers, the lower one first."""
    match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", given) if isinstance(given, str) else None
    two = (int(match[1]), int(match[2])) if match else given
    if not isinstance(two, (tuple, list)) or len(two) != 2:
        raise ValueError(f"pairs must be {_WORDS}, not {brief(repr(given))}")
    numbers = []
    for each in two:
        if isinstance(each, str):
            if each not in names:
                raise ValueError(f"pairs: {unknown('agent', each, names)}")
            numbers.append(names.index(each))
        else:
            within(0, len(names) - 1, **{"the number of an agent in pairs": each})
            numbers.append(int(each))
    if numbers[0] == numbers[1]:
        raise ValueError(f"pairs: {names[numbers[0]]} cannot play itself")
    return min(numbers), max(numbers)


def _sampled(agents: int, number: int, seed: int) -> list[Pair]:
    met = np.zeros(agents, np.int64)
    found: list[Pair] = []
    for agent in range(1, agents):
        rng = np.random.default_rng([seed, _DRAWN, agent])
        own = min((number + agent % 2) // 2, agent)
        chosen = set[int]()
        while len(chosen) < own:
            one, other = (int(each) for each in rng.integers(agent, size=2))
            better = min((one, other), key=lambda each: (each in chosen, met[each]))
            chosen.add(better)
        for other in sorted(chosen):
            met[[agent, other]] += 1
            found.append((other, agent))
    return sorted(found)


def _swiss(agents: int, rounds: int, seed: int, points: Callable[[Sequence[Pair]], np.ndarray]) -> Iterator[list[Pair]]:
    place = np.random.default_rng([seed, _SWISS]).permutation(agents)  # among equals
    met: list[Pair] = []
    pauses = np.zeros(agents, np.int64)
    for _ in range(rounds):
        score = points(met) + pauses * 0.5 if met else np.zeros(agents)
        waiting = [int(each) for each in np.lexsort((place, -score))]
        if len(waiting) % 2:  # the last of those who have paused least
            paused = min(reversed(waiting), key=lambda agent: pauses[agent])
            pauses[paused] += 1
            waiting.remove(paused)
        now = _matched(waiting, set(met))
        if not now:
            return
        met += now
        yield now
    groups = connected(agents, met)
    if len(groups) > 1:  # a last round, so that all can be compared
        yield sorted((groups[0][0], group[0]) for group in groups[1:])


def _matched(waiting: Sequence[int], met: set[Pair]) -> list[Pair]:
    """Pairs of neighbours in this order that have not met; who has met all that are left changes with an earlier pair.

    If that leads nowhere, they pause.
    """

    def pair(one: int, other: int) -> Pair:
        return min(one, other), max(one, other)

    left, found, lonely = list(waiting), list[Pair](), list[int]()
    while left:
        one = left.pop(0)
        other = next((each for each in left if pair(one, each) not in met), None)
        if other is None:
            lonely.append(one)
        else:
            left.remove(other)
            found.append(pair(one, other))
    while len(lonely) > 1:
        one, other = lonely.pop(), lonely.pop()
        for k in reversed(range(len(found))):
            changed = [[pair(one, a), pair(other, b)] for a, b in (found[k], found[k][::-1])]
            new = next((two for two in changed if not met & set(two)), None)
            if new is not None:
                found[k : k + 1] = new
                break
    return sorted(found)
