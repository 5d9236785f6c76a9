"""Tables of action values by observation, their files, and the agent that plays by one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents import load
from ttt_envs.agents.base import Agent, Around, softmax_rows
from ttt_envs.agents.networks import misfit
from ttt_envs.core.game import Game
from ttt_envs.core.options import unknown, within
from ttt_envs.core.symmetry import Symmetry, feature_turns, turn_to_first
from ttt_envs.core.view import View
from ttt_envs.storage.files import existing
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors

FORMAT = "ttt-envs table 1"

#: Name of the table's file in a folder.
FILE = "table.safetensors"


def features_of(game: Game, blocks: Sequence[str]) -> np.ndarray:
    """bool (observation size,): the features of these blocks of an observation; of all blocks if there are none.

    Raises ValueError for a block that the game does not have.
    """
    names = [block.name for block in game.observation_layout]
    for block in blocks:
        if block not in names:
            raise ValueError(unknown("block", block, names))
    return np.concatenate([np.full(each.size, not blocks or each.name in blocks) for each in game.observation_layout])


class ActionTable:
    """The values of actions by observation, or by some features of it.

    Attributes:
        features: bool (observation size,), those that count.
        values: float32 (rows, num_actions); rows from `len` on are not used yet.
        turns: the symmetries of the game, if observations that one of them turns into each other share a row.
    """

    def __init__(self, actions: int, features: np.ndarray, turns: Sequence[Symmetry] = ()) -> None:
        self.features, self.turns = features, turns
        self.values = np.zeros((1024, actions), np.float32)
        self._rows: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def fits(self) -> bool:
        """Tell whether the keys are as long as the features make them."""
        return {len(key) for key in self._rows} <= {(int(self.features.sum()) + 7) // 8}

    def turned(self, observations: np.ndarray, actions: int) -> tuple[np.ndarray, np.ndarray]:
        """Observations (n, size) as the table has them, and what each action is there, int64 (n, num_actions)."""
        own = np.arange(actions)
        if not self.turns:
            return observations, np.broadcast_to(own, (len(observations), actions))
        seen, which = observations[:, None].copy(), np.empty(len(observations), np.int64)
        turn_to_first(seen, feature_turns(self.turns, observations.shape[1]), which)
        numbers = np.stack([own, *(turn.actions.argsort() for turn in self.turns)])
        return seen[:, 0], numbers[which]

    def find(self, observations: np.ndarray, add: bool = False) -> np.ndarray:
        """The row of each observation, int8 (n, size) of zeros and ones -> int64 (n,).

        An observation that is not there gets -1, or with `add` a new row of zeros.
        """
        keys = [key.tobytes() for key in np.packbits(observations[:, self.features].astype(np.bool_), axis=1)]
        if not add:
            return np.array([self._rows.get(key, -1) for key in keys], np.int64)
        rows = np.array([self._rows.setdefault(key, len(self._rows)) for key in keys], np.int64)
        if len(self._rows) > len(self.values):
            more = np.zeros((2 * len(self._rows), self.values.shape[1]), np.float32)
            more[: len(self.values)] = self.values
            self.values = more
        return rows

    def save(self, path: Path, facts: Mapping[str, Any]) -> None:
        """Write the table, whole or not at all; `facts`: the game, its options, inputs, blocks and steps."""
        width = (int(self.features.sum()) + 7) // 8
        keys = np.frombuffer(b"".join(self._rows), np.uint8).reshape(len(self), width)
        actions = self.values.shape[1]
        write_tensors(path, FORMAT, {**facts, "actions": actions}, {"keys": keys, "values": self.values[: len(self)]})


def load_table(path: Path) -> tuple[ActionTable, dict[str, Any]]:
    """A table that was saved, or that of a run folder, and its facts; raises FileNotFoundError or BadTensorFile."""
    path = existing(path, "table")
    path = path / FILE if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(f"no table at {path}")
    facts, tensors = read_tensors(path, FORMAT)
    try:
        if missing := {"game", "options", "inputs", "blocks"} - facts.keys():
            raise KeyError(", ".join(sorted(missing)))
        keys, values = tensors["keys"], tensors["values"]
        shapes = (len(values), keys.shape[-1]), (len(keys), facts["actions"])
        if (keys.shape, values.shape) != shapes or keys.dtype != np.uint8 or values.dtype != np.float32:
            raise ValueError("its arrays are not of the shapes and types that its facts say")
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise BadTensorFile(f"{path} is damaged ({type(error).__name__}: {error})") from None
    table = ActionTable(0, np.zeros(0, np.bool_))  # until a game says which features are in the keys
    table._rows = {key.tobytes(): row for row, key in enumerate(keys)}
    table.values = values.copy()
    return table, facts


class TabularAgent(Around):
    """Plays a table of action values, and as another agent where the table has none."""

    name = "tabular"
    reaches = {"path": "file", "otherwise": "agent"}
    takes_rest = "otherwise"

    def __init__(
        self, path: str | Path | ActionTable, temperature: float = 0.0, otherwise: str | Agent = "random"
    ) -> None:
        """Load the table.

        Args:
            path: a run folder, or a table file (.safetensors).
            temperature: divides the values before a softmax; 0 plays the best action.
            otherwise: the agent that plays where the table has no entry, with all that follows.

        Raises:
            FileNotFoundError: there is no such path.
            BadTensorFile: the file is damaged, or no table.
            ValueError: a negative temperature; `otherwise` is a person.
        """
        super().__init__(load(otherwise))
        within(0.0, 1e6, temperature=temperature)
        self.path, self.temperature = path, temperature
        self.facts: dict[str, Any] = {}
        if isinstance(path, ActionTable):
            self.table = path
        else:
            self.table, self.facts = load_table(Path(path))
        self._fits: Game | None = None

    def check(self, game: Game) -> None:
        """Raise BadTensorFile unless the table was learned in this game; other options are warned of."""
        self.agent.check(game)
        facts = self.facts
        if not facts:  # a table that is still learned
            return
        reason = misfit(game, str(self.path), facts["game"], facts["options"], facts["inputs"], facts["actions"])
        if not reason:
            try:
                self.table.features = features_of(game, facts["blocks"])
                self.table.turns = game.symmetries if facts.get("folded") is True else ()
            except ValueError as error:
                reason = f"{self.path}: {error}"
            else:
                if not self.table.fits():
                    reason = f"{self.path} is damaged: its keys are not of the blocks that it names"
        if reason:
            raise BadTensorFile(reason)
        self._fits = game

    def policy(self, view: View) -> np.ndarray:
        """float64 (n, num_actions). Raises BadTensorFile for a game that the table was not learned in."""
        values = self.action_values(view)
        missing = np.isnan(values).all(axis=1) & view.masks.any(axis=1)
        found = softmax_rows(np.nan_to_num(values, nan=0.0), view.masks, self.temperature)
        if missing.any():
            found[missing] = self.agent.policy(view.take(missing))
        return found

    def action_values(self, view: View) -> np.ndarray:
        """The table's: float64 (n, num_actions). Raises BadTensorFile as `policy`."""
        if self._fits is not view.game:
            self.check(view.game)
        observations, numbers = self.table.turned(view.observations, view.masks.shape[1])
        rows = self.table.find(observations)
        values, known = np.full(view.masks.shape, np.nan), rows >= 0
        values[known] = np.take_along_axis(self.table.values[rows[known]], numbers[known], axis=1)
        return np.where(view.masks, values, np.nan)

    def value(self, view: View) -> np.ndarray:
        """The mean of the table's values by `policy`: float64 (n,); NaN where it has none."""
        return Agent.value(self, view)
