"""PPO by self-play in one file, to read from top to bottom and to fork: environments, NumPy and torch, nothing else.

    python -m training.ppo_self_play --steps 500000 --seed 1

One network plays all seats. Many games run side by side; each ply is a decision of the player to move, so that an
episode is the plies of a game, and not those of one player. Three things are other than in games of one player:

- Illegal actions: their logits are -1e8 before the softmax, in play and in every update alike, so that they have
  neither probability nor gradient nor entropy (Huang and Ontanon, "A closer look at invalid action masking in policy
  gradient algorithms", 2022).
- Signs: values are those of the player to move. What the next position is worth to its player counts negated if that
  is the other side, as what one side wins the other loses.
- The last reward: a game ends with a ply of, say, the winner. The loser has no ply any more that could get their -1.
  By the signs they get it all the same: it is the +1 after the next ply, negated, in the advantage of their last one.

For games of two sides that move one at a time. `ttt train ppo` is the same method with past selves and other agents as
opponents, checkpoints, curves and logs; `--both-sides` learns from both sides as this does.

Sources: Schulman et al., "Proximal policy optimization algorithms", 2017; the details of Huang et al., "The 37
implementation details of proximal policy optimization", ICLR blog track 2022.
"""

import argparse
import time
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import nn

import ttt_envs


@dataclass
class Args:
    """Settings; the defaults are for a single round of the game they name."""

    game: str = "tic_tac_dice"
    options: str = "rounds=single"  # of the game, such as "size=3 lines=2"; "" for none
    steps: int = 500_000  # plies
    seed: int = 0
    num_envs: int = 512  # games side by side
    rollout: int = 16  # plies of each game between two updates
    batch: int = 1024  # plies in a gradient step
    epochs: int = 2  # passes over each rollout
    learning_rate: float = 5e-3  # falls linearly to 0
    gamma: float = 1.0  # discount for each ply
    gae_lambda: float = 0.3
    clip: float = 0.2
    entropy: float = 0.0005  # weight of the entropy bonus
    hidden: int = 128  # size of the two hidden layers
    regret_games: int = 500  # games in which the regret is measured at the end; 0 for none, where there is no oracle


def make_game(args: Args) -> ttt_envs.Game:
    """The game with its options; ValueError if it does not fit."""
    options = dict(each.split("=", 1) for each in args.options.split())
    game = ttt_envs.load(args.game, **{name: int(text) if text.isdigit() else text for name, text in options.items()})
    if game.simultaneous or len(game.teams) != 2:
        raise ValueError(f"{game!r} is not of two sides that move one at a time")
    return game


def layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A linear layer with orthogonal weights."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


def mlp(inputs: int, hidden: int, outputs: int, gain: float) -> nn.Module:
    """Two hidden layers; the last layer has weights of size `gain`."""
    root = 2**0.5
    return nn.Sequential(
        layer(inputs, hidden, root), nn.ReLU(), layer(hidden, hidden, root), nn.ReLU(), layer(hidden, outputs, gain)
    )


