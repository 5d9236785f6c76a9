"""Many games at once: against a slow loop; agents that fail."""

import re
from contextlib import suppress

import numpy as np
import pytest
import toy_coin
from stubborn import Stubborn

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.evaluation.arena.play import game_seeds, iter_games, play_games

SUPER = "super_tic_tac_toe"


def play_slowly(game, lineup, seats, seed):
    n = len(seats)
    batch = ttt_envs.Batch(game, n, seed=seed)
    for k in range(n):
        rows = np.array([k])
        while not batch.states["done"][k]:
            joint = np.full((1, game.num_players), -1)
            for player in range(game.num_players):
                if batch.states["to_move"][k] in (player, SIMULTANEOUS) and batch.masks(player)[k].any():
                    view = batch.view(player, rows)
                    joint[0, player] = lineup[seats[k, player]].act(view)[0]
            game.loops.step_rows(batch.states, rows, joint)
    return batch.states


def some_game(which):
    """A game, agents that play it, and seats for 30 games."""
    game = ttt_envs.load(SUPER, random_opening_plies=3) if which == SUPER else toy_coin.make(players=int(which[-1]))
    lineup = [agents.load("random"), agents.load("greedy")]
    return game, lineup, np.random.default_rng(0).integers(0, 2, (30, game.num_players))


@pytest.mark.parametrize("which", [SUPER, "toy 2", "toy 3"])
def test_arena_plays_as_a_slow_loop_does(which):
    game, lineup, seats = some_game(which)
    states = play_slowly(game, lineup, seats, seed=5)
    seen = []
    games = play_games(
        game,
        lineup,
        seats=seats,
        games=30,
        seed=5,
        chunk=7,
        record=[3, 29],
        keep=[4],
        progress=lambda k, n: seen.append((k, n)),
    )
    np.testing.assert_array_equal(games.rewards, states["rewards"])
    np.testing.assert_array_equal(games.lengths, states["ply"])
    assert seen[0] == (0, 30)
    assert seen[-1] == (30, 30)
    assert seen == sorted(seen)
    assert games.decisions.sum() >= games.lengths.sum() - 30 * 3
    assert (games.seconds > 0).all()
    for k, record in games.records.items():
        assert record.states[-1].tobytes() == states[k].tobytes()
        replay = record.states[:1].copy()
        for t, actions in enumerate(record.actions):
            game.loops.step_one(replay, 0, actions)
            assert replay[0].tobytes() == record.states[t + 1].tobytes()
    assert set(games.records) == {3, 29}
    assert set(games.actions) == {3, 4, 29}


def test_game_seeds_are_those_of_a_batch():
    game = ttt_envs.load(SUPER)
    np.testing.assert_array_equal(game_seeds(9, 20), ttt_envs.Batch(game, 20, seed=9).episode_seeds)
    np.testing.assert_array_equal(game_seeds(9, 5), game_seeds(9, 20)[:5])


def test_digest_tells_games_apart():
    game = ttt_envs.load(SUPER)
    same = play_games(game, [Stubborn(), Stubborn(last=True)], seats=[0, 1], games=20, seed=0)
    assert len(np.unique(same.moves)) == 1
    different = play_games(game, [agents.load("random")], seats=[0, 0], games=500, seed=0)
    assert len(np.unique(different.moves)) == 500
    coins = play_games(toy_coin.make(), [Stubborn()], seats=[0, 0], games=50, seed=0)
    assert len(np.unique(coins.moves)) == 2  # the same actions, but the coin shows otherwise


@pytest.mark.parametrize(
    ("seats", "chunk", "words"),
    [
        ([0.0, 0.0], None, "seats must be whole numbers of shape"),
        ([0, 1], None, "seats must name agents 0 to 0"),
        ([0, 0], 0, "chunk must be a whole number from 1"),
    ],
)
def test_wrong_arguments_of_the_arena(seats, chunk, words):
    with pytest.raises(ValueError, match=words):
        list(iter_games(ttt_envs.load(SUPER), [Stubborn()], seats, game_seeds(0, 2), chunk=chunk))


@pytest.mark.parametrize("seeds", [[-1], [1.5], [[1, 2]], [2**64]])
def test_seeds_are_whole_numbers_one_a_game(seeds):
    with pytest.raises(ValueError, match=r"seeds must be whole numbers from 0 to 2\*\*64-1, of shape \(n,\), not "):
        play_games(SUPER, Stubborn(), seeds=seeds)


# --- agents that fail ---


class Fails(Agent):
    """Plays as another agent, but `how` says what it does where it is player 1 and some plies were played."""

    name = "fails"

    def __init__(self, how, after=6, one_by_one=False):
        self.how, self.after, self.one_by_one = how, after, one_by_one
        self.asked = []

    def act(self, view):
        self.asked.append(len(view))
        found = agents.load("random").act(view)
        bad = (view.players == 1) & (view._states["ply"] > self.after)
        if (bad.any() and self.how != "illegal") or (self.one_by_one and len(view) > 1):
            if self.how == "raises":
                raise RuntimeError("lost its mind")
            if self.how == "interrupts":
                raise KeyboardInterrupt
            return np.zeros(len(view)) if self.how == "floats" else found[:0]
        if self.how == "illegal":
            found[bad] = view.masks[bad].argmin(axis=1)
            with suppress(ValueError):  # if it could, that must not make it legal
                view.masks.flags.writeable = True
                view.masks[:] = True
        return found


class Numbered(Agent):
    """Plays at random, and keeps the numbers of its games."""

    name = "numbered"

    def __init__(self):
        self.numbers = []

    def act(self, view):
        self.numbers.append(view.episodes)
        return agents.load("random").act(view)


