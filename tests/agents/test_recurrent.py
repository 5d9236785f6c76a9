"""Policies that carry a state from decision to decision of a game: SB3's recurrent models, torch modules."""

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.agents.epsilon_random import Mixed
from ttt_envs.core.played_game import PlayedGame

torch = pytest.importorskip("torch")
contrib = pytest.importorskip("sb3_contrib")

GAME = ttt_envs.load("tic_tac_dice", rounds="single")
SMALL = {"n_steps": 8, "batch_size": 16, "n_epochs": 1, "device": "cpu", "seed": 0}


class Spy(agents.Agent):
    """Plays as another agent, and keeps what that was asked and answered, by episode."""

    def __init__(self, agent):
        self.agent, self.kept = agent, {}

    def act(self, view):
        policy, values = self.agent.policy(view), self.agent.value(view)
        actions = self.agent.act(view)
        for i, episode in enumerate(view.episodes.tolist()):
            self.kept.setdefault(episode, []).append((view.observations[i], view.masks[i], policy[i], values[i]))
        return actions

    def episodes_over(self, episodes, rewards):
        self.agent.episodes_over(episodes, rewards)


@pytest.fixture(scope="module")
def model():
    """Its weights are turned up, so that the state matters."""
    made = contrib.RecurrentPPO(
        "MlpLstmPolicy", ttt_envs.make_sb3(GAME, 4), policy_kwargs={"lstm_hidden_size": 8, "net_arch": []}, **SMALL
    )
    made.learn(64)
    with torch.no_grad():
        for name, weights in made.policy.named_parameters():
            if "lstm" in name or "action_net" in name:
                weights.mul_(4 if "lstm" in name else 200)
    return made


def test_a_recurrent_model_is_asked_as_it_asks_itself(model):
    agent = agents.from_sb3(model)
    spy = Spy(agent)
    evaluation.play_games(GAME, [spy, "random"], games=12, seed=3)
    assert len(spy.kept) == 12
    assert len(agent._carried) == 0  # of games that are over nothing is kept
    mattered = 0
    for decisions in spy.kept.values():
        states = None
        for k, (seen, mask, policy, value) in enumerate(decisions):
            tensors, _ = model.policy.obs_to_tensor(seen[None].copy())
            zeros = tuple(torch.zeros(model.policy.lstm_hidden_state_shape[0], 1, 8) for _ in range(2))
            if states is None:
                states = type("Both", (), {"pi": zeros, "vf": zeros})()
            start = torch.tensor([float(k == 0)])
            with torch.no_grad():  # a policy has one distribution, which the next call changes
                alone, _ = model.policy.get_distribution(tensors, zeros, start)
                fresh = np.where(mask, alone.distribution.probs.numpy()[0], 0)
                distribution, _ = model.policy.get_distribution(tensors, states.pi, start)
                probabilities = np.where(mask, distribution.distribution.probs.numpy()[0], 0)
                _, expected, _, states = model.policy(tensors, states, start, deterministic=True)
            assert policy == pytest.approx(probabilities / probabilities.sum(), abs=1e-5)
            assert value == pytest.approx(float(expected), abs=1e-5)
            mattered += np.abs(policy - fresh / fresh.sum()).max() > 0.01
    assert mattered > 5


def test_what_is_asked_at_once_changes_nothing(model):
    games = [
        evaluation.play_games(GAME, [agents.from_sb3(model), "greedy"], games=8, seed=1, chunk=chunk).moves
        for chunk in (1, 3, 8)
    ]
    assert (games[0] == games[1]).all()
    assert (games[0] == games[2]).all()


def test_it_plays_wherever_games_are_played(model):
    agent = Mixed(agents.from_sb3(model), random=0.1)
    env = ttt_envs.make_vec(GAME, 5, opponent=agent)
    _, infos = env.reset(seed=0)
    for _ in range(12):
        infos = env.step(infos["action_mask"].argmax(axis=1))[4]
    carried = agent.agent._carried
    assert 0 < len(carried) <= 5
    with pytest.raises(ValueError, match="agent recurrentppo carries a state"):
        agent.agent.act(ttt_envs.View(GAME, env._games.batch.states, env._games.players, np.arange(5)))


class Counting(torch.nn.Module):
    """Its state is how often it was asked; at the k-th time it wants the k-th legal action, counted around."""

    def initial_state(self, n):
        return torch.zeros(n, 1)

    def forward(self, inputs, state):
        return 10.0 * torch.nn.functional.one_hot(state[:, 0].long() % 9, 9), state + 1


class Pair(Counting):
    """The same with a state of two tensors."""

    def initial_state(self, n):
        return torch.zeros(n, 1), torch.ones(n, 2, 3)

    def forward(self, inputs, state):
        counts, others = state
        assert (others == 1 + counts[:, :, None]).all()
        logits, counts = super().forward(inputs, counts)
        return logits, (counts, others + 1)


@pytest.mark.parametrize("module", [Counting, Pair])
def test_a_module_with_a_state(module):
    agent = agents.from_torch(module(), temperature=0)
    agent.check(GAME)
    spy = Spy(agent)
    evaluation.play_games(GAME, [spy, spy], games=6, seed=2)
    assert len(spy.kept) == 12  # an episode is a player's part in a game
    for decisions in spy.kept.values():
        for k, (_, mask, policy, _) in enumerate(decisions):
            assert policy[k % 9] == (1 if mask[k % 9] else 0)
    assert len(agent._carried) == 0
    with pytest.raises(ValueError, match="symmetric"):
        type(agent)(module(), symmetric=True)


def test_taken_back_it_begins_anew():
    agent = agents.from_torch(Counting(), temperature=0)
    batch = ttt_envs.Batch(GAME, 1, seed=0)
    first = batch.view()
    assert agent.logits(first).argmax() == agent.logits(first).argmax() == 0
    for _ in range(GAME.num_players):
        batch.step(batch.masks().argmax(axis=1))
    later = batch.view(first.players)
    if later.masks.any():
        assert agent.logits(later).argmax() == 1
        assert agent.logits(later).argmax() == 1
    assert agent.logits(first).argmax() == 0


def test_it_remembers_a_game_that_is_played_move_by_move():
    agent, live, asked = agents.from_torch(Counting(), temperature=0), PlayedGame.begin(GAME, 0), [0, 0]
    while not live.over:
        player = live.asked()[0]
        if live.ply:
            agent.logits(live.view(live.acting(0)[0], 0))  # looking back changes nothing of the present
        view = live.view(player)
        assert agent.logits(view).argmax() == asked[player] % 9
        asked[player] += 1
        live.choose(player, int(np.flatnonzero(view.masks[0])[0]))
    assert min(asked) > 1
