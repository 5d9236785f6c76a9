"""What every game must keep to, as functions that take a Game. They assert, and know no game.

Three tables below them do: the option sets each game is tested with, and two maps that only a game can give.
"""

import copy
import pickle
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import toy_coin
import toy_kuhn

import ttt_envs
from ttt_envs.agents.random import RandomAgent
from ttt_envs.core import jit
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.core.view import View
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.common import IllegalAction, pack_state, unpack_state
from ttt_envs.wrappers.parallel import ParallelGame

#: Enough that each mutant shows; fewer where every position costs a whole environment.
GAMES = 60
POSITIONS = 150
FEW = 6 if jit.DISABLED else 12

# --- tables: what the checks cannot find out by themselves ---

#: Game id -> the option sets it is tested with. Every game of the registry has an entry.
OPTIONS: dict[str, list[dict]] = {
    "super_tic_tac_toe": [
        {"first_move": "center_board", "won_boards": "open"},
        {"first_move": "center_board", "won_boards": "closed"},
        {"first_move": "anywhere", "won_boards": "open"},
        {"first_move": "anywhere", "won_boards": "closed"},
        {"random_opening_plies": 6},
    ],
    "martian_tic_tac_toe": [
        {"size": 5, "players": 3, "max_plies": 60},
        {"size": 6, "players": 4, "max_plies": 40, "same_size_swap": True, "repetition_limit": None},
        {"size": 4, "repetition_limit": 2, "max_plies": 80},
        {"size": 3, "players": 2, "repetition_limit": 3, "max_plies": 300, "same_size_swap": False},
    ],
    "tic_tac_dice": [
        {"size": 3, "win_length": 3, "target_points": 5, "rounds": "match"},
        {"rounds": "single"},
        {"size": 5, "win_length": 4, "target_points": 3},
    ],
    "big_tic_tac_dice": [
        {"size": 4, "win_length": 3, "target_points": 2, "rounds": "match"},
    ],
    "tic_tac_super_dice": [
        {"size": 4, "win_length": 4, "target_points": 1, "rounds": "match"},
        {"rounds": "single"},
    ],
    "tic_tac_match": [
        {"players": 4, "teams": True, "history": 3},
        {"players": 4, "teams": False, "hand_size": 6, "wipe_outs": 9, "history": 3},
        {"colours": 1, "copies": 4, "flips": 1, "wipe_outs": 0, "double_plays": 0, "hand_size": 1, "max_turns": 4},
        {"colours": 2, "copies": 4, "hand_size": 2, "double_plays": 9, "history": 1, "max_turns": 40},
        {"players": 2},
    ],
    "operation_tic_tac_toe": [
        # Rounds 9 and 10 are overtime.
        {"mode": "match", "rounds_to_win": 7, "max_rounds": 10, "max_idle_turns": 3},
        {"rounds_to_win": 1, "max_rounds": 2, "max_idle_turns": 6, "allow_pass": True, "draw_offers": True},
        {"mode": "round"},
        {"mode": "round", "specialists": (("mole", "hacker"), ("courier", "pusher")), "first_placer": 1},
    ],
}

TOYS = [{"players": 2, "tosses": 1}, {"players": 3, "tosses": 2}]


def all_games() -> Iterator[Game]:
    """The registry's games with each of their option sets, without the JIT with the first one; and the toys."""
    for game_id, option_sets in OPTIONS.items():
        for options in option_sets[:1] if jit.DISABLED else option_sets:
            yield ttt_envs.load(game_id, **options)
    for options in TOYS:
        yield toy_coin.make(**options)
    yield toy_kuhn.make()


def _swap_super(states: np.ndarray) -> np.ndarray:
    new = states.copy()
    for name in ("cells", "owner"):
        new[name] = np.array([0, 2, 1])[states[name]]
    new["to_move"] = 1 - states["to_move"]
    return new


def _swap_dice(states: np.ndarray) -> np.ndarray:
    new = states.copy()
    new["owner"] = np.array([0, 2, 1])[states["owner"]]
    new["points"] = states["points"][:, ::-1]
    new["to_move"] = 1 - states["to_move"]
    return new


