"""Checks of the players' views: observations, sampled worlds and secrecy."""

import pickle
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.testing.positions import (
    FEW,
    assert_same_distribution,
    difference,
    masks_of,
    observations_of,
    players_of,
    positions,
    without_rng,
    worlds_of,
)
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.common import pack_state

# Number of worlds drawn for each of two positions that look alike, and of starts among which such pairs are searched.
_SAMPLES, _STARTS = (100, 200) if jit.DISABLED else (2000, 2000)


def check_observations(game: Game) -> None:
    """Check that features are written, 0 or 1, and described, that planes show all, and that `game.parts` match."""
    states = positions(game)
    size = sum(block.size for block in game.observation_layout)
    assert game.observation_size == size, f"observation_size is {game.observation_size}, the blocks have {size}"
    for player in players_of(game):
        seen = observations_of(game, states, player)
        wrong = np.flatnonzero(~np.isin(seen, (0, 1)).all(axis=0))
        assert not len(wrong), f"not 0 or 1, or not written: {[game.describe_feature(int(k)) for k in wrong[:5]]}"
        if game.has_planes:
            planes = game.to_planes(seen)
            assert planes.shape == (len(states), *game.plane_index.shape), f"planes have shape {planes.shape}"
            padded = np.concatenate([seen, np.zeros((len(seen), 1), np.int8)], axis=1)
            for at, feature in np.ndenumerate(game.plane_index):
                assert np.array_equal(planes[(slice(None), *at)], padded[:, feature]), f"plane cell {at}"
            missing = np.setdiff1d(np.arange(game.observation_size), game.plane_index)
            assert not len(missing), f"features that no plane shows: {missing.tolist()}"
    described = [game.describe_feature(feature) for feature in range(game.observation_size)]
    assert len(set(described)) == game.observation_size, "two features have one description"
    names = [block.name for block in game.observation_layout]
    assert names == list(dict.fromkeys(words.split("[")[0] for words in described)), f"names of blocks: {names}"
    assert len({tuple(map(len, part)) for part in game.parts}) <= 1, f"parts of several sizes: {game.parts}"
    actions = sorted(action for part in game.parts for action in part.actions)
    assert {*actions} <= {*range(game.num_actions)}, f"parts name actions that there are not: {actions}"
    assert len({*actions}) == len(actions), f"parts name actions twice: {actions}"
    for alike in zip(*(part.features for part in game.parts), strict=True):
        assert {*alike} <= {*range(size)}, f"parts name features that there are not: {alike}"
        assert len({described[feature].split("[")[0] for feature in alike}) == 1, f"parts take {alike} for alike"


def check_worlds(game: Game) -> None:
    """A sampled world looks the same to its player, and has another future."""
    states = positions(game)
    for player in players_of(game):
        first, second = worlds_of(game, states, player, 1), worlds_of(game, states, player, 2)
        _assert_looks_alike(game, player, states, first)
        for one, two in ((states, first), (states, second), (first, second)):
            assert (one["rng"] != two["rng"]).all(), "resample leaves the generator, by which the future can be read"
        if not game.hidden_information:
            wrong = difference(states, first, but=("rng",))
            assert not wrong, f"resample changes {wrong}, and the game says hidden_information=False"
        assert worlds_of(game, states, player, 1).tobytes() == first.tobytes(), "one seed gives two different worlds"


