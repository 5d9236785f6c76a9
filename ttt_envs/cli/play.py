"""`ttt play`: one game in the terminal, move by move: people against agents, or agents among themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ttt_envs.cli.common import GameArguments

if TYPE_CHECKING:  # these bring Numba, which `--help` does without
    import numpy as np

    from ttt_envs.core.game import Game


@dataclass(frozen=True, kw_only=True)
class Play(GameArguments):
    """Play one game in the terminal and show every move."""

    agents: Annotated[
        tuple[str, ...],
        tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="(default: human against the search that plays it)"),
    ] = ()
    """One agent a player, in the order of play, such as: human mcts:simulations=1000."""
    seed: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Seed of the game and of the agents; without it, every game is different."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File to write a drawing of the final position to, as SVG; it must not exist yet."""

    window: bool = False
    """Play in a window, by clicks on the board."""

    def run(self) -> None:
        """Play the game; an interrupt leaves it."""
        from ttt_envs.core.files import write_whole

        game = self.load()
        if self.out is not None and self.out.exists():
            raise FileExistsError(f"{self.out} exists: choose another file, or delete this one first")
        try:
            final = self._played(game)
        except KeyboardInterrupt:
            print()
            raise KeyboardInterrupt("game left") from None
        if self.out is not None:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.out, game.draw(final, None))
            print(f"drawn to {self.out}")

    def _played(self, game: "Game") -> "np.ndarray":
        """The final state."""
        if not self.window:
            return play(game, self.agents or default_agents(game), self.seed)
        from ttt_envs.cli.play_window import play_in_window

        return play_in_window(game, self.agents or default_agents(game), self.seed)


def default_agents(game: "Game") -> tuple[str, ...]:
    """The default agents: a person in the first seat, and in the others the tree search that plays the game."""
    from ttt_envs import agents

    return ("human", *(agents.search_for(game) or "greedy" for _ in range(game.num_players - 1)))


def play(game: "Game", agents: Sequence[Any], seed: int | None = None) -> "np.ndarray":
    """Play one game and print it; returns the final state.

    In a game with hidden information one person sees what that player may see; several people see only their own
    views, when asked; agents among themselves are shown in full. Where one person must not see what another one is
    asked or answers, they change seats, and the screen is cleared.

    Args:
        game: the game.
        agents: whatever `ttt_envs.agents.load` takes, one a player, in the order of play.
        seed: seed of the game and of the agents; None draws one.

    Raises:
        ValueError, TypeError, FileNotFoundError: a wrong number of agents, or an agent that cannot play this game.
        SystemExit: a person quits.
    """
    import numpy as np

    import ttt_envs
    from ttt_envs.agents import load
    from ttt_envs.agents.human import Terminal

    players = [load(each) for each in agents]
    names = [player.name for player in players]
    if len(players) != game.num_players:
        raise ValueError(
            f"{game!r} has {game.num_players} players and needs as many agents, not {len(players)}: {', '.join(names)}"
        )
    for player in players:
        player.check(game)
    people = [p for p, player in enumerate(players) if player.interactive]
    viewer = people[0] if len(people) == 1 else None
    secret = game.hidden_information and len(people) > 1
    terminal = Terminal()
    batch = ttt_envs.Batch(game, 1, seed=seed)
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
            print(f"{names[p]} (player {p}): {game.action_names[joint[0, p]]}", flush=True)
        finished = game.finished_round(before, joint[0], batch.states[0])
        if finished is not None:
            print(f"\n{game.format_state(finished[0], viewer)}")
    final = batch.states[0].copy()
    print(f"\n{game.format_state(final, None)}\n\n{result_of(game, names, final)}")
    return final


def result_of(game: "Game", names: Sequence[str], state: Any) -> str:
    """The winners, how they won, as in the first line of the position, and the reward of each player."""
    how = game.format_state(state, None).splitlines()[0].removeprefix("over: ")
    winners = [f"{names[p]} (player {p})" for p, reward in enumerate(state["rewards"]) if reward > 0]
    paid = ", ".join(f"player {p} {reward:+g}" for p, reward in enumerate(state["rewards"]))
    if not winners:
        return how
    return f"{' and '.join(winners)} {'wins' if len(winners) == 1 else 'win'}: {how}; {paid}"
