"""Simultaneous-move Monte Carlo tree search: it mixes as an equilibrium does, and sees no choice before it is shown."""

import math
from collections.abc import Sequence

import kuhn_poker
import numpy as np
import pytest
import toy_coin
from asking import check_decisions, check_time, some_view
from changed import changed

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.search import smmcts
from ttt_envs.agents.search.mcts import MCTS
from ttt_envs.agents.search.smmcts import SMMCTS
from ttt_envs.core import rng
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.observation_layout import Block
from ttt_envs.core.presentation import Faces
from ttt_envs.core.state import SIMULTANEOUS, state_dtype
from ttt_envs.core.view import View

OPERATION = "operation_tic_tac_toe"
SPECS = ("smmcts:simulations=150", "smmcts:simulations=150,gamma=0.5,threads=3")

# --- a matrix game: the first player gets payoffs[i, j] on average, the second one the opposite ---

OUT = 3  # action
PLAY = 4

STATES = {
    players: state_dtype(
        players=players,
        fields=[
            ("payoffs", np.float64, (3, 3)),
            ("sizes", np.int8, (2,)),  # rows and columns used
            ("out", np.float64),  # what the first player gets who does not play; not asked if nan
            ("noisy", np.bool_),  # all or nothing is paid, with the mean of the payoff
        ],
    )
    for players in (2, 3)
}


@kernel
def matrix_reset(state, seed):
    rng.start(state, seed)
    state["to_move"] = SIMULTANEOUS if np.isnan(state["out"]) else 0


@kernel
def matrix_mask(state, player, out):
    """Rows for the first, columns for the second; of a third one two actions."""
    out[:] = False
    if state["to_move"] == SIMULTANEOUS:
        out[: state["sizes"][player] if player < 2 else 2] = True
    elif player == 0:
        out[OUT] = True
        out[PLAY] = True


@kernel
def matrix_step(state, actions):
    """A third player wants to have chosen his action 1 while the first has not chosen row 0; no one minds him."""
    pay = state["out"]
    if state["to_move"] == 0:
        if actions[0] == PLAY:
            state["to_move"] = SIMULTANEOUS
            return
    else:
        pay = state["payoffs"][actions[0], actions[1]]
        if state["rewards"].shape[0] > 2:
            state["rewards"][2] = 1 if (actions[0] > 0) == (actions[2] == 1) else -1
    if state["noisy"]:
        pay = 1.0 if rng.below(state, 1000000) < (1 + pay) * 500000 else -1.0
    state["rewards"][0] = pay
    state["rewards"][1] = -pay
    state["done"] = True
    state["to_move"] = 0


@kernel
def matrix_observe(state, player, out):
    out[0] = state["to_move"] == SIMULTANEOUS
    out[1] = player == 0


@kernel
def matrix_resample(state, player, seed):
    rng.start(state, seed)


def make_matrix(
    *, payoffs: Sequence[Sequence[float]], out: float = math.nan, noisy: bool = False, players: int = 2
) -> Game:
    prototype = np.zeros(1, STATES[players])
    sizes = np.shape(payoffs)
    prototype["payoffs"][0, : sizes[0], : sizes[1]] = payoffs
    prototype["sizes"], prototype["out"], prototype["noisy"] = sizes, out, noisy
    return Game(
        id="matrix",
        title="Matrix",
        options={"payoffs": payoffs, "out": out, "noisy": noisy, "players": players},
        factory=make_matrix,
        prototype=prototype,
        action_names=("zero", "one", "two", "out", "play"),
        observation_layout=(
            Block("matrix", (1,), "it has come to the matrix"),
            Block("first", (1,), "I choose the row"),
        ),
        simultaneous=True,
        chance="play" if noisy else "none",
        hidden_information=False,
        max_plies=2,
        teams=tuple((player,) for player in range(players)),
        kernels=Kernels(matrix_reset, matrix_mask, matrix_step, matrix_observe, matrix_resample),
        faces=Faces(
            format_state=lambda state, viewer: "",
            read_state=lambda text: prototype.copy(),
            draw=lambda state, viewer: "<svg/>",
            action_format="zero, one, two, out or play",
        ),
    )


