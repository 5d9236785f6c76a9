"""A data set of solved positions: the value of every action and best play, in Parquet, split by position.

    from ttt_envs.evaluation.solved.dataset import build

    build("data", ["dice-round"], rows=1000)

The same on the command line: `ttt dataset --sets dice-round --rows 1000 --out data`. `docs/dataset.md` describes the
columns. A set is a game with its options, a number of positions and a seed, in the file dataset.toml of the game's
folder. It needs the extra `data`.

**Positions** are drawn as those of `ttt mistakes`, see `ttt_envs.evaluation.solved.positions`; positions that the
player to move sees alike count once. In a set with `values = "equilibrium"` they are all information sets of a small
game to which the other player and chance may lead. **Values** are the oracle's; in a set with `values = "search"` a
search estimates those that the oracle does not know, and a column tells which.

**Splits.** Each position belongs to train (80 %), validation or test (10 % each) by a digest of what its player sees,
the same for all of its symmetric images. The positions of `ttt questions` and their images are in the test split.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text, choice, within
from ttt_envs.core.prompts import prompt
from ttt_envs.core.symmetry import feature_turns, turn_to_first
from ttt_envs.core.version import __version__
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.play import game_seeds
from ttt_envs.evaluation.records.dataset import columns_table, features_of, table_of, vectors, writing_tables
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.evaluation.solved.positions import draw_positions, sample_positions
from ttt_envs.evaluation.solved.questions import question_sets
from ttt_envs.evaluation.solved.sets import PositionSet, named
from ttt_envs.evaluation.thoughts import weigh_all
from ttt_envs.registry import folder_of
from ttt_envs.storage.files import new_folder, write_whole

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["build", "load_solved"]

#: The version of the columns, which a file's metadata has as `ttt-envs solved`.
VERSION = 1

#: Split -> the share of positions, of 10.
SPLITS = {"train": 8, "validation": 1, "test": 1}

#: Where the values of a set come from.
VALUES = ("oracle", "search", "equilibrium")

#: Column -> its meaning, for the cards and the page.
COLUMNS = {
    "state": "the whole position as text, which `Game.parse_state` reads",
    "text": "what the player is told, as a prompt without the rules",
    "player": "the player who decides",
    "length": "plies to the end under best play, -1 where it has no end; or plies played, as the card says",
    "observation": "what the player sees, features of 0 and 1",
    "action_mask": "1 for each legal action",
    "action_values": "expected reward of the player after each action, if all play best from there; nan where illegal "
    "or not known",
    "estimated": "1 for each action whose value is a search's estimate",
    "policy": "the probability of each action under best play: an equilibrium where players choose at once or hide "
    "something, else equal for the best actions",
    "best_action": "the likeliest action of that policy",
    "value": "expected reward of the player under that policy",
}

# Values that differ by less are equal: oracles are exact up to rounding.
_EQUAL = 1e-6

# What is not reached by the other player and chance with more than this has no value.
_REACHED = 1e-9

# Rows of a group, and iterations of PCFR+ for an equilibrium.
_ROWS, _ITERATIONS = 4096, 2000

_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class SolvedSet(PositionSet):
    """A set of solved positions.

    Attributes:
        rows: number of positions that are drawn; those that are seen alike count once.
        licence: of its text, as Hugging Face names it.
        values: where the values come from, one of `VALUES`.
        by: agents, of which each seat of a game draws one, whose games the positions of "search" are from.
        simulations: of the search for each position.
    """

    rows: int
    licence: str
    values: str = "oracle"
    by: Sequence[str] = ("random",)
    simulations: int = 0

    def __post_init__(self) -> None:
        choice(f"values of {self.name}", self.values, VALUES)


@dataclass(frozen=True)
class Solved:
    """Solved positions; arrays (n, ...) as the columns of the same names.

    Attributes:
        states: structured (n,).
        remaining: whether lengths are plies to the end; else they are plies played.
        exploitability: of the equilibrium, in units of reward; None in other sets.
    """

    states: np.ndarray
    players: np.ndarray
    lengths: np.ndarray
    values: np.ndarray
    estimated: np.ndarray
    policy: np.ndarray
    value: np.ndarray
    remaining: bool
    exploitability: float | None = None

    def __len__(self) -> int:
        return len(self.states)


def solved_sets() -> dict[str, SolvedSet]:
    """All sets, by name."""
    return SolvedSet.declared("dataset.toml")


def set_of(name: str) -> SolvedSet:
    """The set of that name; ValueError if there is none."""
    return named("set of solved positions", name, solved_sets())


def overview() -> Table:
    """The sets."""
    rows = [
        [each.title, each.name, str(each.rows), each.values, each.licence, str(each.version)]
        for each in solved_sets().values()
    ]
    note = "`ttt dataset --sets NAME --out FOLDER` builds one; positions that are seen alike count once."
    return Table("Solved positions", ["positions of", "set", "drawn", "values", "licence", "version"], rows, note)


def load_solved(name: str) -> dict[str, np.ndarray]:
    """Load the sample of a set of solved positions that comes with the package; it needs NumPy alone.

    Returns the columns as arrays (n, ...), some 250 positions, and as `split` the split of the whole set in which each
    of them is. `docs/dataset.md` describes the columns. Raises ValueError, with the known names, for an unknown set.
    """
    folder = folder_of(set_of(name).game)
    assert folder is not None
    with folder.joinpath(sample_file(name)).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def sample_file(name: str) -> str:
    """The name of the file with the sample of a set's present version, in its game's folder."""
    return f"{name}-{set_of(name).version}.npz"


# --- positions and their best play ---


def solve(solved_set: SolvedSet, rows: int = 0, progress: Callable[[float], None] = lambda share: None) -> Solved:
    """The positions of a set with their best play.

    Args:
        solved_set: the set.
        rows: how many are drawn; 0 for the set's own number. Information sets are taken evenly.
        progress: callback for the share that is done.
    """
    game = solved_set.load()
    number = min(rows or solved_set.rows, solved_set.rows)
    solved = {"oracle": _by_oracle, "search": _by_search, "equilibrium": _by_equilibrium}[solved_set.values](
        solved_set, game, number, progress
    )
    seen = game.observations(solved.states, solved.players)
    # Of a hidden history an observation tells a part: there all information sets count.
    if solved_set.values != "equilibrium":
        first = np.sort(np.unique(np.column_stack([seen, solved.players]), axis=0, return_index=True)[1])
        solved = _rows(solved, first)
    progress(1.0)
    return solved


def _by_oracle(solved_set: SolvedSet, game: Game, number: int, progress: Callable[[float], None]) -> Solved:
    drawn = draw_positions(game, number, least=0.0, seed=solved_set.seed)
    progress(0.5)
    top = np.nanmax(drawn.values, axis=1)
    best = drawn.values >= top[:, None] - _EQUAL
    policy = game.oracle().policy(drawn.states, drawn.players) if game.simultaneous else best / best.sum(1)[:, None]
    return Solved(
        states=drawn.states,
        players=drawn.players,
        lengths=drawn.lengths,
        values=drawn.values,
        estimated=np.zeros(drawn.values.shape, np.bool_),
        policy=policy,
        value=top,
        remaining=drawn.remaining,
    )


def _by_search(solved_set: SolvedSet, game: Game, number: int, progress: Callable[[float], None]) -> Solved:
    drawn = sample_positions(game, number, solved_set.seed, solved_set.by)
    view = View(game, drawn.states, drawn.players, game_seeds(solved_set.seed, number))
    values, policy = np.full((number, game.num_actions), np.nan), np.zeros((number, game.num_actions))
    estimated, value = np.zeros(values.shape, np.bool_), np.full(number, np.nan)
    for k, weighed in enumerate(weigh_all(view, solved_set.simulations)):
        values[k], estimated[k], policy[k] = weighed.values, weighed.estimated, weighed.policy
        value[k] = np.nan if weighed.value is None else weighed.value
        progress(k / number)
    kept = np.flatnonzero((view.masks.sum(axis=1) > 1) & ~np.isnan(value))
    return _rows(Solved(drawn.states, drawn.players, drawn.lengths, values, estimated, policy, value, False), kept)


def _by_equilibrium(solved_set: SolvedSet, game: Game, number: int, progress: Callable[[float], None]) -> Solved:
    from ttt_envs.solvers import cfr, sequence, tree

    walked = tree.walk(game)
    progress(0.2)
    solver = cfr.Solver(walked)
    solver.run(_ITERATIONS)
    policy = solver.average()
    reached = tree.reaches(walked, policy)
    progress(0.8)
    parts = []
    for player, mine in enumerate(walked.players):
        reach = reached[player]
        values = sequence.action_values(walked, player, policy, reach)
        rows = np.flatnonzero(reach > _REACHED)
        rows = rows[(mine.sets["count"][rows] > 1)]
        played, top = walked.table(player, policy[player])[rows], np.nanmax(values[rows], axis=1)
        # Where the equilibrium itself does not lead, it is not settled: there best play against it is.
        best = values[rows] >= top[:, None] - _EQUAL
        never = sequence.plan_of(mine, policy[player])[mine.sets["parent"][rows]] <= _REACHED
        played[never] = (best / best.sum(axis=1, keepdims=True))[never]
        parts.append(
            Solved(
                states=mine.states[rows],
                players=np.full(len(rows), player),
                lengths=mine.plies[rows].astype(np.int64),
                values=values[rows],
                estimated=np.zeros(values[rows].shape, np.bool_),
                policy=played,
                value=top,
                remaining=False,
                exploitability=solver.point().exploitability,
            )
        )
    names = ("states", "players", "lengths", "values", "estimated", "policy", "value")
    joined = Solved(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
        remaining=False,
        exploitability=parts[0].exploitability,
    )
    if number >= len(joined):
        return joined
    return _rows(joined, np.sort(np.random.default_rng(solved_set.seed).permutation(len(joined))[:number]))


def _rows(solved: Solved, rows: np.ndarray) -> Solved:
    parts = {name: value[rows] for name, value in vars(solved).items() if isinstance(value, np.ndarray)}
    return Solved(**{**vars(solved), **parts})


# --- splits ---


def digests_of(game: Game, observations: np.ndarray) -> list[bytes]:
    """A digest of each observation, int8 (n, size), the same for all of its symmetric images."""
    seen = observations[:, None].copy()
    turn_to_first(seen, feature_turns(game.symmetries, game.observation_size), np.empty(len(seen), np.int64))
    packed = np.packbits(seen[:, 0].astype(np.bool_), axis=1)
    return [hashlib.blake2b(each.tobytes(), digest_size=8, key=game.id.encode()).digest() for each in packed]


def splits_of(game: Game, observations: np.ndarray, asked: frozenset[bytes] = frozenset()) -> np.ndarray:
    """The split of each observation, as text (n,): see the top of this module; digests `asked` are of the test."""
    names = [name for name, share in SPLITS.items() for _ in range(share)]
    digests = digests_of(game, observations)
    return np.array(["test" if each in asked else names[int.from_bytes(each, "little") % 10] for each in digests])


@cache
def asked_of(game_id: str) -> frozenset[bytes]:
    """Digests of the positions of a game's sets of questions."""
    found: set[bytes] = set()
    for each in question_sets().values():
        if each.game == game_id:
            drawn, game = each.draw(), each.load()
            found.update(digests_of(game, game.observations(drawn.states, drawn.players)))
    return frozenset(found)