def _swap_martian(states: np.ndarray) -> np.ndarray:
    new, players = states.copy(), states["stash"].shape[1]
    pieces = np.concatenate([[0], 1 + (np.arange(3 * players) + 3) % (3 * players)])
    new["piece"] = pieces[states["piece"]]
    new["stash"] = np.roll(states["stash"], 1, axis=1)
    new["to_move"] = (states["to_move"] + 1) % players
    # A log entry is (cell * number of pieces + piece) * players + player.
    log = states["log"].astype(np.int64)
    cells, replaced, movers = log // (players * len(pieces)), log // players % len(pieces), log % players
    swapped = (cells * len(pieces) + pieces[replaced]) * players + (movers + 1) % players
    new["log"] = np.where(np.arange(log.shape[1]) < states["logged"][:, None], swapped, 0)
    return new


def _swap_seats(states: np.ndarray) -> np.ndarray:
    new, players = states.copy(), states["identity"].shape[1]
    for name in ("identity", "hand", "team_of"):
        new[name] = np.roll(states[name], 1, axis=1)
    new["to_move"] = np.where(states["done"], 0, (states["to_move"] + 1) % players)
    seen = states["event"][:, :, 1] > 0
    new["event"][:, :, 0] = np.where(seen, (states["event"][:, :, 0] + 1) % players, 0)
    return new


def _swap_operation(states: np.ndarray) -> np.ndarray:
    new = states.copy()
    board = states["board"].astype(np.int64)
    new["board"] = np.where(board == 0, 0, 1 + (board - 1 + 9) % 18)
    for name in ("last", "standing", "hacker_on", "wins", "given"):
        new[name] = states[name][:, ::-1]
    for name in ("placer", "first", "to_move", "given_first"):
        new[name] = np.where(states[name] < 0, states[name], 1 - states[name])
    return new


#: Game id -> states with each player's colour given to the next (with two: swapped); for games in which all have the
#: same part.
COLOUR_SWAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "super_tic_tac_toe": _swap_super,
    "martian_tic_tac_toe": _swap_martian,
    "tic_tac_dice": _swap_dice,
    "big_tic_tac_dice": _swap_dice,
    "tic_tac_super_dice": _swap_dice,
    "tic_tac_match": _swap_seats,
    "operation_tic_tac_toe": _swap_operation,
}


def _new_layout(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    return (after["owner"] != 0).sum(axis=1) < (before["owner"] != 0).sum(axis=1)


#: Game id -> (before, after) -> bool (n,), steps that dealt a new board: what is dealt is symmetric only on average.
DEALT: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "tic_tac_dice": _new_layout,
    "big_tic_tac_dice": _new_layout,
    "tic_tac_super_dice": _new_layout,
}


#: Game id -> (options) -> whether random games are won too seldom to be sure of one.
SELDOM_WON: dict[str, Callable[[Mapping], bool]] = {"martian_tic_tac_toe": lambda options: options["size"] > 3}


def seldom_won(game: Game) -> bool:
    """Whether random games of it nearly always end in a draw."""
    return SELDOM_WON.get(game.id, lambda options: False)(game.options)


def _other_coin(states: np.ndarray, player: int) -> np.ndarray:
    new = states.copy()
    if player != 0:
        new["coin"] = np.where(states["done"], states["coin"], 1 - states["coin"])
    return new


def _other_cards(states: np.ndarray, player: int) -> np.ndarray:
    """Another player's cards of one kind for as many from the pile, where that leaves him a legal play."""
    new, players = states.copy(), states["hand"].shape[1]
    generator = np.random.default_rng(player)
    for state in new:
        for _ in range(4):
            other = (player + generator.integers(1, players)) % players
            held, lying = (np.flatnonzero(cards) for cards in (state["hand"][other], state["pile"]))
            moves = other == state["to_move"] and not state["done"]
            if moves or not len(held) or not len(lying):
                continue
            out, back = generator.choice(held), generator.choice(lying)
            state["hand"][other, out] -= 1
            state["hand"][other, back] += 1
            state["pile"][out] += 1
            state["pile"][back] -= 1
    return new


def _other_card(states: np.ndarray, player: int) -> np.ndarray:
    """The third card in the other player's hand, until it is shown."""
    new = states.copy()
    shown = np.array([toy_kuhn.shown(state) for state in states], np.bool_)
    third = 3 - states["card"].sum(axis=1)
    new["card"][:, 1 - player] = np.where(shown, states["card"][:, 1 - player], third)
    return new


#: Game id -> (states, player) -> other states that the player cannot tell from them; for hidden information.
TWINS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "toy_coin": _other_coin,
    "toy_kuhn": _other_card,
    "tic_tac_match": _other_cards,
}


