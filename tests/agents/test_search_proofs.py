"""Tree search that keeps what it has proved: against a full search of ends of games, and in positions to be seen."""

import numpy as np
import pytest
import toy_race

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.search.gumbel import ProvingSearch
from ttt_envs.agents.search.gumbel_trees import SearchResult
from ttt_envs.core.view import View

CLOSED = {"first_move": "anywhere", "won_boards": "closed"}


def ends(game: ttt_envs.Game, n: int, cells: int) -> np.ndarray:
    """Positions of random games in which at most so many cells can still be played in, structured (n,)."""
    generator, found, seed = np.random.default_rng(3), [], 0
    while len(found) < n:
        seed += 1
        state = game.start(seed=seed)
        while not state.over and left(state.states[0]) > cells:
            state.apply(int(generator.choice(state.legal_actions())))
        if not state.over:
            found.append(state.states[0])
    return np.array(found)


def left(state: np.void) -> int:
    marked = state["marks"][0] | state["marks"][1]
    return sum(9 - int(marked[board]).bit_count() for board in range(9) if state["playable"] >> board & 1)


def exact(state, known: dict[bytes, float]) -> float:
    if state.key not in known:
        known[state.key] = max(after(state, action, known) for action in state.legal_actions())
    return known[state.key]


def after(state, action: int, known: dict[bytes, float]) -> float:
    child, player = state.clone(), state.player
    child.apply(action)
    return child.returns()[player] if child.over else -exact(child, known)


@pytest.fixture(scope="module")
def solved() -> tuple[View, np.ndarray]:
    """Ends of games, and the exact value of each action in them, float (n, 81), nan where it is illegal."""
    game = ttt_envs.load("super_tic_tac_toe", **CLOSED)
    states = ends(game, 40, 8)
    values, known = np.full((len(states), game.num_actions), np.nan), {}
    for i in range(len(states)):
        state = game.start(state=states[i : i + 1])
        for action in state.legal_actions():
            values[i, action] = after(state, action, known)
    return View(game, states, states["to_move"], np.arange(len(states))), values


def test_what_is_proved_is_true_and_is_played(solved):
    view, values = solved
    agent = agents.load("mcts:simulations=1000,proofs=true")
    sums, rows = agent._results(view)[:, 1], np.arange(len(view))
    won, lost = sums == np.inf, sums == -np.inf
    assert won.sum() >= 5
    assert lost.sum() >= 5
    assert (values[won] == 1).all()
    assert (values[lost] == -1).all()
    several, best = view.masks.sum(axis=1) > 1, np.nanmax(values, axis=1)
    assert (won.any(axis=1) == (best == 1))[several].all()  # these ends are searched to the last
    actions = agent.act(view)
    assert (values[rows, actions] == best)[several & (best == 1)].all()
    assert (values[rows, actions] > -1)[several & (best > -1)].all()


def gumbel(view: View, simulations: int) -> SearchResult:
    search = ProvingSearch(view.game, len(view), simulations, considered=view.game.num_actions)

    def evaluate(observations, masks, players):
        return np.zeros(masks.shape, np.float32), np.zeros((len(players), 2))

    return search.search(view.sample_worlds(), np.arange(len(view), dtype=np.uint64), evaluate)


def test_what_is_proved_with_a_network_is_true_and_is_played(solved):
    view, values = solved
    rows, several, best = np.arange(len(view)), view.masks.sum(axis=1) > 1, np.nanmax(values, axis=1)
    for simulations in (1, 8, 500):
        found = gumbel(view, simulations)
        won, lost = found.q == 1, found.q == -1
        assert (values[won] == 1).all()
        assert (values[lost] == -1).all()
        reached = values[rows, found.actions]
        assert (reached[won.any(axis=1)] == 1).all()
        assert not lost[rows, found.actions][(view.masks & ~lost).any(axis=1)].any()
        # What is two plies away is seen before the first simulation.
        assert [won.any(), lost.any()] == [True, True]
    assert won.sum() >= 5
    assert lost.sum() >= 5
    assert (won.any(axis=1) == (best == 1))[several].all()  # these ends are searched to the last
    assert (reached > -1)[several & (best > -1)].all()


def test_sums_stay_between_none_and_all_visits(solved):
    view, _ = solved
    visits, sums = agents.load("mcts:simulations=300,proofs=true").search(view)
    assert ((sums >= 0) & (sums <= visits)).all()
    assert np.isfinite(sums).all()


def test_a_proof_beats_more_visits():
    agent = agents.load("mcts:proofs=true")
    visits = np.array([[90.0, 10.0, 0.0]])
    masks = visits > 0
    assert agent._policy(masks, np.stack([visits, np.array([[80.0, np.inf, 0.0]])], axis=1)).tolist() == [[0, 1, 0]]
    assert agent._policy(masks, np.stack([visits, np.array([[-np.inf, 1.0, 0.0]])], axis=1)).tolist() == [[0, 1, 0]]
    assert agent._policy(masks, np.stack([visits, np.full((1, 3), -np.inf)], axis=1)).tolist() == [[1, 0, 0]]


def test_other_games_are_refused():
    for game in (toy_race.make(), toy_race.make(lucky=False), ttt_envs.load("tic_tac_dice")):
        states = game.new_state(0)
        view = View(game, states, states["to_move"], np.zeros(1, np.uint64))
        with pytest.raises(ValueError, match="proofs=true is for games of two players in which nothing is left"):
            agents.load("mcts:proofs=true").act(view)
        with pytest.raises(ValueError, match="proofs=true is for games of two players in which nothing is left"):
            ProvingSearch(game, 1, 8)
