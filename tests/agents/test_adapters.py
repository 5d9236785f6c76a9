"""Other people's players as agents: functions, models of text, objects with `act`, SB3 models, torch modules."""

import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from asking import check_decisions
from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.base import AgentFailed
from ttt_envs.core.view import View

GAME = "super_tic_tac_toe"


def some_view(n: int = 60) -> View:
    """Positions of random games, some of them seen by a player who waits."""
    batch = ttt_envs.Batch(ttt_envs.load(GAME), n, seed=0)
    choose = agents.load("random")
    for _ in range(9):
        batch.step(choose.act(batch.view()))
    players = np.where(np.arange(n) % 10 == 9, 1 - batch.to_move, batch.to_move)
    return View(batch.game, batch.states, players, np.arange(n, dtype=np.uint64))


# --- functions ---


def test_a_function_sees_what_its_player_sees() -> None:
    view = some_view()
    before = view.observations.copy(), view.masks.copy()
    seen = []

    def play(observation: np.ndarray, mask: np.ndarray) -> int:
        seen.append((observation.copy(), mask.copy()))
        assert (observation.dtype, mask.dtype) == (np.int8, np.int8)
        action = int(mask.argmax())
        observation[:], mask[:] = 1, 1  # what it does with them is its own affair
        return action

    agent = agents.load(play)
    assert agent.name == "play"
    actions = agent.act(view)
    assert (view.observations == before[0]).all()
    assert (view.masks == before[1]).all()
    acting = np.flatnonzero(view.masks.any(axis=1))
    assert len(seen) == len(acting)
    for (observation, mask), i in zip(seen, acting, strict=True):
        fresh = view.take(np.array([i]))
        assert (observation == fresh.observations[0]).all()
        assert (mask == fresh.masks[0]).all()
    check_decisions(agent, view, atol=1e-5)
    assert (agent.act(view) == actions).all()


@pytest.mark.parametrize("answer", [np.int8(40), np.array(40), np.array([40]), torch.tensor(40), 40])
def test_numbers_that_a_function_may_answer(answer: Any) -> None:
    game = ttt_envs.load(GAME)
    view = View(game, game.new_state(0), np.zeros(1, np.int64), np.zeros(1, np.uint64))
    assert agents.load(lambda observation, mask: answer).act(view).tolist() == [40]


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (None, TypeError, "one whole number, not None"),
        (81, ValueError, "a number from 0 to 80, not 81"),
    ],
)
def test_wrong_answers_of_a_function(answer: Any, kind: type[Exception], words: str) -> None:
    def mine(observation: np.ndarray, mask: np.ndarray) -> Any:
        return answer

    with pytest.raises(kind) as error:
        agents.load(mine).act(some_view())
    assert "agent mine must answer" in str(error.value)
    assert words in str(error.value)


def test_a_function_of_something_else_is_refused() -> None:
    for wrong in (lambda observation: 0, lambda: 0, lambda a, b, c: 0):
        with pytest.raises(TypeError, match=r"takes \(observation, mask\), but <lambda> takes \("):
            agents.load(wrong)
    # More than two is all right where the rest has defaults; of some functions nothing is known.
    assert agents.load(lambda observation, mask, greed=1: 0).name == "<lambda>"
    assert agents.load(max).name == "max"


def last_legal(prompt: str) -> str:
    """An answer as a model might give it: the last legal action, in a sentence."""
    legal = prompt.partition("YOUR LEGAL ACTIONS")[2].partition("\n\n")[2].partition("\n\n")[0].splitlines()
    return f"There are {len(legal)}.\nI play [{legal[-1]}]."


def test_a_model_of_text_is_asked_by_prompts() -> None:
    view = some_view(20)
    agent = agents.from_text(last_legal, name="talker")
    check_decisions(agent, view, atol=1e-5)
    answered = agent.counts()["answers"]
    acting = np.flatnonzero(view.masks.any(axis=1))
    assert (agent.act(view)[acting] == [np.flatnonzero(view.masks[i])[-1] for i in acting]).all()
    assert agent.counts() == {"answers": answered + len(acting)}
    asked: list[str] = []
    agents.from_text(lambda prompt: asked.append(prompt) or "[4/4]", rules=False, retries=0).act(start())
    assert asked[0].splitlines()[2] == "YOUR SIDE"


def start() -> View:
    game = ttt_envs.load(GAME)
    return View(game, game.new_state(0), np.zeros(1, np.int64), np.zeros(1, np.uint64))


