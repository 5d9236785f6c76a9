"""Mistakes: how often an agent errs in given solved positions.

Example::

    from ttt_envs import evaluation

    report = evaluation.mistakes("some_game", ["random", "greedy"], positions=500)
    print(report.measurements[0].share, report.measurements[0].interval)

The same on the command line: `ttt mistakes some_game --agents random greedy --positions 500`.

Regret is measured in the positions that an agent reaches, so an agent that wins quickly is never tested in hard ones.
Here all agents get the same positions. A mistake is an action that loses more than `least` compared with the best one,
in reward units. With rewards of 1, 0 and -1 every worse result is a mistake; if values are expectations, `least`
matters.

Positions of all lengths are equally frequent. The oracle of a completely solved game draws them itself (`Drawer` in
`ttt_envs.core.oracle`): from positions that the player to move wins or draws. Their length is the number of remaining
plies under optimal play; endless draws count as one length. With other oracles, positions are sampled from random
games, so that each number of plies played is equally frequent. Positions that the oracle does not know, and positions
in which no action loses more than `least`, are excluded. For simultaneous choices, an action's loss is measured against
an equilibrium strategy of the others: actions that the equilibrium plays lose nothing, whatever their probabilities.
The 95 % interval of the share is from `ttt_envs.evaluation.reports.intervals`: Clopper and Pearson's if positions are
independent. In random games, the few longest games give as many positions as the many shorter ones. The interval then
treats each game as a cluster and is wider.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents import Agent, as_agent, load
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players
from ttt_envs.core.options import MOST, within
from ttt_envs.core.oracle import Drawer
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.play import ask, game_seeds
from ttt_envs.evaluation.arena.seating import line_up
from ttt_envs.evaluation.judging import MISTAKE, judge, oracle_of
from ttt_envs.evaluation.reports.intervals import mean_interval, percent
from ttt_envs.evaluation.reports.page import PagedReport
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Arguments, Table
from ttt_envs.registry import game_for
from ttt_envs.storage.files import new_folder

# The most rounds in which positions are drawn; if there are still too few, `draw_positions` raises an error.
_ROUNDS = 20


@dataclass(frozen=True)
class Positions:
    """Solved positions in which a player can make a mistake.

    Attributes:
        states: structured (n,), none of them finished.
        players: int64 (n,), the deciding players.
        lengths: int64 (n,), remaining plies under optimal play, -1 for endless play; or plies played.
        values: float64 (n, num_actions), expected reward of the player after each action; nan where illegal.
        remaining: whether lengths are plies to the end.
        policy: float64 (n, num_actions), an equilibrium policy; None if no mixing is needed or it is not requested.
        games: uint64 (n,), the seed of each position's game; None if all are from different games.
    """

    states: np.ndarray
    players: np.ndarray
    lengths: np.ndarray
    values: np.ndarray
    remaining: bool
    policy: np.ndarray | None = None
    games: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.states)

    @property
    def loss(self) -> np.ndarray:
        """float64 (n, num_actions): each action's loss compared with the best one; nan where illegal."""
        return np.asarray(np.nanmax(self.values, axis=1, keepdims=True) - self.values)


@dataclass(frozen=True)
class MeasuredMistakes:
    """One agent's mistakes.

    Attributes:
        agent: its name.
        share: share of the positions in which the agent made a mistake.
        interval: both ends of the 95 % interval of `share`.
        mean_loss: mean loss of the agent's actions over all positions, in reward units.
        positions: number of positions.
        failures: number of positions without a legal action, which count as mistakes with the largest loss.
    """

    agent: str
    share: float
    interval: tuple[float, float]
    mean_loss: float
    positions: int
    failures: int


