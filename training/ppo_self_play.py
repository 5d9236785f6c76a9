"""PPO by self-play in one file, to read and to fork; it uses only the environments and torch.

    python -m training.ppo_self_play --steps 500000 --seed 1
    python -m training.ppo_self_play --device cuda --num-envs 32768 --batch 65536 --steps 100000000

One network plays all seats of many parallel games. An episode consists of all plies of a game, not only those of one
player. Three things differ from PPO for a single agent:

- Illegal actions: their logits are set to -1e8 before the softmax, in play and in every update, so that they have no
  probability, no gradient and no entropy (Huang and Ontanon, "A closer look at invalid action masking in policy
  gradient algorithms", 2022).
- Signs: a position's value is the value for the player to move. If the other side moves next, the next position's value
  is negated, because one side's gain is the other's loss.
- The last reward: if the winner makes the last ply, the loser has no later ply that could receive the -1. The signs
  solve this: the winner's +1 enters the advantage of the loser's last ply, negated.

If players choose simultaneously, each player of a game has a separate episode, and all signs are 1.

With `--device cuda`, games and tensors stay on the GPU. The game must have two sides. In contrast, `ttt train ppo`
learns from one seat of each game, on the CPU, against past selves and other agents; it writes checkpoints, curves and
logs.

Sources: Schulman et al., "Proximal policy optimization algorithms", 2017; the details of Huang et al., "The 37
implementation details of proximal policy optimization", ICLR blog track 2022.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import torch
from torch import nn

import ttt_envs


@dataclass
class Args:
    """Settings; the defaults train on single rounds of Tic-Tac-Dice."""

    game: str = "tic_tac_dice"
    options: str = "rounds=single"  # of the game, such as "size=3 lines=2"; "" for none
    steps: int = 500_000  # plies
    seed: int = 0
    device: str = "cpu"  # or "cuda"
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
    """Return the game with its options; raise ValueError unless it has two sides."""
    options = dict(each.split("=", 1) for each in args.options.split())
    game = ttt_envs.load(args.game, **{name: int(text) if text.isdigit() else text for name, text in options.items()})
    if len(game.teams) != 2:
        raise ValueError(f"{game!r} is not of two sides")
    return game


def layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """Return a linear layer with orthogonal weights."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


def mlp(inputs: int, hidden: int, outputs: int, gain: float) -> nn.Module:
    """Return a network with two hidden layers; `gain` scales the initial weights of its last layer."""
    root = 2**0.5
    return nn.Sequential(
        layer(inputs, hidden, root), nn.ReLU(), layer(hidden, hidden, root), nn.ReLU(), layer(hidden, outputs, gain)
    )


