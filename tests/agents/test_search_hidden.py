"""Information set Monte Carlo tree search: what is hidden stays hidden, and it plays well all the same."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import kuhn_poker
import numpy as np
import pytest
import toy_coin
import toy_race
from asking import check_decisions, check_time, some_view, thoughts

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.networks import Network, NetworkInfo
from ttt_envs.agents.search import ismcts, puct
from ttt_envs.agents.search.horizon import flattened
from ttt_envs.agents.search.ismcts import ISMCTS
from ttt_envs.agents.search.mcts import MCTS
from ttt_envs.core import rng
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.observation_layout import Block
from ttt_envs.core.presentation import Faces
from ttt_envs.core.state import state_dtype
from ttt_envs.core.view import View

MATCH = "tic_tac_match"
SPECS = ("ismcts:simulations=150", "ismcts:simulations=150,threads=3")


def network_for(game: Game, scale: float = 0.3, **facts: Any) -> Network:
    """A q network with random weights, or other `facts`; with a scale of 0 all actions are worth a draw."""
    info = NetworkInfo(game.id, dict(game.options), "q", game.observation_size, game.num_actions, (16, 16), 5)
    info, generator = replace(info, residual=True, **facts), np.random.default_rng(0)
    return Network(info, {name: generator.normal(0, scale, shape) for name, shape in info.shapes().items()})


#: Kinds of search; the network knows nothing, so that all that is known comes from the search.
GUIDED = pytest.mark.parametrize("guided", [False, True], ids=["by playouts", "by a network"])


def search_of(game: Game, guided: bool, simulations: int = 1000, exploration: float = 0.7) -> ISMCTS:
    return ISMCTS(simulations, exploration=exploration, network=network_for(game, 0.0) if guided else "")


def view_of(game: Game, states: np.ndarray) -> View:
    """Each state seen by its player to move, each with another seed."""
    return View(game, states, states["to_move"], np.arange(len(states), dtype=np.uint64))


def means(agent: MCTS, view: View) -> np.ndarray:
    """float64 (n, num_actions): mean reward that the search found for each action; nan for those never tried."""
    visits, values = agent.search(view)
    with np.errstate(invalid="ignore"):
        return 2 * values / visits - 1


# --- a hidden side that one may guess ---

NOBODY = 2

GUESS = state_dtype(
    players=2,
    fields=[
        ("phase", np.int8),
        ("side", np.int8),
        ("shown", np.bool_),  # option of that name
        ("secret", np.bool_),  # option of that name
    ],
)


@kernel
def guess_reset(state, seed):
    """A side is drawn, unless the second player chooses one later."""
    rng.start(state, seed)
    state["side"] = NOBODY if state["secret"] else rng.below(state, 2)


@kernel
def guess_mask(state, player, out):
    out[:] = player == state["to_move"]


@kernel
def guess_step(state, actions):
    """The first player takes a half, or goes on; the second one may set the side; the first names it for a whole."""
    action = actions[state["to_move"]]
    if state["phase"] == 0 and action == 1:
        state["phase"] = 1 if state["secret"] else 2
        state["to_move"] = state["phase"] == 1
    elif state["phase"] == 1:
        state["side"] = action
        state["phase"] = 2
        state["to_move"] = 0
    else:
        pay = 0.5
        if state["phase"] == 2:
            pay = 1 if action == state["side"] else -1
        state["rewards"][0] = pay
        state["rewards"][1] = -pay
        state["done"] = True


@kernel
def guess_observe(state, player, out):
    """The phase; the side, of the second player or if the first may see it before naming it."""
    out[:] = 0
    out[state["phase"]] = 1
    if state["side"] != NOBODY and (player == 1 or state["done"] or (state["shown"] and state["phase"] == 2)):
        out[3 + state["side"]] = 1


@kernel
def guess_resample(state, player, seed):
    rng.start(state, seed)
    seen = player == 1 or state["done"] or (state["shown"] and state["phase"] == 2)
    if state["side"] != NOBODY and not seen:
        state["side"] = rng.below(state, 2)


def make_guess(*, shown: bool = False, secret: bool = False) -> Game:
    """`shown`: the first player sees the side before naming it; `secret`: the second player sets it."""
    prototype = np.zeros(1, GUESS)
    prototype["shown"], prototype["secret"] = shown, secret
    return Game(
        id="guess",
        title="Guess",
        options={"shown": shown, "secret": secret},
        factory=make_guess,
        prototype=prototype,
        action_names=("zero", "one"),
        observation_layout=(Block("phase", (3,), "which it is"), Block("side", (2,), "is seen to be it")),
        simultaneous=False,
        chance="play",
        hidden_information=True,
        max_plies=3,
        teams=((0,), (1,)),
        kernels=Kernels(guess_reset, guess_mask, guess_step, guess_observe, guess_resample),
        faces=Faces(
            format_state=lambda state, viewer: "",
            read_state=lambda text: prototype.copy(),
            draw=lambda state, viewer: "<svg/>",
            action_format="zero or one",
        ),
    )


def guess_view(**options: bool) -> View:
    game = make_guess(**options)
    return view_of(game, np.concatenate([game.new_state(seed) for seed in range(10)]))


@GUIDED
@pytest.mark.parametrize("secret", [False, True])
def test_what_he_does_not_see_he_cannot_act_upon(secret: bool, guided: bool) -> None:
    view = guess_view(secret=secret)
    assert search_of(view.game, guided).act(view).tolist() == [0] * 10
    found = means(search_of(view.game, guided, 20_000, exploration=1.4), view)
    assert (found[:, 0] == 0.5).all()
    assert np.abs(found[:, 1]).max() < 0.2


def test_a_search_that_tells_positions_apart_by_what_is_hidden_errs() -> None:
    view = guess_view()
    vars(view)["game"] = replace(view.game, hidden_information=False)
    assert (means(MCTS(simulations=1000), view)[:, 1] > 0.9).all()


@GUIDED
def test_what_he_will_see_he_can_act_upon(guided: bool) -> None:
    for secret in (False, True):  # an opponent who sets the side can do no harm
        view = guess_view(shown=True, secret=secret)
        assert search_of(view.game, guided).act(view).tolist() == [1] * 10
        assert (means(search_of(view.game, guided, 2000), view)[:, 1] > 0.9).all()


# --- Kuhn poker ---


def kuhn(own: str, said: str, n: int = 20) -> View:
    """What the player to move sees with that card, n times, each with another seed."""
    cards = [own, "king" if own != "king" else "jack"]
    if len(said.split()) % 2:
        cards.reverse()
    return view_of(
        kuhn_poker.make(), np.repeat(kuhn_poker.make().parse_state(f"cards: {' '.join(cards)}\nsaid: {said}"), n)
    )


@GUIDED
@pytest.mark.parametrize("said", ["bet", "pass bet"])
def test_kuhn_the_jack_never_calls_and_the_king_always(said: str, guided: bool) -> None:
    agent = search_of(kuhn_poker.make(), guided, 500)
    assert agent.act(kuhn("jack", said)).tolist() == [kuhn_poker.PASS] * 20
    assert agent.act(kuhn("king", said)).tolist() == [kuhn_poker.BET] * 20
    # What is certain is known for certain.
    assert (means(agent, kuhn("jack", said)) == [-0.5, -1]).all()
    assert (means(agent, kuhn("king", said)) == [-0.5, 1]).all()
    # The queen beats the jack and loses to the king, and either is as likely in a world.
    assert np.abs(means(search_of(kuhn_poker.make(), guided, 4000), kuhn("queen", said)) - [-0.5, 0]).max() < 0.1


class Told(ISMCTS):
    """Believes that the other player, number 0, holds each of these cards as often; `change` spoils the worlds."""

    def __init__(self, *cards: int, change: Callable[[np.ndarray], Any] = np.asarray) -> None:
        super().__init__(simulations=400)
        self.cards, self.change = cards, change

    def possible_worlds(self, view: View) -> Any:
        worlds = np.repeat(view.sample_worlds()[:, None], len(self.cards), axis=1)
        worlds["card"][:, :, 0] = self.cards
        return self.change(worlds)


def out_of_turn(worlds: np.ndarray) -> np.ndarray:
    worlds["to_move"] = 7
    return worlds


def test_worlds_of_ones_own_are_searched_as_they_are() -> None:
    """A queen that faces a bet loses to a king, and wins against a jack, which is three times as likely in the end."""
    view = kuhn("queen", "bet", n=3)
    assert (Told(kuhn_poker.JACK).action_values(view) == [-0.5, 1]).all()
    assert (Told(kuhn_poker.KING).action_values(view) == [-0.5, -1]).all()
    often = Told(kuhn_poker.JACK, kuhn_poker.KING, kuhn_poker.JACK, kuhn_poker.JACK)
    often.simulations = 4000
    assert np.abs(often.action_values(view) - [-0.5, 0.5]).max() < 0.1
    drawn_anew = Told(kuhn_poker.JACK, change=lambda worlds: None)
    assert (drawn_anew.action_values(view) == ISMCTS(400).action_values(view)).all()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda worlds: worlds[:, 0], r"possible_worlds must give states \(3, k\), not \(3,\)"),
        (lambda worlds: worlds[:, :0], r"\(3, k\), not \(3, 0\)"),
        (list, r"\(3, k\), not list"),
        (lambda worlds: worlds["card"], "state"),
        (out_of_turn, "`to_move`"),
    ],
)
def test_worlds_that_are_none_are_refused(change: Callable[[np.ndarray], Any], named: str) -> None:
    with pytest.raises((TypeError, ValueError), match=named):
        Told(kuhn_poker.JACK, change=change).act(kuhn("queen", "bet", n=3))


# --- what a decision depends on ---


#: Another number of players is compiled anew, for a long time.
GAMES = [
    kuhn_poker.make(),
    ttt_envs.load(MATCH, max_turns=20),
    pytest.param(ttt_envs.load(MATCH, players=4, max_turns=20), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("game", [*GAMES, toy_race.make()], ids=repr)  # the last one hides nothing
@pytest.mark.parametrize("spec", SPECS)
def test_a_decision_depends_on_the_view_alone(spec: str, game: Game) -> None:
    view = some_view(game, 18, seed=3)
    agent, masks = agents.load(spec), view.masks
    policy, found, moving = check_decisions(agent, view), thoughts(agent, view), masks.any(axis=1)
    assert (policy[moving, agent.act(view)[moving]] == policy[moving].max(axis=1)).all()
    assert (thoughts(agents.load(spec.replace("threads=3", "threads=1")), view) == found).all()
    # The same seed continues the same search, and another one is another search.
    more = ISMCTS(simulations=151).search(view)[0] - ISMCTS(simulations=150).search(view)[0]
    assert (more.sum(axis=1) == (masks.sum(axis=1) > 1)).all()
    reseeded = view.take(np.arange(len(view)))
    vars(reseeded)["seeds"] = view.seeds + np.uint64(1)
    assert (thoughts(agent, reseeded) != found).any()


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_with_a_network_too_a_decision_depends_on_the_view_alone(game: Game) -> None:
    network, view = network_for(game), some_view(game, 18, seed=3)
    agent = ISMCTS(60, network=network)
    check_decisions(agent, view)
    found = thoughts(agent, view)
    assert (thoughts(ISMCTS(60, network=network, threads=3), view) == found).all()
    assert ((ISMCTS(61, network=network).search(view)[0] - found).sum(axis=1) == (view.masks.sum(axis=1) > 1)).all()
    assert (thoughts(ISMCTS(60, network=network_for(game, 0.1)), view) != found).any()


@GUIDED
@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_no_decision_knows_what_is_hidden(game: Game, guided: bool) -> None:
    view = some_view(game, 60, seed=5)
    view = view.take(view.masks.sum(axis=1) > 1)
    agent = ISMCTS(150, network=network_for(game) if guided else "")
    found = thoughts(agent, view)
    hidden = [name for name in game.state_dtype.names if name not in ("rng", "rewards")]
    for seed in (1, 2):
        worlds = view.sample_worlds(seed)
        assert (worlds[hidden] != view.sample_worlds(seed + 2)[hidden]).sum() > len(view) / 4
        other = view.take(np.arange(len(view)))
        vars(other)["_states"] = worlds
        assert (other.observations == view.observations).all()
        assert (thoughts(agent, other) == found).all()


def test_by_time_it_is_the_same_search() -> None:
    game = ttt_envs.load(MATCH)
    check_time(ISMCTS, view_of(game, game.new_state(0)), seconds=0.6)


def test_games_of_choices_at_once_are_refused_in_words() -> None:
    view = some_view(toy_coin.make(), 4, seed=0)
    for ask in (agents.load("ismcts").act, agents.load("ismcts:seconds=1").policy):
        with pytest.raises(ValueError, match=r"agent ismcts.* plays only games without simultaneous"):
            ask(view)


# --- the search itself ---


@pytest.mark.parametrize("exploration", [0.0, 0.7])
def test_an_action_s_visits_are_weighed_against_how_often_it_was_legal(exploration: float) -> None:
    """Against the formula of the paper, in worlds in which other actions are legal."""
    generator = np.random.default_rng(0)
    chosen = set()
    for _ in range(300):
        actions = int(generator.integers(2, 7))
        tree, legal = np.zeros(actions + 1, ismcts.NODE), generator.random(actions) < 0.6
        entry = tree[1:]
        entry["action"], entry["sibling"] = generator.permutation(actions), np.arange(actions)
        entry["visits"] = generator.integers(1, 20, actions)
        entry["value"] = entry["visits"] * generator.random(actions)
        entry["available"] = entry["visits"] + generator.integers(0, 200, actions)
        tree["child"][0] = actions
        before, here = entry.copy(), legal[entry["action"]]
        with np.errstate(divide="ignore"):
            bounds = before["value"] / before["visits"]
            bounds += exploration * np.sqrt(np.log(1 + before["available"]) / before["visits"])
        best = ismcts.best_child(tree, 0, legal, exploration)
        assert best == (1 + np.where(here, bounds, -1).argmax() if here.any() else 0)
        assert (entry["available"] - before["available"] == here).all()
        chosen.add(best)
        # One that is legal and was not tried comes first.
        assert ismcts.best_child(tree, 0, np.append(legal, True), exploration) == 0
    assert len(chosen) == 7


def test_a_network_s_value_counts_as_some_visits_and_its_softmax_is_the_prior() -> None:
    """Against the formula, in worlds in which other actions are legal."""
    generator = np.random.default_rng(0)
    guide = puct.guide_for(kuhn_poker.make(), *flattened(network_for(kuhn_poker.make())))
    found = set()
    for _ in range(300):
        actions = int(generator.integers(2, 7))
        tried = int(generator.integers(0, actions + 1))
        tree, worth = np.zeros(tried + 1, puct.mcts.NODE), generator.random(actions)
        legal = generator.random(actions) < 0.6
        legal[generator.integers(actions)] = True
        entry = tree[1:]
        entry["action"], entry["sibling"] = generator.permutation(actions)[:tried], np.arange(tried)
        entry["visits"] = generator.integers(1, 20, tried)
        entry["value"] = entry["visits"] * generator.random(tried)
        tree["child"][0] = tried
        visits, sums, place = np.zeros(actions), np.zeros(actions), np.zeros(actions, int)
        visits[entry["action"]], sums[entry["action"]] = entry["visits"], entry["value"]
        place[entry["action"]] = 1 + np.arange(tried)
        prior = np.where(legal, np.exp(worth / puct._TEMPERATURE), 0)
        prior *= 1.4 * math.sqrt(1 + visits[legal].sum()) / prior.sum()
        bounds = (sums + puct._PRIOR_VISITS * worth) / (visits + puct._PRIOR_VISITS) + prior / (1 + visits)
        best = np.where(legal, bounds, -1).argmax()
        here = guide._replace(worth=np.stack([worth, worth]), prior=np.zeros(actions))
        assert puct.select(tree, 0, 0, legal, here, 1.4) == (best, place[best])
        found.add(place[best] > 0)
    assert len(found) == 2


def test_a_simulation_ends_with_the_network_s_value() -> None:
    game = ttt_envs.load("super_tic_tac_toe")
    view, network = some_view(game, 30, seed=1), network_for(game, 0.1)
    view = view.take(view.masks.sum(axis=1) > 1)
    visits, sums = ISMCTS(1, network=network).search(view)
    values = np.where(view.masks, network.evaluate(game, view.observations, symmetric=True)["q"], -9)
    assert (visits.argmax(axis=1) == np.clip(values, -1, 1).argmax(axis=1)).all()
    after = game.step(view.sample_worlds(), visits.argmax(axis=1))
    going = ~after["done"]
    assert going.sum() > 10
    seen, legal = game.observations(after[going]), game.masks(after[going])
    answers = []
    for symmetry in game.symmetries:
        turned = network(seen[:, symmetry.features])["q"]
        answers.append(np.where(legal[:, symmetry.actions], turned, -9).max(axis=1))
    found = 2 * sums.max(axis=1)[going] - 1
    assert np.isclose(found, -np.clip(answers, -1, 1), atol=1e-5).any(axis=0).all()
    assert len(np.isclose(found, -np.clip(answers, -1, 1), atol=1e-5).argmax(axis=0)) > 1


@pytest.mark.parametrize(
    ("game", "facts", "settings", "named"),
    [
        (toy_race.make, {}, {}, "takes a network in games of two sides alone"),
        (kuhn_poker.make, {"kind": "policy+value"}, {}, "needs a network of kind q"),
        (kuhn_poker.make, {}, {"playout_plies": 3}, "playout_plies must be None"),
        (kuhn_poker.make, {"inputs": 7}, {}, "was trained for"),
    ],
)
def test_networks_that_do_not_fit_are_refused(
    game: Callable[[], Game], facts: dict[str, Any], settings: dict[str, Any], named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        ISMCTS(network=network_for(game(), **facts), **settings).check(game())


@pytest.mark.parametrize("lucky", [False, True])
@pytest.mark.parametrize("stones", [4, 7])
def test_where_nothing_is_hidden_values_come_to_be_exact(lucky: bool, stones: int) -> None:
    game = toy_race.make(lucky=lucky)
    states = np.repeat(game.new_state(0), 3)
    states["stones"], states["to_move"] = stones, (0, 1, 2)
    _, exact = toy_race.values(stones, lucky)
    visits, values = ISMCTS(simulations=20_000).search(view_of(game, states))
    best, rows = visits.argmax(axis=1), np.arange(3)
    assert (np.array(exact)[best] == max(exact)).all()
    assert np.abs(2 * values[rows, best] / visits[rows, best] - 1 - max(exact)).max() < 0.05


# X lacks one red X for a row, and has it; yellow cards can be laid without harm.
X_WINS = """
    seat 0 plays
    A rX  B rX  C .
    D .   E gO  F .
    G .   H .   I .
    ID cards: {cards}
    hand 0: 1 rX, 1 bO, 1 yX, 1 yO
    {hands}
    covered: none
    discards: none
    pile: {pile}
    turn 4, ply 4