def test_numbers_of_games_are_new_in_each_chunk():
    game, seats = ttt_envs.load(SUPER), np.tile([0, 1], (30, 1))
    chunks = []
    for _ in range(2):
        for size in (30, 10):  # the same games in one chunk and in three
            for first in range(0, 30, size):
                agent = Numbered()
                lineup = [agent, agents.load("random")]
                play_games(
                    game, lineup, seats=seats[first : first + size], seeds=game_seeds(3, 30)[first : first + size]
                )
                chunks.append(set(np.concatenate(agent.numbers).tolist()))
    assert [len(numbers) for numbers in chunks] == [30, 10, 10, 10] * 2
    assert len(set.union(*chunks)) == 120
    found = np.array(sorted(set.union(*chunks)))
    assert found.min() >= 0
    assert 2**52 < found.max() < 2**53


REASONS = {
    "raises": "RuntimeError: lost its mind",
    "floats": "TypeError: agent 'fails': actions must be whole numbers, not float64",
    "short": "ValueError: agent 'fails': actions must have shape (1,), not (0,)",
    "illegal": "agent 'fails' as player 1 cannot play",
}


@pytest.mark.parametrize("how", list(REASONS))
def test_only_the_games_are_lost_in_which_an_agent_fails(how):
    """It fails as player 1 at ply 7: as player 0 it plays on."""
    game = ttt_envs.load(SUPER, random_opening_plies=2)
    seats = np.array([[0, 1], [1, 0]] * 10)
    lineup = [Fails(how), agents.load("greedy")]
    games = play_games(game, lineup, seats=seats, games=20, seed=3, record=range(20), strict=False)
    whole = play_games(game, [agents.load("random"), lineup[1]], seats=seats, games=20, seed=3)
    as_first = np.arange(0, 20, 2)
    np.testing.assert_array_equal(games.rewards[as_first], whole.rewards[as_first])
    np.testing.assert_array_equal(games.moves[as_first], whole.moves[as_first])
    np.testing.assert_array_equal(games.rewards[as_first + 1], [[1, -1]] * 10)
    assert (games.lengths[as_first + 1] == 7).all()
    assert [each.game for each in games.failures] == (as_first + 1).tolist()
    for failure in games.failures:
        assert (failure.agent, failure.player, failure.ply) == ("fails", 1, 7)
        assert failure.seed == game_seeds(3, 20)[failure.game]
        assert failure.reason.startswith(REASONS[how])
        record = games.records[failure.game]
        assert record.states[-1]["done"]
        assert len(record.states) == len(record.actions) + 1
        before = game.parse_state(failure.position)
        np.testing.assert_array_equal(before["marks"][0], record.states[-1]["marks"])
    again = play_games(game, lineup, seats=seats, games=20, seed=3, strict=False, chunk=3)
    np.testing.assert_array_equal(again.rewards, games.rewards)
    assert again.failures == games.failures
    with pytest.raises((RuntimeError, TypeError, ValueError), match=re.escape(REASONS[how].split(": ", 1)[-1][:20])):
        play_games(game, lineup, seats=seats, games=20, seed=3)


def test_an_agent_that_answers_one_position_only_is_asked_one_by_one():
    game = ttt_envs.load(SUPER)
    agent = Fails("short", after=1000, one_by_one=True)
    games = play_games(game, [agent], seats=[0, 0], games=5, seed=0, strict=False)
    assert games.failures == []
    np.testing.assert_array_equal(
        games.moves, play_games(game, [agents.load("random")], seats=[0, 0], games=5, seed=0).moves
    )
    assert set(agent.asked) >= {1, 5}


def test_an_interrupt_is_no_failure():
    with pytest.raises(KeyboardInterrupt):
        play_games(ttt_envs.load(SUPER), [Fails("interrupts")], seats=[0, 0], games=5, seed=0, strict=False)


def test_choices_at_once_may_all_fail():
    class Raises(Agent):
        def __init__(self, players):
            self.players = players

        def act(self, view):
            if np.isin(view.players, self.players).any():
                raise RuntimeError("no")
            return agents.load("random").act(view)

    game = toy_coin.make(players=3)
    for players, rewards in (([1], [0.5, -1, 0.5]), ([0, 1], [-0.5, -0.5, 1]), ([0, 1, 2], [0, 0, 0])):
        games = play_games(game, [Raises(players)], seats=[0, 0, 0], games=4, seed=0, strict=False)
        assert games.rewards.tolist() == [rewards] * 4
        assert sorted(each.player for each in games.failures if each.game == 2) == players


def test_games_and_agents_are_given_as_everywhere() -> None:
    """`play_games(g, agents, [0, 0], 10)` was one game with the seed 10, and texts were refused."""
    found = play_games("tic_tac_dice", ["greedy", "random"], games=20, seed=3, rounds="single")
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    lineup = [agents.load("greedy"), agents.load("random")]
    same = play_games(game, lineup, seats=[0, 1], seeds=game_seeds(3, 20))
    assert np.array_equal(found.moves, same.moves)
    assert len(play_games(game, "random")) == len(play_games(game, ["random"], seats=[0, 0])) == 1
    for wrong, words in (
        ({"agents": ["random"] * 3}, "takes 2 agents, one per player, or one for all, not 3"),
        ({"games": -1}, "games must be"),
        ({"games": 2, "seeds": [1, 2]}, "leave games out"),
        ({"agents": "radnom"}, "did you mean 'random'"),
        ({"agents": "mcts", "game": "tic_tac_match"}, "plays only games without hidden information"),
        ({"game": "tic_tac_dise"}, "did you mean 'tic_tac_dice'"),
    ):
        with pytest.raises(ValueError, match=words):
            play_games(**{"game": game, "agents": "random", **wrong})
    with pytest.raises(TypeError, match="positional"):
        play_games(game, lineup, [0, 1], 10)
