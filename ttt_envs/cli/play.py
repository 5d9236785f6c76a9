"""One game in the terminal, move by move: people against agents, or agents among themselves.

python -m ttt_envs.cli.play --agents human mcts:simulations=1000 --seed 1 --option won_boards=closed
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

import ttt_envs
from ttt_envs import agents as agent_collection
from ttt_envs.agents.human import Terminal
from ttt_envs.core.game import Game
from ttt_envs.registry import parse_options


@dataclass
class Config:
    """Play one game in the terminal and show every move. `human` is an agent like any other."""

    game: str = next(iter(ttt_envs.GAMES))
    """Its id."""
    agents: tuple[str, ...] = ("human", "mcts:simulations=1000")
    """One agent a player, in the order of play, such as: human mcts:simulations=1000."""
    seed: int | None = None
    """Fixes all chance, and the agents' own. Drawn anew if not given."""
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An option of the game, such as: won_boards=closed. May be repeated."""
    svg: Path | None = None
    """File to which the final position is drawn."""


def run(config: Config) -> np.ndarray:
    """Play the game and print it; rewards, float32 (players,).

    In a game with hidden information one person sees what that player may see; several persons see only their own
    views, when asked; agents among themselves are shown in full. Where one person must not see what another one is
    asked or answers, they change seats, and the screen is cleared.

    Raises:
        ValueError, TypeError, FileNotFoundError: wrong settings, or an agent that cannot play this game.
        SystemExit: a person quits.
    """
    game = ttt_envs.load(config.game, **parse_options(config.game, config.option))
    if len(config.agents) != game.num_players:
        raise ValueError(
            f"{game!r} has {game.num_players} players, but {len(config.agents)} agents are given: "
            f"{', '.join(config.agents) or 'none'}"
        )
    players = [agent_collection.load(spec) for spec in config.agents]
    people = [p for p, agent in enumerate(players) if agent.interactive]
    viewer = people[0] if len(people) == 1 else None
    secret = game.hidden_information and len(people) > 1
    terminal = Terminal()
    if config.svg is not None:
        config.svg.parent.mkdir(parents=True, exist_ok=True)
    batch = ttt_envs.Batch(game, 1, seed=config.seed)
    while not batch.done[0]:
        acting = [p for p in range(game.num_players) if batch.acting(p)[0]]
        # A person is shown the position with the question.
        if not secret and not any(p in people for p in acting):
            print(f"\n{game.format_state(batch.states[0], viewer)}", flush=True)
        joint = np.full((1, game.num_players), -1)
        asked = [p for p in acting if p in people]
        for p in acting:
            if p in people and (secret or len(asked) > 1):
                terminal.ask(p)
            joint[0, p] = players[p].act(batch.view(p))[0]
        terminal.show()
        before = batch.states[0].copy()
        batch.step(joint)
        print()
        for p in acting:
            print(f"{config.agents[p]} (player {p}): {game.action_names[joint[0, p]]}", flush=True)
        finished = game.finished_round(before, joint[0], batch.states[0])
        if finished is not None:
            print(f"\n{game.format_state(finished[0], viewer)}")
    print(f"\n{game.format_state(batch.states[0], None)}\n\n{_result(game, config.agents, batch.states[0])}")
    if config.svg is not None:
        config.svg.write_text(game.draw(batch.states[0], None), encoding="utf-8")
        print(f"drawn to {config.svg}")
    return batch.rewards[0].copy()


def _result(game: Game, names: Sequence[str], state: Any) -> str:
    """Who has won, how, as the first line of the position says it, and what each player is paid."""
    how = game.format_state(state, None).splitlines()[0].removeprefix("over: ")
    winners = [f"{names[p]} (player {p})" for p, reward in enumerate(state["rewards"]) if reward > 0]
    paid = ", ".join(f"player {p} {reward:+g}" for p, reward in enumerate(state["rewards"]))
    if not winners:
        return how
    return f"{' and '.join(winners)} {'wins' if len(winners) == 1 else 'win'}: {how}; {paid}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    config = tyro.cli(Config, args=arguments, prog="python -m ttt_envs.cli.play")
    try:
        run(config)
    except BrokenPipeError:
        # Who reads has seen enough; Python must not try to write the rest on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: game left", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
