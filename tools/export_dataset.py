"""Export recorded games and solved positions as data sets: Parquet with a card, or Minari.

    python -m tools.export_dataset games runs/t/games.jsonl --out data.parquet
    python -m tools.export_dataset games runs/t/games.jsonl --minari mine/random-v0
    python -m tools.export_dataset positions tic_tac_dice --option rounds=single --number 20000 --out solved

Install its dependencies with `pip install pyarrow minari`. docs/records.md describes the columns.
"""

import copy
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import gymnasium
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tyro

from ttt_envs.cli import shell
from ttt_envs.cli.common import GameArguments
from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text
from ttt_envs.core.symmetry import feature_turns, turn_to_first
from ttt_envs.core.version import __version__
from ttt_envs.evaluation.judging import judge, oracle_of
from ttt_envs.evaluation.mistakes import draw_positions
from ttt_envs.evaluation.records import read, replay
from ttt_envs.evaluation.records.replaying import ReplayedGame
from ttt_envs.registry import gymnasium_id
from ttt_envs.solvers import cfr, sequence, tree
from ttt_envs.storage.files import new_folder, write_whole, writing_whole
from ttt_envs.wrappers.common import Encoder, EnvSettings

#: Column of a data set of recorded games -> its meaning.
GAMES = {
    "game": "number of the game in its file of records",
    "ply": "plies played before",
    "player": "the player who decides; of several who choose at once each has a row",
    "agent": "name of the agent in this seat",
    "observation": "what the player sees, features of 0 and 1",
    "action_mask": "1 for each legal action",
    "action": "the action that was chosen",
    "reward": "what the player was paid from this decision up to their next one, or up to the end",
    "last": "whether it is the player's last decision in the game",
    "regret": "the oracle's value of the best action less that of the chosen one; null where it is not known",
}

#: Column of a data set of solved positions -> its meaning.
POSITIONS = {
    "state": "the whole position as text, which `Game.parse_state` reads",
    "player": "the player who decides",
    "length": "plies to the end under optimal play, -1 where it has no end; or plies played",
    "observation": "what the player sees, features of 0 and 1",
    "action_mask": "1 for each legal action",
    "action_values": "expected reward of the player after each action, if all play best from there; nan where illegal",
    "policy": "an equilibrium strategy, or equal probabilities for the best actions",
    "value": "expected reward of the player under that policy",
}

#: Split -> its share of positions, in tenths. Positions whose observations are equal, or become equal by a symmetry of
#: the board, are in the same split.
SPLITS = {"train": 8, "validation": 1, "test": 1}

_ITERATIONS = 2000  # of PCFR+, for an equilibrium
_EQUAL = 1e-6  # values that differ by less are equal: oracles are exact up to rounding


class Decisions(NamedTuple):
    """The n decisions of a game in the order of play; each array holds the column of its name."""

    ply: np.ndarray
    player: np.ndarray
    observation: np.ndarray
    action_mask: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    last: np.ndarray
    regret: np.ndarray


def decisions_of(played: ReplayedGame) -> Decisions:
    """Return one game's decisions. Rewards before a player's first decision are added to that decision's reward."""
    game = played.game
    ply, player = np.nonzero(played.actions >= 0)
    states, action = played.states[ply], played.actions[ply, player]
    observation, mask = game.observations(states, player, check=False), game.masks(states, player, check=False)
    reward, last, regret = np.zeros(len(ply), np.float32), np.zeros(len(ply), np.bool_), np.full(len(ply), np.nan)
    for each in range(game.num_players):
        rows = np.flatnonzero(player == each)
        if len(rows):
            until = [*ply[rows[1:]], len(played.states) - 1]
            reward[rows] = np.diff(played.states["rewards"][until, each], prepend=np.float32(0))
            last[rows[-1]] = True
    with suppress(ValueError):  # no oracle, or hidden information
        regret = judge(game, oracle_of(game), states, player, action)[1]
    return Decisions(ply, player, observation, mask, action, reward, last, regret)


