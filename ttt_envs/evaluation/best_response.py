"""Exploitability: the loss of an agent to opponents who know its policy and play a best response.

    from ttt_envs import evaluation

    report = evaluation.exploitability("some_game", ["random", "greedy"], max_turns=3)
    print(report.measurements[0].exploitability)

The same on the command line: `ttt exploitability some_game --agents random greedy --option max_turns=3`.

The agent is asked for its policy in every information set of the game, and the best response to it is computed exactly,
by a walk through the whole tree (see `ttt_envs.solvers.tree`); so this is for small games of two players.
Exploitability is the mean of the best responses of both seats, in units of reward, NashConv their sum; both are 0 for
an equilibrium, and for nothing else. A game whose oracle has a method `best_response` (`BestResponder` in
`ttt_envs.core.oracle`) needs no tree; nor does one whose oracle has `best_response_from` (`StartResponder`): there the
figure is the mean over a sample of starts, with its 95 % interval (see `ttt_envs.evaluation.reports.intervals`).
`ttt_envs.evaluation.arena.asking` explains how an agent is asked.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents import Agent, as_agent
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within
from ttt_envs.core.oracle import BestResponder, Progress, StartResponder
from ttt_envs.evaluation.arena.asking import Asked, SeedsMatter
from ttt_envs.evaluation.arena.seating import line_up
from ttt_envs.evaluation.reports.equilibrium import walk_shown
from ttt_envs.evaluation.reports.intervals import mean_interval, shown
from ttt_envs.evaluation.reports.page import PagedReport
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Arguments, Table
from ttt_envs.registry import game_for
from ttt_envs.solvers import sequence, tree
from ttt_envs.solvers.sequence import Tree
from ttt_envs.storage.files import new_folder

#: Starts that are drawn unless another number is given.
STARTS = 100

# What an agent can lose from a start, as the mean over both seats: rewards are from -1 to 1.
_MOST = 1.0

Responder = BestResponder | StartResponder


@dataclass(frozen=True)
class MeasuredExploitability:
    """One agent's exploitability.

    Attributes:
        agent: its name.
        exploitability, nash_conv: see `sequence.Exploitability`.
        best_responses: the expected reward of each player who plays best against the agent.
        expected: the expected reward of player 0 if the agent holds both seats; nan if not known.
        samples: seeds over which the agent's policy is averaged in each position; 0 if it is known exactly.
        starts: starts of the game over which the figures are means; 0 if they are for all that can happen.
        interval: both ends of the 95 % interval of `exploitability`, by the choice of these starts; both are the figure
            itself where it is for all that can happen.
    """

    agent: str
    exploitability: float
    nash_conv: float
    best_responses: tuple[float, float]
    expected: float
    samples: int
    starts: int = 0
    interval: tuple[float, float] = (0.0, 0.0)

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.interval[1] - self.interval[0]) / 2


def measure(
    game: Game,
    agent: Agent,
    *,
    samples: int = 100,
    starts: int = STARTS,
    seed: int = 0,
    limit: int = tree.LIMIT,
    game_tree: Tree | None = None,
    progress: Progress = lambda share: None,
) -> MeasuredExploitability:
    """The exploitability of an agent that holds both seats; arguments and errors are those of `exploitability`.

    `game_tree` is the game's tree if it was walked before, see `tree_for`; `progress` is a callback for the share that
    is done.
    """
    _check(samples, starts)
    agent = as_agent(agent)
    if agent.interactive:
        raise ValueError(f"agent {agent.name!r} cannot be measured: it would be asked in every information set")
    responder = responder_of(game) if game_tree is None else None
    if responder is None and game_tree is None:
        game_tree = tree.walk(game, limit=limit)

    def measured(asked: Asked) -> MeasuredExploitability:
        if game_tree is not None:
            return _by_tree(asked, game_tree, progress)
        assert responder is not None
        return _by_oracle(asked, game, responder, Batch(game, starts, seed=seed).states, progress)

    try:
        return measured(Asked(agent))
    except SeedsMatter:
        return measured(Asked(agent, samples))


def _check(samples: int, starts: int) -> None:
    """Raise ValueError for wrong numbers, before a tree is walked through."""
    within(1, MOST, samples=samples)
    within(2, MOST, starts=starts)


def _by_tree(asked: Asked, tree: Tree, progress: Progress) -> MeasuredExploitability:
    """Measure by best responses on the game's tree, see `measure`."""
    tables, done, total = [], 0, max(tree.sets, 1)
    for player in (0, 1):
        parts = [np.zeros((0, tree.game.num_actions))]
        for views in zip(*(tree.views(player, seed) for seed in range(asked.seeds)), strict=True):
            parts.append(asked(views))
            done += len(parts[-1])
            progress(done / total)
        tables.append(np.concatenate(parts))
    result = sequence.exploitability(tree, tree.policy(tables))
    value, best, interval = result.value, result.best_responses, (result.value, result.value)
    return MeasuredExploitability(
        asked.agent.name, value, result.nash_conv, best, result.expected, asked.samples, 0, interval
    )


def _by_oracle(
    asked: Asked, game: Game, responder: Responder, starts: np.ndarray, progress: Progress
) -> MeasuredExploitability:
    """Measure by the oracle, in the whole game or as the mean over some starts, see `measure`."""
    policy, sampled = asked.policy(game), isinstance(responder, StartResponder)

    def half(player: int) -> np.ndarray:
        def told(share: float) -> None:
            progress((player + share) / 2)

        if isinstance(responder, StartResponder):
            return responder.best_response_from(policy, starts, player, told)
        alike = asked.agent.equivariant
        return np.array([responder.best_response(policy, player, told, equivariant=alike)])

    first, second = half(0), half(1)
    # The value of the start is no loss: in the sum over both seats it cancels out, start by start.
    losses = (first + second) / 2
    mean = float(losses.mean()) + 0.0  # adding 0 turns -0 into 0
    interval = mean_interval(np.maximum(losses, 0), np.ones(len(losses)), _MOST)[1] if sampled else (mean, mean)
    best, n = (float(first.mean()), float(second.mean())), len(losses) if sampled else 0
    return MeasuredExploitability(asked.agent.name, mean, 2 * mean, best, np.nan, asked.samples, n, interval)


