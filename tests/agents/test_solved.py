"""The agent that plays what `ttt solve` has found: it is measured, plays whole games, and refuses other games."""

from pathlib import Path

import kuhn_poker
import numpy as np
import pytest
import toy_coin
from safetensors.numpy import load_file

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.agents.solved import Solved
from ttt_envs.evaluation.arena.play import play_games
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors

KUHN = kuhn_poker.make()

#: Choices at once and chance in mid-game; the teller has 128 times as many information sets as different observations.
COIN = toy_coin.make(tosses=2)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """Game -> the report of its solver, whose folder has the policy."""
    folder = tmp_path_factory.mktemp("solved")
    return {game.id: evaluation.solve(game, iterations=30, out=folder / game.id, quiet=True) for game in (KUHN, COIN)}


def load(report):
    return agents.load(f"solved:{report.folder}")


@pytest.mark.parametrize("game", [KUHN, COIN], ids=["kuhn", "coin"])
def test_its_exploitability_is_that_of_the_solver(solved, game):
    report = solved[game.id]
    found = evaluation.exploitability(game, [load(report)], quiet=True).measurements[0]
    last = report.points[-1]
    assert 1e-6 < last.exploitability < 0.1
    assert found.exploitability == pytest.approx(last.exploitability, rel=1e-9)
    assert found.best_responses == pytest.approx((last.best_response_0, last.best_response_1), rel=1e-9)
    assert found.expected == pytest.approx(last.expected, rel=1e-9)
    assert found.samples == 0


@pytest.mark.parametrize("game", [KUHN, COIN], ids=["kuhn", "coin"])
def test_it_plays_whole_games_in_both_seats(solved, game):
    report = solved[game.id]
    agent, tree = load(report), report.tree
    sets = [{key.tobytes(): k for k, key in enumerate(mine.digests)} for mine in tree.players]
    tables = [tree.table(player, report.policy[player]) for player in (0, 1)]
    asked = []

    class Watched(Solved):
        def act(self, view):
            for i, player in enumerate(view.players):
                asked.append(
                    (tables[player][sets[player][view.info_state_keys[i].tobytes()]], self.policy(view.take([i]))[0])
                )
            return super().act(view)

    watched = Watched(agent.path)
    played = play_games(game, [watched, agents.load("random")], seats=[0, 1], games=50, seed=0)
    assert played.rewards.shape == (50, 2)
    play_games(game, [agents.load("random"), watched], seats=[0, 1], games=50, seed=1)
    assert len(asked) > 100
    assert all((a == b).all() for a, b in asked)


def test_it_refuses_other_games_and_views_without_a_memory(solved):
    agent = load(solved["toy_coin"])
    with pytest.raises(BadTensorFile, match=r"is a policy of toy_coin .*'tosses': 2.*, not of .*'tosses': 1"):
        agent.check(toy_coin.make(tosses=1))
    with pytest.raises(BadTensorFile, match=r"is a policy of toy_coin .*, not of kuhn_poker"):
        evaluation.exploitability(KUHN, [agent], quiet=True)
    with pytest.raises(ValueError, match=r"which this view does not tell: it plays whole games"):
        agent.act(ttt_envs.Batch(COIN, 2, seed=0).view(0))


def test_wrong_files_are_refused(solved, tmp_path):
    good = Path(solved["kuhn_poker"].folder) / "policy.safetensors"
    with pytest.raises(FileNotFoundError, match=r"no policy at .*nowhere"):
        Solved(tmp_path / "nowhere")
    path = tmp_path / "p.safetensors"
    facts, arrays = read_tensors(good, "ttt-envs policy 1")
    assert arrays["probabilities_0"].dtype == load_file(good)["probabilities_0"].dtype == np.float64
    assert (facts["game"], facts["options"], facts["iterations"]) == ("kuhn_poker", {}, 30)
    wrong = {
        "shapes and types": {"actions_0": arrays["actions_0"].astype(np.int64)},
        "not those of its actions": {"counts_0": arrays["counts_0"] + np.int32(1)},
    }
    for words, changed in wrong.items():
        write_tensors(path, "ttt-envs policy 1", facts, {**arrays, **changed})
        with pytest.raises(BadTensorFile, match=rf"p\.safetensors is damaged .*{words}"):
            Solved(path)
    changed = {**arrays, "digests_0": arrays["digests_0"] + np.uint64(1)}
    write_tensors(path, "ttt-envs policy 1", facts, changed)
    with pytest.raises(BadTensorFile, match="it was made by other rules"):
        play_games(KUHN, [Solved(path)], seats=[0, 0], games=1, seed=0)
