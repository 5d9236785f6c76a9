"""Agents: one contract for all that load without files, and what each one promises."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import toy_coin
import toy_race
from asking import check_decisions, some_view, thoughts
from changed import changed

import ttt_envs
from ttt_envs import agents
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.options import parameters
from ttt_envs.core.view import View

SPECS = (
    "random",
    "greedy",
    "greedy:samples=3",
    "mcts:simulations=40",
    "mcts:simulations=40,threads=3",
    "expectimax:samples=4,playouts=1",
    "oracle",
    "oracle:fallback=mcts:simulations=20",
    "mixed:greedy,random=0.3",
    "mixed:mcts:simulations=20,threads=2,random=0.5",
)


def winners(game: Game, specs: Sequence[str], n: int, seed: int = 0) -> np.ndarray:
    """How often each seat's reward is positive, float (players,)."""
    players = [agents.load(spec) for spec in specs]
    batch = ttt_envs.Batch(game, n, seed=seed)
    while not batch.done.all():
        joint = np.full((n, game.num_players), -1)
        for p, agent in enumerate(players):
            rows = np.flatnonzero(batch.acting(p))
            if len(rows):
                joint[rows, p] = agent.act(batch.view(np.full(n, p), rows))
        batch.step(joint)
    return (batch.states["rewards"] > 0).mean(axis=0)


def position(text: str, n: int = 1, **options: str) -> View:
    """That position n times, each with another seed, seen by the player to move."""
    game = ttt_envs.load("super_tic_tac_toe", **options)
    states = np.repeat(game.parse_state(text), n)
    return View(game, states, states["to_move"], np.arange(n, dtype=np.uint64))


def chosen(spec: str, view: View) -> set[str]:
    return {view.game.action_names[action] for action in agents.load(spec).act(view)}


# --- the contract ---


@pytest.mark.parametrize(
    ("spec", "game"),
    [
        *((spec, ttt_envs.load("super_tic_tac_toe")) for spec in SPECS),
        ("greedy:samples=3", toy_coin.make(players=3)),
        ("mixed:greedy,random=0.3", toy_race.make()),
    ],
    ids=repr,
)
def test_contract(spec: str, game: Game) -> None:
    agent = agents.load(spec)
    assert agent.name == spec
    view = some_view(game, 48, seed=7)
    policy = check_decisions(agent, view)
    assert (agents.load(spec).policy(view) == policy).all()
    assert agent.policy(view.take(np.zeros(0, np.int64))).shape == (0, game.num_actions)


@pytest.mark.parametrize("spec", ["greedy", "mcts:simulations=40", "mixed:greedy,random=0.3"])
def test_policy_is_how_often_act_chooses(spec: str) -> None:
    n = 300
    view = position(X_THREATENS.format(mover="X", board=2, extra="O"), n)
    agent = agents.load(spec)
    chosen = np.bincount(agent.act(view), minlength=view.game.num_actions) / n
    assert np.abs(chosen - agent.policy(view).mean(axis=0)).max() < 2 / np.sqrt(n)