# --- positions, and the kernels over them ---


class Play(NamedTuple):
    """Some random games: states structured (steps + 1, n), actions int64 (steps, n, players)."""

    states: np.ndarray
    actions: np.ndarray


def random_joint(batch: Batch) -> np.ndarray:
    """One random legal action for everybody who acts: int64 (n, players), -1 for the rest."""
    joint = np.full((batch.n, batch.game.num_players), -1)
    for player in range(batch.game.num_players):
        rows = np.flatnonzero(batch.acting(player))
        if len(rows):
            joint[rows, player] = RandomAgent().act(batch.view(player, rows))
    return joint


def play_batch(batch: Batch, steps: int) -> Play:
    """`steps` random steps of all games, or fewer if all games are over."""
    states, actions = [batch.states.copy()], []
    for _ in range(steps):
        if batch.states["done"].all():
            break
        actions.append(random_joint(batch))
        batch.step(actions[-1])
        states.append(batch.states.copy())
    return Play(np.stack(states), np.stack(actions))


@cache
def random_play(game: Game, n: int = GAMES) -> Play:
    """`n` random games from beginning to end."""
    play = play_batch(Batch(game, n, seed=7), game.max_plies)
    assert play.states[-1]["done"].all(), f"{game!r}: a game is longer than max_plies={game.max_plies}"
    return play


