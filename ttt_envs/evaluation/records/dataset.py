"""Offline data sets: the decisions of recorded games as a Parquet file, one row a decision, with a card beside it.

    from ttt_envs.evaluation.records import read, write_parquet

    print(write_parquet("data.parquet", read("games.jsonl")).decisions)

The same on the command line: `ttt dataset games.jsonl --out data.parquet`. `docs/dataset.md` describes the columns.
`write_minari` makes a Minari data set of the same games. Both need the extra `data`.
"""

import copy
import json
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text, choice, within
from ttt_envs.core.version import __version__
from ttt_envs.evaluation.records.decisions import Decisions, decisions_of, in_groups, oracle_for
from ttt_envs.evaluation.records.record import GameRecord
from ttt_envs.evaluation.records.replaying import ReplayedGame, replay
from ttt_envs.registry import gymnasium_id, load
from ttt_envs.storage.extras import require
from ttt_envs.storage.files import write_whole, writing_whole

if TYPE_CHECKING:
    import pyarrow as pa
    from gymnasium.envs.registration import EnvSpec

#: The version of the columns, which the file's metadata has as `ttt-envs dataset`.
VERSION = 2

#: What the values of actions are taken from.
VALUES = ("oracle", "search", "none")

#: Simulations of the search for a decision.
SIMULATIONS = 400

# Rows of a row group, about.
_ROWS = 8192

#: Column -> its meaning, for the card and the page.
COLUMNS = {
    "game": "number of the game in this data set, counted from 0",
    "record": "number of the game in its file of records",
    "ply": "plies played before",
    "player": "the player who decides",
    "agent": "name of the agent in this seat",
    "observation": "what the player sees, features of 0 and 1",
    "action_mask": "1 for each legal action",
    "action": "the action that was chosen",
    "reward": "what the player got between this decision and their next one: 0 but at their last decision",
    "return": "the player's reward at the end of the game, undiscounted",
    "last": "whether it is the player's last decision in the game",
    "failed": "whether the game ended by an agent's error or illegal action, and not by the rules",
    "action_values": "expected reward after each action, if all play best from there; nan where illegal or not known; "
    "null where no value is known",
    "estimated": "1 for each action whose value is a search's estimate, and not the oracle's",
    "regret": "value of the best action less that of the chosen one; of an estimated action, that of the search's own "
    "choice less its own; null where it is not known",
}


@dataclass
class Summary:
    """The contents of a data set.

    Attributes:
        game: the game; None while there are no records.
        games: number of games.
        decisions: number of rows.
        covered: number of decisions in positions that the oracle covers.
        estimated: number of decisions in which a value is a search's estimate.
        failed: number of games that ended by a failure.
        agents: number of games of each agent, a game counted once a seat.
        libraries: the versions of the library that played the games.
    """

    game: Game | None = None
    games: int = 0
    decisions: int = 0
    covered: int = 0
    estimated: int = 0
    failed: int = 0
    agents: Counter[str] = field(default_factory=Counter)
    libraries: set[str] = field(default_factory=set)

    def add(self, games: list[ReplayedGame], decisions: Decisions) -> None:
        """Count some more games."""
        self.game = games[0].game
        self.games += len(games)
        self.decisions += len(decisions)
        self.covered += int(decisions.covered.sum())
        self.estimated += int(decisions.estimated.any(axis=1).sum())
        for each in games:
            self.failed += bool(each.record.failures)
            self.agents.update(each.record.agents)
            self.libraries.add(each.record.library)


def write_parquet(
    path: str | Path,
    records: Iterable[GameRecord],
    *,
    game: Game | None = None,
    values: str = "oracle",
    simulations: int = SIMULATIONS,
    progress: Callable[[int], None] = lambda games: None,
) -> Summary:
    """Write the decisions of recorded games to a Parquet file, and a card that describes it to a .md file beside it.

    The file is written group of rows by group of rows, and is whole or not there.

    Args:
        path: the file.
        records: games of one kind with one set of options.
        game: the game, if it is not registered.
        values: "oracle" adds the oracle's values and the regret, where the game has an oracle and nothing is hidden;
            "search" also estimates the values that the oracle does not know, by the tree search that plays the game;
            "none" adds nothing.
        simulations: of that search, for each decision.
        progress: callback for the number of games that are done.

    Raises:
        ValueError: no records, records of several games, or a record that does not fit, see `replaying.replay`.
        ImportError: the extra `data` is not installed.
        OSError: a file cannot be written.
    """
    choice("values", values, VALUES)
    within(1, 10**6, simulations=simulations)
    path, summary = Path(path), Summary()
    with writing_tables(path) as write:
        for games in in_groups(replay(records, game=game), _ROWS):
            oracle = None if values == "none" else oracle_for(games[0].game)
            decisions = decisions_of(games, oracle, simulations if values == "search" else 0)
            write(_table(games, decisions, summary.games))
            summary.add(games, decisions)
            progress(summary.games)
        if summary.game is None:
            raise ValueError("there are no games to make a data set of")
    write_whole(path.with_suffix(".md"), card(path.name, summary))
    return summary