# Unequal payoffs, and what each player mixes in equilibrium; the value is 0. The last matrix has an action too many.
PENNIES = ((1, -0.5), (-0.5, 0.25)), ((1 / 3, 2 / 3), (1 / 3, 2 / 3))
ROCK = ((0, -1, 0.5), (1, 0, -0.25), (-0.5, 0.25, 0)), ((1 / 7, 2 / 7, 4 / 7), (1 / 7, 2 / 7, 4 / 7))
WIDE = ((1, -0.5, 0.9), (-0.5, 0.25, 0.5)), ((1 / 3, 2 / 3), (1 / 3, 2 / 3, 0))
MATRICES = {"pennies": PENNIES, "rock paper scissors": ROCK, "dominated": WIDE}


def repeated(game: Game, player: int, n: int) -> View:
    """The start, seen n times by a player, each time with another seed."""
    return View(game, np.repeat(game.new_state(0), n), np.full(n, player), np.arange(n, dtype=np.uint64))


def loss(payoffs: np.ndarray, policies: np.ndarray, player: int) -> float:
    """What mixed policies float (n, actions) lose to their best responses on average, if the value is 0."""
    return float(-(policies @ payoffs).min(axis=1).mean() if player == 0 else (policies @ payoffs.T).max(axis=1).mean())


@pytest.mark.parametrize("noisy", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MATRICES)
def test_matrix_games_are_played_ever_closer_to_the_equilibrium(name: str, noisy: bool) -> None:
    payoffs, equilibrium = np.array(MATRICES[name][0]), MATRICES[name][1]
    game = make_matrix(payoffs=MATRICES[name][0], noisy=noisy)
    for player in (0, 1):
        view, size = repeated(game, player, 12), payoffs.shape[player]
        assert abs(loss(payoffs, np.array(equilibrium[player])[None], player)) < 1e-12
        losses = []
        for simulations in (20, 400, 20_000):
            policies = SMMCTS(simulations).policy(view)[:, :size]
            losses.append(loss(payoffs, policies, player))
        assert losses[0] > losses[1] > 2 * losses[2]
        assert losses[2] < 0.02
        assert losses[2] < loss(payoffs, np.full((1, size), 1 / size), player) / 10
        assert np.abs(policies.mean(axis=0) - equilibrium[player]).max() < 0.02


def test_the_nth_strategy_counts_n_times() -> None:
    for simulations in (1, 7, 100):
        found = SMMCTS(simulations)._results(repeated(make_matrix(payoffs=ROCK[0]), 1, 3))
        assert (found[:, 0].sum(axis=1) == simulations).all()
        assert np.allclose(found[:, 2].sum(axis=1), simulations * (simulations + 1) / 2)


def test_what_is_drawn_follows_the_policy() -> None:
    view = repeated(make_matrix(payoffs=PENNIES[0]), 0, 3000)
    agent = SMMCTS(200)
    expected, found = agent.policy(view)[:, 0], agent.act(view) == 0
    assert abs(found.mean() - expected.mean()) < 5 * math.sqrt((expected * (1 - expected)).mean() / len(view))
    assert agent.act(view).tolist() != SMMCTS(201).act(view).tolist()


@pytest.mark.parametrize("spec", ["smmcts:simulations=4000", "smmcts:simulations=4000,gamma=0.5"])
def test_who_acts_alone_knows_what_the_mix_is_worth(spec: str) -> None:
    """It is worth 0; to who answers a choice that he sees 0.25 at least, to who is answered -0.5 at most."""
    for out, action in ((-0.15, PLAY), (0.15, OUT)):
        view = repeated(make_matrix(payoffs=PENNIES[0], out=out), 0, 10)
        agent = agents.load(spec)
        assert agent.act(view).tolist() == [action] * 10
        assert agent.policy(view)[:, action].tolist() == [1] * 10
        visits, values = agent.search(view)
        assert np.abs(2 * values[:, PLAY] / visits[:, PLAY] - 1).max() < 0.1


