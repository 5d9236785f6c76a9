"""Gumbel tree search: against a slow version of itself, against brute force, with chance, for three players."""

import math
import time

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.networks import for_all_players, values_of
from ttt_envs.agents.search.gumbel import GumbelSearch, check_gumbel, considered_visits
from ttt_envs.core.game import Game

SUPER = ttt_envs.load("super_tic_tac_toe")
DICE = ttt_envs.load("tic_tac_dice", rounds="single")
#: A game of three.
SHORT_OF_THREE = ttt_envs.load("martian_tic_tac_toe", size=5, players=3, max_plies=15)


def positions(game: Game, n: int, plies: int, seed: int = 3) -> np.ndarray:
    batch, player = ttt_envs.Batch(game, n, seed=seed), agents.load("random")
    for _ in range(plies):
        batch.step(player.act(batch.view()))
    return batch.states[~batch.done].copy()


def seeds_for(states: np.ndarray) -> np.ndarray:
    return np.arange(1, len(states) + 1, dtype=np.uint64)


def no_idea(game: Game):
    def evaluate(observations, masks, players):
        return np.zeros(masks.shape, np.float32), np.zeros((len(players), game.num_players))

    return evaluate


def some_idea(game: Game, seed: int = 0):
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 0.4, (game.observation_size, game.num_actions))
    values = generator.normal(0, 0.2, (game.observation_size, values_of(game)))

    def evaluate(observations, masks, players):
        # Row by row: products of matrices are not the same to the last bit for any number of rows.
        found = np.array([row @ logits for row in observations])
        worth = np.tanh([row @ values for row in observations])
        return found, for_all_players(game, worth, players)

    return evaluate


def play(game: Game, state: np.ndarray, action: int) -> np.ndarray:
    state = state.copy()
    game.loops.step_rows(state, np.zeros(1, np.int64), np.array([[action]]))
    return state


def legal(game: Game, state: np.ndarray) -> np.ndarray:
    mask = np.empty((1, game.num_actions), np.bool_)
    game.loops.mask_rows(state, state["to_move"].astype(np.int64), mask)
    return np.flatnonzero(mask[0])


class SlowSearch:
    """The paper's search on one position without chance, with dictionaries and recursion."""

    def __init__(self, game, state, evaluate, noise, considered, c_visit, c_scale):
        self.game, self.evaluate, self.noise = game, evaluate, noise
        self.considered, self.c_visit, self.c_scale = considered, c_visit, c_scale
        self.root, _ = self.expand(state)

    def expand(self, state):
        mover = int(state["to_move"][0])
        observation, mask = (
            np.empty((1, self.game.observation_size), np.int8),
            np.zeros((1, self.game.num_actions), bool),
        )
        self.game.loops.observe_rows(state, np.array([mover]), observation)
        actions = legal(self.game, state)
        mask[0, actions] = True
        logits, values = self.evaluate(observation, mask, np.array([mover]))
        prior = np.exp(logits[0][actions] - logits[0][actions].max())
        prior = dict(zip(actions.tolist(), prior / prior.sum(), strict=True))
        node = {"state": state, "mover": mover, "prior": prior, "value": values[0]}
        return {**node, "visits": dict.fromkeys(prior, 0), "total": dict.fromkeys(prior, 0.0), "children": {}}, values[
            0
        ]

    def completed(self, node, player):
        visited = [a for a in node["prior"] if node["visits"][a]]
        q = {a: node["total"][a][player] / node["visits"][a] for a in visited}
        visits, mixed = sum(node["visits"].values()), node["value"][player]
        if visited:
            weighted = sum(node["prior"][a] * q[a] for a in visited) / sum(node["prior"][a] for a in visited)
            mixed = (mixed + visits * weighted) / (1 + visits)
        return {a: q.get(a, mixed) for a in node["prior"]}

    def logits(self, node):
        q, most = self.completed(node, node["mover"]), max(node["visits"].values())
        return {
            a: math.log(p) + (self.c_visit + most) * self.c_scale * (q[a] + 1) / 2 for a, p in node["prior"].items()
        }

    def improved(self, node):
        logits = self.logits(node)
        weights = {a: math.exp(x - max(logits.values())) for a, x in logits.items()}
        return {a: w / sum(weights.values()) for a, w in weights.items()}

    def at_root(self, visits):
        logits, root = self.logits(self.root), self.root
        return max((a for a in logits if root["visits"][a] == visits), key=lambda a: logits[a] + self.noise[a])

    def simulate(self, node, action):
        if action not in node["children"]:
            state = play(self.game, node["state"], action)
            if state["done"][0]:
                node["children"][action], values = None, state["rewards"][0].astype(float)
            else:
                node["children"][action], values = self.expand(state)
        elif node["children"][action] is None:
            values = play(self.game, node["state"], action)["rewards"][0].astype(float)
        else:
            child = node["children"][action]
            policy, visits = self.improved(child), sum(child["visits"].values())
            values = self.simulate(child, max(policy, key=lambda a: policy[a] - child["visits"][a] / (1 + visits)))
        node["visits"][action] += 1
        node["total"][action] = node["total"][action] + values
        return values

    def run(self, simulations):
        schedule = considered_visits(min(self.considered, len(self.root["prior"])), simulations)
        for visits in schedule:
            self.simulate(self.root, self.at_root(visits))
        return self