def positions(game: Game, most: int = POSITIONS) -> np.ndarray:
    """Positions of random games, from starts to ends: structured (k,), k <= most."""
    states = random_play(game).states
    fresh = np.ones(states.shape, bool)
    fresh[1:] = ~states[:-1]["done"]
    found = states[fresh]
    ends = states[1:][fresh[1:] & states[1:]["done"]][: max(most // 4, 1)]
    spread = np.unique(np.linspace(0, len(found) - 1, most - len(ends)).astype(int))
    return np.concatenate([found[spread], ends])


def masks_of(game: Game, states: np.ndarray, player: int) -> np.ndarray:
    """bool (n, num_actions)."""
    out = np.ones((len(states), game.num_actions), np.bool_)
    game.loops.mask_rows(states, np.full(len(states), player), out)
    return out


def observations_of(game: Game, states: np.ndarray, player: int) -> np.ndarray:
    """int8 (n, observation size)."""
    out = np.full((len(states), game.observation_size), 7, np.int8)
    game.loops.observe_rows(states, np.full(len(states), player), out)
    return out


def after(game: Game, states: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """The states after int64 (n, players)."""
    states = states.copy()
    game.loops.step_rows(states, np.arange(len(states)), np.ascontiguousarray(joint, np.int64))
    return states


def random_actions(game: Game, states: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Random legal actions int64 (n, players), -1 for who does not act."""
    joint = np.full((len(states), game.num_players), -1)
    for player in range(game.num_players):
        weights = masks_of(game, states, player) * generator.random((len(states), game.num_actions))
        joint[:, player] = np.where(weights.any(axis=1), weights.argmax(axis=1), -1)
    return joint


def difference(first: np.ndarray, second: np.ndarray, but: tuple[str, ...] = ()) -> list[str]:
    """Names of the fields in which two structured arrays differ."""
    names = first.dtype.names
    return [name for name in names if name not in but and not np.array_equal(first[name], second[name])]


def without_rng(states: np.ndarray) -> np.ndarray:
    """A copy whose generators are all the same."""
    states = states.copy()
    states["rng"] = 0
    return states


def players_of(game: Game) -> range:
    """0 to num_players - 1."""
    return range(game.num_players)


# --- checks of the rules ---


def check_masks(game: Game) -> None:
    """Exactly the acting players have legal actions, none of them after the end; every entry is written."""
    states = positions(game)
    masks = np.stack([masks_of(game, states, player) for player in players_of(game)])
    zeroed = np.zeros_like(masks[0])
    game.loops.mask_rows(states, np.zeros(len(states), np.int64), zeroed)
    assert np.array_equal(zeroed, masks[0]), "legal_mask leaves old entries standing"
    acts, to_move, done = masks.any(axis=2), states["to_move"], states["done"]
    assert not acts[:, done].any(), "a finished game has legal actions"
    assert acts.any(axis=0)[~done].all(), "nobody can act, and the game goes on"
    for player in players_of(game):
        alone = ~done & (to_move != SIMULTANEOUS)
        wrong = alone & (acts[player] != (to_move == player))
        assert not wrong.any(), f"player {player}'s legal actions do not fit to_move={to_move[wrong]}"
    assert game.simultaneous or (to_move[~done] != SIMULTANEOUS).all()


def check_rewards(game: Game) -> None:
    """Zero before the end; at the end winners share +1 and losers -1, or all get 0; some games are won."""
    states = random_play(game).states
    rewards, done = states["rewards"], states["done"]
    assert not rewards[~done].any(), "a reward before the end"
    ends = rewards[-1].astype(float)
    assert np.allclose(ends.sum(axis=1), 0, atol=1e-6), "rewards do not sum to zero"
    assert (np.maximum(ends, 0).sum(axis=1) <= 1 + 1e-6).all(), "the winners get more than +1 in all"
    assert ends.any() or seldom_won(game), "all rewards are zero"
    for team in game.teams:
        assert (ends[:, team] == ends[:, team[:1]]).all(), "team-mates are paid differently"


def check_plies(game: Game) -> None:
    """`ply` counts the steps, and stands still after the end; a finished game does not change."""
    states = random_play(game).states
    assert (states["ply"] <= game.max_plies).all()
    going = ~states[:-1]["done"]
    assert (states[1:]["ply"] - states[:-1]["ply"] == going).all()
    assert not difference(states[1:][~going], states[:-1][~going])


def check_kernels_only_read(game: Game) -> None:
    """Masks, observations, text and drawing change nothing; a step is a function of state and actions."""
    states = positions(game)
    before = states.tobytes()
    for player in players_of(game):
        masks_of(game, states, player)
        observations_of(game, states, player)
        for state in states[:FEW]:
            game.format_state(state, player)
            game.draw(state, player)
    assert states.tobytes() == before
    joint = random_actions(game, states, np.random.default_rng(0))
    assert after(game, states, joint).tobytes() == after(game, states, joint).tobytes()
    # Entries of players who do not act are ignored.
    other = np.where(joint < 0, game.num_actions - 1, joint)
    assert not difference(after(game, states, joint), after(game, states, other))


def check_symmetries(game: Game) -> None:
    """Transforming commutes with stepping; masks and observations permute alike."""
    states = positions(game)
    joint = random_actions(game, states, np.random.default_rng(1))
    for symmetry in game.symmetries:
        name, turned = symmetry.name, symmetry.states(states)
        for player in players_of(game):
            seen = observations_of(game, states, player)[:, symmetry.features]
            assert np.array_equal(observations_of(game, turned, player), seen), f"{name}: observations"
            legal = masks_of(game, states, player)[:, symmetry.actions]
            assert np.array_equal(masks_of(game, turned, player), legal), f"{name}: masks"
        renamed = np.array([symmetry.action(action) for action in range(game.num_actions)] + [-1])
        stepped, expected = after(game, turned, renamed[joint]), symmetry.states(after(game, states, joint))
        kept = ~DEALT[game.id](states, expected) if game.id in DEALT else slice(None)
        wrong = difference(stepped[kept], expected[kept])
        assert not wrong, f"{name} does not commute with a step: {wrong}"


def check_starts(game: Game) -> None:
    """`stochastic` is true exactly if games with the same choices differ from seed to seed."""

    def first_choices(seed: int) -> bytes:
        batch = Batch(game, 1, seed=seed)
        trace = [without_rng(batch.states).tobytes()]
        while not batch.states["done"][0]:
            legal = [batch.masks(player)[0] for player in players_of(game)]
            batch.step(np.array([[mask.argmax() if mask.any() else -1 for mask in legal]]))
            trace.append(without_rng(batch.states).tobytes())
        return b"".join(trace)

    different = len({first_choices(seed) for seed in range(4 if jit.DISABLED else 20)})
    assert (different > 1) == game.stochastic, f"{different} different games, stochastic={game.stochastic}"
    if game.stochastic:
        assert first_choices(3) == first_choices(3)


# --- checks of what a player sees ---


def check_observations(game: Game) -> None:
    """Every feature is written, 0 or 1, and described; the planes show exactly the features."""
    states = positions(game)
    assert game.observation_size == sum(block.size for block in game.observation)
    for player in players_of(game):
        seen = observations_of(game, states, player)
        assert np.isin(seen, (0, 1)).all(), "a feature is not 0 or 1, or not written"
        planes = game.to_planes(seen)
        assert planes.shape == (len(states), *game.plane_index.shape)
        padded = np.concatenate([seen, np.zeros((len(seen), 1), np.int8)], axis=1)
        for at, feature in np.ndenumerate(game.plane_index):
            assert np.array_equal(planes[(slice(None), *at)], padded[:, feature]), f"plane cell {at}"
    shown = np.unique(game.plane_index)
    assert np.array_equal(shown[shown < game.observation_size], np.arange(game.observation_size)), "not shown"
    described = [game.describe_feature(feature) for feature in range(game.observation_size)]
    assert len(set(described)) == game.observation_size
    assert [block.name for block in game.observation] == list(dict.fromkeys(words.split("[")[0] for words in described))


def check_egocentric(game: Game) -> None:
    """Colours passed on: each player sees what the one before him saw."""
    swap = COLOUR_SWAPS.get(game.id)
    if swap is None:
        return
    states = positions(game)
    for player in players_of(game):
        other = (player + 1) % game.num_players
        assert np.array_equal(observations_of(game, swap(states), other), observations_of(game, states, player)), (
            "the observation depends on the colour"
        )
        assert np.array_equal(masks_of(game, swap(states), other), masks_of(game, states, player))


def same_to(game: Game, player: int, states: np.ndarray, others: np.ndarray) -> None:
    """Nothing that the player is shown differs between states and others."""
    for kind in (observations_of, masks_of):
        assert np.array_equal(kind(game, states, player), kind(game, others, player)), kind.__name__
    for state, other in zip(states[:FEW], others[:FEW], strict=True):
        assert game.format_state(state, player) == game.format_state(other, player), "text"
        assert game.draw(state, player) == game.draw(other, player), "picture"


def worlds_of(game: Game, states: np.ndarray, player: int, seed: int) -> np.ndarray:
    """A sampled world for each state."""
    seeds = np.arange(len(states), dtype=np.uint64) + np.uint64(10**6 * seed)
    return View(game, states, np.full(len(states), player), seeds).sample_worlds(seed)


def check_worlds(game: Game) -> None:
    """A sampled world looks the same to its player, and its future is another one."""
    states = positions(game)
    for player in players_of(game):
        first, second = worlds_of(game, states, player, 1), worlds_of(game, states, player, 2)
        same_to(game, player, states, first)
        for one, two in ((states, first), (states, second), (first, second)):
            assert (one["rng"] != two["rng"]).all(), "the generator can be read"
        if not game.hidden_information:
            assert not difference(states, first, but=("rng",))
        assert worlds_of(game, states, player, 1).tobytes() == first.tobytes(), "not reproducible"


def check_indistinguishable(game: Game) -> None:
    """States a player cannot tell apart: he sees the same, and the distribution of worlds is the same."""
    if not game.hidden_information:
        return
    samples = 150 if jit.DISABLED else 2000
    for player in players_of(game):
        states = positions(game)
        twins = TWINS[game.id](states, player)
        same_to(game, player, states, twins)
        different = np.flatnonzero(without_rng(states) != without_rng(twins))
        for i in different[:: max(len(different) // FEW, 1)][:FEW]:
            one = worlds_of(game, np.repeat(states[i : i + 1], samples), player, 3)
            two = worlds_of(game, np.repeat(twins[i : i + 1], samples), player, 4)
            assert_same_distribution(one, two)


def assert_same_distribution(one: np.ndarray, two: np.ndarray) -> None:
    """Chi-square of each entry of each field but the generator, at about five standard deviations."""
    for name in one.dtype.names:
        if name == "rng":
            continue
        entries = one[name].reshape(len(one), -1).T, two[name].reshape(len(two), -1).T
        for first, second in zip(*entries, strict=True):
            values = np.unique(np.concatenate([first, second]))
            table = np.array([[(sample == value).sum() for value in values] for sample in (first, second)])
            expected = table.sum(axis=0) * table.sum(axis=1, keepdims=True) / table.sum()
            free = len(values) - 1
            statistic = ((table - expected) ** 2 / expected).sum()
            assert statistic <= free + 5 * np.sqrt(2 * free) + 10 * (free > 0), f"{name}: {table.tolist()}"


# --- checks of text and pictures ---


def check_actions_as_text(game: Game) -> None:
    """Names are unique, also without regard to case, and both they and numbers are read back."""
    names = game.action_names
    assert len({name.lower() for name in names}) == game.num_actions
    for action, name in enumerate(names):
        assert game.parse_action(name) == action
        assert game.parse_action(f" {name.upper()} ") == action
        assert game.parse_action(str(action)) == action or str(action) in names


def check_positions_as_text(game: Game) -> None:
    """A position is read back from its text whole, options included, all but the generator."""
    for state in positions(game):
        text = game.format_state(state, None)
        read = game.parse_state(text)
        assert read.shape == (1,)
        assert read.dtype == game.state_dtype
        wrong = difference(read, np.array([state]), but=("rng",))
        assert not wrong, f"{wrong} differ after reading\n{text}"


def check_pictures(game: Game) -> None:
    """The drawing is well-formed SVG for every viewer, also at the end."""
    for state in np.concatenate([positions(game)[:FEW], positions(game)[-2:]]):
        for viewer in (None, *players_of(game)):
            root = ElementTree.fromstring(game.draw(state, viewer))
            assert root.tag.endswith("svg")
            assert float(root.attrib["width"]) > 0


# --- checks of batches and environments ---


def check_batch_sizes_and_threads(game: Game) -> None:
    """Game i of a seed is the same game whatever the batch's size and threads, resets included."""
    steps = game.max_plies + 10
    sizes = ((1, 1), (3, 2)) if jit.DISABLED else ((1, 1), (5, 1), (64, 1), (64, 3))
    plays = [play_batch(Batch(game, n, seed=11, auto_reset=True, threads=threads), steps) for n, threads in sizes]
    for play in plays[:-1]:
        n = play.states.shape[1]
        assert play.states.tobytes() == np.ascontiguousarray(plays[-1].states[:, :n]).tobytes()
    states = plays[-1].states
    assert (states[1:]["ply"] < states[:-1]["ply"]).any(), "no game started anew"


def check_batch_is_single(game: Game) -> None:
    """One seed gives the same states, byte by byte, from Batch, AEC and Parallel, over several episodes."""
    batch = Batch(game, 1, seed=5)
    aec, parallel = AECGame(game), ParallelGame(game)
    for episode in range(1 if jit.DISABLED else 3):
        seed = 5 if episode == 0 else None
        if episode:
            batch.reset()
        aec.reset(seed)
        observations, _ = parallel.reset(seed)
        while True:
            expected = batch.states.tobytes()
            assert unpack_state(game, aec.get_state())[0].tobytes() == expected
            assert unpack_state(game, parallel.get_state())[0].tobytes() == expected
            if batch.states["done"][0]:
                break
            joint = random_joint(batch)
            for player in np.flatnonzero(joint[0] >= 0):
                name = f"player_{player}"
                assert aec.agent_selection == name
                assert np.array_equal(aec.observe(name)["observation"], batch.observations(int(player))[0])
                assert np.array_equal(aec.observe(name)["action_mask"], batch.masks(int(player))[0])
                assert np.array_equal(observations[name]["action_mask"][:-1], batch.masks(int(player))[0])
                assert RandomAgent().act(aec.view(name))[0] == joint[0, player], "another choice in AEC"
                aec.step(int(joint[0, player]))
            batch.step(joint)
            answers = np.where(joint[0] < 0, game.num_actions, joint[0])
            observations, rewards, ends, _, _ = parallel.step(
                {f"player_{player}": answers[player] for player in players_of(game)}
            )
            for player in players_of(game):
                name = f"player_{player}"
                assert rewards[name] == aec.rewards[name] == batch.rewards[0, player]
                assert ends[name] == aec.terminations[name] == batch.done[0]
                assert np.array_equal(observations[name]["observation"], batch.observations(player)[0])


def play_aec(env: AECGame, generator: np.random.Generator, steps: int) -> list[bytes]:
    """Up to `steps` random choices; the positions after each."""
    trace = []
    for _ in range(steps):
        if any(env.terminations.values()):
            break
        mask = env.observe(env.agent_selection)["action_mask"]
        env.step(int(generator.choice(np.flatnonzero(mask))))
        trace.append(env.get_state())
    return trace


def play_parallel(env: ParallelGame, generator: np.random.Generator, steps: int) -> list[bytes]:
    """Up to `steps` random steps; the positions after each."""
    trace = []
    for _ in range(steps):
        if not env.agents:
            break
        answers = {}
        for player, name in enumerate(env.agents):
            mask = masks_of(env.game, unpack_state(env.game, env.get_state())[0], player)[0]
            answers[name] = int(generator.choice(np.flatnonzero(mask))) if mask.any() else env.wait
        env.step(answers)
        trace.append(env.get_state())
    return trace


def _check_copies(game: Game, make: Callable[[Game], AECGame | ParallelGame], play: Callable) -> None:
    whole = 2 * game.max_plies * game.num_players
    for before in range(0, min(game.max_plies, 8), 3 if jit.DISABLED else 1):
        env = make(game)
        env.reset(seed=before)
        play(env, np.random.default_rng(before), before)
        here = env.get_state()
        moved = make(game)
        moved.set_state(here)
        copies = {
            "deepcopy": copy.deepcopy(env),
            "pickle": pickle.loads(pickle.dumps(env)),
            "set_state": moved,
        }
        trace = play(env, np.random.default_rng(99), whole)
        for how, other in copies.items():
            assert other.get_state() == here, f"{how} changed with the original"
            assert play(other, np.random.default_rng(99), whole) == trace, f"{how} goes on differently"
        end = env.get_state()
        env.reset()
        for how in ("deepcopy", "pickle"):
            assert copies[how].get_state() == end, f"{how} changed with the original"
            copies[how].reset()
            assert copies[how].get_state() == env.get_state(), f"{how}: another next game"


def check_copies_aec(game: Game) -> None:
    """deepcopy, pickle and get_state/set_state in mid-game give games of their own, which go on alike."""
    _check_copies(game, AECGame, play_aec)


def check_copies_parallel(game: Game) -> None:
    """The same of the Parallel environment."""
    _check_copies(game, ParallelGame, play_parallel)


def check_copies_batch(game: Game) -> None:
    """The same of a Batch, threads and resets included."""
    batch = Batch(game, 5, seed=3, auto_reset=True, threads=2)
    play_batch(batch, 3)
    here = batch.states.tobytes()
    copies = {"deepcopy": copy.deepcopy(batch), "pickle": pickle.loads(pickle.dumps(batch))}
    steps = 10 if jit.DISABLED else game.max_plies + 5
    trace = play_batch(batch, steps).states
    for how, other in copies.items():
        assert other.states.tobytes() == here, f"{how} changed with the original"
        assert play_batch(other, steps).states.tobytes() == trace.tobytes(), f"{how} goes on differently"


def check_given_arrays_are_copies(game: Game) -> None:
    """What a user does to a mask or an observation changes nothing."""
    aec, parallel = AECGame(game, illegal="raise"), ParallelGame(game, illegal="raise")
    for state in positions(game, FEW):
        if state["done"]:
            continue
        packed = _packed(game, state)
        aec.set_state(packed)
        observations, infos = parallel.set_state(packed)
        name = aec.agent_selection
        true = aec.observe(name)
        expected = true["observation"].copy()
        legal = set(np.flatnonzero(true["action_mask"]).tolist())
        for given in (true, aec.infos[name], observations[name], infos[name]):
            for array in given.values():
                array[:] = 1
        view = aec.view(name)
        view.masks[:] = True
        view.observations[:] = 1
        assert np.array_equal(aec.observe(name)["observation"], expected)
        assert aec.get_state() == parallel.get_state() == packed
        for action in set(range(game.num_actions)) - legal:
            assert refuses(aec, action), "the user's mask decides what is legal"
            break
        true_masks = [masks_of(game, np.array([state]), player)[0] for player in players_of(game)]
        answers = {f"player_{p}": int(m.argmax()) if m.any() else parallel.wait for p, m in enumerate(true_masks)}
        for player, mask in enumerate(true_masks):
            if not mask.all():
                try:
                    parallel.step({**answers, f"player_{player}": int(mask.argmin())})
                except IllegalAction:
                    continue
                raise AssertionError("the user's mask decides what is legal")
        aec.set_state(packed)  # with masks as they were
        early = aec.view(name)
        play_aec(aec, np.random.default_rng(0), 2 * game.num_players)
        assert early.text() == game.format_state(state, int(early.players[0])), "a view changes with the game"
    batch = Batch(game, 2, seed=0)
    before = batch.states.tobytes()
    batch.masks(0)[:] = True
    batch.observations(0)[:] = 1
    batch.view(0).sample_worlds(1)[:] = game.prototype
    assert batch.states.tobytes() == before


def _packed(game: Game, state: np.void) -> bytes:
    return pack_state(game, state, np.full(game.num_players, -1), np.uint64(0))


def refuses(env: AECGame, action: int) -> bool:
    """Whether the environment, made with illegal="raise", refuses the action and stays as it was."""
    before = env.get_state()
    try:
        env.step(action)
    except IllegalAction:
        assert env.get_state() == before, "refused, and yet changed"
        return True
    assert env.get_state() != before
    return False


def check_legal_is_accepted(game: Game) -> None:
    """The environments take every action of a mask and refuse every other."""
    aec, parallel = AECGame(game, illegal="raise"), ParallelGame(game, illegal="raise")
    for state in positions(game, FEW):
        if state["done"]:
            continue
        packed = _packed(game, state)
        aec.set_state(packed)
        mask = aec.observe(aec.agent_selection)["action_mask"].copy()
        for action in range(game.num_actions):
            aec.set_state(packed)
            assert refuses(aec, action) == (not mask[action]), f"action {action} in AEC"
        observations, _ = parallel.set_state(packed)
        answers = {name: int(seen["action_mask"].argmax()) for name, seen in observations.items()}
        for name, seen in observations.items():
            for action, legal in enumerate(seen["action_mask"]):
                parallel.set_state(packed)
                try:
                    parallel.step({**answers, name: action})
                except IllegalAction:
                    assert not legal
                    assert parallel.get_state() == packed, "refused, and yet changed"
                else:
                    assert legal, f"action {action} in Parallel"


def check_waiting(game: Game) -> None:
    """In AEC who waits has a mask of zeros; in Parallel he has `wait`, and only he."""
    aec, parallel = AECGame(game), ParallelGame(game)
    aec.reset(seed=1)
    generator = np.random.default_rng(1)
    while True:
        over = any(aec.terminations.values())
        for name in aec.possible_agents:
            masks = (aec.observe(name)["action_mask"], aec.infos[name]["action_mask"])
            assert masks[0] is masks[1], "the mask of the observation is not that of the infos"
            assert masks[0].any() == (name == aec.agent_selection and not over), f"{name} waits"
        if over:
            break
        play_aec(aec, generator, 1)
    for state in positions(game, 4 * FEW):
        observations, infos = parallel.set_state(_packed(game, state))
        for player, (name, seen) in enumerate(observations.items()):
            mask = seen["action_mask"]
            assert mask is infos[name]["action_mask"]
            assert mask.dtype == np.int8
            assert np.array_equal(mask[:-1], masks_of(game, np.array([state]), player)[0])
            assert mask[-1] == (not mask[:-1].any()), "wait is for who cannot act, and only for him"


def check_secret_choices(game: Game) -> None:
    """Where several choose at once, who commits later sees nothing of what was committed before."""
    env = AECGame(game, render_mode="ansi")
    for state in positions(game, 4 * FEW):
        if state["done"] or state["to_move"] != SIMULTANEOUS:
            continue
        packed = _packed(game, state)
        env.set_state(packed)
        start = env.observe(env.agent_selection), env.render()
        seen = {}
        for actions in _commits(env, packed, ()):
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
            key = (name, len(actions))
            if key in seen:
                assert pickle.dumps(shown) == seen[key], f"{name} sees what was committed"
            seen[key] = pickle.dumps(shown)
            assert env.render() == start[1], "the text shows what was committed"


def _commits(env: AECGame, packed: bytes, actions: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All beginnings of a joint choice after which somebody has still to choose."""
    env.set_state(packed)
    ply = unpack_state(env.game, packed)[0]["ply"][0]
    for action in actions:
        env.step(action)
    if unpack_state(env.game, env.get_state())[0]["ply"][0] != ply:
        return
    mask = env.observe(env.agent_selection)["action_mask"]
    if actions:
        yield actions
    for action in np.flatnonzero(mask):
        yield from _commits(env, packed, (*actions, int(action)))


def check_facts(game: Game) -> None:
    """The facts fit each other, and a pickled game is the same game."""
    assert sorted(player for team in game.teams for player in team) == list(players_of(game))
    assert game.prototype.shape == (1,)
    assert not game.prototype["done"][0]
    assert game.native in ("aec", "parallel")
    assert game.title
    again = pickle.loads(pickle.dumps(game))
    assert repr(again) == repr(game)
    assert again.prototype.tobytes() == game.prototype.tobytes()
    assert again.loops is game.loops or game.rules != again.rules
    assert copy.deepcopy(game) is game


#: Every check, by name.
CHECKS: dict[str, Callable[[Game], None]] = {
    name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")
}