@pytest.mark.slow
def test_three_at_once() -> None:
    """The two whose game it is mix as if they were alone, and the third does what is best against them."""
    game = make_matrix(payoffs=PENNIES[0], players=3)
    found = [SMMCTS(20_000).policy(repeated(game, player, 6)) for player in range(3)]
    for player in (0, 1):
        assert np.abs(found[player][:, 0].mean() - 1 / 3) < 0.04
    assert (found[2][:, 1] > 0.9).all()


# --- the search itself ---


def test_regrets_are_as_their_definition_says() -> None:
    """A tree of one position, against a record of all that was chosen and earned in it."""
    generator = np.random.default_rng(0)
    tree = np.zeros(200, smmcts.node_for(2))
    chosen: list[tuple[int, int]] = []
    earned: list[np.ndarray] = []
    regret = [np.zeros(4), np.zeros(3)]
    arms: list[dict[int, int]] = [{}, {}]
    for entry in range(1, 120):
        pair = int(generator.integers(4)), int(generator.integers(3))
        for player in range(2):
            if pair[player] not in arms[player]:
                arms[player][pair[player]] = entry
                tree[entry]["action"][player] = pair[player]
                tree[entry]["sibling"][player] = tree[0]["newest"][player]
                tree[0]["newest"][player] = entry
        both = np.array([arms[0][pair[0]], arms[1][pair[1]]])
        cell = smmcts.find_cell(tree, 0, both)
        assert cell == smmcts.find_cell(tree, 1, both)
        assert (cell > 0) == (pair in chosen)
        if cell == 0:
            cell = entry
            smmcts.add_cell(tree, 0, cell, both)
        explores = generator.random(2) < 0.3
        tree[cell]["explores"] = explores
        rewards = generator.uniform(-1, 1, 2)
        smmcts.back_up(tree, cell, rewards, np.ones(2))
        chosen.append(pair)
        earned.append(0.5 + 0.5 * rewards)
        gains, pairs = np.array(earned), np.array(chosen)
        for player in range(2):
            tried = list(arms[player])
            usual = np.zeros(len(tried))
            for k, action in enumerate(tried):
                same = pairs[:, player] == action
                here = same & (pairs[:, 1 - player] == pair[1 - player])
                usual[k] = gains[here if here.any() else same, player].mean()
                found = tree[arms[player][action]]
                assert found["tried"][player] == same.sum()
                assert found["earned"][player] == pytest.approx(gains[same, player].sum())
            before = regret[player][tried]
            strategy = before / before.sum() if before.sum() > 0 else np.full(len(tried), 1 / len(tried))
            if not explores[1 - player]:
                regret[player][tried] = np.maximum(0, before + usual - strategy @ usual)
            numbers = [arms[player][action] for action in tried]
            assert np.allclose(tree["regret"][numbers, player], regret[player][tried])
    assert min(regret[0].max(), regret[1].max()) > 0.1
    assert tree[0]["visits"] == len(chosen)


def test_strategies_are_in_proportion_to_regrets_and_counted() -> None:
    tree, n = np.zeros(4, smmcts.node_for(2)), 20_000
    tree["newest"][0, 1], tree["sibling"][1:, 1], tree["passed"][0] = 3, [0, 1, 2], 7
    for regrets, wanted in (([0, 3, 1], [0, 0.75, 0.25]), ([0, 0, 0], [1 / 3, 1 / 3, 1 / 3])):
        for explores in (0, 1):
            tree["regret"][1:, 1], tree["weight"] = regrets, 0
            drawn = [smmcts.draw_arm(tree, 0, 1, explores, np.uint64(rng.fold(1, k))) for k in range(n)]
            assert np.allclose(tree["weight"][1:, 1], 7 * n * np.array(wanted))
            shares = np.bincount(drawn, minlength=4)[1:] / n
            assert np.abs(shares - (1 / 3 if explores else np.array(wanted))).max() < 5 * math.sqrt(0.25 / n)


def test_where_one_acts_at_a_time_it_is_plain_mcts() -> None:
    view = some_view(ttt_envs.load("tic_tac_dice", rounds="single"), 12, seed=3)
    for exploration in (0.5, 1.4):
        plain, found = (agent(300, exploration=exploration) for agent in (MCTS, SMMCTS))
        for a, b in zip(plain.search(view), found.search(view), strict=True):
            assert (a == b).all()
        policy, actions = found.policy(view), plain.act(view)
        has_move = view.masks.any(axis=1)
        assert (policy[has_move, actions[has_move]] == policy[has_move].max(axis=1)).all()