def test_a_model_of_text_is_told_why_it_is_asked_again() -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return (
            "[4/4]"
            if "YOUR LAST ANSWER could not be used. The answer ends with 'Hm', which is no action" in prompt
            else "Hm"
        )

    agent = agents.from_text(model)
    assert agent.act(start()).tolist() == [40]
    assert len(asked) == 2
    assert asked[1].startswith(asked[0])
    assert agent.counts() == {"answers": 2, "illegal answers": 1}
    with pytest.raises(AgentFailed, match=r"agent 'text' .*'Hm'"):
        agents.from_text(model, retries=0).act(start())
    with pytest.raises(TypeError, match="agent text must answer text, not 40"):
        agents.from_text(lambda prompt: 40).act(start())
    with pytest.raises(TypeError, match=r"from_text takes .* not 'llm'"):
        agents.from_text("llm")
    with pytest.raises(ValueError, match="retries must be a whole number from 0"):
        agents.from_text(model, retries=-1)


# --- objects with act ---


class Bare:
    """The first legal action."""

    def act(self, view: View) -> np.ndarray:
        return np.where(view.masks.any(axis=1), view.masks.argmax(axis=1), -1)


class Full(Bare):
    name = "full"

    def policy(self, view: View) -> list:
        return (view.masks / np.maximum(view.masks.sum(axis=1, keepdims=True), 1)).tolist()

    def check(self, game: Any) -> None:
        raise ValueError(f"not {game.id}")


def test_an_object_with_act_only() -> None:
    agent = agents.load(Bare())
    assert agent.name == "Bare"
    policy = check_decisions(agent, some_view(), atol=1e-5)
    assert set(np.unique(policy)) == {0.0, 1.0}
    agent.check(ttt_envs.load(GAME))


def test_an_object_s_own_policy_and_check_are_used() -> None:
    agent = agents.load(Full())
    assert agent.name == "full"
    policy = check_decisions(agent, some_view(), atol=1e-5)
    assert policy.dtype == np.float64
    assert (policy[policy > 0] < 1).all()
    with pytest.raises(ValueError, match=f"not {GAME}"):
        agent.check(ttt_envs.load(GAME))


def test_a_network_called_policy_is_not_taken_for_the_method() -> None:
    agent = Bare()
    agent.policy = torch.nn.Linear(3, 3)
    check_decisions(agents.load(agent), some_view(), atol=1e-5)


def test_models_need_their_adapters() -> None:
    for wrong, words in ((torch.nn.Linear(2, 2), r"from_torch\(module\)"), (model("ppo"), r"from_sb3\(model\)")):
        with pytest.raises(TypeError, match=words):
            agents.load(wrong)


# --- Stable-Baselines3 ---


@cache
def model(name: str, encoding: str = "flat", game_id: str = GAME) -> Any:
    """An untrained model of that algorithm, on the environment that its users would make."""
    small = {"policy_kwargs": {"net_arch": [8]}, "seed": 1, "device": "cpu"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "maskableppo":
            env = ttt_envs.make_sb3(game_id, 2, encoding=encoding)
            return MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=8, **small)
        if name == "box ppo":  # without the mask in the observation
            env = ttt_envs.make_sb3(game_id, 2, encoding=encoding)
            return PPO("MlpPolicy", env, n_steps=8, batch_size=8, **small)
        env = ttt_envs.make_single(game_id, encoding=encoding)
        kinds = {"ppo": (PPO, {"n_steps": 8, "batch_size": 8}), "a2c": (A2C, {}), "dqn": (DQN, {"buffer_size": 10})}
        kinds["qrdqn"] = (QRDQN, {"buffer_size": 10})
        algorithm, settings = kinds[name]
        return algorithm("MultiInputPolicy", env, **settings, **small)


@pytest.mark.parametrize("encoding", ["flat", "planes"])
@pytest.mark.parametrize("name", ["maskableppo", "box ppo", "ppo", "a2c", "dqn", "qrdqn"])
def test_a_model_plays_and_is_asked_what_its_own_predict_is_asked(name: str, encoding: str) -> None:
    found, view = model(name, encoding), some_view(400)
    agent = agents.from_sb3(found)
    assert (agent.name, agents.from_sb3(found, "mine").name) == (name.split()[-1], "mine")
    agent.check(ttt_envs.load(GAME))
    check_decisions(agent, some_view(), atol=1e-5)
    view = view.take(view.masks.any(axis=1))
    observations = view.observations if encoding == "flat" else view.game.to_planes(view.observations)
    if name not in ("maskableppo", "box ppo"):
        observations = {"observation": observations, "action_mask": view.masks.astype(np.int8)}
    masks = {"action_masks": view.masks} if name == "maskableppo" else {}
    expected, _ = found.predict(observations, deterministic=True, **masks)
    legal = view.masks[np.arange(len(view)), expected]
    assert legal.sum() > 5
    assert (agent.policy(view).argmax(axis=1) == expected)[legal].all()