def of_one_game(games: Iterable[ReplayedGame]) -> Iterator[ReplayedGame]:
    """Yield the games; raise ValueError, naming the line, if one differs from the first in game or options."""
    first: Game | None = None
    for each in games:
        first = first or each.game
        if each.game != first:
            raise ValueError(f"{each.record.place}: a game of {each.game}, but a data set is of one: {first}")
        yield each


def vectors(rows: np.ndarray, kind: Any) -> Any:
    """Return `rows`, (n, k), as an Arrow column of n lists of length k; `kind` is the Arrow type of an entry."""
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(rows).ravel(), kind), rows.shape[1])


def table_of(game: Game, columns: Mapping[str, Any], meanings: Mapping[str, str]) -> Any:
    """Return an Arrow table; its metadata explain the columns, the game, and the planes by feature numbers."""
    facts = {"game": named(game), "library": __version__, "rules": game.rules_text}
    if game.has_planes:
        index = np.where(game.plane_index < game.observation_size, game.plane_index, -1)
        facts["planes"] = json.dumps({"shape": list(index.shape), "index": index.ravel().tolist()})
    fields = [pa.field(name, column.type, metadata={"meaning": meanings[name]}) for name, column in columns.items()]
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields, metadata=facts))


def named(game: Game) -> str:
    """Return the game's id and options, as written on a command line."""
    return " ".join([game.id, *(f"{name}={as_text(value)}" for name, value in game.options.items())])


def write_games(path: Path, games: Iterable[ReplayedGame]) -> tuple[int, int]:
    """Write the games' decisions to a Parquet file, and its card; return the numbers of games and rows.

    If there are no games, or if they differ in id or options, raises ValueError and writes nothing.
    """
    number, rows = 0, 0
    game, writer = None, None
    with writing_whole(path) as file:
        try:
            for played in of_one_game(games):
                game, of, record = played.game, decisions_of(played), played.record
                columns = {
                    "game": pa.array([record.number] * len(of.ply), pa.int64()),
                    "ply": pa.array(of.ply, pa.int32()),
                    "player": pa.array(of.player, pa.int8()),
                    "agent": pa.array([record.agents[player] for player in of.player], pa.string()),
                    "observation": vectors(of.observation, pa.int8()),
                    "action_mask": vectors(of.action_mask.astype(np.int8), pa.int8()),
                    "action": pa.array(of.action, pa.int32()),
                    "reward": pa.array(of.reward, pa.float32()),
                    "last": pa.array(of.last),
                    "regret": pa.array(of.regret, pa.float32(), from_pandas=True),
                }
                table = table_of(game, columns, GAMES)
                writer = writer or pq.ParquetWriter(file, table.schema, compression="zstd")
                writer.write_table(table)
                number, rows = number + 1, rows + len(of.ply)
        finally:
            if writer is not None:
                writer.close()
        if game is None:
            raise ValueError("there are no games to make a data set of")
    write_whole(path.with_suffix(".md"), card(game, f"{rows} decisions of {number} games", GAMES))
    return number, rows


def write_minari(name: str, games: Iterable[ReplayedGame]) -> int:
    """Create a Minari data set with one episode per player and game; return the number of episodes.

    Raises ValueError if there are no games, if they differ in id or options, or if Minari rejects the name.
    """
    import minari
    from minari.data_collector import EpisodeBuffer

    episodes: list[Any] = []
    game = None
    for played in of_one_game(games):
        game, of = played.game, decisions_of(played)
        for player in np.unique(of.player):
            rows = np.flatnonzero(of.player == player)
            end = game.observations(played.states[-1:], np.array([player]))
            masks = np.concatenate([of.action_mask[rows], np.zeros((1, game.num_actions), np.bool_)])
            seen = {"observation": np.concatenate([of.observation[rows], end]), "action_mask": masks.astype(np.int8)}
            ends = of.last[rows].tolist()
            episodes.append(
                EpisodeBuffer(
                    id=len(episodes),
                    observations=seen,
                    actions=of.action[rows],
                    rewards=of.reward[rows].astype(float).tolist(),
                    terminations=ends,
                    truncations=[False] * len(ends),
                )
            )
    if game is None:
        raise ValueError("there are no games to make a data set of")
    spec = copy.deepcopy(gymnasium.spec(gymnasium_id(game.id)))
    spec.kwargs.update(game.chosen)
    minari.create_dataset_from_buffers(
        name,
        episodes,
        env=spec,
        observation_space=Encoder(game, EnvSettings()).shown_space(game.num_actions),
        action_space=gymnasium.spaces.Discrete(game.num_actions),
        description=f"Decisions of single players in {named(game)}, one episode a player and game.",
        data_format="arrow",
        requirements=[f"ttt-envs=={__version__}"],
    )
    return len(episodes)