# --- what a decision depends on ---


@pytest.mark.parametrize(
    "game",
    [
        make_matrix(payoffs=ROCK[0]),
        pytest.param(make_matrix(payoffs=PENNIES[0], out=0, noisy=True, players=3), marks=pytest.mark.slow),
        ttt_envs.load(OPERATION, mode="round", specialists=("mole", ("sniper", "hacker")), first_placer=1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("spec", SPECS)
def test_a_decision_depends_on_the_view_alone(spec: str, game: Game) -> None:
    # Not far on: a match may take thousands of plies.
    view = some_view(changed(game, max_plies=min(game.max_plies, 30)), 18, seed=3)
    agent, masks = agents.load(spec), view.masks
    policy = check_decisions(agent, view)
    assert (agents.load(spec.replace("threads=3", "threads=1")).policy(view) == policy).all()
    # The same seed continues the same search, and another one is another search.
    more = SMMCTS(simulations=151).search(view)[0] - SMMCTS(simulations=150).search(view)[0]
    assert (more.sum(axis=1) == (masks.sum(axis=1) > 1)).all()
    reseeded = view.take(np.arange(len(view)))
    vars(reseeded)["seeds"] = view.seeds + np.uint64(1)
    assert (agent.policy(reseeded) != policy).any()


@pytest.mark.parametrize("simulations", [1, 2, 5])
def test_a_search_too_short_to_try_all_answers_all_the_same(simulations: int) -> None:
    view = repeated(ttt_envs.load(OPERATION, mode="round"), 1, 5)
    policy = SMMCTS(simulations).policy(view)
    assert ((policy > 0).sum(axis=1) == simulations).all()
    assert np.allclose(policy.sum(axis=1), 1)


def test_nobody_sees_what_another_has_committed() -> None:
    agent = SMMCTS(100)
    env = ttt_envs.make_aec(OPERATION, mode="round", specialists=("sniper", "mole"), first_placer=0)
    found = []
    for action in (0, 4, 13, 17):
        env.reset(seed=3)
        env.step(action)
        assert env.agent_selection == env.possible_agents[1]
        found.append(agent.policy(env.unwrapped.view(env.agent_selection)))
    assert all((each == found[0]).all() for each in found)

    game = ttt_envs.load(OPERATION)
    states = np.repeat(game.new_state(0), 20)
    states["rng"] = np.arange(20)
    policy = agent.policy(View(game, states, np.zeros(20, np.int64), np.zeros(20, np.uint64)))
    assert (policy == policy[0]).all()


def test_by_time_it_is_the_same_search() -> None:
    check_time(SMMCTS, repeated(ttt_envs.load(OPERATION, mode="round"), 0, 1), seconds=0.6)


@pytest.mark.parametrize(
    "game", [toy_coin.make(), kuhn_poker.make(), ttt_envs.load("tic_tac_match", max_turns=20)], ids=repr
)
def test_hidden_hands_are_refused_in_words(game: Game) -> None:
    view = some_view(game, 4, seed=0)
    words = "agent smmcts.* plays only games without hidden information"
    if not game.simultaneous:
        words += ".*; agent ismcts plays such games"
    for ask in (agents.load("smmcts").act, agents.load("smmcts:seconds=1").policy):
        with pytest.raises(ValueError, match=words):
            ask(view)


def test_others_name_it_where_they_refuse() -> None:
    open_game = make_matrix(payoffs=PENNIES[0])
    for name in ("mcts", "ismcts", "expectimax"):
        words = f"agent {name} plays only games without simultaneous choices; .* does not fit"
        with pytest.raises(ValueError, match=f"{words}; agent smmcts plays such games"):
            agents.load(name).act(repeated(open_game, 0, 1))
        # Nobody's search plays it if hands are hidden too.
        with pytest.raises(ValueError, match=f"{words}; `ttt agents` lists"):
            agents.load(name).act(repeated(changed(open_game, hidden_information=True), 0, 1))
