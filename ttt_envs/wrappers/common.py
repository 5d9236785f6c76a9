"""The parts shared by all wrappers: encodings, checks of actions, forfeits, rendering, saved positions."""

import hashlib
import operator
import zlib
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import gymnasium
import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.observation_layout import ENCODINGS, check_history
from ttt_envs.core.options import MOST, choice, within
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.drawing.raster import rasterise
from ttt_envs.drawing.window import Window
from ttt_envs.wrappers.rewards import RewardFunction

#: Types of the environments' arguments: the values that each of them may have.
MaskIn = Literal["both", "info"]
Illegal = Literal["lose", "raise"]
RenderMode = Literal["human", "rgb_array", "ansi"]
DType = Literal["int8", "float32"]

MASKS, ILLEGAL, RENDER_MODES, DTYPES = map(get_args, (MaskIn, Illegal, RenderMode, DType))
RENDER_FPS = 4


@dataclass(frozen=True, kw_only=True)
class EnvSettings:
    """Settings shared by environments, see `ttt_envs.make_aec`. Raises ValueError or TypeError for a wrong value."""

    render_mode: str | None = None
    encoding: str = "flat"
    illegal: str = "lose"
    mask: str = "both"
    max_plies: int | None = None
    history: int = 0
    reward: RewardFunction | None = None
    dtype: str = "int8"

    def __post_init__(self) -> None:
        choice("render_mode", self.render_mode, (None, *RENDER_MODES))
        choice("encoding", self.encoding, ENCODINGS)
        choice("illegal", self.illegal, ILLEGAL)
        choice("mask", self.mask, MASKS)
        choice("dtype", self.dtype, DTYPES)
        if self.max_plies is not None:
            within(1, MOST, max_plies=self.max_plies)
        check_history(self.history)


class Encoder:
    """Converts observations and masks to the form that users receive.

    Observations are int8 or float32: with "flat" (observation size,); with "planes" (channels, rows, columns), with
    scalars as constant planes. Masks are int8.
    """

    def __init__(self, game: Game, settings: EnvSettings, *, masked: bool = True) -> None:
        """`masked`: False if observations never include masks; otherwise `settings.mask` decides."""
        self.game, self.dtype = game, np.dtype(settings.dtype)
        self.planes = settings.encoding == "planes"
        self.masked = masked and settings.mask == "both"
        self._as_is = not self.planes and self.dtype == np.int8
        shape = game.encoded_shape(settings.encoding, settings.history)
        self.space = gymnasium.spaces.Box(0, 1, shape, self.dtype.type)

    def __call__(self, flat: np.ndarray) -> np.ndarray:
        """Encode flat observations int8 (..., size)."""
        encoded = self.game.to_planes(flat) if self.planes else flat
        return encoded if encoded.dtype is self.dtype else encoded.astype(self.dtype, copy=False)

    def shown_space(self, actions: int) -> gymnasium.Space[Any]:
        """Return the space of `shown`'s results, for masks of `actions` actions."""
        if not self.masked:
            return self.space
        mask = gymnasium.spaces.Box(0, 1, (actions,), np.int8)
        return gymnasium.spaces.Dict({"observation": self.space, "action_mask": mask})

    def shown(self, flat: np.ndarray, mask: np.ndarray) -> Any:
        """Convert flat observations int8 (..., size) and masks int8 (..., actions) to the user's form."""
        encoded = flat if self._as_is else self(flat)
        return {"observation": encoded, "action_mask": mask} if self.masked else encoded


def as_action(action: Any, num_actions: int, who: str, least: int = 0) -> int:
    """Return an action as an int from `least` to num_actions-1; else raise TypeError or ValueError naming the action.

    Accepts everything that Python treats as a whole number, such as scalars of torch and JAX, and arrays of one number.
    """
    number = action
    if type(action) is not int:
        if getattr(action, "ndim", 0) and getattr(action, "size", None) == 1:  # NumPy and JAX; torch tensors can index
            number = np.asarray(action).reshape(())[()]
        truth = "bool" in str(getattr(number, "dtype", type(number).__name__))
        try:
            number = None if truth else operator.index(number)
        except (TypeError, ValueError):
            number = None
        if number is None:
            kind = type(action).__name__
            raise TypeError(f"the action of {who} must be a whole number, not {action!r} of type {kind}")
    if not least <= number < num_actions:
        raise ValueError(f"the action of {who} must be from {least} to {num_actions - 1}, not {number}")
    return int(number)


def forfeit(game: Game, states: np.ndarray, i: int, offenders: list[int]) -> None:
    """End states[i]: players on offenders' sides share -1, the others share +1; all get 0 if all sides offend."""
    state = states[i]
    losers = [player for team in game.teams if set(team) & set(offenders) for player in team]
    state["done"] = True
    if len(losers) < game.num_players:
        paid = np.full(game.num_players, 1 / (game.num_players - len(losers)), np.float32)
        paid[losers] = -1 / len(losers)
        state["rewards"] += paid


def manual(game: Game) -> str:
    """Return the docstring of an environment: the rules of its game and the meaning of actions."""
    actions = (
        f"Actions are numbers from 0 to {game.num_actions - 1}; `env.game.action_names` has their names, each "
        f"{game.faces.action_format}. The action mask of an observation says which are legal."
    )
    return "\n\n".join([f"{game.title}.", game.rules_text, actions])


