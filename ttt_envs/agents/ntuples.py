"""N-tuple networks, which are tables of weights indexed by a game's patterns, and their files.

Source: Lucas, "Learning to play Othello with n-tuple systems", Australian Journal of Intelligent Information Processing
Systems 9(4), 2008.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents.networks import FORMAT as NETWORK_FORMAT
from ttt_envs.agents.networks import BadNetworkFile, Network, check_tensor, load_network, network_file
from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors

FORMAT = "ttt-envs ntuple 1"


@dataclass(frozen=True)
class NTuplesInfo:
    """The metadata of an n-tuple file.

    Attributes:
        game: id of the game.
        options: the game's options at training.
        size: number of weights.
        count: number of patterns in a position.
        steps: number of plies in training.
    """

    game: str
    options: dict[str, Any]
    size: int
    count: int
    steps: int


class NTuples:
    """A value function for the player who has just moved: tanh of the sum of the weights of a position's patterns."""

    def __init__(self, info: NTuplesInfo, weights: np.ndarray) -> None:
        """`weights`: float16 or float32 (info.size,), converted to float32."""
        self.info, self.weights = info, np.asarray(weights, np.float32)

    def check(self, game: Game) -> None:
        """Raise BadNetworkFile unless the weights fit this game's patterns and options; see `Game.same_play`."""
        info, patterns = self.info, game.patterns
        known = None if patterns is None else (patterns.size, patterns.number)
        if info.game != game.id or (info.size, info.count) != known:
            has = "which has none" if patterns is None else f"{patterns.size} patterns, {patterns.number} in a position"
            raise BadNetworkFile(
                f"the weights were trained for {info.game} with options {info.options} ({info.size} patterns, "
                f"{info.count} in a position), not for {game} ({has})"
            )
        try:
            other = game.differences(info.options)
        except (TypeError, ValueError) as error:
            raise BadNetworkFile(f"the weights are of no {game.id} of this version: {error}") from None
        if other:
            raise BadNetworkFile(
                f"the weights were trained for {info.game} with options {info.options}, not with "
                f"{' '.join(f'{name}={as_text(value)}' for name, (_, value) in other.items())}"
            )


def save_ntuples(path: Path, info: NTuplesInfo, weights: np.ndarray) -> None:
    """Write an n-tuple file atomically; weights float16 or float32 (info.size,)."""
    write_tensors(path, FORMAT, asdict(info), {"weights": weights})


def load_values(path: Path) -> Network | NTuples:
    """Read the network or n-tuple network in a file or run folder; raise FileNotFoundError or BadNetworkFile."""
    path = network_file(path)
    try:
        facts, tensors = read_tensors(path, NETWORK_FORMAT, FORMAT)
    except BadTensorFile as error:
        raise BadNetworkFile(str(error)) from None
    if facts.pop("format") == NETWORK_FORMAT:
        return load_network(path)
    try:
        info = NTuplesInfo(**facts)
    except TypeError as error:
        raise BadNetworkFile(f"{path}: its metadata cannot be read ({type(error).__name__}: {error})") from None
    check_tensor(path, "weights", tensors.get("weights"), (info.size,))
    return NTuples(info, tensors["weights"])