def test_probabilities_of_a_masked_model_are_its_own() -> None:
    found, view = model("maskableppo"), some_view()
    view = view.take(view.masks.any(axis=1))
    tensors, _ = found.policy.obs_to_tensor(view.observations)
    with torch.no_grad():
        own = found.policy.get_distribution(tensors, action_masks=view.masks).distribution.probs.numpy()
    assert np.allclose(agents.from_sb3(found).policy(view), own, atol=1e-6)


@pytest.mark.parametrize("mask", ["both", "info"])
def test_a_model_of_normalised_observations_sees_them_normalised(tmp_path: Path, mask: str) -> None:
    envs = ttt_envs.make_sb3(GAME, 4)
    if mask == "both":
        envs = DummyVecEnv([lambda: ttt_envs.make_single(GAME)])
    normalised = VecNormalize(envs, norm_obs_keys=["observation"] if mask == "both" else None)
    kind = PPO if mask == "both" else MaskablePPO
    found = kind(
        "MultiInputPolicy" if mask == "both" else "MlpPolicy", normalised, n_steps=64, batch_size=64, device="cpu"
    )
    found.learn(256)
    view = some_view()
    view = view.take(view.masks.any(axis=1))
    raw = {"observation": view.observations, "action_mask": view.masks.astype(np.int8)}
    seen = normalised.normalize_obs(raw if mask == "both" else view.observations)
    with torch.no_grad():
        logits = found.policy.get_distribution(found.policy.obs_to_tensor(seen)[0]).distribution.logits.numpy()
    expected = np.where(view.masks, np.exp(logits), 0)
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.allclose(agents.from_sb3(found).policy(view), expected, atol=1e-5)
    found.save(tmp_path / "model.zip")
    again = agents.from_sb3(kind.load(tmp_path / "model.zip", env=normalised, device="cpu"))
    assert np.allclose(again.policy(view), expected, atol=1e-5)


def test_a_model_of_supersuit_s_vectors_is_not_asked_whether_to_wait() -> None:
    supersuit = pytest.importorskip("supersuit")
    env = supersuit.pettingzoo_env_to_vec_env_v1(ttt_envs.make_parallel(GAME, mask="info"))
    env = supersuit.concat_vec_envs_v1(env, 1, base_class="stable_baselines3")
    found = PPO("MlpPolicy", env, n_steps=8, batch_size=8, policy_kwargs={"net_arch": [8]}, device="cpu")
    with torch.no_grad():
        found.policy.action_net.bias[81] = 1e6
    check_decisions(agents.from_sb3(found), some_view(), atol=1e-5)
    values = agents.from_sb3(DQN("MlpPolicy", env, buffer_size=10, device="cpu")).action_values(some_view())
    assert values.shape == (len(some_view()), 81)


def test_asking_a_model_does_not_depend_on_its_training_mode() -> None:
    found, view = model("a2c"), some_view()
    found.policy.add_module("unused", torch.nn.Dropout())
    agent = agents.from_sb3(found)
    found.policy.set_training_mode(True)
    agent.policy(view)
    assert not found.policy.training


def test_a_model_of_another_game_is_refused() -> None:
    agent = agents.from_sb3(model("maskableppo"))
    other = ttt_envs.load("martian_tic_tac_toe")
    words = r"agent maskableppo was made for observations of shape \(191,\) and 81 actions, not for .*94 features"
    with pytest.raises(ValueError, match=words):
        agent.check(other)
    view = ttt_envs.Batch(other, 2, seed=0).view()
    with pytest.raises(ValueError, match=words):
        agent.act(view)


def test_a_model_of_other_actions_or_with_a_memory_is_refused() -> None:
    import gymnasium

    continuous = SAC("MlpPolicy", gymnasium.make("Pendulum-v1"), buffer_size=10)
    recurrent = RecurrentPPO("MlpLstmPolicy", gymnasium.make("CartPole-v1"))
    for wrong in (continuous, recurrent, 3, "model.zip", torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="from_sb3 takes a model such as MaskablePPO"):
            agents.from_sb3(wrong)


# --- torch ---


