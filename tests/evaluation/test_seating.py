"""Who plays, who sits where, and what they win."""

import numpy as np
import pytest
import toy_coin
from stubborn import Stubborn

import ttt_envs
from ttt_envs.evaluation.arena.seating import comparisons, line_up, seatings

SUPER = "super_tic_tac_toe"


def test_two_sides_swap():
    assert seatings(ttt_envs.load(SUPER)).tolist() == [[True, False], [False, True]]


def test_three_sides_rotate_both_ways():
    found = seatings(toy_coin.make(players=3))
    alone = [[True, False, False], [False, True, False], [False, False, True]]
    assert found[:3].tolist() == (~found[3:]).tolist() == alone


class Facts:
    """What `seatings` asks of a game."""

    def __init__(self, teams):
        self.teams = teams
        self.num_players = sum(map(len, teams))


def test_teams_sit_together():
    assert seatings(Facts(((0, 2), (1, 3)))).tolist() == [[True, False, True, False], [False, True, False, True]]
    with pytest.raises(ValueError, match="one side only"):
        seatings(Facts(((0, 1),)))


def test_comparisons():
    rewards = np.array([[1, -1], [-1, 1], [0, 0]])
    won, lost = comparisons(rewards, np.array([[True, False], [True, False], [False, True]]))
    assert won.tolist() == [1, 0, 0.5]
    assert lost.tolist() == [0, 1, 0.5]
    third = -1 / 3
    four = np.array([[1, third, third, third], [third, 1, third, third], [0, 0, 0, 0]])
    won, lost = comparisons(four, np.tile([True, False, False, False], (3, 1)))
    assert won.tolist() == [3, 0, 1.5]
    assert lost.tolist() == [0, 1, 1.5]


def test_a_lineup_takes_texts_objects_and_functions():
    def lowest(observation, mask):
        return int(mask.argmax())

    found = line_up(ttt_envs.load(SUPER), ["random", Stubborn(), lowest])
    assert found.names == ["random", "first", "lowest"]
    assert found.made == ("first", "lowest")
    assert not found.live
    assert line_up(ttt_envs.load(SUPER), "human").live
    assert line_up(ttt_envs.load(SUPER), lowest).names == ["lowest"]


@pytest.mark.parametrize(
    ("given", "least", "words"),
    [
        ([], 1, "at least one agent must be given, not 0"),
        (["random"], 2, "at least 2 agents must be given, not 1"),
        (["random", "greedy", "random"], 2, "two agents are called 'random'"),
        (["gredy"], 1, "unknown agent 'gredy'; did you mean 'greedy'"),
        (["smmcts", "random", "mcts"], 1, "agent smmcts plays only games without hidden information"),
    ],
)
def test_a_wrong_lineup_is_refused(given, least, words):
    with pytest.raises(ValueError, match=words):
        line_up(toy_coin.make(), given, least)