# --- files ---


@dataclass
class Built:
    """One set that was written.

    Attributes:
        solved_set: the set.
        rows: split -> number of positions.
        estimated: share of the known values of actions that are estimates.
        remaining, exploitability: as of `Solved`.
    """

    solved_set: SolvedSet
    rows: dict[str, int] = field(default_factory=dict)
    estimated: float = 0.0
    remaining: bool = False
    exploitability: float | None = None


def build(
    out: str | Path,
    sets: Sequence[str] = (),
    *,
    rows: int = 0,
    progress: Callable[[str, float], None] = lambda name, share: None,
) -> list[Built]:
    """Write sets of solved positions into a new folder, each in a folder of its own, with a card, README.md.

    The card has the form of Hugging Face, so that the folder can be loaded and published as a data set there. After an
    error or an interrupt nothing is left of it.

    Args:
        out: the folder, which must have no files.
        sets: names of sets; none for all.
        rows: positions of each set at most; 0 for all.
        progress: callback for the name of the set that is under way, and the share of it that is done.

    Raises:
        ValueError: an unknown set, or a wrong number.
        ImportError: the extra `data` is not installed.
        FileExistsError, InUse: `out` holds files, or is being written.
        OSError: `out` cannot be written.
    """
    within(0, 10**9, rows=rows)
    chosen = [set_of(name) for name in dict.fromkeys([sets] if isinstance(sets, str) else sets or solved_sets())]
    built = []
    with new_folder(out) as folder, ExitStack() as undo:
        assert folder is not None
        for solved_set in chosen:
            place = folder / solved_set.name
            undo.callback(_remove, place)
            solved = solve(solved_set, rows, lambda share, name=solved_set.name: progress(name, 0.9 * share))  # type: ignore[misc]
            built.append(_write(solved_set, solved, place))
            progress(solved_set.name, 1.0)
        write_whole(folder / "README.md", card(built))
        undo.pop_all()
    return built