def warn_of_options(options: dict[str, Any] | None) -> None:
    """Warn that `reset` ignores `options`."""
    if options:
        gymnasium.logger.warn(f"reset() has no options here: {', '.join(map(str, options))} changes nothing")


class Renderer:
    """Draws the states of one environment in its `render_mode`."""

    def __init__(self, game: Game, render_mode: str | None) -> None:
        self.game, self.mode = game, render_mode
        self._window: Window | None = None

    def __call__(self, state: Any, viewer: int | None = None) -> np.ndarray | str | None:
        """Return text for "ansi", uint8 (height, width, 3) for "rgb_array", None for "human" (a window shows it).

        With a `viewer`, show that player's view; None shows everything.
        """
        if self.mode is None:
            gymnasium.logger.warn(f"render() shows nothing: make the environment with render_mode= {RENDER_MODES}")
            return None
        if self.mode == "ansi":
            return self.game.format_state(state, viewer)
        if self.mode == "rgb_array":
            return rasterise(self.game.draw(state, viewer))
        if self._window is None:
            self._window = Window(self.game.title, RENDER_FPS)
        if not self._window.closed:
            self._window.show(self.game.draw(state, viewer))
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}  # a copy does not share the window


_MAGIC = b"ttt2"


def _fingerprint(game: Game, history: int) -> bytes:
    text = f"{game.id} {sorted(game.options.items())} {game.state_dtype}{f' {history}' if history else ''}"
    return hashlib.sha256(text.encode()).digest()[:8]


def pack_state(
    game: Game,
    state: Any,
    committed: np.ndarray,
    episode_seed: np.uint64,
    past: np.ndarray | None = None,
    *,
    learner: int = -1,
) -> bytes:
    """Return a position as bytes, with hidden information and the generator.

    The bytes contain the record, the committed choices int16 (players,), the seed of the agents' random numbers,
    `past`, int8 (players, history, features), see `core.information.Known`, and the learner's player number or -1.
    """
    history, features = (0, b"") if past is None else (past.shape[1], np.packbits(past).tobytes())
    body = _MAGIC + _fingerprint(game, history) + np.uint64(episode_seed).tobytes()
    body += committed.astype(np.int16).tobytes() + np.int16(learner).tobytes() + state.tobytes() + features
    return body + zlib.crc32(body).to_bytes(4, "little")


def _check_committed(game: Game, states: np.ndarray, committed: np.ndarray) -> None:
    """Raise ValueError unless the choices int64 (players,), below 0 for none, are legal and one is still missing."""
    if states[0]["done"]:
        return  # the choices are left over from a forfeit
    if not (committed < game.num_actions).all():
        raise ValueError(f"the choices {committed.tolist()} are no actions: these are 0 to {game.num_actions - 1}")
    masks = np.zeros((game.num_players, game.num_actions), np.bool_)
    for player in range(game.num_players):
        game.loops.mask_one(states, 0, player, masks[player])
    chosen = np.flatnonzero(committed >= 0)
    if (states[0]["to_move"] != SIMULTANEOUS and len(chosen)) or not masks[chosen, committed[chosen]].all():
        raise ValueError(f"the choices {committed.tolist()} are not legal in this position")
    if not masks[committed < 0].any():
        raise ValueError("all players have chosen in this position, and nobody could go on")


class Saved(NamedTuple):
    """A saved position: the arguments of `pack_state`, with states structured (1,) and choices int64 (players,)."""

    states: np.ndarray
    committed: np.ndarray
    seed: np.uint64
    learner: int
    past: np.ndarray

    def check_learner(self, player: int | None) -> None:
        """Raise ValueError if the game cannot continue with the learner `player`, None for any, from this position."""
        if (self.committed >= 0).any():
            raise ValueError("this position was saved while some players had chosen already, and others had not")
        if player is not None and self.learner not in (-1, player):
            raise ValueError(f"player {self.learner} learns in this position, and here it is player {player}")


def unpack_state(game: Game, data: bytes, history: int = 0) -> Saved:
    """Return the contents of bytes from `pack_state`; raise TypeError or ValueError naming the fault."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"a saved position is bytes from get_state(), not {type(data).__name__}")
    data, players = bytes(data), game.num_players
    if data[:4] != _MAGIC or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise ValueError("this is no saved position, or it is damaged: it must be bytes from get_state()")
    shape = players, history, game.observation_size + game.num_actions
    features, start = int(np.prod(shape)), 22 + 2 * players
    end = start + game.state_dtype.itemsize
    if data[4:12] != _fingerprint(game, history) or len(data) != end + (features + 7) // 8 + 4:
        raise ValueError(
            f"this position was saved by another game, or with other options, than {game}, or with another history "
            f"than {history}"
        )
    states = game.check_states(np.frombuffer(data[start:end], game.state_dtype).copy())
    *committed, learner = np.frombuffer(data[20:start], np.int16).tolist()
    _check_committed(game, states, np.array(committed))
    if not -1 <= learner < players:
        raise ValueError(f"player {learner}, who learns in this position, is none of {game!r}")
    past = np.unpackbits(np.frombuffer(data[end:-4], np.uint8), count=features).astype(np.int8).reshape(shape)
    return Saved(states, np.array(committed), np.frombuffer(data[12:20], np.uint64)[0], learner, past)