def draw_positions(game: Game, number: int, *, least: float = MISTAKE, seed: int = 0) -> Positions:
    """Draw positions of the game for `measure`.

    Raises ValueError for a game without an oracle or with hidden information, and if the oracle knows too few
    positions.
    """
    within(1, 10**6, positions=number)
    within(0.0, 2.0, least=least)
    oracle = oracle_of(game)
    drawer = oracle if isinstance(oracle, Drawer) else None
    parts, left = [], number
    for again in range(_ROUNDS):
        own = (seed + again) % 2**128
        starts = Batch(game, max(2 * left, 64), seed=own)
        if drawer is None:
            states, lengths, games = _from_games(starts)
        else:
            states, lengths = drawer.draw_positions(starts.states, own)
            games = starts.episode_seeds
        players = _deciding(game, states, own)
        masks = game.masks(states, players, check=False)
        covered, _, _, values = judge(game, oracle, states, players, masks.argmax(axis=1))
        known = covered & ~(np.isnan(values) & masks).any(axis=1)
        rows = np.flatnonzero(known)
        spread = np.nanmax(values[rows], axis=1) - np.nanmin(values[rows], axis=1)
        rows = rows[spread > least][:left]
        parts.append((states[rows], players[rows], lengths[rows], values[rows], games[rows]))
        left -= len(rows)
        if not left:
            states, players, lengths, values, games = (np.concatenate(each) for each in zip(*parts, strict=True))
            return Positions(states, players, lengths, values, drawer is not None, games=None if drawer else games)
    raise ValueError(
        f"mistakes cannot be measured in {game}: of the positions drawn its oracle answers too few in which an "
        f"action loses more than {least:g}"
    )


