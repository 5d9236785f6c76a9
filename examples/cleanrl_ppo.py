"""CleanRL-style: PPO with masks in one file, on a Gymnasium vector environment.

    python examples/cleanrl_ppo.py [learner's decisions]  # one run: 0.856 (0.823 to 0.885) against random

After CleanRL's ppo.py (Huang et al., JMLR 2022). The step that ends a game gives the next one's first observation here,
so that no step is left out of the loss; see `autoreset_mode` of `make_vec`.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0"]
# ///

import sys

import torch
from torch.nn import Linear, Sequential, Tanh

import ttt_envs
from ttt_envs import agents, evaluation

GAME = ttt_envs.load("super_tic_tac_toe")
STEPS = int(sys.argv[1]) if sys.argv[1:] else 500_000
GAMES, LENGTH, EPOCHS, PARTS = 256, 32, 4, 4  # games side by side; decisions between updates
GAMMA, LAMBDA, CLIP, ENTROPY, RATE = 0.99, 0.95, 0.2, 0.01, 1e-3

torch.set_num_threads(1)
torch.manual_seed(0)
envs = ttt_envs.make_vec(GAME, GAMES, opponent=["random", "greedy"])


def network(outputs):
    return Sequential(Linear(GAME.observation_size, 128), Tanh(), Linear(128, 128), Tanh(), Linear(128, outputs))


def distribution(observations, masks):
    return torch.distributions.Categorical(logits=actor(observations).masked_fill(~masks, -1e9))


actor, critic = network(GAME.num_actions), network(1)
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=RATE, eps=1e-5)
seen = torch.zeros(LENGTH + 1, GAMES, GAME.observation_size)
masks = torch.zeros(LENGTH + 1, GAMES, GAME.num_actions, dtype=torch.bool)
chosen, logs, rewards, ends = (torch.zeros(LENGTH, GAMES) for _ in range(4))
observation, _ = envs.reset(seed=0)
for _ in range(max(STEPS // (GAMES * LENGTH), 1)):
    for t in range(LENGTH + 1):
        seen[t] = torch.from_numpy(observation["observation"])
        masks[t] = torch.from_numpy(observation["action_mask"])
        if t < LENGTH:
            with torch.no_grad():
                policy = distribution(seen[t], masks[t])
                action = policy.sample()
                logs[t], chosen[t] = policy.log_prob(action), action
            observation, reward, terminated, _, _ = envs.step(action.numpy())
            rewards[t], ends[t] = torch.from_numpy(reward), torch.from_numpy(terminated)
    with torch.no_grad():
        values = critic(seen).squeeze(-1)
        advantages, advantage = torch.zeros(LENGTH, GAMES), torch.zeros(GAMES)
        for t in reversed(range(LENGTH)):
            going = 1 - ends[t]
            advantage = rewards[t] + going * (GAMMA * values[t + 1] + GAMMA * LAMBDA * advantage) - values[t]
            advantages[t] = advantage
    batch = [each.flatten(0, 1) for each in (seen[:-1], masks[:-1], chosen, logs, advantages, advantages + values[:-1])]
    for _ in range(EPOCHS):
        for rows in torch.randperm(GAMES * LENGTH).chunk(PARTS):
            o, m, a, old, gain, target = (each[rows] for each in batch)
            policy = distribution(o, m)
            ratio = (policy.log_prob(a) - old).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            loss = -torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            loss = loss - ENTROPY * policy.entropy().mean() + 0.5 * (critic(o).squeeze(-1) - target).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
            optimizer.step()

report = evaluation.tournament(GAME, [agents.from_torch(actor, name="ppo"), "random", "greedy"], games=400)
report.show()
print(report.comparison("ppo", "random"))