@contextmanager
def writing_tables(path: Path) -> Iterator[Callable[["pa.Table"], None]]:
    """A context with a function that writes tables, all of one schema, one after the other, to a file that is whole.

    Raises ImportError without the extra `data`, and as `writing_whole`.
    """
    require("data", "pyarrow")
    import pyarrow.parquet as pq

    writers: list[Any] = []
    with writing_whole(path) as file:

        def write(table: "pa.Table") -> None:
            if not writers:
                writers.append(pq.ParquetWriter(file, table.schema, compression="zstd"))
            writers[0].write_table(table)

        try:
            yield write
        finally:
            for writer in writers:
                writer.close()


def vectors(values: np.ndarray, kind: Any, known: np.ndarray | None = None) -> Any:
    """Rows (n, k) as a column of lists of a fixed length; rows that are not `known`, bool (n,), are null."""
    import pyarrow as pa

    unknown = None if known is None else pa.array(~known)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel(), kind), values.shape[1], mask=unknown)


def table_of(
    game: Game, columns: Mapping[str, Any], meanings: Mapping[str, str], facts: Mapping[str, str]
) -> "pa.Table":
    """Columns as a table, with the meaning of each, and as metadata the facts of the file and of its game."""
    import pyarrow as pa

    fields = [pa.field(name, column.type, metadata={"meaning": meanings[name]}) for name, column in columns.items()]
    made = " ".join([game.id, *(f"{name}={as_text(value)}" for name, value in game.options.items())])
    told = {**facts, "game": made, "library": __version__}
    if game.has_planes:
        index = np.where(game.plane_index < game.observation_size, game.plane_index, -1)
        told["planes"] = json.dumps({"shape": list(index.shape), "index": index.ravel().tolist()})
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields, metadata=told))


def _table(games: list[ReplayedGame], decisions: Decisions, first: int) -> "pa.Table":
    """The rows of some games, of which the first one has that number."""
    import pyarrow as pa

    game, n = games[0].game, len(decisions)
    records = [each.record for each in games]
    names = sorted({agent for record in records for agent in record.agents})
    agent = np.array([[names.index(each) for each in record.agents] for record in records])
    failed = np.array([bool(record.failures) for record in records])
    number = np.array([record.number for record in records])
    known = decisions.covered | ~np.isnan(decisions.values).all(axis=1)
    columns = {
        "game": pa.array(first + decisions.played, pa.int64()),
        "record": pa.array(number[decisions.played], pa.int64()),
        "ply": pa.array(decisions.ply, pa.int32()),
        "player": pa.array(decisions.player, pa.int8()),
        "agent": pa.array([names[k] for k in agent[decisions.played, decisions.player]], pa.string()),
        "observation": vectors(decisions.observation, pa.int8()),
        "action_mask": vectors(decisions.mask.astype(np.int8), pa.int8()),
        "action": pa.array(decisions.action, pa.int32()),
        "reward": pa.array(np.where(decisions.last, decisions.result, np.zeros(n, np.float32)), pa.float32()),
        "return": pa.array(decisions.result, pa.float32()),
        "last": pa.array(decisions.last),
        "failed": pa.array(failed[decisions.played]),
        "action_values": vectors(decisions.values.astype(np.float32), pa.float32(), known),
        "estimated": vectors(decisions.estimated.astype(np.int8), pa.int8()),
        "regret": pa.array(decisions.regret, pa.float32(), from_pandas=True),
    }
    return table_of(game, columns, COLUMNS, {"ttt-envs dataset": str(VERSION)})


def card(name: str, summary: Summary) -> str:
    """The page that describes a data set, as Markdown."""
    game = summary.game
    assert game is not None
    options = ", ".join(f"`{option}={value}`" for option, value in game.options.items())
    covered, estimated = (part / max(summary.decisions, 1) for part in (summary.covered, summary.estimated))
    return "\n".join(
        [
            f"# {name}: decisions in {game.title}",
            "",
            f"{summary.decisions} decisions of {summary.games} games of `{game.id}`. Options: {options or 'none'}. "
            f"{summary.failed} games ended by an agent's failure. The oracle covers {100 * covered:.1f} % of the "
            f"positions; in {100 * estimated:.1f} % some values are a search's estimates.",
            "",
            f"Played by ttt-envs {', '.join(sorted(summary.libraries))}; made by ttt-envs {__version__}. "
            f"Version {VERSION} of the columns.",
            "",
            *columns_table(COLUMNS, "##"),
            "## Agents",
            "",
            "| agent | seats |",
            "|:--|--:|",
            *(f"| {_cell(agent)} | {seats} |" for agent, seats in sorted(summary.agents.items())),
            "",
            *features_of(game, "##"),
        ]
    )


def columns_table(meanings: Mapping[str, str], heading: str) -> list[str]:
    """The columns with their meanings, as lines of Markdown."""
    rows = (f"| `{column}` | {meaning} |" for column, meaning in meanings.items())
    return [f"{heading} Columns", "", "| column | meaning |", "|:--|:--|", *rows, ""]


