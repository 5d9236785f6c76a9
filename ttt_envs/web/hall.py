"""Hall: all games of a server, the browsers that hold their seats, and the agents that play in them."""

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.core.live import LiveGame
from ttt_envs.core.options import as_text
from ttt_envs.core.rng import first_episode_seed, settled
from ttt_envs.core.state import SPECTATOR
from ttt_envs.core.version import __version__
from ttt_envs.drawing.film import film
from ttt_envs.evaluation import records
from ttt_envs.evaluation.thoughts import Judgement, Thoughts, review
from ttt_envs.web import errands
from ttt_envs.web.catalog import Agents, game_of
from ttt_envs.web.errands import Errand
from ttt_envs.web.layouts import Layouts
from ttt_envs.web.refusals import Refused
from ttt_envs.web.shelf import Shelf
from ttt_envs.web.store import Saved, Seat, Store
from ttt_envs.web.workers import Workers

_LOG = logging.getLogger("ttt_envs.web")

#: Games that are kept, and the seconds without a move after which one may be given up for a new one.
MOST_GAMES, IDLE = 5000, 7 * 24 * 3600.0

#: Plies of a game: all its positions are kept in memory.
MOST_PLIES = 5000

#: Games that are held in memory.
_LOADED = 300

#: Plies of a game that is drawn as a film.
MOST_FILMED = 400

# Bytes of all positions of a game.
_LARGEST = 4 << 20

# Seconds for which nobody minds to wait.
_MOMENT = 0.05

# Seconds after which a game that nobody looks at leaves memory, and agents that nobody asks are closed.
_UNUSED = 60.0