def responder_of(game: Game) -> Responder | None:
    """The game's oracle, if it answers policies."""
    try:
        oracle = game.oracle()
    except NotImplementedError:
        return None
    return oracle if isinstance(oracle, BestResponder | StartResponder) else None


def tree_for(game: Game, limit: int = tree.LIMIT, *, quiet: bool = False) -> Tree | None:
    """The argument `game_tree` of `measure`: the game's tree, walked with progress shown; None if its oracle answers.

    Raises ValueError for a game that cannot be measured.
    """
    return None if responder_of(game) is not None else walk_shown(game, limit, quiet=quiet)


# --- the report ---


@dataclass(kw_only=True)
class ExploitabilityReport(PagedReport):
    """A report on what agents lose against best responses.

    Attributes:
        measurements: one for each agent that was finished, in the order given.
        tree: the tree of the game; None if its oracle answered.
    """

    measurements: list[MeasuredExploitability]
    tree: Tree | None

    verb, title, unit = "exploitability", "Exploitability", "agents"

    def tables(self) -> list[Table]:
        """The table, one row per agent."""
        rows = [
            [
                m.agent,
                "≈ " * bool(m.samples) + shown(m.exploitability, m.interval if m.starts else (np.nan, np.nan)),
                *(f"{each:.4f}" for each in (m.nash_conv, *m.best_responses)),
                "–" if np.isnan(m.expected) else f"{m.expected:.4f}",
            ]
            for m in self.measurements
        ]
        if self.tree is not None:
            where = f" are exact: all {self.tree.sets} information sets of {self.tree.positions} positions."
        elif self.measurements[0].starts:
            where = (
                f" by the game's oracle, exact from each of {self.measurements[0].starts} starts of the game; in "
                "brackets the 95 % interval, by the choice of these."
            )
        else:
            where = " by the game's oracle."
        note = (
            "What a best response wins against the agent, in units of reward: as the mean over both seats "
            "(exploitability), as the sum (NashConv), and for who holds each seat. Self-play: what player_0 gets if "
            f"the agent holds both. Best responses{where}"
        )
        header = ["agent", "exploitability", "NashConv", "as player_0", "as player_1", "self-play"]
        return [Table("Exploitability", header, rows, note)]

    def remarks(self) -> list[str]:
        """Notes on agents whose figures are estimates, and on those that were not measured."""
        remarks = [
            f"{m.agent}: what it does depends on its seeds, and is estimated as the mean over {m.samples} of them in "
            "each position; the figures come out too high, the less so the more samples."
            for m in self.measurements
            if m.samples
        ]
        return [*remarks, *self.unmeasured(len(self.measurements))]

    def data(self) -> dict[str, Any]:
        """The measurements and the size of the tree."""
        return {
            "positions": None if self.tree is None else self.tree.positions,
            "information_sets": None if self.tree is None else [len(mine.sets) for mine in self.tree.players],
            "measurements": [asdict(m) for m in self.measurements],
        }


def exploitability(
    game: str | Game,
    agents: Any,
    *,
    samples: int = 100,
    starts: int = STARTS,
    seed: int = 0,
    limit: int = tree.LIMIT,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> ExploitabilityReport:
    """Measure what agents lose against best responses.

    Args:
        game: an id, or a Game: of two players, zero-sum, and small enough for its whole tree, or with an oracle that
            answers policies.
        agents: one or more of what `agents.load` takes: texts, objects, functions.
        samples: seeds over which an agent's policy is averaged in each position, if it depends on them.
        starts: how many starts of the game are drawn, if its oracle answers from given ones.
        seed: for drawing the starts and the agents' seeds.
        limit: positions of the game's tree at most.
        out: folder for report.md, report.html and results.json; nothing is written without one.
        quiet: no progress bar.
        options: of the game, if `game` is an id.

    Raises:
        ValueError, TypeError: wrong settings, a game or an agent that cannot be measured, two agents with one name, no
            probabilities where an agent is asked for them.
        FileExistsError: `out` holds files.
        InUse: another process is writing `out`.
        NotSaved: `out` cannot be written in the end; the error has the report.
        FileNotFoundError: a file that an agent needs is not there.
        KeyboardInterrupt: interrupted before anything was finished. Later, an interrupt gives a partial report.
    """
    settings = Arguments(exploitability, locals())
    _check(samples, starts)
    game = game_for(exploitability, game, options)
    lineup = line_up(game, agents)
    settings["agents"] = list(lineup.texts)
    with new_folder(out) as folder:
        game_tree = tree_for(game, limit, quiet=quiet)
        measurements: list[MeasuredExploitability] = []
        with Work(measurements, "agents", float(len(lineup.agents)), hidden=quiet) as work:
            for done, agent in enumerate(lineup.agents):
                progress = work.part(done, agent.name)
                how = {"samples": samples, "starts": starts, "seed": seed, "limit": limit}
                measurements.append(measure(game, agent, **how, game_tree=game_tree, progress=progress))
        return ExploitabilityReport(
            game=game,
            settings=settings,
            made=lineup.made,
            complete=work.complete,
            seconds=work.seconds,
            measurements=measurements,
            tree=game_tree,
        ).kept(folder)