def masked(logits: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities (n, actions); where `masks`, bool (n, actions), is False, the probability is about 0."""
    return torch.log_softmax(logits.float().masked_fill(~masks, -1e8), dim=1)


def advantages_of(
    rewards: torch.Tensor, done: torch.Tensor, signs: torch.Tensor, values: torch.Tensor, args: Args
) -> torch.Tensor:
    """Return the advantages by generalised advantage estimation between two sides.

    All arrays are (plies, games). `rewards`: the rewards of the players who moved in the ply. `done`: whether the ply
    ended the game. `signs`: 1 if the same side moves next, otherwise -1. `values`: the positions' values; an additional
    last row has those of the positions after the last ply.
    """
    advantages, after = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        weight = args.gamma * signs[t] * ~done[t]  # nothing comes over from the game that starts next
        after = rewards[t] + weight * (values[t + 1] + args.gae_lambda * after) - values[t]
        advantages[t] = after
    return advantages


def train(args: Args) -> nn.Module:
    """Return the trained policy, float32 (n, features) -> logits (n, actions). The same seed gives the same policy."""
    game, device = make_game(args), torch.device(args.device)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # small networks get slower with more
    plies, size, actions = args.rollout, game.observation_size, game.num_actions
    policy, value = (mlp(size, args.hidden, *head).to(device) for head in ((actions, 0.01), (1, 1.0)))
    parameters = [*policy.parameters(), *value.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=args.learning_rate, eps=1e-5, fused=device.type == "cuda")

    batch = ttt_envs.Batch(game, args.num_envs, seed=args.seed, auto_reset=True, device=args.device)
    seats = range(game.num_players) if game.simultaneous else (None,)  # None: of the player to move
    n = args.num_envs * len(seats)  # episodes side by side
    games, side = torch.arange(n, device=device), torch.zeros(game.num_players, device=device)
    side[list(game.teams[1])] = 1

    def on_device(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype, device=device)

    def of(array: Any) -> torch.Tensor:
        """Return a tensor that shares memory with an array of the batch; the next step overwrites it."""
        return torch.as_tensor(array, device=device)

    def of_seats(look: Callable[[int | None], Any]) -> torch.Tensor:
        return torch.cat([of(look(seat)) for seat in seats])

    observations, masks = on_device(plies, n, size, dtype=torch.int8), on_device(plies, n, actions, dtype=torch.bool)
    chosen, chances = on_device(plies, n, dtype=torch.long), on_device(plies, n)
    rewards, signs, values = on_device(plies, n), on_device(plies, n) + 1, on_device(plies + 1, n)
    done = on_device(plies, n, dtype=torch.bool)
    in_half = partial(torch.autocast, device.type, torch.bfloat16, enabled=device.type == "cuda")

    rounds, began = -(-args.steps // (n * plies)), time.perf_counter()
    for number in range(rounds):
        # --- play ---
        with torch.no_grad(), in_half():
            for t in range(plies):
                observations[t], masks[t] = of_seats(batch.observations), of_seats(batch.masks)
                logs = masked(policy(observations[t].float()), masks[t])
                # Gumbel-max trick: the action with the largest log-probability plus Gumbel noise is a sample.
                chosen[t] = (logs - torch.empty_like(logs).exponential_().log()).argmax(dim=1)
                chances[t] = logs.gather(1, chosen[t, :, None])[:, 0]
                values[t] = value(observations[t].float())[:, 0]
                movers = of(batch.to_move).long()
                batch.step(chosen[t].view(len(seats), -1).T if game.simultaneous else chosen[t])
                # After a game's last ply, rewards belong to that game, but auto_reset has already started the next one.
                done[t] = of(batch.done).repeat(len(seats))
                if game.simultaneous:
                    rewards[t] = of(batch.rewards).T.flatten()
                else:
                    rewards[t] = of(batch.rewards)[games, movers]
                    signs[t] = torch.where(side[movers] == side[of(batch.to_move).long()], 1.0, -1.0)
            values[plies] = value(of_seats(batch.observations).float())[:, 0]
            advantages = advantages_of(rewards, done, signs, values, args)
            returns = advantages + values[:plies]

        # --- learn ---
        for group in optimizer.param_groups:
            group["lr"] = args.learning_rate * (1 - number / rounds)
        of_all = [each.flatten(0, 1) for each in (observations, masks, chosen, chances, advantages, returns)]
        for _ in range(args.epochs):
            for rows in torch.randperm(n * plies, device=device).split(args.batch):
                seen, legal, actions_then, chances_then, gains, targets = (each[rows] for each in of_all)
                acts = legal.any(dim=1)  # where players choose at once, one may have no choice
                with in_half():
                    logs, predicted = masked(policy(seen.float()), legal), value(seen.float())[:, 0].float()
                ratio = (logs.gather(1, actions_then[:, None])[:, 0] - chances_then).exp()
                gains = (gains - gains.mean()) / (gains.std(correction=0) + 1e-8)
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                entropy = -((logs.exp() * logs).sum(dim=1) * acts).mean()
                loss = -(torch.min(ratio * gains, clipped * gains) * acts).mean() - args.entropy * entropy
                loss += 0.5 * nn.functional.mse_loss(predicted, targets)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()
        if number % 10 == 9 or number == rounds - 1:
            steps = (number + 1) * n * plies
            speed = steps / (time.perf_counter() - began)
            print(f"{steps:>10,} plies   loss {loss.item():.3f}   entropy {entropy.item():.3f}   {speed:,.0f} plies/s")
    return policy.cpu()


def main(words: list[str] | None = None) -> None:
    """Train with the settings of a command line, and print the policy's regret."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for each in fields(Args):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=each.type, default=each.default)
    args = Args(**vars(parser.parse_args(words)))
    policy = train(args)
    if args.regret_games:
        from ttt_envs.agents.torch_policy import PolicyAgent
        from ttt_envs.evaluation.regret import measure

        measured = measure(make_game(args), PolicyAgent(policy), games=args.regret_games, seed=args.seed)
        low, high = measured.per_game_interval
        print(f"regret per game: {measured.per_game:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
