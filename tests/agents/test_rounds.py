"""Agents for single rounds in matches: a match gives its current round as a game by itself."""

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.rounds import Rounds

MATCH = ttt_envs.load("tic_tac_dice")
ROUND = ttt_envs.load("tic_tac_dice", rounds="single")


def view_of_match(plies: int = 23) -> ttt_envs.View:
    batch, player = ttt_envs.Batch(MATCH, 40, seed=1), agents.load("random")
    for _ in range(plies):
        batch.step(player.act(batch.view()))
    assert batch.states["points"].any(axis=1).mean() > 0.9
    return batch.view(rows=np.flatnonzero(~batch.done))


def test_the_current_round_of_a_match_is_a_position_of_a_game_by_itself():
    view = view_of_match()
    found = view.current_round()
    assert found.game is ROUND or found.game.options == ROUND.options
    ROUND.check_states(found.sample_worlds())
    for name in ("masks", "players", "seeds", "games"):
        assert np.array_equal(getattr(found, name), getattr(view, name)), name
    # The board is the same: what a player sees of a round is the beginning of what they see of the match.
    assert np.array_equal(found.observations, view.observations[:, : ROUND.observation_size])
    with pytest.raises(ValueError, match="is no match of several rounds"):
        found.current_round()


class Asked(agents.Agent):
    """Remembers the game of the view that it is asked about."""

    game = None

    def policy(self, view):
        self.game = view.game
        return agents.load("greedy").policy(view)


def test_it_plays_the_round_as_its_agent_does():
    view, asked = view_of_match(), Asked()
    expected = agents.load("greedy").policy(view.current_round())
    assert np.array_equal(Rounds(asked).policy(view), expected)
    assert asked.game.options["rounds"] == "single"
    actions = agents.load("rounds:mixed:greedy,random=0").act(view)
    assert (expected[np.arange(len(view)), actions] > 0).all()


def test_games_and_agents_that_do_not_fit_are_refused():
    agent = agents.load("rounds:mcts:simulations=20,threads=2")
    assert (agent.agent.simulations, agent.agent.threads) == (20, 2)
    agent.check(MATCH)
    with pytest.raises(ValueError, match=r"plays matches of several rounds; Game\('tic_tac_dice'"):
        agent.check(ROUND)
    with pytest.raises(ValueError, match="without chance"):
        agents.load("rounds:alphabeta").check(MATCH)
    with pytest.raises(ValueError, match="cannot play as 'human'"):
        agents.load("rounds:human")