def test_a_module_plays_its_softmax() -> None:
    torch.manual_seed(0)
    module, view = torch.nn.Linear(191, 81), some_view()
    agent = agents.from_torch(module)
    assert agent.name == "torch"
    policy = check_decisions(agent, view, atol=1e-5)
    with torch.no_grad():
        logits = module(torch.from_numpy(view.observations).float()).numpy()
    for i in np.flatnonzero(view.masks.any(axis=1)):
        weights = np.exp(logits[i]) * view.masks[i]
        assert np.allclose(policy[i], weights / weights.sum(), atol=1e-5)
    sharper = agents.from_torch(module, temperature=0.5).policy(view)
    for i in np.flatnonzero(view.masks.any(axis=1)):
        weights = np.exp(2 * logits[i].astype(float)) * view.masks[i]
        assert np.allclose(sharper[i], weights / weights.sum(), atol=1e-5)
    sharp = agents.from_torch(module, temperature=0, name="sharp")
    assert sharp.name == "sharp"
    rows = view.masks.any(axis=1)
    assert (sharp.act(view)[rows] == np.where(view.masks, logits, -np.inf).argmax(axis=1)[rows]).all()


def test_a_module_of_planes() -> None:
    game = ttt_envs.load(GAME)
    module = torch.nn.Sequential(torch.nn.Unflatten(1, game.plane_index.shape), torch.nn.Flatten())
    module.append(torch.nn.Linear(game.plane_index.size, 81))
    agent = agents.from_torch(module, encoding="planes")
    agent.check(game)
    check_decisions(agent, some_view(), atol=1e-5)


def test_a_module_of_the_parallel_form_is_not_asked_whether_to_wait() -> None:
    module = torch.nn.Linear(191, 82)
    with torch.no_grad():
        module.bias[81] = 1e6
    check_decisions(agents.from_torch(module), some_view(), atol=1e-5)


def test_a_module_that_does_not_fit_is_refused() -> None:
    game, view = ttt_envs.load(GAME), some_view()
    for module, words in (
        (torch.nn.Linear(190, 81), "cannot take the 191 features"),
        (torch.nn.Linear(191, 83), r"gives an array of shape \(\d+, 83\) .* it must be \(\d+, 81\), or \(\d+, 82\)"),
    ):
        agent = agents.from_torch(module, name="odd")
        for ask in (lambda agent=agent: agent.check(game), lambda agent=agent: agent.act(view)):
            with pytest.raises(ValueError, match=f"agent odd: its network {words}"):
                ask()


def test_wrong_arguments_of_from_torch() -> None:
    with pytest.raises(TypeError, match="must be a torch module, not 3"):
        agents.from_torch(3)
    with pytest.raises(ValueError, match="encoding='plane' must be one of 'flat', 'planes'"):
        agents.from_torch(torch.nn.Linear(2, 2), encoding="plane")


DRAW = "env = ttt_envs.make_aec('super_tic_tac_toe', render_mode='rgb_array'); env.reset(); env.render()"

#: What needs an extra, the module that is missing, the extra that has it.
NEEDS = (
    ("agents.from_torch(None)", "torch", "train"),
    ("ttt_envs.make_sb3('super_tic_tac_toe', 2)", "stable_baselines3", "train"),
    (DRAW, "PIL", "render"),
    (DRAW, "resvg_py", "render"),
    ("from ttt_envs.drawing.window import Window; Window('', 4)", "pygame", "render"),
    ("from ttt_envs.drawing.film import _gif; _gif([], [])", "PIL", "render"),
)

# An entry of None makes an import fail, as if nothing were installed.
BLOCKED = """
import sys
missing = dict.fromkeys("torch stable_baselines3 sb3_contrib matplotlib PIL pygame resvg_py".split())
sys.modules.update(missing)
import ttt_envs
from ttt_envs import agents
print(*agents.known())
for name in missing:
    del sys.modules[name]
for call, name in {calls}:
    sys.modules[name] = None
    try:
        exec(call)
    except ImportError as error:
        print(error)
    del sys.modules[name]
"""


def test_a_missing_extra_is_named_with_the_command_that_installs_it_and_all_agents_are_known_without() -> None:
    code = BLOCKED.format(calls=[(call, missing) for call, missing, _ in NEEDS])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    known, *found = done.stdout.splitlines()
    assert known == " ".join(agents.AGENTS)
    assert found == [
        f"{missing} is not installed; install the extra {extra!r}: pip install 'ttt-envs[{extra}]'"
        for _, missing, extra in NEEDS
    ]
