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
from ttt_envs.evaluation.records.replaying import ReplayedGame
from ttt_envs.evaluation.thoughts import Judgement, Thoughts, review
from ttt_envs.web import errands
from ttt_envs.web.catalog import Agents, game_of
from ttt_envs.web.errands import Errand
from ttt_envs.web.layouts import Layouts
from ttt_envs.web.refusals import Refused
from ttt_envs.web.shelf import Shelf
from ttt_envs.web.store import Seat, Store, StoredGame
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

# Seconds after which an agent is asked again that could not be asked.
_AGAIN = 5.0

# Seconds after which a game that nobody looks at leaves memory, and agents that nobody asks are closed.
_UNUSED = 60.0


@dataclass(eq=False)
class ServedGame:
    """A game with the browsers that play and follow it.

    Attributes:
        stored: what is kept of it.
        live: the game itself.
        version: grows with all that changes, also over restarts of the server: it begins with the time.
        trouble: why an agent cannot go on; "" if nothing is wrong.
        followers: events of the browsers that wait for a change.
        asides: what the log says beside the actions of each ply so far, as far as somebody has looked.
        pictures: viewer -> the position that was drawn last for them, and the drawing.
        touched: time of the last request, by `time.monotonic`.
    """

    stored: StoredGame
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
        return [player for player, seat in enumerate(self.stored.seats) if seat.agent is None]

    def held_by(self, browser: str) -> list[int]:
        """The players whose seats a browser holds."""
        return [player for player in self.people if self.stored.seats[player].owner == browser]

    def alone(self, browser: str) -> bool:
        """True if this browser holds the seats of all people, or set up a game without people."""
        if not self.people:
            return self.stored.creator == browser
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
        self._served: OrderedDict[str, ServedGame] = OrderedDict()
        self._ready: WeakSet[Game] = WeakSet()
        self.closing = False

    # --- games ---

    async def open(self, game: Game, seats: list[Seat], browser: str) -> ServedGame:
        """Begin a game. Raises Refused for seats that do not fit, and where there is no space for another game."""
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
        stored = StoredGame(
            id=secrets.token_urlsafe(16),
            game=game.id,
            options={name: as_text(value) for name, value in game.options.items()},
            seed=settled(None),
            library=__version__,
            creator=browser,
            seats=seats,
        )
        served = ServedGame(stored, await self._live(game, stored))
        self.store.add(stored)
        self._keep(served)
        self._drive(served)
        return served

    async def find(self, ident: str) -> ServedGame:
        """The game of that id; raises Refused if there is none, or if this version cannot go on with it."""
        served = self._served.get(ident)
        if served is None:
            stored = self.store.find(ident)
            if stored is None:
                raise Refused(404, "there is no such game: it was deleted, or the address is wrong")
            game = await self.workers.run(game_of, stored.game, stored.options, True)
            for seat in stored.seats:
                if seat.agent is not None and not await self.workers.run(self.agents.runs, game, seat.agent):
                    raise Refused(
                        403,
                        f"the agent {seat.agent[:60]!r} of this game is none that this server runs: it goes on with "
                        "the game if it is started with --agents that name it",
                    )
            self.layouts.take(game)
            try:
                live = await self._live(game, stored)
            except ValueError as error:
                _LOG.warning("game %s cannot be gone on with: %s", ident, error)
                raise Refused(
                    410, f"this game was begun with ttt-envs {stored.library}, which had other rules"
                ) from None
            served = self._served.get(ident) or ServedGame(stored, live)  # another request may have been quicker
        self._keep(served)
        self._drive(served)
        return served

    async def _live(self, game: Game, stored: StoredGame) -> LiveGame:
        """The game with what was played in it. The first time its kernels are compiled, which takes long."""

        def prepare() -> LiveGame:
            if game not in self._ready:
                errands.begin(game)
            return LiveGame(game, first_episode_seed(stored.seed), stored.actions, stored.waiting)

        live = await self.workers.run(prepare, errand=Errand("begin", stored.game, stored.options, 0))
        self._ready.add(game)
        return live

    def _keep(self, served: ServedGame) -> None:
        """Hold a game in memory; one that nobody follows leaves it if there are many."""
        served.touched = time.monotonic()
        self._served[served.stored.id] = served
        self._served.move_to_end(served.stored.id)
        if len(self._served) > _LOADED:
            unused = (i for i, each in self._served.items() if not (each.in_use or each._driver))
            if (first := next(unused, None)) not in (None, served.stored.id):
                del self._served[first]

    async def tidy(self) -> None:
        """Give back what nobody uses, from time to time, for ever."""
        while True:
            await asyncio.sleep(_UNUSED / 4)
            try:
                self.give_back()
            except Exception:  # of an agent that is closed
                _LOG.exception("not all could be given back")

    def give_back(self) -> None:
        """Let games leave memory that nobody looks at, with the answers that nobody waits for, and unused agents.

        Such a game goes on when somebody looks at it again, as after a restart.
        """
        before = time.monotonic() - _UNUSED
        for ident, served in list(self._served.items()):
            if not served.in_use and served.touched <= before:
                if served._driver is not None:
                    served._driver.cancel()
                del self._served[ident]
        self.shelf.close(_UNUSED)

    # --- moves ---

    def choose(self, served: ServedGame, player: int, action: int) -> None:
        """Choose an action for a person; raises Refused for one that is not legal now."""
        if served.live.ply >= MOST_PLIES:
            raise Refused(409, f"a game has {MOST_PLIES:,} plies at most here")
        try:
            served.live.choose(player, action)
        except IllegalAction as error:
            raise Refused(409, str(error)) from None
        self._moved(served)

    def take_back(self, served: ServedGame, players: Sequence[int]) -> None:
        """Return to before the last decision of one of `players`; raises Refused if there was none."""
        ply = served.live.last_decision(players)
        if ply is None:
            raise Refused(409, "there is no move of yours to take back")
        served.live.take_back(ply)
        served.trouble = ""
        self._moved(served)

    async def step(self, served: ServedGame) -> None:
        """Let the agents of a game without people play one ply."""
        if served._busy or served.live.over or served.live.ply >= MOST_PLIES:
            return
        served._busy = True
        served.trouble = ""
        try:
            ply = served.live.ply
            while served.live.ply == ply and not served.trouble:
                await self._ask_agent(served, served.live.asked()[0])
        finally:
            served._busy = False

    def _moved(self, served: ServedGame) -> None:
        served.stored.actions, served.stored.waiting = served.live.actions, served.live.waiting
        served.stored.over = served.live.over
        served._review = None
        del served.asides[served.live.ply :]
        for ply in [ply for ply in served._thoughts if ply >= served.live.ply]:
            del served._thoughts[ply]
        self.store.keep_moves(served.stored)
        served.changed()
        self._drive(served)

    def _agents_asked(self, served: ServedGame) -> list[int]:
        """The agents who have to choose now, in a game with people."""
        if served.trouble or not served.people or self.closing or served.live.ply >= MOST_PLIES:
            return []
        return [player for player in served.live.asked() if served.stored.seats[player].agent is not None]

    def _drive(self, served: ServedGame) -> None:
        """Let the agents go on in the background, if it is their turn."""
        if served._driver is None and self._agents_asked(served):
            served._driver = asyncio.create_task(self._drive_on(served))

    async def _drive_on(self, served: ServedGame) -> None:
        try:
            while asked := self._agents_asked(served):
                try:
                    await self._ask_agent(served, asked[0])
                except Refused:  # too much else to do
                    await asyncio.sleep(_AGAIN)
        finally:
            served._driver = None

    async def _ask_agent(self, served: ServedGame, player: int) -> None:
        """Ask the agent of a player, and let it choose, unless a move was taken back meanwhile."""
        agent, state = served.stored.seats[player].agent, served.live.state
        assert agent is not None
        try:
            work = partial(self.shelf.decide, agent, served.live.view(player))
            errand = _errand("decide", served, [player])
            action = await self.workers.think((served.game.id, agent), work, errand)
        except Refused:
            raise
        except Exception:
            _LOG.exception("agent %s failed in game %s", agent, served.stored.id)
            served.trouble = f"the agent {agent} failed as player {player}; the server's log says why"
            served.changed()
            return
        if served.live.state is state and player in served.live.asked():
            served.live.choose(player, action)
            self._moved(served)

    # --- seats ---

    def key_of(self, served: ServedGame, player: int) -> str:
        """The key that an invitation to a seat holds. Nobody can make it without the server's file."""
        return self.proof(served.stored.id, str(player))

    def proof(self, *words: str) -> str:
        """128 bits that only the server's file gives for these words, as 32 hexadecimal digits."""
        return hmac.new(self.store.secret, " ".join(words).encode(), hashlib.sha256).hexdigest()[:32]

    def join(self, served: ServedGame, player: int, key: str, browser: str) -> None:
        """Give a free seat to the browser that has its key; raises Refused otherwise."""
        seat = served.stored.seats[player] if player < len(served.stored.seats) else None
        if (
            seat is None
            or seat.agent is not None
            or not hmac.compare_digest(self.key_of(served, player).encode(), key.encode())
        ):
            raise Refused(403, "this invitation is not valid")
        if seat.owner == browser:
            return
        if seat.owner is not None:
            raise Refused(409, "somebody else has taken this seat already")
        if served.secret and served.held_by(browser):
            raise Refused(
                409, "you hold a seat of this game already, and must not see the other's: open the link elsewhere"
            )
        seat.owner = browser
        self.store.keep_owner(served.stored.id, player, browser)
        served.changed()

    async def again(self, served: ServedGame, browser: str) -> ServedGame:
        """Begin a new game like this one, with the same people in their seats; the same one whoever asks first."""
        async with served._beginning:  # both players may ask at once
            if served.stored.successor is not None and (found := self.store.find(served.stored.successor)) is not None:
                return await self.find(found.id)
            seats = [Seat(seat.agent, seat.owner) for seat in served.stored.seats]
            new = await self.open(served.game, seats, browser)
            served.stored.successor = new.stored.id
            self.store.keep_moves(served.stored)
            served.changed()
            return new

    # --- thoughts ---

    async def thoughts(self, served: ServedGame, players: Sequence[int], ply: int) -> list[Thoughts]:
        """The thoughts on the decisions of these players in the position after `ply` plies."""
        state = served.live.states[ply]
        views = [served.live.view(player, ply) for player in players]
        seats = [served.stored.seats[player].agent for player in players]
        work = partial(errands.thoughts, views, seats, self.shelf.take)
        errand = _errand("think", served, players, ply)

        async with served._thinking:  # one game keeps one thread busy, however many ask
            kept = served._thoughts.get(ply, [])
            if [each.player for each in kept] == list(players):
                return kept
            found = await self.workers.think(("thoughts", served.game.id), work, errand)
            if ply <= served.live.ply and served.live.states[ply] is state:  # no move was taken back meanwhile
                served._thoughts[ply] = found
            return found

    async def review(self, served: ServedGame) -> list[Judgement]:
        """Judgements of what the people's decisions, or else the agents', have lost in a finished game."""
        async with served._thinking:
            if served._review is not None:
                return served._review
            state, players = served.live.state, served.people or range(served.game.num_players)
            work = partial(review, errands.decisions(served.live, players), take=self.shelf.take)
            errand = _errand("review", served, players)
            found = await self.workers.think(("review", served.game.id), work, errand)
            if served.live.state is state:
                served._review = found
            return found

    async def review_recorded(self, played: ReplayedGame) -> list[Judgement]:
        """Judgements of what all decisions of a recorded game have lost."""
        game, seed, players = played.game, played.record.seed, range(played.game.num_players)
        actions = played.actions.tolist()

        def work() -> list[Judgement]:
            return review(errands.decisions(LiveGame(game, seed, actions), players), take=self.shelf.take)

        texts = {name: as_text(value) for name, value in game.options.items()}
        errand = Errand("review", game.id, texts, seed, actions, players=list(players), agents=[None] * len(players))
        return await self.workers.think(("review", game.id), work, errand)

    # --- to keep ---

    async def record(self, served: ServedGame) -> str:
        """A finished game as a line of JSON, which `ttt replay` and all others who read records take."""
        agents = ["a person" if seat.agent is None else seat.agent for seat in served.stored.seats]
        return (await self.workers.run(records.of_live, served.live, agents)).json() + "\n"

    async def film(self, served: ServedGame) -> bytes:
        """A finished game as an animated GIF; raises Refused for a long one, and without the extra `render`."""
        live = served.live
        if live.ply > MOST_FILMED:
            reason = f"a film has {MOST_FILMED} plies at most here, and this game has {live.ply:,}"
            raise Refused(409, f"{reason}: save its record, which `ttt film --record FILE` draws")
        states, actions = np.concatenate(live.states), np.array(live.actions, np.int64)
        try:
            return await self.workers.think(("film", served.game.id), partial(film, served.game, states, actions))
        except ImportError as error:
            raise Refused(501, str(error)) from None

    # --- followers ---

    async def settle(self, served: ServedGame) -> None:
        """Wait for the answer of an agent, if it comes in a moment: it is then shown with what it answers."""
        if served._driver is not None:
            await asyncio.wait({served._driver}, timeout=_MOMENT)

    def close(self) -> None:
        """End what follows and what thinks; the file stays open until `store.close`."""
        self.closing = True
        for served in self._served.values():
            served.changed()
        self.workers.close()


def _errand(work: str, served: ServedGame, players: Sequence[int], ply: int = 0) -> Errand:
    """The errand for a game as it is now."""
    stored = served.stored
    return Errand(
        work,
        stored.game,
        stored.options,
        served.live.episode_seed,  # making it of the game's seed may have to be compiled, too
        list(stored.actions),
        dict(stored.waiting or {}),
        list(players),
        [stored.seats[player].agent for player in players],
        ply,
    )