"""
TWO = {
    "cards": "X O",
    "hands": "hand 1: 4 rO",
    "pile": "3 rX, 2 rO, 6 bX, 5 bO, 5 yX, 5 yO, 6 gX, 5 gO, 4 F, 4 W, 4 D",
}
FOUR = {
    "cards": "X O X O",
    "hands": "hand 1: 4 rO\n    hand 2: 4 bX\n    hand 3: 4 gX",
    "pile": "3 rX, 2 rO, 2 bX, 5 bO, 5 yX, 5 yO, 2 gX, 5 gO, 4 F, 4 W, 4 D",
}


@GUIDED
@pytest.mark.parametrize("facts", [TWO, pytest.param(FOUR, marks=pytest.mark.slow)], ids=["two", "a team"])
def test_a_row_is_completed_at_once(facts: dict[str, str], guided: bool) -> None:
    players = len(facts["cards"].split())
    game = ttt_envs.load(MATCH, players=players)
    agent = search_of(game, guided, 300)
    view = view_of(game, game.parse_state(X_WINS.format(**facts)).repeat(10))
    win = game.parse_action("red X to C")
    assert agent.act(view).tolist() == [win] * 10
    visits, values = agent.search(view)
    assert (values[:, win] == visits[:, win]).all()
    # If the ID cards showed the other side's symbol it would lose.
    turned = facts | {"cards": facts["cards"].translate(str.maketrans("XO", "OX"))}
    view = view_of(game, game.parse_state(X_WINS.format(**turned)).repeat(10))
    assert win not in agent.act(view)
    visits, values = agent.search(view)
    assert (values[:, win] == 0).all()