def best_rewards(game: Game, states: np.ndarray) -> np.ndarray:
    """Expected rewards if each player maximises their own, float64 (n, players), by brute force."""
    found, going = states["rewards"].astype(np.float64), ~states["done"]
    if going.any():
        movers = states["to_move"][going].astype(np.int64)
        masks = np.empty((len(movers), game.num_actions), np.bool_)
        game.loops.mask_rows(states[going], movers, masks)
        parents, actions = np.nonzero(masks)
        children = states[going][parents]
        game.loops.step_rows(children, np.arange(len(children)), actions[:, None])
        rewards = best_rewards(game, children)
        own = rewards[np.arange(len(children)), movers[parents]]
        order = np.lexsort((-own, parents))
        found[going] = rewards[order[np.unique(parents[order], return_index=True)[1]]]
    return found


def test_sequential_halving():
    """Half of the actions go on after each phase; by hand, from the paper's algorithm."""
    assert considered_visits(4, 8).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    assert considered_visits(4, 16).tolist() == [0] * 4 + [1] * 4 + [2, 2, 3, 3, 4, 4, 5, 5]
    assert considered_visits(2, 5).tolist() == [0, 0, 1, 1, 2]
    assert considered_visits(1, 3).tolist() == [0, 1, 2]
    assert considered_visits(16, 5).tolist() == [0] * 5


@pytest.mark.parametrize(
    ("game", "plies"), [(SUPER, 40), pytest.param(SHORT_OF_THREE, 6, marks=pytest.mark.slow)], ids=["two", "three"]
)
def test_it_is_the_search_of_the_paper(game, plies):
    states, evaluate, simulations = positions(game, 6, plies), some_idea(game), 40
    noise = np.random.default_rng(1).gumbel(size=(len(states), game.num_actions)).astype(np.float32)
    search = GumbelSearch(game, 6, simulations, considered=6, c_visit=20.0, c_scale=0.2)
    found = search.search(states, seeds_for(states), evaluate, noise)
    for i in range(len(states)):
        slow = SlowSearch(game, states[i : i + 1], evaluate, noise[i], 6, 20.0, 0.2).run(simulations)
        visits, policy = slow.root["visits"], slow.improved(slow.root)
        assert {a: found.visits[i, a] for a in visits} == visits
        assert found.actions[i] == slow.at_root(max(visits.values()))
        q = [slow.completed(slow.root, player) for player in range(game.num_players)]
        for a in visits:
            assert found.policy[i, a] == pytest.approx(policy[a], abs=1e-4)
            assert found.q[i, a] == pytest.approx(q[slow.root["mover"]][a], abs=1e-5)
        expected = [sum(policy[a] * each[a] for a in policy) for each in q]
        assert found.values[i] == pytest.approx(expected, abs=1e-4)
    assert (found.visits.max(axis=1) > 5).all()
    assert not states["done"].any()


