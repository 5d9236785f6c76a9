"""AlphaZero: what it learns from, what it writes, resuming."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_training import LEARNERS

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.networks import NetworkInfo, load_network
from ttt_envs.agents.search.gumbel_trees import SearchResult
from ttt_envs.learning import alphazero
from ttt_envs.learning.alphazero import Config, Searcher, SelfPlayGames, lambda_returns, policy_loss, train
from ttt_envs.learning.runs.loop import Buffer
from ttt_envs.learning.torch_networks import TorchNetwork

TINY = LEARNERS["alphazero"]

THREE: dict[str, Any] = {
    "game": "martian_tic_tac_toe",
    "options": {"size": 5, "players": 3, "max_plies": 60},
}


def test_logits_of_illegal_actions_do_not_count():
    logits = torch.tensor([[0.0, 3.0, 0.0], [1.0, 0.0, 0.0]], requires_grad=True)
    target = torch.tensor([[0.25, -1.0, 0.75], [-1.0, 1.0, -1.0]])
    loss = policy_loss(logits, target)
    assert loss.item() == pytest.approx(np.log(2) / 2)
    loss.backward()
    assert logits.grad.flatten().tolist() == pytest.approx([0.125, 0, -0.125, 0, 0, 0])


def test_lambda_returns_by_hand():
    values = np.array([[[0.5, -0.5], [0.1, -0.1], [9, 9]], [[0.2, -0.2], [0.4, -0.4], [-0.6, 0.6]]])
    last, lengths = np.array([[1.0, -1.0], [0.0, 0.0]]), np.array([2, 3])
    found = lambda_returns(values, lengths, last, 0.9)
    assert found[0, :2, 0] == pytest.approx([0.9 * 1 + 0.1 * 0.1, 1])
    third = 0.0
    second = 0.9 * third + 0.1 * -0.6
    assert found[1, :, 0] == pytest.approx([0.9 * second + 0.1 * 0.4, second, third])
    assert found[..., 1] == pytest.approx(-found[..., 0])
    assert lambda_returns(values, lengths, last, 1.0)[0, :2, 0].tolist() == [1, 1]
    assert lambda_returns(values, lengths, last, 0.0)[1, :, 0] == pytest.approx([0.4, -0.6, 0])


def played(game: ttt_envs.core.game.Game, n: int, rounds: int) -> tuple[SelfPlayGames, list[list[np.ndarray]]]:
    """Rounds of play at random; the values that a search would find are the ply over 1000, for all players."""
    games = SelfPlayGames(game, n, np.random.default_rng(0))
    given, player = [], agents.load("random")
    for _ in range(rounds):
        view = games.batch.view()
        masks = view.masks
        values = np.repeat(games.batch.states["ply"][:, None] / 1000, game.num_players, axis=1)
        policy = (masks / masks.sum(axis=1, keepdims=True)).astype(np.float32)
        given.append(games.play(SearchResult(policy, player.act(view), values, policy, masks.astype(np.int32))))
    return games, [list(rows.values()) for rows in given]


def set_to(monkeypatch: pytest.MonkeyPatch, **constants: float) -> None:
    for name, value in constants.items():
        monkeypatch.setattr(alphazero, name, value)


def test_games_that_end_are_learned_from(monkeypatch):
    set_to(monkeypatch, HORIZON=100, TD_LAMBDA=1.0, OPENING_SHARE=0.0)
    games, given = played(ttt_envs.load("super_tic_tac_toe"), 40, 90)
    observations, policies, values = (np.concatenate(each) for each in zip(*given, strict=True))
    assert len(observations) == 40 * 90 - games.lengths.sum(), "each ply once, when its game is over"
    assert set(np.unique(values).tolist()) == {-1, 0, 1}
    legal = policies >= 0
    assert (policies[~legal] == -1).all()
    assert np.where(legal, policies, 0).sum(axis=1) == pytest.approx(1, abs=1e-2)
    # Who moves first sees an empty board, and what they get is the opposite of what the next player gets.
    first = np.flatnonzero(~observations[:, :81].any(axis=1) & ~observations[:, 81:162].any(axis=1))
    assert len(first) >= 40
    assert (values[first] == -values[first + 1]).all()
    assert abs(values[first].mean()) < 0.5


def test_long_games_are_learned_from_before_they_end(monkeypatch):
    set_to(monkeypatch, HORIZON=4, TD_LAMBDA=1.0, OPENING_SHARE=0.0)
    games, given = played(ttt_envs.load(THREE["game"], **THREE["options"]), 30, 13)
    assert [len(each[0]) for each in given] == [0, 0, 0, 60, 0, 60, 0, 60, 0, 60, 0, 60, 0]
    for ply in (3, 5, 7, 9, 11):
        assert given[ply][2].shape == (60, 3)
        assert given[ply][2] == pytest.approx(ply / 1000)
    assert (games.lengths == 3).all()
    assert games.values[:, :3, 0] == pytest.approx(np.tile([0.010, 0.011, 0.012], (30, 1)))


@pytest.mark.parametrize("proofs", [False, True])
def test_with_proofs_self_play_knows_every_win_at_once(proofs: bool, monkeypatch: pytest.MonkeyPatch):
    set_to(monkeypatch, OPENING_PLIES=50, OPENING_SHARE=1.0)
    config = Config(game="super_tic_tac_toe", num_envs=120, simulations=2, proofs=proofs)
    game = config.load()
    info = NetworkInfo(game.id, dict(game.options), "policy+value", game.observation_size, game.num_actions, (8,), 0)
    torch.manual_seed(0)
    network, searcher = TorchNetwork(info), Searcher(game, 120, config, np.random.default_rng(0))
    play, values = searcher.games.play, []

    def kept(searched: SearchResult) -> Any:
        batch = searcher.games.batch
        rows, actions = np.nonzero(batch.masks())
        won = game.step(batch.states[rows], actions)["rewards"][np.arange(len(rows)), batch.to_move[rows]] > 0
        winners = np.unique(rows[won])
        values.extend(searched.values[winners, batch.to_move[winners]])
        return play(searched)

    monkeypatch.setattr(searcher.games, "play", kept)
    for _ in range(30):
        searcher.play(network)
    assert len(values) > 10
    assert (min(values) > 0.9) == proofs


def test_half_of_the_games_have_the_other_options(tmp_path, monkeypatch: pytest.MonkeyPatch):
    set_to(monkeypatch, HORIZON=8)
    closed, add = [], Buffer.add
    monkeypatch.setattr(Buffer, "add", lambda self, rows: closed.extend(rows["observations"][:, -1]) or add(self, rows))
    other = {"also": ("won_boards=closed", "first_move=anywhere"), "num_envs": 7, "out": tmp_path}
    assert train(Config(**{**TINY, "game": "super_tic_tac_toe", **other})).finished
    assert 0.3 < np.mean(closed) < 0.7
    network = load_network(tmp_path)
    assert [each["won_boards"] for each in (network.info.options, *network.info.also)] == ["open", "closed"]


def test_like_parts_of_the_board_are_learned_by_the_same_weights(tmp_path, monkeypatch):
    set_to(monkeypatch, HORIZON=8)
    begun = Config(**{**TINY, "shared": (6, 4), "steps": 256, "optimizer": "muon", "out": tmp_path})
    runs = begun, replace(begun, steps=512, resume=True)
    before, after = (train(run) and load_network(tmp_path) for run in runs)
    assert (after.info.shared, after.info.parts) == ((6, 4), ttt_envs.load("super_tic_tac_toe").parts)
    for name in after.info.shapes():
        assert (after.tensors[name] != before.tensors[name]).any(), name
    agents.load(f"guided:{tmp_path},simulations=2").act(ttt_envs.Batch(ttt_envs.load(TINY["game"]), 3).view())


@pytest.mark.parametrize(
    ("game", "wrong", "words"),
    [
        ("super_tic_tac_toe", {"also": ("won_boards=shut",)}, "won_boards='shut' must be"),
        ("super_tic_tac_toe", {"also": ("won_boards=closed",), "num_envs": 1}, "num_envs must be at least 2"),
        ("martian_tic_tac_toe", {"also": ("size=4",)}, "one network cannot learn"),
        ("martian_tic_tac_toe", {"shared": (8,)}, "shared: martian_tic_tac_toe has no like parts"),
        ("super_tic_tac_toe", {"shared": (8, 0)}, "shared must be"),
    ],
)
def test_wrong_settings_are_refused(game, wrong, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        train(Config(**{**TINY, "game": game, "out": tmp_path, **wrong}))


def test_proofs_need_a_game_that_has_them(tmp_path):
    with pytest.raises(ValueError, match="alphazero: proofs=true is for games of two players in which nothing is left"):
        train(Config(game="tic_tac_dice", proofs=True, out=tmp_path))


@pytest.mark.slow
def test_three_players_have_values_of_their_own(tmp_path, monkeypatch):
    set_to(monkeypatch, HORIZON=8)
    config = Config(**{**TINY, **THREE, "steps": 160, "num_envs": 4, "eval_every": 160}, out=tmp_path / "x")
    assert train(config).finished
    assert load_network(tmp_path / "x").info.values == 3


def test_openings_are_random_plies(monkeypatch):
    set_to(monkeypatch, HORIZON=2, OPENING_PLIES=4, OPENING_SHARE=0.5)
    plies = SelfPlayGames(ttt_envs.load("super_tic_tac_toe"), 2000, np.random.default_rng(0)).batch.states["ply"]
    counts = np.bincount(plies, minlength=5) / 2000
    assert counts == pytest.approx([0.6, 0.1, 0.1, 0.1, 0.1], abs=0.03)


@pytest.mark.slow
def test_it_learns_what_the_search_finds(tmp_path):
    config = Config(
        game="tic_tac_dice",
        options={"rounds": "single"},
        num_envs=128,
        steps=40_000,
        warm_up=1000,
        batch=256,
        reuse=8.0,
        simulations=12,
        hidden=(64,),
        average=0.05,
        eval_every=40_000,
        eval_games=2,
        eval_agents=("random",),
        quiet=True,
        out=tmp_path / "x",
    )
    train(config)
    game = config.load()
    batch, player = ttt_envs.Batch(game, 600, seed=9), agents.load("random")
    for _ in range(4):
        batch.step(player.act(batch.view()))
    view = batch.view(rows=np.flatnonzero(~batch.done))
    exact = game.oracle().action_values(view.sample_worlds(), view.players)

    def regret(policy: np.ndarray) -> float:
        return float((np.nanmax(exact, axis=1) - np.nansum(exact * policy, axis=1)).mean())

    specs = f"network:{tmp_path / 'x'},temperature=0", f"guided:{tmp_path / 'x'},simulations=100"
    alone, searching = (regret(agents.load(spec).policy(view)) for spec in specs)
    assert 2 * searching < alone < 0.7 * regret(player.policy(view))
    values = load_network(tmp_path / "x")(view.observations)["value"][:, 0]
    assert np.corrcoef(values, np.nanmax(exact, axis=1))[0, 1] > 0.6