@dataclass(eq=False)
class Room:
    """A game with the browsers that play and follow it.

    Attributes:
        saved: what is kept of it.
        live: the game itself.
        version: grows with all that changes, also over restarts of the server: it begins with the time.
        trouble: why an agent cannot go on; "" if nothing is wrong.
        followers: events of the browsers that wait for a change.
        asides: what the log says beside the actions of each ply so far, as far as somebody has looked.
        pictures: viewer -> the position that was drawn last for them, and the drawing.
        touched: time of the last request, by `time.monotonic`.
    """

    saved: Saved
    live: LiveGame
    version: int = field(default_factory=lambda: time.time_ns() // 1000)
    trouble: str = ""
    followers: set[asyncio.Event] = field(default_factory=set)
    asides: list[str] = field(default_factory=list)
    pictures: dict[int | None, tuple[np.ndarray, dict[str, Any]]] = field(default_factory=dict)
    touched: float = field(default_factory=time.monotonic)
    _driver: "asyncio.Task[None] | None" = None
    _thinking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _beginning: asyncio.Lock = field(default_factory=asyncio.Lock)
    _busy: bool = False
    _thoughts: dict[int, list[Thoughts]] = field(default_factory=dict)
    _review: list[Judgement] | None = None

    @property
    def game(self) -> Game:
        """The game's facts."""
        return self.live.game

    @property
    def secret(self) -> bool:
        """True where a player must not see another's hand or choice."""
        return self.game.hidden_information or self.game.simultaneous

    @property
    def in_use(self) -> bool:
        """True while somebody follows it or waits for an answer."""
        return bool(self.followers) or self._busy or self._thinking.locked() or self._beginning.locked()

    @property
    def people(self) -> list[int]:
        """The players who are people."""
        return [player for player, seat in enumerate(self.saved.seats) if seat.agent is None]

    def held_by(self, browser: str) -> list[int]:
        """The players whose seats a browser holds."""
        return [player for player in self.people if self.saved.seats[player].owner == browser]

    def alone(self, browser: str) -> bool:
        """True if this browser holds the seats of all people, or set up a game without people."""
        if not self.people:
            return self.saved.creator == browser
        return len(self.held_by(browser)) == len(self.people)

    def may_take_back(self, browser: str) -> bool:
        """True if this browser may take moves back: what follows is played again with the same dice and choices.

        One person may learn from that, against agents. Two people at one browser may where nothing is secret, and no
        dice are still to be rolled: one of them would know the other's.
        """
        if len(self.people) > 1 and (self.secret or self.game.chance == "play"):
            return False
        return bool(self.people) and self.alone(browser)

    def viewer(self, browser: str, player: int | None) -> int | None:
        """The viewer with whose eyes a browser sees: None sees everything, SPECTATOR only what all players see.

        `player` is the seat that it asks for, of those that it holds.
        """
        if self.live.over or not self.people:
            return None
        held = self.held_by(browser)
        if player in held:
            return player
        asked = [each for each in held if each in self.live.asked()]
        return next(iter([*asked, *held]), SPECTATOR)

    def changed(self) -> None:
        """Tell all followers of a change."""
        self.version += 1
        for each in self.followers:
            each.set()


class Hall:
    """All games. It is for one event loop; what takes long is done by its workers."""

    def __init__(self, path: Path, more_agents: Sequence[str] = ()) -> None:
        """Open the file of games at `path`; `more_agents` may be asked for beside the library's own."""
        self.agents = Agents(more_agents)
        self.store = Store(path)
        self.shelf = Shelf()
        self.workers = Workers()
        self.layouts = Layouts()
        self._rooms: OrderedDict[str, Room] = OrderedDict()
        self._ready: WeakSet[Game] = WeakSet()
        self.closing = False

    # --- games ---

    async def open(self, game: Game, seats: list[Seat], browser: str) -> Room:
        """Begin a game. Raises Refused for seats that do not fit, and where there is no room for another game."""
        if len(seats) != game.num_players:
            raise Refused(400, f"{game.title} needs {game.num_players} seats with these options, not {len(seats)}")
        if (size := game.state_dtype.itemsize * min(game.max_plies, MOST_PLIES)) > _LARGEST:
            needed = f"needs up to {size >> 20} MiB for its positions, and {_LARGEST >> 20} are granted here"
            raise Refused(400, f"{game.title} {needed}: choose options with which it has fewer plies")
        for seat in seats:
            if seat.agent is not None:
                await self.workers.run(self.agents.check, game, seat.agent)
        self.layouts.take(game)
        if not self.store.make_room(MOST_GAMES, IDLE):
            raise Refused(503, "the server holds as many games as it can; try again later")
        saved = Saved(
            id=secrets.token_urlsafe(16),
            game=game.id,
            options={name: as_text(value) for name, value in game.options.items()},
            seed=settled(None),
            library=__version__,
            creator=browser,
            seats=seats,
        )
        room = Room(saved, await self._live(game, saved))
        self.store.add(saved)
        self._keep(room)
        self._drive(room)
        return room

    async def find(self, ident: str) -> Room:
        """The game of that id; raises Refused if there is none, or if this version cannot go on with it."""
        room = self._rooms.get(ident)
        if room is None:
            saved = self.store.find(ident)
            if saved is None:
                raise Refused(404, "there is no such game: it was deleted, or the address is wrong")
            game = await self.workers.run(game_of, saved.game, saved.options, True)
            for seat in saved.seats:
                if seat.agent is not None and not await self.workers.run(self.agents.runs, game, seat.agent):
                    raise Refused(
                        403,
                        f"the agent {seat.agent[:60]!r} of this game is none that this server runs: it goes on with "
                        "the game if it is started with --agents that name it",
                    )
            self.layouts.take(game)
            try:
                live = await self._live(game, saved)
            except ValueError as error:
                _LOG.warning("game %s cannot be gone on with: %s", ident, error)
                raise Refused(
                    410, f"this game was begun with ttt-envs {saved.library}, which had other rules"
                ) from None
            room = self._rooms.get(ident) or Room(saved, live)  # another request may have been quicker
        self._keep(room)
        self._drive(room)
        return room

    async def _live(self, game: Game, saved: Saved) -> LiveGame:
        """The game with what was played in it. The first time its kernels are compiled, which takes long."""

        def prepare() -> LiveGame:
            if game not in self._ready:
                errands.begin(game)
            return LiveGame(game, first_episode_seed(saved.seed), saved.actions, saved.waiting)

        live = await self.workers.run(prepare, errand=_errand("begin", saved))
        self._ready.add(game)
        return live

    def _keep(self, room: Room) -> None:
        """Hold a game in memory; one that nobody follows leaves it if there are many."""
        room.touched = time.monotonic()
        self._rooms[room.saved.id] = room
        self._rooms.move_to_end(room.saved.id)
        if len(self._rooms) > _LOADED:
            unused = (i for i, each in self._rooms.items() if not (each.in_use or each._driver))
            if (first := next(unused, None)) not in (None, room.saved.id):
                del self._rooms[first]

    async def tidy(self) -> None:
        """Give back what nobody uses, from time to time, for ever."""
        while True:
            await asyncio.sleep(_UNUSED / 4)
            self.give_back()

    def give_back(self) -> None:
        """Let games leave memory that nobody looks at, with the answers that nobody waits for, and unused agents.

        Such a game goes on when somebody looks at it again, as after a restart.
        """
        before = time.monotonic() - _UNUSED
        for ident, room in list(self._rooms.items()):
            if not room.in_use and room.touched <= before:
                if room._driver is not None:
                    room._driver.cancel()
                del self._rooms[ident]
        self.shelf.close(_UNUSED)

    # --- moves ---

    def choose(self, room: Room, player: int, action: int) -> None:
        """Choose an action for a person; raises Refused for one that is not legal now."""
        if room.live.ply >= MOST_PLIES:
            raise Refused(409, f"a game has {MOST_PLIES:,} plies at most here")
        try:
            room.live.choose(player, action)
        except IllegalAction as error:
            raise Refused(409, str(error)) from None
        self._moved(room)

    def take_back(self, room: Room, players: Sequence[int]) -> None:
        """Return to before the last decision of one of `players`; raises Refused if there was none."""
        ply = room.live.last_decision(players)
        if ply is None:
            raise Refused(409, "there is no move of yours to take back")
        room.live.take_back(ply)
        room.trouble = ""
        self._moved(room)

    async def step(self, room: Room) -> None:
        """Let the agents of a game without people play one ply."""
        if room._busy or room.live.over or room.live.ply >= MOST_PLIES:
            return
        room._busy = True
        room.trouble = ""
        try:
            ply = room.live.ply
            while room.live.ply == ply and not room.trouble:
                await self._ask_agent(room, room.live.asked()[0])
        finally:
            room._busy = False

    def _moved(self, room: Room) -> None:
        room.saved.actions, room.saved.waiting = room.live.actions, room.live.waiting
        room.saved.over = room.live.over
        room._review = None
        del room.asides[room.live.ply :]
        for ply in [ply for ply in room._thoughts if ply >= room.live.ply]:
            del room._thoughts[ply]
        self.store.keep_moves(room.saved)
        room.changed()
        self._drive(room)

    def _agents_asked(self, room: Room) -> list[int]:
        """The agents who have to choose now, in a game with people."""
        if room.trouble or not room.people or self.closing or room.live.ply >= MOST_PLIES:
            return []
        return [player for player in room.live.asked() if room.saved.seats[player].agent is not None]

    def _drive(self, room: Room) -> None:
        """Let the agents go on in the background, if it is their turn."""
        if room._driver is None and self._agents_asked(room):
            room._driver = asyncio.create_task(self._drive_on(room))

    async def _drive_on(self, room: Room) -> None:
        try:
            while asked := self._agents_asked(room):
                await self._ask_agent(room, asked[0])
        except Refused:  # too much else to do: tried again when somebody looks
            pass
        finally:
            room._driver = None

    async def _ask_agent(self, room: Room, player: int) -> None:
        """Ask the agent of a player, and let it choose, unless a move was taken back meanwhile."""
        agent, state = room.saved.seats[player].agent, room.live.state
        assert agent is not None
        try:
            work = partial(self.shelf.decide, agent, room.live.view(player))
            errand = _errand("decide", room.saved, [player])
            action = await self.workers.think((room.game.id, agent), work, errand)
        except Refused:
            raise
        except Exception:
            _LOG.exception("agent %s failed in game %s", agent, room.saved.id)
            room.trouble = f"the agent {agent} failed as player {player}; the server's log says why"
            room.changed()
            return
        if room.live.state is state and player in room.live.asked():
            room.live.choose(player, action)
            self._moved(room)

    # --- seats ---

    def key_of(self, room: Room, player: int) -> str:
        """The key that an invitation to a seat holds. Nobody can make it without the server's file."""
        return self.proof(room.saved.id, str(player))

    def proof(self, *words: str) -> str:
        """128 bits that only the server's file gives for these words, as 32 hexadecimal digits."""
        return hmac.new(self.store.secret, " ".join(words).encode(), hashlib.sha256).hexdigest()[:32]

    def join(self, room: Room, player: int, key: str, browser: str) -> None:
        """Give a free seat to the browser that has its key; raises Refused otherwise."""
        seat = room.saved.seats[player] if player < len(room.saved.seats) else None
        if (
            seat is None
            or seat.agent is not None
            or not hmac.compare_digest(self.key_of(room, player).encode(), key.encode())
        ):
            raise Refused(403, "this invitation is not valid")
        if seat.owner == browser:
            return
        if seat.owner is not None:
            raise Refused(409, "somebody else has taken this seat already")
        if room.secret and room.held_by(browser):
            raise Refused(
                409, "you hold a seat of this game already, and must not see the other's: open the link elsewhere"
            )
        seat.owner = browser
        self.store.keep_owner(room.saved.id, player, browser)
        room.changed()

    async def again(self, room: Room, browser: str) -> Room:
        """Begin a new game like this one, with the same people in their seats; the same one whoever asks first."""
        async with room._beginning:  # both players may ask at once
            if room.saved.successor is not None and (found := self.store.find(room.saved.successor)) is not None:
                return await self.find(found.id)
            seats = [Seat(seat.agent, seat.owner) for seat in room.saved.seats]
            new = await self.open(room.game, seats, browser)
            room.saved.successor = new.saved.id
            self.store.keep_moves(room.saved)
            room.changed()
            return new

    # --- thoughts ---

    async def thoughts(self, room: Room, players: Sequence[int], ply: int) -> list[Thoughts]:
        """The thoughts on the decisions of these players in the position after `ply` plies."""
        state = room.live.states[ply]
        views = [room.live.view(player, ply) for player in players]
        seats = [room.saved.seats[player].agent for player in players]
        work = partial(errands.thoughts, views, seats, self.shelf.take)
        errand = _errand("think", room.saved, players, ply)

        async with room._thinking:  # one game keeps one thread busy, however many ask
            kept = room._thoughts.get(ply, [])
            if [each.player for each in kept] == list(players):
                return kept
            found = await self.workers.think(("thoughts", room.game.id), work, errand)
            if ply <= room.live.ply and room.live.states[ply] is state:  # no move was taken back meanwhile
                room._thoughts[ply] = found
            return found

    async def review(self, room: Room) -> list[Judgement]:
        """Judgements of what the people's decisions, or else the agents', have lost in a finished game."""
        async with room._thinking:
            if room._review is not None:
                return room._review
            state, players = room.live.state, room.people or range(room.game.num_players)
            work = partial(review, errands.decisions(room.live, players), take=self.shelf.take)
            errand = _errand("review", room.saved, players)
            found = await self.workers.think(("review", room.game.id), work, errand)
            if room.live.state is state:
                room._review = found
            return found

    # --- to keep ---

    async def record(self, room: Room) -> str:
        """A finished game as a line of JSON, which `ttt replay` and all others who read records take."""
        agents = ["a person" if seat.agent is None else seat.agent for seat in room.saved.seats]
        return (await self.workers.run(records.of_live, room.live, agents)).json() + "\n"

    async def film(self, room: Room) -> bytes:
        """A finished game as an animated GIF; raises Refused for a long one, and without the extra `render`."""
        live = room.live
        if live.ply > MOST_FILMED:
            reason = f"a film has {MOST_FILMED} plies at most here, and this game has {live.ply:,}"
            raise Refused(409, f"{reason}: save its record, which `ttt film --record FILE` draws")
        states, actions = np.concatenate(live.states), np.array(live.actions, np.int64)
        try:
            return await self.workers.think(("film", room.game.id), partial(film, room.game, states, actions))
        except ImportError as error:
            raise Refused(501, str(error)) from None

    # --- followers ---

    async def settle(self, room: Room) -> None:
        """Wait for the answer of an agent, if it comes in a moment: it is then shown with what it answers."""
        if room._driver is not None:
            await asyncio.wait({room._driver}, timeout=_MOMENT)

    def close(self) -> None:
        """End what follows and what thinks; the file stays open until `store.close`."""
        self.closing = True
        for room in self._rooms.values():
            room.changed()
        self.workers.close()


def _errand(work: str, saved: Saved, players: Sequence[int] = (), ply: int = 0) -> Errand:
    """The errand for a game as it is now."""
    return Errand(
        work,
        saved.game,
        saved.options,
        first_episode_seed(saved.seed),
        list(saved.actions),
        dict(saved.waiting or {}),
        list(players),
        [saved.seats[player].agent for player in players],
        ply,
    )
