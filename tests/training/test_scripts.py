"""The one-file scripts: what they import, what they compute, and that they reach what the library reaches."""

import ast
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import ttt_envs
from training import ppo_self_play, value_learning
from ttt_envs.agents import AGENTS, load
from ttt_envs.agents.networks import for_all_players
from ttt_envs.agents.one_ply import action_values
from ttt_envs.agents.torch_policy import PolicyAgent
from ttt_envs.evaluation import tournament
from ttt_envs.evaluation.regret import MeasuredRegret, measure
from ttt_envs.learning import METHODS, ppo
from ttt_envs.learning import value_learning as library

SCRIPTS = [ppo_self_play, value_learning]
GAME = ttt_envs.load("tic_tac_dice", rounds="single")
#: What `measure` needs; nothing of it trains.
MEASURING = {"ttt_envs.agents.torch_policy", "ttt_envs.evaluation.regret"}


def regret_of(script: ModuleType, net: torch.nn.Module, games: int) -> MeasuredRegret:
    return measure(GAME, PolicyAgent(net, temperature=float(script is ppo_self_play)), games=games, seed=5)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_one_short_file_on_environments_and_torch(script: ModuleType) -> None:
    text = Path(script.__file__).read_text()
    assert text.count("\n") < 250
    tree = ast.parse(text)
    (main,) = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "main"]
    in_main = {each.module for each in ast.walk(main) if isinstance(each, ast.ImportFrom)}
    assert in_main == MEASURING
    names = {alias.name for each in ast.walk(tree) if isinstance(each, ast.Import) for alias in each.names}
    names |= {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)} - in_main
    others = {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names}
    assert others == {"torch", "ttt_envs"}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_same_seed_learns_the_same_and_it_is_something(script: ModuleType) -> None:
    words = {"num_envs": 64, "batch": 256, "hidden": 64}
    if script is value_learning:
        words |= {"warm_up": 1000, "average": 0.03, "learning_rate": 3e-3}
    one, again, other = (script.train(script.Args(**words, steps=2000, seed=seed)) for seed in (0, 0, 1))
    weights = [torch.cat([each.flatten() for each in net.parameters()]) for net in (one, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    learned = script.train(script.Args(**words, steps=15_000))
    before, after = (regret_of(script, net, 200) for net in (script.train(script.Args(**words, steps=1)), learned))
    assert after.per_game_interval[1] < before.per_game_interval[0], (before, after)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_command_line_trains_and_measures(script: ModuleType, capsys: pytest.CaptureFixture) -> None:
    script.main(["--steps", "600", "--num-envs", "32", "--regret-games", "10", "--game", "tic_tac_dice"])
    assert "regret per game: 0." in capsys.readouterr().out
    with pytest.raises(ValueError, match="not of two sides"):
        script.main(["--game", "martian_tic_tac_toe", "--options", "size=5 players=3"])


def test_the_loser_s_last_ply_gets_the_lost_game() -> None:
    args = ppo_self_play.Args(gamma=1.0, gae_lambda=1.0)
    rewards = torch.tensor([[0.0], [0.0], [1.0], [0.0]])
    done = torch.tensor([[False], [False], [True], [False]])
    signs = torch.tensor([[-1.0], [-1.0], [-1.0], [1.0]])  # the fourth ply is followed by one of the same side
    values = torch.tensor([[0.0], [0.0], [0.0], [0.0], [0.5]])
    found = ppo_self_play.advantages_of(rewards, done, signs, values, args)
    assert found[:, 0].tolist() == [1.0, -1.0, 1.0, 0.5]
    args = ppo_self_play.Args(gamma=0.5, gae_lambda=0.5)
    values = torch.tensor([[0.0], [0.2], [0.4], [0.0], [0.5]])
    found = ppo_self_play.advantages_of(rewards, done, signs, values, args)
    last = 1 - 0.4
    middle = -0.5 * (0.4 + 0.5 * last) - 0.2
    assert found[:, 0].tolist() == pytest.approx([-0.5 * (0.2 + 0.5 * middle), middle, last, 0.25])


def test_players_who_choose_at_once_learn_from_both_seats() -> None:
    options = {"mode": "round", "specialists": (None, None), "max_idle_turns": 3}
    game = ttt_envs.load("operation_tic_tac_toe", **options)

    def score(steps: int) -> float:
        args = ppo_self_play.Args(
            game=game.id, options="mode=round specialists=none,none max_idle_turns=3", steps=steps, num_envs=64
        )
        policy = ppo_self_play.train(args)
        return tournament(game, [PolicyAgent(policy), "random"], games=200).mean_score(0)

    assert score(1) == pytest.approx(0.5, abs=0.1)
    assert score(20_000) > 0.62


def test_illegal_actions_have_no_probability() -> None:
    logits, masks = torch.tensor([[5.0, 1.0, 1.0]]), torch.tensor([[False, True, True]])
    assert ppo_self_play.masked(logits, masks).exp().tolist() == [[0.0, 0.5, 0.5]]


def test_the_backup_is_that_of_the_library() -> None:
    game = ttt_envs.load("super_tic_tac_toe")
    batch = ttt_envs.Batch(game, 50, seed=3, auto_reset=True)
    generator = np.random.default_rng(0)
    for _ in range(60):  # some games are about to end
        batch.step(np.where(batch.masks(), generator.random((50, 81)), -1).argmax(axis=1))
    torch.manual_seed(0)
    net = torch.nn.Linear(game.observation_size, game.num_actions)

    def worth(observations: np.ndarray, masks: np.ndarray, players: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            q = net(torch.from_numpy(observations).float()).numpy()
        best = np.where(masks, q, -np.inf).max(axis=1, keepdims=True)
        return for_all_players(game, 0.9 * best, players)

    view = batch.view()
    expected = action_values(game, batch.states, view.masks, np.zeros(50, np.uint64), worth)
    found = value_learning.Backup(game, value_learning.Args(copies=200, gamma=0.9)).values(net, batch).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert (found == 1).any()


#: What is set otherwise than by default in the library's runs beside the scripts.
SAME = {
    ppo_self_play: {
        "learning_rate": 5e-3, "anneal": True, "gamma": 1.0, "gae_lambda": 0.3, "entropy": 0.0005
    },
    value_learning: {},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_reaches_what_the_library_reaches(script: ModuleType, tmp_path: Path) -> None:
    steps, games = 250_000, 500
    mine = regret_of(script, script.train(script.Args(steps=steps)), games)
    method = ppo if script is ppo_self_play else library
    shared = {"options": {"rounds": "single"}, "eval_agents": ("random",), "eval_games": 2, "eval_every": 10**9}
    config = method.Config(game="tic_tac_dice", out=tmp_path / "x", steps=steps, quiet=True, **shared, **SAME[script])
    folder = method.train(config).folder
    theirs = measure(GAME, load(f"network:{folder}"), games=games, seed=5)
    (low, high), (their_low, their_high) = mine.per_game_interval, theirs.per_game_interval
    assert low <= their_high, (mine, theirs)
    assert their_low <= high, (mine, theirs)


def test_the_page_names_the_command_of_each_script_and_method() -> None:
    folder = Path(ppo_self_play.__file__).parent
    text = (folder / "README.md").read_text()
    for path in folder.glob("[!_]*.py"):
        assert f"python -m training.{path.stem} " in text
    for method in METHODS:
        assert f"`ttt train {method} GAME --out RUN` | `" in text
    (untrained,) = re.findall("These need no training: (.*?)\\.", text)
    assert set(re.findall("`(.*?)`", untrained)) <= set(AGENTS)
