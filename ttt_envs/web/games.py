"""The games of a server and the agents that play in them."""

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from ttt_envs.agents.human import Human
from ttt_envs.core.checks import IllegalAction
from ttt_envs.core.game import Game
from ttt_envs.core.played_game import PlayedGame
from ttt_envs.drawing.film import film
from ttt_envs.drawing.theme import Theme
from ttt_envs.evaluation import records
from ttt_envs.evaluation.analysis import Judgement, Thoughts, review, think
from ttt_envs.evaluation.records import GameRecord
from ttt_envs.web.agent_pool import Shelf
from ttt_envs.web.catalog import Agents
from ttt_envs.web.errors import Refused
from ttt_envs.web.threads import in_thread, said

_LOG = logging.getLogger("ttt_envs.web")

# Seconds to wait for a quick agent, so that both moves appear together.
_MOMENT = 0.05

# The most decisions that a review analyses.
_REVIEWED = 400


@dataclass(eq=False)
class ServedGame:
    """A game on the page.

    Attributes:
        id: the part of the game's address that identifies it.
        live: the game itself.
        seats: the text of the agent in each seat; None for a person at this computer.
        version: a number that every change increases.
        trouble: the reason why an agent cannot play on; "" if there is none.
        touched: time of the last change, in seconds since 1970.
        recorded: whether the game was opened from a file of records and was over by then.
        driver: the task that asks agents for their moves; None if no agent is to move.
        busy: a lock that is held during an analysis, and during a ply in a game without people.
    """

    id: str
    live: PlayedGame
    seats: Sequence[str | None]
    version: int = 0
    trouble: str = ""
    touched: float = field(default_factory=time.time)
    recorded: bool = False
    driver: "asyncio.Task[None] | None" = None
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    thoughts: dict[int, list[Thoughts]] = field(default_factory=dict)
    review: list[Judgement] | None = None
    foresight: "asyncio.Task[None] | None" = None
    _change: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def game(self) -> Game:
        """The game's facts."""
        return self.live.game

    @property
    def people(self) -> list[int]:
        """The human players."""
        return [player for player, agent in enumerate(self.seats) if agent is None]

    @property
    def shared(self) -> bool:
        """True if several people share the screen and must not see each other's views or choices."""
        return len(self.people) > 1 and (self.game.hidden_information or self.game.simultaneous)

    @property
    def may_take_back(self) -> bool:
        """True if moves may be taken back. The same dice and the same choices of agents then follow again.

        A single person may take moves back, for practice. Several people may not if there is hidden information or
        chance: one of them would learn the other's dice or cards.
        """
        return bool(self.people) and not self.shared and (len(self.people) == 1 or self.game.chance != "play")

    @property
    def viewer(self) -> int | None:
        """The player whose view is shown: a person to move, or else the first; None (end, no people): everything."""
        if self.live.over or not self.people:
            return None
        asked = [player for player in self.live.asked() if player in self.people]
        return [*asked, *self.people][0]

    @property
    def agents_asked(self) -> list[int]:
        """The players who are agents and are to move; none in a game without people, or after a failure."""
        if self.trouble or not self.people:
            return []
        return [player for player in self.live.asked() if self.seats[player] is not None]

    def changed(self) -> None:
        """Give the game a new version, and wake all requests that wait for one."""
        self.version, self.touched = self.version + 1, time.time()
        self._change.set()
        self._change = asyncio.Event()

    async def wait(self, version: int, seconds: float) -> None:
        """Wait until the version changes, at most `seconds`."""
        if self.version == version:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._change.wait(), seconds)