def test_without_any_idea_it_finds_best_play():
    game, states = SUPER, positions(SUPER, 300, 73)[:20]
    movers, rows = states["to_move"].astype(np.int64), np.arange(len(states))
    best = np.array([best_rewards(game, states[i : i + 1])[0, movers[i]] for i in rows])
    search = GumbelSearch(game, len(states), 3000, considered=game.num_actions)
    found = search.search(states, seeds_for(states), no_idea(game))
    chosen = states.copy()
    game.loops.step_rows(chosen, rows, found.actions[:, None])
    after = np.array([best_rewards(game, chosen[i : i + 1])[0, movers[i]] for i in rows])
    assert after.tolist() == best.tolist()
    assert len(set(best.tolist())) > 1
    assert np.abs(found.values[rows, movers] - best).mean() < 0.1


def test_with_chance_it_finds_the_expected_values():
    states = positions(DICE, 200, 5)[:40]
    movers = states["to_move"].astype(np.int64)
    exact = DICE.oracle().action_values(states, movers)
    found = GumbelSearch(DICE, 40, 3000, considered=9).search(states, seeds_for(states), no_idea(DICE))
    rows = np.arange(len(states))
    regret = np.nanmax(exact, axis=1) - exact[rows, found.actions]
    assert regret.mean() < 0.005
    assert np.ptp(exact[~np.isnan(exact)]) > 1
    often = found.visits > 300
    assert often.any(axis=1).all()
    assert np.abs(found.q - exact)[often].mean() < 0.04


@pytest.mark.parametrize(("game", "plies"), [(SUPER, 20), (DICE, 2)], ids=["certain", "chance"])
def test_a_search_depends_on_its_seed_alone(game, plies):
    states, evaluate = positions(game, 20, plies), some_idea(game)
    search, seeds = GumbelSearch(game, 20, 24), seeds_for(states)
    whole = search.search(states, seeds, evaluate)
    others = search.search(states, seeds + np.uint64(1000), evaluate)
    assert np.array_equal(others.values, whole.values) == (not game.stochastic)
    for each, again in zip(whole, search.search(states, seeds, evaluate), strict=True):
        assert np.array_equal(each, again, equal_nan=each.dtype.kind == "f")
    for i in (3, 11):
        alone = GumbelSearch(game, 1, 24).search(states[i : i + 1], seeds[i : i + 1], evaluate)
        again = search.search(states[i : i + 1], seeds[i : i + 1], evaluate)
        for each, one, two in zip(whole, alone, again, strict=True):
            assert np.array_equal(each[i], one[0], equal_nan=each.dtype.kind == "f")
            assert np.array_equal(each[i], two[0], equal_nan=each.dtype.kind == "f")


def test_a_deadline_ends_a_search():
    states = positions(SUPER, 1, 10)
    started = time.monotonic()
    found = GumbelSearch(SUPER, 1, 200_000).search(
        states, seeds_for(states), no_idea(SUPER), deadline=time.monotonic() + 0.05
    )
    assert time.monotonic() - started < 5
    assert 1 <= found.visits.sum() < 200_000


@pytest.mark.parametrize(
    ("game", "words"), [("operation_tic_tac_toe", "simultaneous choices"), ("tic_tac_match", "hidden information")]
)
def test_other_games_are_refused(game, words):
    with pytest.raises(ValueError, match=f"it needs a game without {words}"):
        check_gumbel(ttt_envs.load(game), "it")


def test_wrong_numbers_are_refused():
    with pytest.raises(ValueError, match="considered must be"):
        GumbelSearch(SUPER, 1, 8, considered=0)
    with pytest.raises(ValueError, match="simulations must be"):
        GumbelSearch(SUPER, 1, 0)