def check_indistinguishable(game: Game) -> None:
    """Positions that look alike to a player have the same distribution of sampled worlds.

    The check compares two kinds of pairs: a position and a world sampled from it, and positions of different games with
    the same observation, mask and text. So the text must show everything that the player knows.
    """
    if not game.hidden_information:
        return
    hidden = False
    states = positions(game)
    many = np.concatenate([Batch(game, _STARTS, seed=21).states, states])
    for player in players_of(game):
        worlds = worlds_of(game, states, player, 5)
        different = np.flatnonzero(without_rng(states) != without_rng(worlds))
        chosen = different[:: max(len(different) // (FEW // 2), 1)][: FEW // 2]
        pairs = [(states[i : i + 1], worlds[i : i + 1]) for i in chosen]
        pairs += _alike(game, many, player)
        for one, two in pairs:
            _assert_looks_alike(game, player, one, two)
            assert_same_distribution(
                worlds_of(game, np.repeat(one, _SAMPLES), player, 3),
                worlds_of(game, np.repeat(two, _SAMPLES), player, 4),
                f"resample tells player {player} positions apart that look alike: ",
            )
        hidden |= bool(pairs)
    assert hidden, "no player is ever left in doubt about the position, and the game says hidden_information=True"


def _alike(game: Game, states: np.ndarray, player: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return some pairs of different positions, each (1,), that look alike to the player."""
    seen, legal = observations_of(game, states, player), masks_of(game, states, player)
    groups = defaultdict(list)
    for i in range(len(states)):
        groups[seen[i].tobytes() + legal[i].tobytes()].append(i)
    pairs = []
    for group in groups.values():
        # Compare only neighbours, and only a few per group, because most of a group may be the same position.
        for first, second in pairwise(group[:8]):
            one, two = states[first : first + 1], states[second : second + 1]
            different = without_rng(one) != without_rng(two)
            if different and game.format_state(one[0], player) == game.format_state(two[0], player):
                pairs.append((one, two))
                break
    return pairs[:: max(len(pairs) // (FEW // 2), 1)][: FEW // 2]


def _assert_looks_alike(game: Game, player: int, states: np.ndarray, others: np.ndarray) -> None:
    """Check that `states` and `others` look alike to the player."""
    for kind, what in ((observations_of, "observation"), (masks_of, "mask")):
        same = np.array_equal(kind(game, states, player), kind(game, others, player))
        assert same, f"the {what} shows player {player} what is hidden"
    for state, other in zip(states[:FEW], others[:FEW], strict=True):
        texts = game.format_state(state, player), game.format_state(other, player)
        assert texts[0] == texts[1], f"the text shows player {player} what is hidden:\n{texts[0]}\n\n{texts[1]}"
        same = game.draw(state, player) == game.draw(other, player)
        same &= game.faces.tips(state, player) == game.faces.tips(other, player)
        assert same, f"the picture shows player {player} what is hidden"


def check_secret_choices(game: Game) -> None:
    """A player who commits later in a simultaneous choice sees nothing of the earlier choices."""
    env = AECGame(game, render_mode="ansi")
    for state in positions(game, 2 * FEW):
        if state["done"] or state["to_move"] != SIMULTANEOUS:
            continue
        packed = pack_state(game, state, np.full(game.num_players, -1), np.uint64(0))
        env.set_state(packed)
        start = env.render()
        seen: dict[tuple[str, int], bytes] = {}
        acting = sum(bool(masks_of(game, state[None], player).any()) for player in players_of(game))
        for actions in _commits(env, packed, acting):
            env.set_state(packed)
            for action in actions:
                env.step(action)
            name = env.agent_selection
            view = env.view(name)
            shown = {
                "observations": {each: env.observe(each) for each in env.possible_agents},
                "infos": env.infos,
                "rewards": (env.rewards, env._cumulative_rewards, env.terminations, env.truncations),
                "text": (env.render(), view.text()),
                "view": (view.observations, view.masks, view.seeds, view.sample_worlds(1)),
            }
            first = seen.setdefault((name, len(actions)), pickle.dumps(shown))
            assert pickle.dumps(shown) == first, f"{name} sees what was committed"
            assert env.render() == start, "the text shows what was committed"


def _commits(env: AECGame, packed: bytes, acting: int, actions: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield all incomplete joint choices, after which at least one player must still choose."""
    if actions:
        yield actions
    if len(actions) + 1 < acting:
        env.set_state(packed)
        for action in actions:
            env.step(action)
        for action in np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist():
            yield from _commits(env, packed, acting, (*actions, action))