class Hall:
    """All games, in memory. It belongs to one event loop; long work runs in threads."""

    def __init__(self, folder: Path, more_agents: Sequence[str] = ()) -> None:
        """Begin without games.

        Args:
            folder: folder for the record of each game, which is written after each ply.
            more_agents: further agents on offer besides the library's own.
        """
        self.folder = folder
        self.agents = Agents(more_agents)
        self.shelf = Shelf()
        self.games: dict[str, ServedGame] = {}

    # --- games ---

    async def open(self, game: Game, seats: Sequence[str | None]) -> ServedGame:
        """Begin a game; raise Refused for a wrong number of seats, or an agent that cannot play it."""
        if len(seats) != game.num_players:
            raise Refused(400, f"{game.title} needs {game.num_players} seats with these options, not {len(seats)}")
        for agent in seats:
            if agent is not None:
                await in_thread(self.agents.check, game, agent)
        served = self.keep(await in_thread(_begin, game), seats)
        self.drive(served)
        served.foresight = asyncio.create_task(self._foresee(served))  # kept, or it might be collected
        return served

    def keep(self, live: PlayedGame, seats: Sequence[str | None], ident: str = "") -> ServedGame:
        """Add a game, new or in progress, with the id `ident` or, if that is empty, a new id."""
        served = ServedGame(ident or secrets.token_hex(8), live, seats)
        self.games[served.id] = served
        return served

    def reopen(self, name: str, k: int, record: GameRecord, live: PlayedGame) -> ServedGame:
        """Return game number `k` of a file of records. If the server still has that game, it is returned as it is now.

        An unfinished game continues, if its agents are on offer.
        """
        ident = hashlib.sha256(f"{name} {k} {record.digest}".encode()).hexdigest()[:16]
        saved = f"{self.folder.name}/{record.game}-"
        if k == 0 and name.startswith(saved):
            ident = name.removeprefix(saved).removesuffix(".jsonl")
        if ident not in self.games:
            seats = [None if agent == Human.name else agent for agent in record.agents]
            self.keep(live, seats, ident).recorded = live.over
        return self.games[ident]

    def find(self, ident: str) -> ServedGame:
        """Return the game with this id; raise Refused if there is none."""
        if ident not in self.games:
            raise Refused(
                404,
                "there is no such game here: the server was started again since, or the address is wrong. Look for it "
                "among the recorded games",
            )
        return self.games[ident]

    # --- moves ---

    def choose(self, served: ServedGame, player: int, action: int) -> None:
        """Choose an action for a person; raise Refused if the action is not legal now."""
        try:
            served.live.choose(player, action)
        except IllegalAction as error:
            raise Refused(409, str(error)) from None
        self._moved(served)

    def take_back(self, served: ServedGame) -> None:
        """Return to the position before the last decision of a person; raise Refused if there was none."""
        ply = served.live.last_decision(served.people)
        if ply is None:
            raise Refused(409, "there is no move of yours to take back")
        served.live.take_back(ply)
        served.trouble = ""
        self._moved(served)

    async def step(self, served: ServedGame) -> None:
        """Let the agents of a game without people play one ply."""
        async with served.busy:
            ply, served.trouble = served.live.ply, ""
            while served.live.ply == ply and not served.live.over and not served.trouble:
                await self._ask_agent(served, served.live.asked()[0])

    def _moved(self, served: ServedGame) -> None:
        served.review = None
        for ply in [ply for ply in served.thoughts if ply >= served.live.ply]:
            del served.thoughts[ply]
        self._save(served)
        served.changed()
        self.drive(served)

    def drive(self, served: ServedGame) -> None:
        """Start the driver if an agent is to move."""
        if served.driver is None and served.agents_asked:
            served.driver = asyncio.create_task(self._drive_on(served))

    async def _drive_on(self, served: ServedGame) -> None:
        try:
            while asked := served.agents_asked:
                await self._ask_agent(served, asked[0])
        finally:
            served.driver = None

    async def _ask_agent(self, served: ServedGame, player: int) -> None:
        """Ask a player's agent for an action, and choose it unless a move was taken back meanwhile."""
        agent, state = served.seats[player], served.live.state
        assert agent is not None
        try:
            await in_thread(self.agents.check, served.game, agent)  # a file of records names any
            action = await in_thread(self.shelf.decide, agent, served.live.view(player))
        except Refused as error:
            served.trouble = error.reason
            served.changed()
            return
        except Exception as error:
            _LOG.exception("agent %s failed in game %s", agent, served.id)
            if served.live.state is state:
                name = served.game.player_names[player]
                served.trouble = f"the agent {agent} failed as {name}, with {said(error)}"
                served.changed()
            return
        if served.live.state is state and player in served.live.asked():
            served.live.choose(player, action)
            self._moved(served)

    async def settle(self, served: ServedGame) -> None:
        """Wait a moment for an agent's move, so that a quick move appears together with the person's move."""
        if served.driver is not None:
            await asyncio.wait({served.driver}, timeout=_MOMENT)

    # --- thoughts ---

    async def _foresee(self, served: ServedGame) -> None:
        """Analyse a person's first decision in advance: compiling the analysis would delay the first hint."""
        players = [player for player in served.live.acting(0) if player in served.people]
        with suppress(Exception):  # whoever asks is told
            await self.thoughts(served, players[:1], 0)

    async def thoughts(self, served: ServedGame, players: Sequence[int], ply: int) -> list[Thoughts]:
        """Return the analysis of these players' decisions in the position after `ply` plies."""
        state = served.live.states[ply]
        views = [(served.live.view(player, ply), served.seats[player]) for player in players]

        def work() -> list[Thoughts]:
            offered = [each.agent for each in self.agents.offers(served.game)]
            return [think(view, agent if agent in offered else None, take=self.shelf.take) for view, agent in views]

        async with served.busy:  # one search at a time, however many ask
            kept = served.thoughts.get(ply, [])
            if [each.player for each in kept] == list(players):
                return kept
            found = await in_thread(work)
            if ply <= served.live.ply and served.live.states[ply] is state:  # no move was taken back meanwhile
                served.thoughts[ply] = found
            return found

    async def review(self, served: ServedGame) -> list[Judgement]:
        """Return judgements of the people's decisions in a finished game, or of the agents' if no people play."""
        live, players = served.live, served.people or range(served.game.num_players)
        async with served.busy:
            if served.review is None:
                decisions = [
                    (ply, live.view(player, ply), joint[player])
                    for ply, joint in enumerate(live.actions)
                    for player in players
                    if joint[player] >= 0
                ]
                served.review = await in_thread(partial(review, decisions[:_REVIEWED], take=self.shelf.take))
            return served.review

    # --- to keep ---

    def record(self, served: ServedGame) -> GameRecord:
        """Return a game, finished or not, as a record for `ttt replay` and `ttt play --load`."""
        return records.of_live(served.live, [Human.name if agent is None else agent for agent in served.seats])

    def _save(self, served: ServedGame) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            records.write(self.folder / f"{served.game.id}-{served.id}.jsonl", [self.record(served)])
        except OSError:
            _LOG.exception("game %s could not be saved", served.id)

    async def film(self, served: ServedGame, theme: Theme) -> bytes:
        """Return a game as an animated GIF; raise Refused without the extra `render`."""
        states, actions = np.concatenate(served.live.states), np.array(served.live.actions, np.int64)
        try:
            return await in_thread(partial(film, served.game, states, actions, theme=theme))
        except ImportError as error:
            raise Refused(501, str(error)) from None

    def close(self) -> None:
        """Wake all waiting requests, and close idle agents."""
        for served in self.games.values():
            served.changed()
        self.shelf.close()


def _begin(game: Game) -> PlayedGame:
    """Play a ply of another game, which compiles the kernels, then return a new game."""
    trial = PlayedGame.begin(game, 0)
    while not trial.ply:
        player = trial.asked()[0]
        trial.view(player).sample_worlds()
        trial.choose(player, trial.legal(player)[0])
    records.of_live(trial, [Human.name] * game.num_players)
    return PlayedGame.begin(game)