def _remove(place: Path) -> None:
    for path in place.glob("*.parquet"):
        path.unlink()
    if place.is_dir():
        place.rmdir()


def _write(solved_set: SolvedSet, solved: Solved, place: Path) -> Built:
    game = solved_set.load()
    observations = game.observations(solved.states, solved.players)
    split = splits_of(game, observations, asked_of(solved_set.game))
    known = ~np.isnan(solved.values)
    share = float(solved.estimated.sum() / max(known.sum(), 1))
    built = Built(solved_set, {}, share, solved.remaining, solved.exploitability)
    for name in SPLITS:
        rows = np.flatnonzero(split == name)
        with writing_tables(place / f"{name}.parquet") as write:
            for some in _parts(rows):
                write(_table(solved_set, game, _rows(solved, some), observations[some]))
        built.rows[name] = len(rows)
    return built


def _parts(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Some rows at a time; one empty part of none, so that a file has its columns."""
    for first in range(0, max(len(rows), 1), _ROWS):
        yield rows[first : first + _ROWS]


def _table(solved_set: SolvedSet, game: Game, solved: Solved, observations: np.ndarray) -> "pa.Table":
    import pyarrow as pa

    view = View(game, solved.states, solved.players, np.zeros(len(solved), np.uint64))
    columns = {
        "state": pa.array([game.format_state(state, None) for state in solved.states], pa.string()),
        "text": pa.array([prompt(view, k, rules=False) for k in range(len(solved))], pa.string()),
        "player": pa.array(solved.players, pa.int8()),
        "length": pa.array(solved.lengths, pa.int32()),
        "observation": vectors(observations, pa.int8()),
        "action_mask": vectors(view.masks.astype(np.int8), pa.int8()),
        "action_values": vectors(np.round(solved.values, _DIGITS).astype(np.float32) + 0, pa.float32()),
        "estimated": vectors(solved.estimated.astype(np.int8), pa.int8()),
        "policy": vectors(solved.policy.astype(np.float32), pa.float32()),
        "best_action": pa.array(solved.policy.argmax(axis=1) if len(solved) else [], pa.int32()),
        "value": pa.array(np.round(solved.value, _DIGITS).astype(np.float32) + 0, pa.float32()),
    }
    facts = {"ttt-envs solved": str(VERSION), "set": solved_set.name, "set version": str(solved_set.version)}
    names = json.dumps(list(game.action_names), ensure_ascii=False)
    return table_of(
        game, columns, COLUMNS, {**facts, "licence": solved_set.licence, "rules": game.rules_text, "actions": names}
    )


def card(built: Sequence[Built]) -> str:
    """The card of a folder of sets, as Hugging Face reads it: YAML, then Markdown."""
    licences = list(dict.fromkeys(each.solved_set.licence for each in built))
    total = sum(sum(each.rows.values()) for each in built)
    sizes = [("n<1K", 1000), ("1K<n<10K", 10**4), ("10K<n<100K", 10**5), ("100K<n<1M", 10**6)]
    size = next((name for name, limit in sizes if total < limit), "1M<n<10M")
    front = ["---", "pretty_name: Solved positions of ttt-envs", "license:", *(f"- {name}" for name in licences)]
    front += ["task_categories:", "- reinforcement-learning", "tags:", *(f"- {tag}" for tag in _TAGS)]
    front += ["size_categories:", f"- {size}", "configs:"]
    for each in built:
        front += [f"- config_name: {each.solved_set.name}", "  data_files:"]
        for name in SPLITS:
            front += [f"  - split: {name}", f"    path: {each.solved_set.name}/{name}.parquet"]
    command = f"ttt dataset --sets {' '.join(each.solved_set.name for each in built)} --out FOLDER"
    lines = [
        *front,
        "---",
        "",
        "# Solved positions of ttt-envs",
        "",
        f"{total} positions of variants of tic-tac-toe, each with the value of every action and with best play. "
        f"Made by ttt-envs {__version__}: `{command}`. Version {VERSION} of the columns.",
        "",
        "Positions that are images of each other by a symmetry of the board are in the same split, and so are those "
        "that a player sees alike. The positions of `ttt questions` are in the test split.",
        "",
        *columns_table(COLUMNS, "##"),
    ]
    return "\n".join([*lines, *(line for each in built for line in _section(each))])


_TAGS = ("board-games", "multi-agent", "tic-tac-toe", "game-theory", "offline-reinforcement-learning")

_SOURCES = {
    "oracle": "The values are the oracle's, exact up to rounding or its stated error.",
    "search": "Values that the oracle does not know are estimates of `{search}`; the column `estimated` tells them.",
    "equilibrium": "The information sets of a small game to which chance and the other player may lead, with an "
    "equilibrium by PCFR+, whose exploitability is {exploitability:.1e}; values are those against it. Where the "
    "equilibrium itself does not lead, the policy is a best response to it. A state is one of the positions of its "
    "information set.",
}


def _section(built: Built) -> list[str]:
    from ttt_envs import agents

    solved_set, game = built.solved_set, built.solved_set.load()
    options = ", ".join(f"`{name}={as_text(value)}`" for name, value in game.options.items())
    search = f"{agents.search_for(game)}:simulations={solved_set.simulations}"
    source = _SOURCES[solved_set.values].format(search=search, exploitability=built.exploitability or 0.0)
    lengths = "plies to the end under best play" if built.remaining else "plies played"
    rows = ", ".join(f"{name} {number}" for name, number in built.rows.items())
    drawn = f" From games of {', '.join(f'`{name}`' for name in solved_set.by)}." * (solved_set.values == "search")
    return [
        f"## {solved_set.name}: {solved_set.title}",
        "",
        f"Game `{solved_set.game}`, version {game.version}; set version {solved_set.version}. Options: {options}. "
        f"Licence: {solved_set.licence}.",
        "",
        f"{rows}. `length` is {lengths}.{drawn} {source}"
        + f" {100 * built.estimated:.1f} % of the values are estimates." * (solved_set.values == "search"),
        "",
        *features_of(game, "###"),
    ]
