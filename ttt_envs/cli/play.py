"""`ttt play`: one game in the terminal, move by move: people against agents, or agents among themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ttt_envs.cli.common import GameOptions, check_drawing, seated

if TYPE_CHECKING:  # these bring Numba, which `--help` does without
    import numpy as np

    from ttt_envs.agents.human import Command
    from ttt_envs.cli.saving import SavedGame
    from ttt_envs.core.game import Game
    from ttt_envs.core.view import View

__all__ = ["play"]

# Pixels of a picture as PNG.
_WIDTH = 800


@dataclass(frozen=True, kw_only=True)
class Play(GameOptions):
    """Play one game in the terminal and show every move."""

    game: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="GAME", help_behavior_hint="")] = None
    """Id of the game; `ttt games` lists them."""
    agents: Annotated[
        tuple[str, ...],
        tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="(default: human against the search that plays it)"),
    ] = ()
    """One agent a player, in the order of play, such as: human mcts:simulations=1000."""
    seed: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Seed of the game and of the agents; without it, every game is different."""
    saved: Annotated[Path | None, tyro.conf.arg(name="load", metavar="FILE", help_behavior_hint="")] = None
    """File of a game that was saved with `save FILE`, to go on with."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File for a picture of the final position, which ends in .svg or .png; it must not exist yet."""

    def run(self) -> None:
        """Play the game; an interrupt leaves it."""
        from ttt_envs.storage.files import write_whole

        if self.out is not None:
            check_drawing(self.out, ".svg", ".png")
        live = self._live()
        try:
            go_on(live, self.agents or live.agents)
        except KeyboardInterrupt:
            print()
            raise KeyboardInterrupt("game left") from None
        if self.out is not None:
            from ttt_envs.drawing.raster import png

            picture = live.game.draw(live.state[0], None)
            write_whole(self.out, png(picture, _WIDTH) if self.out.suffix.lower() == ".png" else picture)
            print(f"drawn to {self.out}")

    def _live(self) -> "SavedGame":
        from ttt_envs import registry
        from ttt_envs.cli.saving import SavedGame
        from ttt_envs.registry import parse_options

        if self.saved is None:
            if self.game is None:
                raise ValueError("which game? `ttt games` lists them; or --load FILE goes on with a saved one")
            game = registry.load(self.game, **parse_options(self.game, self.option))
            live = SavedGame.begin(game, self.seed)
            live.agents = self.agents or default_agents(game)
            return live
        if self.option or self.seed is not None:
            raise ValueError("--load goes on with the options and the seed of the saved game: leave out yours")
        live = SavedGame.read(self.saved)
        if self.game is not None and registry.full_id(self.game) != live.game.id:
            raise ValueError(f"{self.saved} is a game of {live.game.id}, not of {self.game}")
        if not self.agents:
            from ttt_envs.agents import check_named

            check_named(live.agents, str(self.saved), "name all agents of the game with --agents")
        return live


def default_agents(game: "Game") -> tuple[str, ...]:
    """Return the default agents: a person in the first seat, and in the others the tree search that plays the game."""
    from ttt_envs import agents

    return ("human", *(agents.search_for(game) or "greedy" for _ in range(game.num_players - 1)))


def play(game: "Game", agents: Sequence[Any], seed: int | None = None) -> "np.ndarray":
    """Play a new game and print it; return the final state, a record. `agents` and errors are those of `go_on`."""
    from ttt_envs.cli.saving import SavedGame

    live = SavedGame.begin(game, seed)
    go_on(live, agents)
    return live.state[0]