def _from_games(batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions of random games, evenly by plies played, their numbers of plies, and their games' seeds.

    For each position, the number of plies is drawn first, then a game that lasts that long.
    """
    agent, kept = load("random"), []
    rng = np.random.default_rng(int(batch.episode_seeds[0]))
    while len(going := np.flatnonzero(~batch.states["done"])):
        kept.append((batch.states[going], going))
        joint = np.full((batch.n, batch.game.num_players), -1)
        rows, players = acting_players(batch.game, batch.states, going)
        view = View.unchecked(batch.game, batch.states[rows], players, batch.episode_seeds[rows])
        joint[rows, players] = agent.act(view)
        batch.step(joint[going], going)
    plies = rng.integers(0, len(kept), len(batch.states))
    chosen = [rng.integers(len(kept[ply][1])) for ply in plies]
    states, rows = (np.stack([kept[ply][k][row] for ply, row in zip(plies, chosen, strict=True)]) for k in (0, 1))
    return states, plies, batch.episode_seeds[rows]


def _deciding(game: Game, states: np.ndarray, seed: int) -> np.ndarray:
    """Return the deciding player of each position, int64 (n,); of simultaneous players, one drawn with the seed."""
    rows, players = acting_players(game, states, np.arange(len(states)))
    order = np.random.default_rng(seed).permutation(len(rows))
    found = np.empty(len(states), np.int64)
    found[rows[order]] = players[order]
    return found


def measure(
    game: Game, agent: Agent, positions: Positions, *, least: float = MISTAKE, seed: int = 0, strict: bool = True
) -> MeasuredMistakes:
    """Return an agent's mistakes in `positions`; `seed` determines the seeds of the agent's random numbers.

    Without `strict`, an error or illegal action counts as a failure in that position. With `strict`, raises the agent's
    errors, and IllegalAction, naming the agent, for an illegal action.
    """
    agent = as_agent(agent)
    agent.check(game)
    seeds = game_seeds(seed, len(positions))
    actions, faults = ask(agent, View(game, positions.states, positions.players, seeds), strict=strict)
    loss = positions.loss
    lost = loss[np.arange(len(positions)), actions]
    failed = sorted(faults)
    lost[failed] = np.nanmax(loss[failed], axis=1)
    wrong = lost > least
    _, unit = np.unique(np.arange(len(wrong)) if positions.games is None else positions.games, return_inverse=True)
    counts = np.bincount(unit)
    share, interval = mean_interval(np.bincount(unit, weights=wrong), counts, float(counts.mean()))
    ends = interval[0], min(interval[1], 1.0)
    return MeasuredMistakes(agent.name, share, ends, float(lost.mean()), len(wrong), len(failed))


# --- the report ---


@dataclass(kw_only=True)
class MistakesReport(PagedReport):
    """A report on the mistakes of agents in the same solved positions.

    Attributes:
        measurements: one for each finished agent, in the order given.
        remaining: whether lengths are plies to the end; else they are plies played.
    """

    measurements: list[MeasuredMistakes]
    remaining: bool

    verb, title, unit = "mistakes", "Mistakes", "agents"

    def facts(self) -> list[str]:
        """Return sentences that explain how positions were drawn."""
        how = (
            "positions that the player to move wins or draws, drawn evenly by the plies to the end under optimal play"
            if self.remaining
            else "positions from games of random play, drawn evenly by the plies played"
        )
        return [f"{self.settings['positions']} {how}, the same for each agent. Seed {self.settings['seed']}."]

    def tables(self) -> list[Table]:
        """Return the shares."""
        least = self.settings["least"]
        rows = []
        for m in self.measurements:
            ends = f"({percent(m.interval[0])} to {percent(m.interval[1])})"
            rows.append([m.agent, f"{percent(m.share)} {ends}", f"{m.mean_loss:.4f}", str(m.positions)])
        note = (
            f"Share of the positions in which the agent's action loses more than {least:g} against the best one, with "
            "its 95 % interval; mean loss: of all its actions. Positions in which no action loses so much are left out."
        )
        if not self.remaining:
            note += (
                " Those late in long games come from few games, and positions of one game count as one in the interval."
            )
        return [Table("Mistakes", ["agent", "mistakes", "mean loss", "positions"], rows, note)]

    def remarks(self) -> list[str]:
        """Return a remark on unmeasured agents."""
        return self.unmeasured(len(self.measurements))

    def data(self) -> dict[str, Any]:
        """Return the measurements."""
        return {"measurements": [asdict(m) for m in self.measurements]}


def mistakes(
    game: str | Game,
    agents: Any,
    *,
    positions: int = 1000,
    least: float = MISTAKE,
    seed: int = 0,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> MistakesReport:
    """Measure how often agents err in solved positions.

    Args:
        game: an id or a Game, with an oracle and without hidden information.
        agents: one or more arguments of `agents.load`: texts, objects, functions.
        positions: number of positions.
        least: the largest loss that does not count as a mistake, in reward units, from 0 to 2.
        seed: determines the positions, which are the same for each agent, and the agents' seeds.
        out: folder for report.md, report.html and results.json; None writes nothing.
        quiet: no progress bar.
        options: options of the game, if `game` is an id.

    Raises:
        ValueError, TypeError: wrong settings, a game that cannot be measured, an agent that is unknown, has the name of
            another or cannot play this game; later also an agent's illegal action.
        FileExistsError, InUse, NotSaved: `out` holds files, is in use, or cannot be written; NotSaved has the report.
        FileNotFoundError: a file that an agent needs does not exist.
        KeyboardInterrupt: interrupted before an agent was finished. A later interrupt returns a partial report.
    """
    settings = Arguments(mistakes, locals())
    within(1, MOST, positions=positions)
    game = game_for(mistakes, game, options)
    lineup = line_up(game, agents)
    settings["agents"] = list(lineup.texts)
    with new_folder(out) as folder:
        drawn = draw_positions(game, positions, least=least, seed=seed)
        measurements: list[MeasuredMistakes] = []
        with Work(measurements, "agents", float(len(lineup.agents)), hidden=quiet or lineup.live) as work:
            for done, agent in enumerate(lineup.agents):
                work.part(done, agent.name)(0.0)
                measurements.append(measure(game, agent, drawn, least=least, seed=seed))
        return MistakesReport(
            game=game,
            settings=settings,
            made=lineup.made,
            complete=work.complete,
            seconds=work.seconds,
            measurements=measurements,
            remaining=drawn.remaining,
        ).kept(folder)