def masked(logits: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """Logarithms of probabilities (n, actions), almost none where `masks` bool (n, actions) is False."""
    return torch.log_softmax(torch.where(masks, logits, torch.tensor(-1e8)), dim=1)


def advantages_of(
    rewards: torch.Tensor, done: torch.Tensor, signs: torch.Tensor, values: torch.Tensor, args: Args
) -> torch.Tensor:
    """Generalised advantage estimation between two sides.

    All are (plies, games): rewards of the players who have just moved, whether that ended the game, 1 or -1 as the same
    side moves next or the other one, and values of the positions, those after the last ply included.
    """
    advantages, after = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        weight = args.gamma * signs[t] * ~done[t]  # nothing comes over from the game that starts next
        after = rewards[t] + weight * (values[t + 1] + args.gae_lambda * after) - values[t]
        advantages[t] = after
    return advantages


def train(args: Args) -> nn.Module:
    """Train; returns the policy, float32 (n, features) -> logits (n, actions). The same seed gives the same policy."""
    game = make_game(args)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # small networks get slower with more
    n, plies, size, actions = args.num_envs, args.rollout, game.observation_size, game.num_actions
    policy, value = mlp(size, args.hidden, actions, 0.01), mlp(size, args.hidden, 1, 1.0)
    parameters = [*policy.parameters(), *value.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=args.learning_rate, eps=1e-5)

    batch = ttt_envs.Batch(game, n, seed=args.seed, auto_reset=True)
    games, side = np.arange(n), np.array([player in game.teams[1] for player in range(game.num_players)])
    observations, masks = torch.zeros(plies, n, size), torch.zeros(plies, n, actions, dtype=torch.bool)
    chosen, chances = torch.zeros(plies, n, dtype=torch.long), torch.zeros(plies, n)
    rewards, signs, values = torch.zeros(plies, n), torch.zeros(plies, n), torch.zeros(plies + 1, n)
    done = torch.zeros(plies, n, dtype=torch.bool)

    rounds, began = -(-args.steps // (n * plies)), time.perf_counter()
    for number in range(rounds):
        # --- play ---
        with torch.no_grad():
            for t in range(plies):
                view = batch.view()  # as the player to move in each game sees it
                observations[t] = torch.from_numpy(view.observations.astype(np.float32))
                masks[t] = torch.from_numpy(view.masks.copy())
                logs = masked(policy(observations[t]), masks[t])
                chosen[t] = torch.multinomial(logs.exp(), 1)[:, 0]
                chances[t] = logs.gather(1, chosen[t, :, None])[:, 0]
                values[t] = value(observations[t])[:, 0]
                movers = view.players
                batch.step(chosen[t].numpy())
                # With auto_reset the rewards are those of the game that ended, the position is that of the next one.
                rewards[t] = torch.from_numpy(batch.rewards[games, movers])
                done[t] = torch.from_numpy(batch.done)
                signs[t] = torch.from_numpy(np.where(side[movers] == side[batch.to_move], 1, -1))
            values[plies] = value(torch.from_numpy(batch.observations().astype(np.float32)))[:, 0]
            advantages = advantages_of(rewards, done, signs, values, args)
            returns = advantages + values[:plies]

        # --- learn ---
        for group in optimizer.param_groups:
            group["lr"] = args.learning_rate * (1 - number / rounds)
        of_all = [each.flatten(0, 1) for each in (observations, masks, chosen, chances, advantages, returns)]
        for _ in range(args.epochs):
            for rows in torch.randperm(n * plies).split(args.batch):
                seen, legal, actions_then, chances_then, gains, targets = (each[rows] for each in of_all)
                logs = masked(policy(seen), legal)
                ratio = (logs.gather(1, actions_then[:, None])[:, 0] - chances_then).exp()
                gains = (gains - gains.mean()) / (gains.std(correction=0) + 1e-8)
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                entropy = -(logs.exp() * logs).sum(dim=1).mean()
                loss = -torch.min(ratio * gains, clipped * gains).mean() - args.entropy * entropy
                loss += 0.5 * nn.functional.mse_loss(value(seen)[:, 0], targets)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()
        if number % 10 == 9 or number == rounds - 1:
            steps = (number + 1) * n * plies
            speed = steps / (time.perf_counter() - began)
            print(f"{steps:>10,} plies   loss {loss.item():.3f}   entropy {entropy.item():.3f}   {speed:,.0f} plies/s")
    return policy


def main(words: list[str] | None = None) -> None:
    """Train by the settings of a command line, and say how far the policy is from best play."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for each in fields(Args):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=each.type, default=each.default)
    args = Args(**vars(parser.parse_args(words)))
    policy = train(args)
    if args.regret_games:
        from ttt_envs.agents.torch_policy import PolicyAgent
        from ttt_envs.evaluation.best_play import measure

        measured = measure(make_game(args), PolicyAgent(policy), games=args.regret_games, seed=args.seed)
        low, high = measured.per_game_interval
        print(f"regret a game: {measured.per_game:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