def go_on(live: "SavedGame", agents: Sequence[Any]) -> None:
    """Play a game on to its end and print it.

    In a game with hidden information, a single person sees what that player may see. If there are several people, each
    sees only that player's view, when asked for a move. A game among agents is shown in full. If one person must not
    see another's questions or answers, the screen is cleared, and the next person is asked to sit down.

    Args:
        live: the game.
        agents: whatever `ttt_envs.agents.load` takes, one per player, in the order of play.

    Raises:
        ValueError, TypeError, FileNotFoundError: a wrong number of agents, or an agent that cannot play this game.
        SystemExit: a person quits.
    """
    from ttt_envs.agents.human import Human
    from ttt_envs.agents.terminal import Handover, say
    from ttt_envs.evaluation.arena.play import ask

    game = live.game
    players = seated(game, agents)
    live.agents = names = tuple(player.name for player in players)
    people = [p for p, player in enumerate(players) if player.interactive]
    for player in players:
        if isinstance(player, Human):
            player.commands = commands_of(live, people)
    viewer = people[0] if len(people) == 1 else None
    secret = game.hidden_information and len(people) > 1
    called = [
        f"{game.player_names[p]} ({'you' if p == viewer else names[p] if p not in people else 'a person'})"
        for p in range(game.num_players)
    ]
    handover = Handover(game)
    say(f"{game.title}: {', '.join(called)}", "bold")
    if people:
        say("? helps, rules explains the game.")
    while not live.over:
        acting = live.acting()
        # A person is shown the position by the agent `human`, together with the question.
        if not people:
            say()
            say(game.format_state(live.state[0], viewer), game=game)
        joint = [-1] * game.num_players
        asked = [p for p in acting if p in people]
        try:
            for p in acting:
                if p in people and (secret or len(asked) > 1):
                    handover.ask(p)
                joint[p] = int(ask(players[p], live.view(p))[0][0])
        except TakenBack:
            handover.show()
            say("\nTaken back.", "bold")
            continue
        handover.show()
        live.play(joint)
        finished = live.ended_round(live.ply)
        say()
        for p in acting:
            say(f"{called[p]}: {game.action_names[joint[p]]}", "bold")
        if finished is not None:
            say()
            say(game.format_state(finished[0], viewer), game=game)
        if len(acting) == 1 and live.acting() == acting:
            say(f"{game.player_names[acting[0]]} is to move again.")
    final = live.state[0]
    say()
    say(game.format_state(final, None), game=game)
    say(f"\n{result_of(game, names, final)}", "bold")
    if viewer is not None:
        reward = final["rewards"][viewer]
        say("You win." if reward > 0 else "You lose." if reward < 0 else "Nobody wins.", "bold")


class TakenBack(Exception):
    """Raised when a person takes back a move."""


def commands_of(live: "SavedGame", people: Sequence[int]) -> "dict[str, Command]":
    """Return the commands, by name, that people can type instead of a move; `people`: their player numbers."""
    from ttt_envs.agents.human import Command
    from ttt_envs.agents.terminal import say
    from ttt_envs.cli.hints import Adviser
    from ttt_envs.cli.layout import paragraphs
    from ttt_envs.drawing.film import move_text

    game, adviser = live.game, Adviser()

    def rules(view: "View", i: int, rest: str) -> None:
        text = game.rules_text or "The game comes without a text of its rules."
        say("\n" + "\n".join(paragraphs(text)) + "\n", game=None)

    def advise(view: "View", i: int, rest: str) -> None:
        try:
            for line in adviser.hint(view):
                say(line, "cyan")
        except KeyboardInterrupt:
            raise ValueError("the hint is left; the game goes on") from None

    def undo(view: "View", i: int, rest: str) -> None:
        ply = live.last_decision(people)
        if ply is None:
            raise ValueError("nothing has been played that could be taken back")
        live.take_back(ply)
        raise TakenBack

    def history(view: "View", i: int, rest: str) -> None:
        moves = [f"{k}. {move_text(game, joint, game.player_names)}" for k, joint in enumerate(live.actions, 1)]
        say("\n".join(moves) if moves else "nothing has been played yet")

    def save(view: "View", i: int, rest: str) -> None:
        if not rest:
            raise ValueError("save needs the name of a file, such as: save game.json")
        path = Path(rest).expanduser()
        live.save(path)
        say(f"saved; `ttt play --load {rest}` goes on from here, and so can you")

    return {
        command.usage.partition(" ")[0]: command
        for command in (
            Command("rules", "the rules of the game, with the options in force", rules),
            Command("hint", "what the oracle says, or else a search", advise),
            Command("undo", "take your last move back, and all that came after it", undo),
            Command("history", "all moves so far", history),
            Command("save FILE", "write the game to a file; it holds all that is hidden, too", save),
        )
    }


def result_of(game: "Game", names: Sequence[str], state: Any) -> str:
    """Return a sentence: the winners, how they won (from the first line of the position), and all rewards."""
    how = game.format_state(state, None).splitlines()[0].removeprefix("over: ")
    winners = [f"{names[p]} (player {p})" for p, reward in enumerate(state["rewards"]) if reward > 0]
    paid = ", ".join(f"player {p} {reward:+g}" for p, reward in enumerate(state["rewards"]))
    if not winners:
        return how
    return f"{' and '.join(winners)} {'wins' if len(winners) == 1 else 'win'}: {how}; {paid}"