def features_of(game: Game, heading: str) -> list[str]:
    """The features of an observation and the actions, as lines of Markdown."""
    start, blocks = 0, []
    for block in game.observation_layout:
        places = f"{start}" if block.size == 1 else f"{start}–{start + block.size - 1}"
        blocks.append(f"| {places} | {block.name} | {list(block.shape)} | {block.meaning} |")
        start += block.size
    planes = f"As planes its shape is {list(game.plane_index.shape)}: see `planes` in the file's metadata."
    return [
        f"{heading} Observation",
        "",
        "| features | block | shape | meaning of a 1 |",
        "|:--|:--|:--|:--|",
        *blocks,
        "",
        *([planes, ""] if game.has_planes else []),
        f"{heading} Actions",
        "",
        ", ".join(f"{k}: {_cell(action)}" for k, action in enumerate(game.action_names)) + ".",
        "",
    ]


def _cell(text: str) -> str:
    """A name as Markdown, in code marks that it cannot end."""
    return "`" + " ".join(text.split()).replace("`", "'").replace("|", "\\|") + "`"


def write_minari(
    dataset_id: str,
    records: Iterable[GameRecord],
    *,
    game: Game | None = None,
    progress: Callable[[int], None] = lambda games: None,
) -> int:
    """Make a Minari data set of recorded games, one episode a player and game; returns the number of episodes.

    Minari knows one agent only: an episode has the decisions of one player, who sees the others as part of the world,
    and after the last decision the end of the game as the last observation, with no legal action. All games are held in
    memory. Minari's `recover_environment` gives the environment that `make_single` makes of a registered game with
    these options; the other players are random in it, unless `opponent=` says otherwise. The data set lies in Minari's
    own folder, which the environment variable MINARI_DATASETS_PATH names.

    Args:
        dataset_id: name and version as Minari wants them, such as "martian/random-v0".
        records: games of one kind with one set of options.
        game: the game, if it is not registered.
        progress: callback for the number of games that are done.

    Raises:
        ValueError: as `write_parquet`, and for an identifier that Minari does not take or has already.
        ImportError: the extra `data` is not installed.
    """
    require("data", "minari")
    import gymnasium
    from minari import create_dataset_from_buffers, list_local_datasets
    from minari.storage import get_dataset_path

    from ttt_envs.wrappers.common import Encoder

    if dataset_id in list_local_datasets():
        raise ValueError(f"Minari has a data set {dataset_id!r} already: choose another name, or delete it there first")
    episodes: list[Any] = []
    of_game: Game | None = None
    done = 0
    for games in in_groups(replay(records, game=game), _ROWS):
        of_game = games[0].game
        episodes += _episodes(games, len(episodes))
        done += len(games)
        progress(done)
    if of_game is None:
        raise ValueError("there are no games to make a data set of")
    try:
        with warnings.catch_warnings():
            # It misses authors, which these games do not have.
            warnings.filterwarnings("ignore", category=UserWarning, module="minari")
            create_dataset_from_buffers(
                dataset_id,
                episodes,
                env=_environment_of(of_game),
                observation_space=Encoder(of_game, "flat").shown_space(of_game.num_actions),
                action_space=gymnasium.spaces.Discrete(of_game.num_actions),
                description=f"Decisions of single players in {of_game!r}, one episode a player and game.",
                data_format="arrow",
                requirements=[f"ttt-envs=={__version__}"],
            )
    except BaseException:
        shutil.rmtree(get_dataset_path(dataset_id), ignore_errors=True)  # which was not there before
        raise
    return len(episodes)


def _environment_of(game: Game) -> "EnvSpec | None":
    """The specification of the game's environment for one player; None for a game that is not registered."""
    import gymnasium

    try:
        known = load(game.id, **game.chosen)
    except ValueError:
        return None
    if known != game:
        return None
    spec = copy.deepcopy(gymnasium.spec(gymnasium_id(game.id)))
    spec.kwargs.update(game.chosen)
    return spec


def _episodes(games: list[ReplayedGame], first: int) -> list[Any]:
    """An EpisodeBuffer for each player and game with a decision."""
    from minari.data_collector import EpisodeBuffer

    game, decisions = games[0].game, decisions_of(games)
    episodes: list[Any] = []
    for k, each in enumerate(games):
        for player in range(game.num_players):
            rows = np.flatnonzero((decisions.played == k) & (decisions.player == player))
            if not len(rows):
                continue
            end = np.empty((1, game.observation_size), np.int8)
            game.loops.observe_rows(each.states[-1:].copy(), np.array([player]), end)
            none = np.zeros((1, game.num_actions), np.int8)
            episodes.append(
                EpisodeBuffer(
                    id=first + len(episodes),
                    observations={
                        "observation": np.concatenate([decisions.observation[rows], end]),
                        "action_mask": np.concatenate([decisions.mask[rows].astype(np.int8), none]),
                    },
                    actions=decisions.action[rows],
                    rewards=[0.0] * (len(rows) - 1) + [float(decisions.result[rows[-1]])],
                    terminations=[False] * (len(rows) - 1) + [True],
                    truncations=[False] * len(rows),
                )
            )
    return episodes
