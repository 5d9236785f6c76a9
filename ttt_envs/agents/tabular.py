"""Tables of action values by observation, their files, and an agent that plays them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents import load
from ttt_envs.agents.base import Agent, Around, softmax_rows
from ttt_envs.agents.networks import misfit
from ttt_envs.core.game import Game
from ttt_envs.core.information import absorb_rows
from ttt_envs.core.options import within
from ttt_envs.core.symmetry import Symmetry, feature_turns, turn_to_first
from ttt_envs.core.view import View
from ttt_envs.storage.files import existing
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors

FORMAT = "ttt-envs table 2"

#: Name of the table's file in a folder.
FILE = "table.safetensors"

# The low 12 bits of a key: 0 for an observation alone, action + 1 for an observation with an action.
_ACTION = np.uint64(2**12 - 1)


def keys_of(observations: np.ndarray, turns: Sequence[Symmetry], actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the observations' keys, and the actions' numbers in the symmetric images from which the keys are made.

    A key is a digest of 52 bits: the probability that any two of a million observations share one is 1e-4.

    Args:
        observations: int8 (n, size).
        turns: symmetries. All images of an observation get the key of the first image in lexicographic order.
        actions: number of actions, below 4095.

    Returns:
        keys uint64 (n,), and int64 (n, actions): the number of each action in the first image.
    """
    seen, named = np.array(observations), np.broadcast_to(np.arange(actions), (len(observations), actions))
    if turns:
        which = np.empty(len(seen), np.int64)
        turn_to_first(seen[:, None], feature_turns(turns, seen.shape[1]), which)
        named = np.stack([named[0], *(turn.actions.argsort() for turn in turns)])[which] if len(seen) else named
    digests = np.zeros((len(seen), 2), np.uint64)
    absorb_rows(digests, seen.view(np.uint8))
    return digests[:, 0] & ~_ACTION, named


def pair_of(keys: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the keys, uint64, of pairs of observation (given by its key) and action (-1 for a player who waits)."""
    return keys | (actions + 1).astype(np.uint64)


def observation_of(pairs: np.ndarray) -> np.ndarray:
    """Return the keys, uint64, of the observations alone from the keys of pairs."""
    return pairs & ~_ACTION


class ActionTable:
    """A table of action values by observation.

    Attributes:
        pairs: uint64 (m,), the keys of pairs of observation and action, ascending.
        values: float32 (m,).
        turns: the symmetries of the game, if symmetric observations share their values; else empty.
    """

    def __init__(self, pairs: np.ndarray, values: np.ndarray, turns: Sequence[Symmetry] = ()) -> None:
        self.pairs, self.values, self.turns = pairs, values, turns

    def __len__(self) -> int:
        return len(self.pairs)

    def find(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Return the values of legal actions, float64 (n, num_actions); NaN for missing ones."""
        return self.at(*keys_of(observations, self.turns, masks.shape[1]), masks)

    def at(self, keys: np.ndarray, named: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Return the result of `find`, given the two results of `keys_of` instead of the observations."""
        values = np.full(masks.shape, np.nan)
        row, action = np.nonzero(masks)
        wanted = pair_of(keys[row], named[row, action])
        if len(self):
            place = np.searchsorted(self.pairs, wanted)
            known = self.pairs.take(place, mode="clip") == wanted
            values[row[known], action[known]] = self.values[place[known]]
        return values

    def save(self, path: Path, facts: Mapping[str, Any]) -> None:
        """Write the table atomically; `facts`: the game, its options, inputs, actions and steps."""
        facts = {**facts, "folded": bool(self.turns)}
        write_tensors(path, FORMAT, facts, {"pairs": self.pairs, "values": self.values})


def load_table(path: Path) -> tuple[ActionTable, dict[str, Any]]:
    """Return a table from a file or run folder, and its facts; raise FileNotFoundError or BadTensorFile."""
    path = existing(path, "table")
    path = path / FILE if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(f"no table at {path}")
    facts, tensors = read_tensors(path, FORMAT)
    try:
        if missing := {"game", "options", "inputs", "actions", "folded"} - facts.keys():
            raise KeyError(", ".join(sorted(missing)))
        pairs, values = tensors["pairs"], tensors["values"]
        if pairs.ndim != 1 or pairs.shape != values.shape or pairs.dtype != np.uint64 or values.dtype != np.float32:
            raise ValueError("its arrays are not of the shapes and types that its facts say")
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise BadTensorFile(f"{path} is damaged ({type(error).__name__}: {error})") from None
    return ActionTable(pairs, values), facts


class TabularAgent(Around):
    """Plays with a table of action values, and as another agent where the table has no entry.

    Attributes:
        decisions, missing: number of decisions so far, and number of those without an entry in the table.
    """

    name = "tabular"
    reaches = {"path": "file", "otherwise": "agent"}
    takes_rest = "otherwise"

    def __init__(
        self, path: str | Path | ActionTable, temperature: float = 0.0, otherwise: str | Agent = "random"
    ) -> None:
        """Load the table.

        Args:
            path: a run folder or a table file (.safetensors).
            temperature: divides the values before a softmax; 0 plays the best action.
            otherwise: the agent that plays where the table has no entry; its spec extends to the end of the text.

        Raises:
            FileNotFoundError: there is no such path.
            BadTensorFile: the file is damaged or no table.
            ValueError: a negative temperature, or `otherwise` is a person.
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
        self.decisions = self.missing = 0

    def check(self, game: Game) -> None:
        """Raise BadTensorFile unless the table was learned in this game; warn if the options differ."""
        self.agent.check(game)
        facts = self.facts
        if not facts:  # the table is still in training
            return
        reason = misfit(game, str(self.path), facts["game"], facts["options"], facts["inputs"], facts["actions"])
        if reason:
            raise BadTensorFile(reason)
        self.table.turns = game.symmetries if facts["folded"] is True else ()
        self._fits = game

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions). Raises BadTensorFile as `check`."""
        values = self.action_values(view)
        missing = np.isnan(values).all(axis=1) & view.masks.any(axis=1)
        self.decisions += len(view)
        self.missing += int(missing.sum())
        found = softmax_rows(np.nan_to_num(values, nan=0.0), view.masks, self.temperature)
        if missing.any():
            found[missing] = self.agent.policy(view.take(missing))
        return found

    def action_values(self, view: View) -> np.ndarray:
        """Return the table's values, float64 (n, num_actions). Raises BadTensorFile as `check`."""
        if self._fits is not view.game:
            self.check(view.game)
        return self.table.find(view.observations, view.masks)

    def value(self, view: View) -> np.ndarray:
        """Return the mean of the table's values under `policy`, float64 (n,); NaN without an entry."""
        return Agent.value(self, view)