class Solved(NamedTuple):
    """Solved positions: `states` is structured (n,), and each other array holds the column of its name."""

    states: np.ndarray
    player: np.ndarray
    length: np.ndarray
    action_values: np.ndarray
    policy: np.ndarray


def by_oracle(game: Game, number: int, seed: int) -> Solved:
    """Return positions sampled as in `ttt mistakes`, with the oracle's values and an optimal policy."""
    drawn = draw_positions(game, number, least=0.0, seed=seed)
    mixed = game.simultaneous
    policy = game.oracle().policy(drawn.states, drawn.players) if mixed else best_of(drawn.values)
    return Solved(drawn.states, drawn.players, drawn.lengths, drawn.values, policy)


def best_of(values: np.ndarray) -> np.ndarray:
    """Return equal probabilities for the best actions; `values` is float64 (n, num_actions), nan where illegal."""
    best = values >= np.nanmax(values, axis=1, keepdims=True) - _EQUAL
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def by_equilibrium(game: Game, number: int, seed: int) -> Solved:
    """Solve a small game by PCFR+; return information sets that offer a choice and that opponents' play reaches."""
    walked = tree.walk(game)
    solver = cfr.Solver(walked)
    solver.run(_ITERATIONS)
    policy = solver.average()
    reached, parts = tree.reaches(walked, policy), []
    for player, mine in enumerate(walked.players):
        rows = np.flatnonzero((reached[player] > 1e-9) & (mine.sets["count"] > 1))
        values = sequence.action_values(walked, player, policy, reached[player])[rows]
        played = walked.table(player, policy[player])[rows]
        # PCFR+ determines no policy in information sets that the player's own policy avoids: use the best response
        # there.
        never = sequence.plan_of(mine, policy[player])[mine.sets["parent"][rows]] <= 1e-9
        played[never] = best_of(values)[never]
        lengths = mine.plies[rows].astype(np.int64)
        parts.append(Solved(mine.states[rows], np.full(len(rows), player), lengths, values, played))
    joined = Solved(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    chosen = np.sort(np.random.default_rng(seed).permutation(len(joined.states))[:number])
    return Solved(*(each[chosen] for each in joined))


def splits_of(game: Game, observations: np.ndarray) -> np.ndarray:
    """Return the name of each observation's split, text (n,); `observations` is int8 (n, size). The split depends on a
    digest that an observation shares with its symmetric images."""
    seen = observations[:, None].copy()
    turn_to_first(seen, feature_turns(game.symmetries, game.observation_size), np.empty(len(seen), np.int64))
    digests = (hashlib.blake2b(each.tobytes(), digest_size=8).digest() for each in seen)
    names = [name for name, share in SPLITS.items() for _ in range(share)]
    return np.array([names[int.from_bytes(each, "little") % 10] for each in digests])


def write_positions(folder: Path, game: Game, number: int, seed: int) -> dict[str, int]:
    """Write solved positions to a new folder: a file per split, and a card. Return the number of rows of each split.

    Of several positions with equal player and observation, one is kept. With hidden information all are kept: they
    differ in what the player has seen before.
    """
    solved = (by_equilibrium if game.hidden_information else by_oracle)(game, number, seed)
    observations = game.observations(solved.states, solved.player)
    if not game.hidden_information:
        first = np.unique(np.column_stack([observations, solved.player]), axis=0, return_index=True)[1]
        solved, observations = Solved(*(each[np.sort(first)] for each in solved)), observations[np.sort(first)]
    split, rows = splits_of(game, observations), {}
    masks = game.masks(solved.states, solved.player, check=False)
    value = np.nansum(solved.policy * solved.action_values, axis=1)
    with new_folder(folder) as place:
        assert place is not None
        for name in SPLITS:
            mine = split == name
            columns = {
                "state": pa.array([game.format_state(state, None) for state in solved.states[mine]], pa.string()),
                "player": pa.array(solved.player[mine], pa.int8()),
                "length": pa.array(solved.length[mine], pa.int32()),
                "observation": vectors(observations[mine], pa.int8()),
                "action_mask": vectors(masks[mine].astype(np.int8), pa.int8()),
                "action_values": vectors(solved.action_values[mine].astype(np.float32), pa.float32()),
                "policy": vectors(solved.policy[mine].astype(np.float32), pa.float32()),
                "value": pa.array(value[mine], pa.float32()),
            }
            with writing_whole(place / f"{name}.parquet") as file:
                pq.write_table(table_of(game, columns, POSITIONS), file, compression="zstd")
            rows[name] = int(mine.sum())
        front = ["---", "configs:", "- config_name: default", "  data_files:"]
        front += [line for name in SPLITS for line in (f"  - split: {name}", f"    path: {name}.parquet")]
        counted = ", ".join(f"{name} {count}" for name, count in rows.items())
        write_whole(place / "README.md", "\n".join([*front, "---", "", card(game, f"{counted} positions", POSITIONS)]))
    return rows


def card(game: Game, contents: str, meanings: Mapping[str, str]) -> str:
    """Return the page that describes a data set, as Markdown."""
    start, blocks = 0, []
    for block in game.observation_layout:
        blocks.append(f"| {start} to {start + block.size - 1} | {block.name} | {list(block.shape)} | {block.meaning} |")
        start += block.size
    lines = [f"# {game.title}: {contents}", "", f"Of `{named(game)}`, made by ttt-envs {__version__}.", ""]
    lines += ["| column | meaning |", "|:--|:--|", *(f"| `{name}` | {text} |" for name, text in meanings.items()), ""]
    lines += ["| features | block | shape | meaning of a 1 |", "|:--|:--|:--|:--|", *blocks, ""]
    lines += ["Actions: " + ", ".join(f"{k} `{name}`" for k, name in enumerate(game.action_names)) + ".", ""]
    return "\n".join(lines)


@dataclass(frozen=True)
class Games:
    """Export the decisions of recorded games."""

    file: Annotated[Path, tyro.conf.Positional]
    """File of records, as `ttt tournament` writes it."""
    out: Path | None = None
    """Parquet file to be written."""
    minari: str | None = None
    """Name and version of a Minari data set, such as mine/random-v0, instead of a file."""

    def run(self) -> None:
        """Write the data set and print its location."""
        if (self.out is None) == (self.minari is None):
            raise ValueError("give --out or --minari: a Parquet file, or a Minari data set")
        games = replay(read(self.file))
        if self.out is not None:
            number, rows = write_games(self.out, games)
            print(f"{self.out}: {rows} decisions of {number} games")
        else:
            print(f"{self.minari}: {write_minari(str(self.minari), games)} episodes")


@dataclass(frozen=True, kw_only=True)
class Positions(GameArguments):
    """Export solved positions of a game with an oracle, or of a small game with hidden information."""

    out: Path
    """New folder for the files."""
    number: int = 10_000
    """Number of positions to draw; of those that look alike, only one is kept."""
    seed: int = 11
    """Seed of the draw."""

    def run(self) -> None:
        """Write the data set and print its location."""
        rows = write_positions(self.out, self.load(), self.number, self.seed)
        print(f"{self.out}: {', '.join(f'{name} {count}' for name, count in rows.items())}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    verbs = {"games": Games, "positions": Positions}
    words = list(sys.argv[1:] if arguments is None else arguments)
    given: Any = shell.parse(verbs, words, "python -m tools.export_dataset", __doc__ or "")
    return shell.run(given.run)


if __name__ == "__main__":
    sys.exit(main())
