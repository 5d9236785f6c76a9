"""The application: the addresses of the server and their answers. `make_app` gives it, for any ASGI server."""

import asyncio
import hashlib
import hmac
import json
import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ttt_envs.core.version import __version__
from ttt_envs.evaluation.thoughts import GRADES
from ttt_envs.registry import GAMES, load
from ttt_envs.web import shown
from ttt_envs.web.catalog import fields_of, game_of, lessons_of, levels_of, picture_of
from ttt_envs.web.guard import ASKER, AT_ONCE, PER_SECOND, Guard, Rates
from ttt_envs.web.hall import MOST_PLIES, Hall, ServedGame
from ttt_envs.web.presence import Presence
from ttt_envs.web.recorded import OpenedGame, Records, frame
from ttt_envs.web.refusals import Refused, body_of, digits, query, text, texts, whole
from ttt_envs.web.store import Seat

#: The page's files. No other file is ever sent.
STATIC = {
    "index.html": "text/html",
    "style.css": "text/css",
    "app.js": "text/javascript",
    "board.js": "text/javascript",
    "chart.js": "text/javascript",
    "play.js": "text/javascript",
    "replay.js": "text/javascript",
    "setup.js": "text/javascript",
    "tools.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

# Seconds between signs of life to a browser that follows a game.
_PING = 20.0

# Games of a browser that are listed; browsers that follow one game, and games that one address follows.
_LISTED, _FOLLOWERS, _FOLLOWED = 30, 50, 100

# New games of one address a second, and at once.
_NEW_PER_SECOND, _NEW_AT_ONCE = 1.0, 120.0

# A browser's cookie: its token, and the proof that this server made it.
_COOKIE = re.compile(r"(?P<token>[\w-]{43})\.(?P<proof>[0-9a-f]{32})", re.ASCII)


class App:
    """The answers. A browser is known by a token in a cookie, of which the digest alone is kept."""

    def __init__(self, hall: Hall, records: Records) -> None:
        self.hall, self.records = hall, records
        self.new_games = Rates(_NEW_PER_SECOND, _NEW_AT_ONCE)
        self.following: Counter[str] = Counter()
        folder = files("ttt_envs.web") / "static"
        self.static = {name: (folder / name).read_bytes() for name in STATIC}
        self.routes = [
            Route("/", self.page),
            Route("/static/{name}", self.file),
            Route("/pictures/{game}", self.picture),
            Route("/api/games", self.games),
            Route("/api/games/{game}/lessons", self.lessons),
            Route("/api/setup", self.setup, methods=["POST"]),
            Route("/api/served", self.open, methods=["POST"]),
            Route("/api/served/{id}", self.served),
            Route("/api/served/{id}/events", self.events),
            Route("/api/served/{id}/positions/{ply}", self.position),
            Route("/api/served/{id}/thoughts/{ply}", self.thoughts),
            Route("/api/served/{id}/review", self.review),
            Route("/api/served/{id}/record", self.record),
            Route("/api/served/{id}/film", self.film),
            Route("/api/served/{id}/join", self.join, methods=["POST"]),
            Route("/api/served/{id}/move", self.move, methods=["POST"]),
            Route("/api/served/{id}/take_back", self.take_back, methods=["POST"]),
            Route("/api/served/{id}/step", self.step, methods=["POST"]),
            Route("/api/served/{id}/again", self.again, methods=["POST"]),
            Route("/api/records", self.record_files),
            Route("/api/records/games", self.record_games),
            Route("/api/records/frame", self.record_frame),
            Route("/api/records/review", self.record_review),
        ]

    # --- the page ---

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return self._static("index.html")

    async def file(self, request: Request) -> Response:
        """A file of the page."""
        return self._static(request.path_params["name"])

    def _static(self, name: str) -> Response:
        if name not in STATIC:
            raise Refused(404, "there is no such file")
        # Asked for anew each time, so that a newer version of the library brings its own page.
        return Response(self.static[name], media_type=STATIC[name], headers={"cache-control": "no-cache"})

    async def picture(self, request: Request) -> Response:
        """A picture of a game in progress."""
        found = await self.hall.workers.run(picture_of, request.path_params["game"])
        if found is None:
            raise Refused(404, "there is no such picture")
        return Response(found, media_type="image/svg+xml", headers={"cache-control": "max-age=3600"})

    async def lessons(self, request: Request) -> Response:
        """The positions that show a game's rules."""
        game_id = request.path_params["game"]
        if game_id not in GAMES:
            raise Refused(404, "there is no such game")
        found = await self.hall.workers.run(lessons_of, game_id)
        return Response(found, media_type="application/json", headers={"cache-control": "max-age=3600"})

    # --- choosing a game ---

    async def games(self, request: Request) -> Response:
        """All games, the browser's own, and whether there are records. Gives the browser its token."""
        found = await self.hall.workers.run(_all_games)
        browser = self._browser_of(request)
        own = self.hall.store.of_browser(browser, _LISTED) if browser else []
        titles = {each["id"]: each["title"] for each in found}
        answer = JSONResponse(
            {
                "version": __version__,
                "games": found,
                "own": [
                    {"id": ident, "title": titles.get(game, game), "over": over, "touched": touched}
                    for ident, game, over, touched in own
                ],
                "records": bool(self.records.folder),
            }
        )
        if not browser:
            cookie = self.cookie(secrets.token_urlsafe(32))
            answer.set_cookie(_cookie_of(request), cookie, max_age=400 * 24 * 3600, httponly=True, samesite="strict")
        return answer

    def cookie(self, token: str) -> str:
        """The cookie of a browser with that token. Nobody else can make one."""
        return f"{token}.{self.hall.proof('browser', token)}"

    def _browser_of(self, request: Request) -> str:
        """The digest of the browser's token; "" without a cookie that this server made."""
        found = _COOKIE.fullmatch(request.cookies.get(_cookie_of(request), ""))
        if found is None or not hmac.compare_digest(self.hall.proof("browser", found["token"]), found["proof"]):
            return ""
        return hashlib.sha256(found["token"].encode()).hexdigest()

    async def setup(self, request: Request) -> Response:
        """A game with options: its form, its rules and the agents that play it."""
        given = await body_of(request, "game", "options")
        game_id, options = text(given["game"], "game"), texts(given["options"], "options")
        game = await self.hall.workers.run(game_of, game_id, options)
        offers = await self.hall.workers.run(self.hall.agents.offers, game)
        return JSONResponse(
            {
                "id": game.id,
                "title": game.title,
                "fields": await self.hall.workers.run(fields_of, game),
                "players": game.player_names,
                "teams": game.teams,
                "secret": game.hidden_information or game.simultaneous,
                "rules": game.faces.rules_text,
                "agents": [asdict(each) for each in offers],
            }
        )

    async def open(self, request: Request) -> Response:
        """Begin a game."""
        browser = self._browser_of(request)
        if not browser:
            raise Refused(403, "this browser has no cookie of this server: allow cookies, and load the page again")
        given = await body_of(request, "game", "options", "seats")
        game_id, options = text(given["game"], "game"), texts(given["options"], "options")
        seats = given["seats"]
        if not isinstance(seats, list) or len(seats) > 16:
            raise Refused(400, "seats must be a list of one object a player")
        taken = [_seat(each, browser) for each in seats]
        self._count_new_game()
        game = await self.hall.workers.run(game_of, game_id, options)
        served = await self.hall.open(game, taken, browser)
        return JSONResponse({"id": served.stored.id}, 201)

    def _count_new_game(self) -> None:
        if self.new_games.seconds_to_wait(ASKER.get()):
            raise Refused(429, "too many new games at once; try again in a moment")

    # --- playing ---

    async def served(self, request: Request) -> Response:
        """A game as the browser may see it."""
        served, browser, player = await self._served(request)
        found = shown.game_for(self.hall, served, browser, player)
        faces = served.game.faces
        about = {
            "rules": faces.rules_text,
            "options": shown.options_text(served.game),
            "pitch": faces.pitch,
            "names": shown.spoken_names(served.game),
        }
        return JSONResponse({**found, "about": about})

    async def events(self, request: Request) -> Response:
        """The same as server-sent events, now and after each change."""
        served, browser, player = await self._served(request)
        address, changed = ASKER.get(), asyncio.Event()
        if self.following[address] >= _FOLLOWED or len(served.followers) >= _FOLLOWERS:
            raise Refused(503, "too many browsers follow this game, or too many games are followed from your address")

        async def stream() -> AsyncIterator[str]:
            # Not before: a browser that has gone meanwhile would be counted for ever.
            self.following[address] += 1
            served.followers.add(changed)
            try:
                yield "retry: 1000\n\n"
                while not self.hall.closing:
                    await self.hall.settle(served)
                    changed.clear()
                    found = shown.game_for(self.hall, served, browser, player)
                    yield f"data: {json.dumps(found, allow_nan=False)}\n\n"
                    while not changed.is_set():
                        try:
                            await asyncio.wait_for(changed.wait(), _PING)
                        except TimeoutError:
                            yield ": still here\n\n"
            finally:
                served.followers.discard(changed)
                self.following[address] -= 1
                self.following += Counter()  # forgets who follows nothing

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def position(self, request: Request) -> Response:
        """An earlier position, as the browser may see it."""
        served, browser, player = await self._served(request)
        ply = digits(request.path_params["ply"], "ply", served.live.ply)
        return JSONResponse(shown.past(served, ply, served.viewer(browser, player)))

    async def thoughts(self, request: Request) -> Response:
        """The thoughts of the oracle, a search or an agent on the actions in a position."""
        served, browser, player = await self._served(request)
        ply = digits(request.path_params["ply"], "ply", served.live.ply)
        if not shown.may_think(served, browser):
            raise Refused(403, "while people play each other, nobody is told what the oracle thinks")
        state = served.live.states[ply][0]
        thinkers = shown.thinkers(served, browser, player, ply)
        found = [shown.named(served.game, each) for each in await self.hall.thoughts(served, thinkers, ply)]
        names = [name for each in found for kind in ("values", "probabilities", "best") for name in each[kind]]
        return JSONResponse(
            {
                "ply": ply,
                "thoughts": found,
                "limits": GRADES,
                **shown.places(served.game, state, served.viewer(browser, player), names),
            }
        )

    async def review(self, request: Request) -> Response:
        """The judgements of the decisions of a finished game."""
        served = await self._finished(request)
        return JSONResponse(shown.judged(served.game, await self.hall.review(served)))

    async def record(self, request: Request) -> Response:
        """A finished game as a file of records."""
        served = await self._finished(request)
        return _file(served, await self.hall.record(served), "jsonl", "application/jsonl")

    async def film(self, request: Request) -> Response:
        """A finished game as an animated picture."""
        served = await self._finished(request)
        return _file(served, await self.hall.film(served), "gif", "image/gif")

    async def join(self, request: Request) -> Response:
        """Take a free seat, by the key of its invitation."""
        served, browser, _ = await self._served(request)
        given = await body_of(request, "player", "key")
        self.hall.join(served, whole(given["player"], "player", 15), text(given["key"], "key"), browser)
        return JSONResponse({})

    async def move(self, request: Request) -> Response:
        """Choose an action, by its name."""
        served, browser, _ = await self._served(request)
        given = await body_of(request, "player", "ply", "action")
        player, ply = whole(given["player"], "player", 15), whole(given["ply"], "ply", MOST_PLIES)
        name = text(given["action"], "action")
        if player not in served.held_by(browser):
            raise Refused(403, "this seat is not yours")
        if ply != served.live.ply:
            raise Refused(409, "the game has gone on meanwhile")
        if name not in served.game.action_names:
            raise Refused(400, f"there is no action {name[:60]!r}: wanted {served.game.faces.action_format}")
        self.hall.choose(served, player, served.game.action_names.index(name))
        return JSONResponse({"version": served.version})

    async def take_back(self, request: Request) -> Response:
        """Take back the last move of a browser that plays alone, see `ServedGame.may_take_back`."""
        served, browser, _ = await self._served(request)
        await body_of(request)
        held = served.held_by(browser)
        if not held:
            raise Refused(403, "you hold no seat of this game")
        if not served.may_take_back(browser):
            reason = "while people play each other" + (", and dice are rolled" if served.alone(browser) else "")
            raise Refused(403, f"{reason}, no move is taken back")
        self.hall.take_back(served, held)
        return JSONResponse({"version": served.version})

    async def step(self, request: Request) -> Response:
        """Let the agents of a game without people play one ply."""
        served, browser, _ = await self._served(request)
        await body_of(request)
        if served.people or not served.alone(browser):
            raise Refused(403, "this game is not yours to go on with")
        await self.hall.step(served)
        return JSONResponse({"version": served.version})

    async def again(self, request: Request) -> Response:
        """Begin a new game like this one."""
        served, browser, _ = await self._served(request)
        await body_of(request)
        if not served.held_by(browser) and served.stored.creator != browser:
            raise Refused(403, "you hold no seat of this game")
        self._count_new_game()
        new = await self.hall.again(served, browser)
        return JSONResponse({"id": new.stored.id}, 201)

    async def _finished(self, request: Request) -> ServedGame:
        """The game of an address; raises Refused while it goes on, as it would tell what is hidden."""
        served, _, _ = await self._served(request)
        if not served.live.over:
            raise Refused(409, "the game is not over")
        return served

    async def _served(self, request: Request) -> tuple[ServedGame, str, int | None]:
        """The game of an address, the browser's digest ("" without a cookie), and the seat that is asked for."""
        served = await self.hall.find(request.path_params["id"])
        return served, self._browser_of(request), query(request, "player", 15)

    # --- records ---

    async def record_files(self, request: Request) -> Response:
        """The files of recorded games."""
        return JSONResponse(await self.hall.workers.run(self.records.list))

    async def record_games(self, request: Request) -> Response:
        """The games of a file."""
        name, first = request.query_params.get("file", ""), query(request, "first", 10**8) or 0
        return JSONResponse(await self.hall.workers.run(self.records.games, name, first))

    async def record_frame(self, request: Request) -> Response:
        """One picture of a recorded game."""
        opened = await self._opened(request)
        return JSONResponse(frame(opened, query(request, "frame", 10**6) or 0))

    async def record_review(self, request: Request) -> Response:
        """The judgements of the decisions of a recorded game, and the picture after each number of plies."""
        opened = await self._opened(request)
        async with opened.reviewing:
            if opened.review is None:
                opened.review = await self.hall.review_recorded(opened.played)
        return JSONResponse(
            {
                **shown.judged(opened.played.game, opened.review),
                "names": shown.spoken_names(opened.played.game),
                "rewards": opened.played.record.rewards,
                "frames": [k for k, each in enumerate(opened.frames) if not each.ended_round],
            }
        )

    async def _opened(self, request: Request) -> OpenedGame:
        name, k = request.query_params.get("file", ""), query(request, "game", 10**8) or 0
        return await self.hall.workers.run(self.records.open, name, k)


def _file(served: ServedGame, content: str | bytes, ending: str, kind: str) -> Response:
    """A file for a browser to keep."""
    name = f"{served.game.id}-{served.stored.id[:8]}.{ending}"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


def _seat(found: Any, browser: str) -> Seat:
    """A seat as the form gives it: {"kind": "me"}, {"kind": "invited"} or {"kind": "agent", "agent": TEXT}."""
    kind = found.get("kind") if isinstance(found, dict) else None
    if kind == "agent" and set(found) == {"kind", "agent"}:
        return Seat(text(found["agent"], "agent"))
    if kind in ("me", "invited") and set(found) == {"kind"}:
        return Seat(None, browser if kind == "me" else None)
    raise Refused(400, 'a seat must be {"kind": "me"}, {"kind": "invited"} or {"kind": "agent", "agent": ...}')


def _all_games() -> list[dict[str, Any]]:
    """The games, with what each is about."""
    games = [load(game_id) for game_id in GAMES]
    # Games that one module makes are variants of the first of them.
    first: dict[str, str] = {}
    for game in games:
        first.setdefault(game.factory.__module__, game.id)
    return [
        {
            "id": game.id,
            "title": game.title,
            "pitch": game.faces.pitch,
            "variant_of": None if first[game.factory.__module__] == game.id else first[game.factory.__module__],
            "players": game.num_players,
            "picture": picture_of(game.id) is not None,
            "levels": [asdict(each) for each in levels_of(game)],
            "facts": [
                f"{game.num_players} players",
                *(["chance"] if game.stochastic else []),
                *(["hidden information"] if game.hidden_information else []),
                *(["simultaneous choices"] if game.simultaneous else []),
            ],
        }
        for game in games
    ]


def _cookie_of(request: Request) -> str:
    """The name of the cookie: cookies do not tell ports apart, and two servers must not take each other's."""
    return f"ttt_envs_{request.url.port or 80}"


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse({"error": error.reason}, error.status)


async def _http_error(request: Request, error: Exception) -> Response:
    """Addresses and methods that do not exist."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    """A fault of the server, which its log has."""
    return JSONResponse({"error": "the server failed; its log says why"}, 500)


def make_app(hall: Hall, records: Records, names: Collection[str] = (), rates: Rates | None = None) -> Starlette:
    """The ASGI application.

    Args:
        hall: the games; it is closed with the application.
        records: the recorded games.
        names: hosts by which the server may be called beside this machine's own, see `Guard`.
        rates: limits of the requests of one address.
    """

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        tidying = asyncio.create_task(hall.tidy())
        yield
        tidying.cancel()
        hall.close()
        hall.store.close()
        hall.shelf.close()

    handlers: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        Refused: _refused,
        HTTPException: _http_error,
        Exception: _failed,
    }
    guard = Middleware(Guard, names=names, rates=rates or Rates(PER_SECOND, AT_ONCE))
    middleware = [Middleware(Presence), guard]
    return Starlette(
        routes=App(hall, records).routes, middleware=middleware, exception_handlers=handlers, lifespan=life
    )
