"""Positions without an oracle whose values are exact all the same: ends of games, and small games with hidden hands.

`draw_endings` searches positions near the end of a game of perfect information to the end, by alpha-beta.
`draw_information_sets` solves a small two-player game whose players do not know the whole position by PCFR+, and takes
what a player expects after each action against the others' equilibrium strategy, from what they see then.
"""

import numpy as np

from ttt_envs.agents.random import RandomAgent
from ttt_envs.agents.search.alphabeta import AlphaBeta
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.view import View
from ttt_envs.evaluation.solved.positions import Positions
from ttt_envs.solvers import sequence
from ttt_envs.solvers.cfr import Solver
from ttt_envs.solvers.tree import reaches, walk

# A score of alpha-beta search that is larger is that of a game which is surely won.
_WON = 1.5

# Information sets that the equilibrium gets to less often are not asked about.
_REACHED = 1e-4

# Values of PCFR+ are rounded to so many digits, so that a set does not hang on the order of a sum.
_DIGITS = 3


def draw_endings(game: Game, number: int, *, least: float, seed: int, remaining: tuple[int, int]) -> Positions:
    """Draw positions from games of random play, evenly by the plies that may still follow, and search them to the end.

    Args:
        game: of perfect information, without chance, in which a game has a greatest length.
        number: positions.
        least: a position counts if an action loses more than this.
        seed: fixes the positions.
        remaining: least and greatest number of plies that may still follow, at most 60.

    Raises ValueError where too few positions count.
    """
    low, high = remaining
    if game.hidden_information or game.stochastic or game.simultaneous:
        raise ValueError(f"{game} cannot be searched to the end: it has chance, hidden information or choices at once")
    search, rng = AlphaBeta(depth=high), np.random.default_rng(seed)
    batch, random = Batch(game, max(20 * number, 2000), seed=seed), RandomAgent()
    kept: dict[int, np.ndarray] = {}
    while (going := np.flatnonzero(~batch.done)).size:
        left = game.max_plies - int(batch.states["ply"][going[0]])
        if low <= left <= high:
            kept[left] = batch.states[going].copy()
        actions = np.full(batch.n, -1)
        actions[going] = random.act(batch.view(rows=going))
        batch.step(actions)
    found: list[tuple[np.ndarray, int, np.ndarray]] = []
    waiting = {left: rng.permutation(len(states)).tolist() for left, states in kept.items()}
    while len(found) < number and any(waiting.values()):
        for left in sorted(waiting):
            while len(found) < number and waiting[left]:
                state = kept[left][[waiting[left].pop()]]
                values = searched(game, state, search)
                if np.nanmax(values) - np.nanmin(values) > least:
                    found.append((state, left, values))
                    break
    if len(found) < number:
        raise ValueError(f"only {len(found)} of {number} positions of {game} have an action that loses {least:g}")
    states = np.concatenate([state for state, _, _ in found])
    return Positions(
        states,
        states["to_move"].astype(np.int64),
        np.array([game.max_plies - left for _, left, _ in found]),
        np.stack([values for *_, values in found]),
        False,
    )


def searched(game: Game, state: np.ndarray, search: AlphaBeta) -> np.ndarray:
    """The values of all actions for the player to move, by a search to the end: float64 (num_actions,), nan if illegal.

    `state` is structured (1,); the search must be deep enough for what may follow.
    """
    player = int(state["to_move"][0])
    mask = np.empty((1, game.num_actions), np.bool_)
    game.loops.mask_rows(state, np.array([player]), mask)
    actions, values = np.flatnonzero(mask[0]), np.full(game.num_actions, np.nan)
    after = Batch(game, len(actions))
    after.set_states(np.repeat(state, len(actions)))
    after.step(actions)
    # A search does not look at an action that is the only one, so these are played first.
    while True:
        masks: np.ndarray = np.logical_or.reduce([after.masks(each) for each in range(game.num_players)])
        forced = np.flatnonzero(~after.done & (masks.sum(axis=1) == 1))
        if not forced.size:
            break
        after.step_rows(forced, masks[forced].argmax(axis=1))
    values[actions] = after.rewards[:, player]
    rows = np.flatnonzero(~after.done)
    if rows.size:
        movers = after.states["to_move"][rows].astype(np.int64)
        best = np.nanmax(search.scores(View(game, after.states[rows], movers, np.zeros(len(rows), np.uint64))), axis=1)
        result = np.where(np.abs(best) > _WON, np.sign(best), 0.0)
        values[actions[rows]] = np.where(movers == player, result, 0.0 - result)
    return values


def draw_information_sets(game: Game, number: int, *, least: float, seed: int, iterations: int) -> Positions:
    """Draw what players may see in a small game of hidden information, evenly by plies, with equilibrium values.

    Positions that look alike to the player count as one: values and policy are means over how often the equilibrium
    gets to each.

    Args:
        game: two players, zero-sum, small enough for `ttt_envs.solvers.tree.walk`.
        number: positions.
        least: a position counts if an action loses more than this.
        seed: fixes which are drawn.
        iterations: of PCFR+.

    Raises ValueError for a game of another kind, and where too few positions count.
    """
    tree = walk(game)
    solver = Solver(tree)
    solver.run(iterations)
    policy = solver.average()
    seen: dict[tuple[int, bytes], list[tuple[int, float]]] = {}
    tables = [tree.table(player, policy[player]) for player in (0, 1)]
    all_values = []
    for player, reach in enumerate(reaches(tree, policy)):
        mine = tree.players[player]
        all_values.append(sequence.action_values(tree, player, policy, reach))
        own = sequence.plan_of(mine, policy[player])[mine.sets["parent"]]
        looks = np.concatenate([view.observations for view in tree.views(player)])
        for k in np.flatnonzero(reach * own > 0):
            seen.setdefault((player, looks[k].tobytes()), []).append((int(k), float(reach[k] * own[k])))
    by_ply: dict[int, list[tuple[np.ndarray, int, np.ndarray, np.ndarray]]] = {}
    for (player, _), sets in seen.items():
        weights = np.array([weight for _, weight in sets])
        rows = [k for k, _ in sets]
        if weights.sum() < _REACHED:
            continue
        values = np.round(np.average(all_values[player][rows], axis=0, weights=weights), _DIGITS)
        played = np.average(tables[player][rows], axis=0, weights=weights)
        if (~np.isnan(values)).sum() > 1 and np.nanmax(values) - np.nanmin(values) > least:
            mine = tree.players[player]
            by_ply.setdefault(int(mine.plies[rows[0]]), []).append((mine.states[rows[:1]], player, values, played))
    rng = np.random.default_rng(seed)
    waiting = {ply: rng.permutation(len(some)).tolist() for ply, some in by_ply.items()}
    found: list[tuple[np.ndarray, int, np.ndarray, np.ndarray]] = []
    plies: list[int] = []
    while len(found) < number and any(waiting.values()):
        for ply in sorted(waiting):
            if len(found) < number and waiting[ply]:
                found.append(by_ply[ply][waiting[ply].pop()])
                plies.append(ply)
    if len(found) < number:
        raise ValueError(f"only {len(found)} of {number} positions of {game} have an action that loses {least:g}")
    return Positions(
        np.concatenate([state for state, *_ in found]),
        np.array([player for _, player, *_ in found]),
        np.array(plies),
        np.stack([each for _, _, each, _ in found]),
        False,
        np.stack([each for *_, each in found]),
    )