def test_a_policy_need_not_know_what_is_legal() -> None:
    class Ones(agents.Agent):
        def policy(self, view: View) -> np.ndarray:
            return np.ones(view.masks.shape)

    class Elsewhere(agents.Agent):
        def policy(self, view: View) -> np.ndarray:
            return ~view.masks

    batch = Batch(ttt_envs.load("super_tic_tac_toe"), 200, seed=0)
    for _ in range(3):
        view = batch.view()
        assert (Elsewhere().act(view) == -1).all()
        chosen = Ones().act(view)
        assert np.array_equal(chosen, agents.load("random").act(view))
        batch.step(chosen)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            "mtcs",
            "unknown agent 'mtcs'; did you mean 'mcts'.*known: random, greedy, mcts, ismcts, smmcts, alphabeta, "
            "expectimax, oracle, mixed, rounds, trained, network, lookahead, guided, tabular, solved, program, "
            "llm, open_spiel, human",
        ),
        (
            "mcts:simulation=5",
            "did you mean 'simulations'.*known: simulations, seconds, exploration, threads",
        ),
        ("mcts:simulations=many", "agent mcts: parameter simulations: 'many' is not of type int"),
        ("mcts:simulations=0", "simulations must be a whole number from 1 to 100,000,000, not 0"),
        ("mcts:simulations=5,simulations=6", "given twice"),
        ("oracle:fallback=gredy", "did you mean 'greedy'"),
        ("mixed", "agent mixed needs agent, such as 'mixed:agent=...'"),
        ("rounds:mixed:" * 1500 + "random", "^agent .{,250} has too many agents in one another$"),
    ],
)
def test_wrong_specs_are_refused_in_words(spec: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        agents.load(spec)


#: Texts that are no sensible number for anything.
OUT_OF_REACH = ("-1", "1e30", str(10**30), "9" * 5000, "nan", "inf", "-inf", "1e999", "", "\0")


@pytest.mark.parametrize("name", ["greedy", "mcts", "ismcts", "smmcts", "expectimax"])
def test_numbers_out_of_reach_are_refused(name: str) -> None:
    agent = agents.known()[name]
    found = [parameter for parameter in parameters(agent) if parameter.name not in agent.reaches]
    assert found
    for parameter in found:
        for text in OUT_OF_REACH:
            with pytest.raises(ValueError, match=rf"\b{parameter.name}\b.*(must be a|is not of type)") as raised:
                agents.load(f"{name}:{parameter.name}={text}")
            assert len(str(raised.value)) < 400


def test_an_oracle_does_not_fall_back_on_an_oracle() -> None:
    for text in ("oracle:fallback=oracle", "oracle" + ":fallback=oracle" * 5000):
        with pytest.raises(ValueError, match="fallback must be another agent than oracle"):
            agents.load(text)


def test_specs() -> None:
    agent = agents.load("mcts:7,exploration=0.5,seconds=none")
    assert (agent.simulations, agent.exploration, agent.seconds) == (7, 0.5, None)
    assert agents.load("mcts:seconds=2").seconds == 2.0


# --- greedy ---

# X lacks 2/2 for the third board of the top row.
X_THREATENS = """
{mover} to move in board {board}
X X X | X X X | X X .
. . . | . . . | . . .
. . . | . . . | . . .
------+-------+------
O . . | O . . | O . .
. O . | . O . | . O .
. . . | . . . | . . .
------+-------+------
O . . | {extra} . . | . . .
. . . | . . . | . . .
. . . | . . . | . . .
boards: XX. ... ...
"""

# Board 8 has one empty cell, which leads to board 2, where X wins: so X wins by 3/8.
X_WINS_IN_3 = """
X to move in board 3
X X X | X X X | X X .
. . . | . . . | . . .
. . . | . . . | . . .
------+-------+------
O . . | O . . | O . .
. O . | . O . | . O .
. . . | . . . | . . .
------+-------+------
O . . | . . . | X O .
. O . | . . . | X O O
. . . | . . . | O X X
boards: XX. ... ...
"""


def test_greedy_wins_at_once() -> None:
    view = position(X_THREATENS.format(mover="X", board=2, extra="O"), 30)
    assert chosen("greedy", view) == {"2/2"}
    assert (agents.load("greedy").policy(view)[:, 9 * 2 + 2] == 1).all()


def test_greedy_lets_nobody_win_at_once() -> None:
    view = position(X_THREATENS.format(mover="O", board=7, extra="."), 300)
    assert chosen("greedy", view) == {f"7/{cell}" for cell in range(9) if cell != 2}
    # It may block the cell itself.
    view = position(X_THREATENS.format(mover="O", board=2, extra="."), 300)
    assert chosen("greedy", view) == {f"2/{cell}" for cell in range(2, 9)}


def test_greedy_knows_no_better_than_to_look_one_move_ahead() -> None:
    assert len(chosen("greedy", position(X_WINS_IN_3, 300))) == 7


def test_greedy_with_three_players() -> None:
    # Of three stones, one leaves two to the next player, who wins, and two leave the last one; of four, only one stone
    # keeps the next player from the last.
    game = toy_race.make(lucky=False)
    states = np.repeat(game.new_state(0), 15)
    states["to_move"] = np.arange(15) % 3
    states["stones"] = np.repeat([2, 1, 3, 5, 4], 3)
    view = View(game, states, states["to_move"], np.arange(15, dtype=np.uint64))
    wanted = np.repeat([[0, 1], [1, 0], [0.5, 0.5], [0.5, 0.5], [1, 0]], 3, axis=0)
    assert (agents.load("greedy").policy(view) == wanted).all()


def test_greedy_beats_random() -> None:
    assert winners(ttt_envs.load("super_tic_tac_toe"), ["random", "greedy"], 300)[1] > 0.5
    race = toy_race.make(lucky=True)
    among_equals = winners(race, ["random"] * 3, 2000)
    assert winners(race, ["random", "greedy", "random"], 2000)[1] > among_equals[1] + 0.04


def test_greedy_teller_keeps_what_nobody_guessed() -> None:
    # Hidden and simultaneous: the teller knows the coin, and keeps it exactly when the guess is wrong.
    game = toy_coin.make(tosses=1)
    states = np.repeat(game.new_state(0), 40)
    states["phase"], states["to_move"] = toy_coin.TOSS, 0
    states["coin"] = np.arange(40) % 2
    states["said"] = 0
    policy = agents.load("greedy").policy(View(game, states, states["to_move"], np.arange(40, dtype=np.uint64)))
    assert (policy[:, toy_coin.KEEP] == states["coin"]).all()


# --- MCTS ---


def test_mcts_finds_a_forced_win_and_the_only_defence() -> None:
    assert chosen("mcts:simulations=3000", position(X_WINS_IN_3, 10)) == {"3/8"}
    assert chosen("mcts:simulations=600", position(X_THREATENS.format(mover="X", board=2, extra="O"), 5)) == {"2/2"}
    assert "7/2" not in chosen("mcts:simulations=600", position(X_THREATENS.format(mover="O", board=7, extra="."), 30))


@pytest.mark.parametrize("lucky", [False, True])
@pytest.mark.parametrize("stones", [4, 7])
def test_mcts_with_three_players_and_chance(lucky: bool, stones: int) -> None:
    """Against exact values: the best action is found, and its value."""
    game = toy_race.make(lucky=lucky)
    states = np.repeat(game.new_state(0), 3)
    states["stones"] = stones
    states["to_move"] = 0, 1, 2
    view = View(game, states, states["to_move"], np.arange(3, dtype=np.uint64))
    agent = agents.load("mcts:simulations=20000,exploration=0.7")
    _, exact = toy_race.values(stones, lucky)
    visits, values = agent.search(view)
    actions, rows = agent.act(view), np.arange(3)
    assert (np.array(exact)[actions] == max(exact)).all()
    assert np.abs(2 * values[rows, actions] / visits[rows, actions] - 1 - max(exact)).max() < 0.05


def test_mcts_does_not_know_the_luck_to_come() -> None:
    game = toy_race.make()
    states = np.repeat(game.new_state(0), 50)
    states["rng"] = np.arange(50)
    view = View(game, states, states["to_move"], np.zeros(50, np.uint64))
    found = thoughts(agents.load("mcts:simulations=50"), view)
    assert (found == found[0]).all()


def test_each_simulation_meets_luck_of_its_own() -> None:
    # Of two stones, one leads to a win in three games of ten.
    states = np.repeat(toy_race.make().new_state(0), 8)
    states["stones"] = 2
    view = View(toy_race.make(), states, states["to_move"], np.arange(8, dtype=np.uint64))
    visits, values = agents.load("mcts:simulations=150").search(view)
    assert (np.abs(values[:, 0] / visits[:, 0] - 0.65) < 0.14).all()
    assert (values[:, 1] == visits[:, 1]).all()


def test_mcts_beats_greedy() -> None:
    game = ttt_envs.load("super_tic_tac_toe")
    assert winners(game, ["mcts:simulations=200,threads=2", "greedy"], 10)[0] >= 0.9
    assert winners(game, ["greedy", "mcts:simulations=200,threads=2"], 10)[1] >= 0.9


# --- oracle ---


@pytest.mark.parametrize("other", ["greedy", "oracle:fallback=mcts:simulations=20"])
def test_oracle_as_x_wins_every_game(other: str) -> None:
    assert winners(ttt_envs.load("super_tic_tac_toe"), ["oracle", other], 300).tolist() == [1, 0]


def test_oracle_falls_back() -> None:
    game = ttt_envs.load("super_tic_tac_toe", first_move="anywhere", random_opening_plies=5)
    view = ttt_envs.Batch(game, 100, seed=0).view()
    unknown = ~game.oracle().covers(view.sample_worlds())
    assert unknown.any()
    for fallback in ("greedy", "mcts:simulations=20"):
        theirs = agents.load(fallback).act(view.take(unknown))
        assert (agents.load(f"oracle:fallback={fallback}").act(view)[unknown] == theirs).all()


class Coin:
    """An oracle that knows positions of even ply, and mixes two actions there, three to one."""

    def covers(self, states: np.ndarray) -> np.ndarray:
        return states["ply"] % 2 == 0

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        out = np.zeros((len(states), 81))
        out[:, 9 * 4 + 3], out[:, 9 * 4 + 5] = 0.75, 0.25
        return out * self.covers(states)[:, None]


def test_oracle_samples_mixed_policies() -> None:
    game = changed(ttt_envs.load("super_tic_tac_toe"), oracle=Coin)
    n = 4000
    states = np.repeat(game.new_state(0), n)
    actions = agents.load("oracle").act(View(game, states, states["to_move"], np.arange(n, dtype=np.uint64)))
    assert set(actions.tolist()) == {9 * 4 + 3, 9 * 4 + 5}
    assert abs((actions == 9 * 4 + 3).mean() - 0.75) < 5 * math.sqrt(0.75 * 0.25 / n)


# --- mixed ---


class FirstLegal(agents.Agent):
    """Plays the first legal action, and knows in how many positions it was asked."""

    def act(self, view: View) -> np.ndarray:
        self.asked = len(view)
        return view.masks.argmax(axis=1)


def test_a_mixed_agent_is_its_agent_or_random() -> None:
    view = position(X_THREATENS.format(mover="X", board=2, extra="O"), 400)
    own, random = (agents.load(name).act(view) for name in ("mcts:simulations=20", "random"))
    assert (own != random).mean() > 0.5
    at_random = np.zeros(400, bool)
    for share in (0.0, 0.2, 0.6, 1.0):
        actions = agents.load(f"mixed:mcts:simulations=20,random={share}").act(view)
        now = actions != own
        assert (actions[now] == random[now]).all()
        assert (now | ~at_random).all()
        at_random = now
    assert (actions == random).all()


def test_a_mixed_agent_inside_another_has_a_coin_of_its_own() -> None:
    view = ttt_envs.Batch(toy_coin.make(), 1500, seed=0).view(0)
    agent = agents.load("mixed:mixed:random,random=0.5")
    agent.agent.agent = first = FirstLegal()
    agent.act(view)
    assert abs(first.asked / len(view) - 0.5 * 0.9) < 0.04


def test_what_a_mixed_agent_plays_at_random_is_any_legal_action() -> None:
    view = ttt_envs.Batch(ttt_envs.load("super_tic_tac_toe"), 600, seed=0).view(0)
    agent = agents.load("mixed:random,random=0.3")
    agent.agent = FirstLegal()
    assert set(agent.act(view)) == set(np.flatnonzero(view.masks[0]))


def test_a_mixed_agent_takes_the_whole_text_of_its_agent() -> None:
    mixed = agents.load("mixed:mcts:simulations=20,threads=2,random=0.25")
    assert (mixed.random, mixed.agent.name) == (0.25, "mcts:simulations=20,threads=2")
    assert (mixed.agent.simulations, mixed.agent.threads) == (20, 2)
    named = agents.load("mixed:random=0.25,agent=mcts:simulations=20,threads=2")
    assert (named.random, named.agent.name) == (0.25, mixed.agent.name)
    nested = agents.load("oracle:mixed:greedy:samples=3,random=0.4")
    assert nested.agent.agent.samples == 3
    assert nested.agent.random == 0.4
