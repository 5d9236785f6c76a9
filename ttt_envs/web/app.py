"""The application: the addresses of the server and their responses. `make_app` returns it for any ASGI server."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ttt_envs.drawing.theme import Theme
from ttt_envs.evaluation.analysis import GRADES
from ttt_envs.registry import GAMES, load
from ttt_envs.web import render
from ttt_envs.web.catalog import fields_of, game_of, lessons_of, levels_of, picture_of
from ttt_envs.web.errors import Refused, body_of, digits, text, texts, whole
from ttt_envs.web.games import Hall, ServedGame
from ttt_envs.web.local import LocalOnly
from ttt_envs.web.recorded import Records
from ttt_envs.web.threads import in_thread, said

#: Media types of the page's files. Other files are never sent.
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

# The most seconds that a request waits for a change of the game; the page then repeats the request.
_PATIENCE = 20.0


class App:
    """The functions that answer requests, one per address in `routes`."""

    def __init__(self, hall: Hall, records: Records) -> None:
        self.hall, self.records = hall, records
        base = files("ttt_envs.evaluation.reports") / "base.css"
        found = [base, *(files("ttt_envs.web") / "static").iterdir()]
        self.static = {each.name: each.read_bytes() for each in found}
        self.routes = [
            Route("/", self.page),
            Route("/static/{name}", self.file),
            Route("/pictures/{game}", self.picture),
            Route("/api/games", self.games),
            Route("/api/games/{game}/lessons", self.lessons),
            Route("/api/setup", self.setup, methods=["POST"]),
            Route("/api/served", self.open, methods=["POST"]),
            Route("/api/served/{id}", self.served),
            Route("/api/served/{id}/positions/{ply}", self.position),
            Route("/api/served/{id}/thoughts/{ply}", self.thoughts),
            Route("/api/served/{id}/review", self.review),
            Route("/api/served/{id}/record", self.record),
            Route("/api/served/{id}/film", self.film),
            Route("/api/served/{id}/move", self.move, methods=["POST"]),
            Route("/api/served/{id}/take_back", self.take_back, methods=["POST"]),
            Route("/api/served/{id}/step", self.step, methods=["POST"]),
            Route("/api/served/{id}/again", self.again, methods=["POST"]),
            Route("/api/records", self.record_files),
            Route("/api/records/games", self.record_games),
            Route("/api/records/open", self.record_open, methods=["POST"]),
        ]

    # --- the page ---

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return self._static("index.html")

    async def file(self, request: Request) -> Response:
        """Return a file of the page."""
        return self._static(request.path_params["name"])

    def _static(self, name: str) -> Response:
        if name not in self.static:
            raise Refused(404, "there is no such file")
        # Never cached, so that a newer version of the library shows its own page.
        kind = KINDS[Path(name).suffix]
        return Response(self.static[name], media_type=kind, headers={"cache-control": "no-cache"})

    async def picture(self, request: Request) -> Response:
        """Return the game's picture, which shows a position from the middle of a game."""
        found = await in_thread(picture_of, request.path_params["game"])
        if found is None:
            raise Refused(404, "there is no such picture")
        return Response(found, media_type="image/svg+xml", headers={"cache-control": "max-age=3600"})

    async def lessons(self, request: Request) -> Response:
        """Return the positions that illustrate a game's rules."""
        game_id = request.path_params["game"]
        if game_id not in GAMES:
            raise Refused(404, "there is no such game")
        found = await in_thread(lessons_of, game_id)
        return Response(found, media_type="application/json", headers={"cache-control": "max-age=3600"})

    # --- choosing a game ---

    async def games(self, request: Request) -> Response:
        """Return all games of the library, and the games that were begun on this server."""
        latest = sorted(self.hall.games.values(), key=lambda served: -served.touched)
        own = [
            {"id": each.id, "title": each.game.title, "over": each.live.over, "touched": each.touched}
            for each in latest
            if not each.recorded
        ]
        return JSONResponse({"games": await in_thread(_all_games), "own": own})

    async def setup(self, request: Request) -> Response:
        """Return the form, the rules and the agents for a game with these options."""
        game = await in_thread(game_of, *_game(await body_of(request, "game", "options")))
        return JSONResponse(
            {
                "id": game.id,
                "title": game.title,
                "fields": await in_thread(fields_of, game),
                "players": game.player_names,
                "teams": game.teams,
                "rules": game.faces.rules_text,
                "agents": [each._asdict() for each in await in_thread(self.hall.agents.offers, game)],
            }
        )

    async def open(self, request: Request) -> Response:
        """Begin a game; `seats` has the text of an agent, or null for a person at this computer, for each player."""
        given = await body_of(request, "game", "options", "seats")
        if not isinstance(given["seats"], list):
            raise Refused(400, "seats must be a list: the text of an agent, or null for a person, for each player")
        seats = [None if each is None else text(each, "a seat") for each in given["seats"]]
        served = await self.hall.open(await in_thread(game_of, *_game(given)), seats)
        return JSONResponse({"id": served.id}, 201)

    # --- playing ---

    async def served(self, request: Request) -> Response:
        """Return a game. With `after=V`, wait up to `_PATIENCE` seconds until its version is no longer V."""
        served = self._served(request)
        if "after" in request.query_params:
            await served.wait(digits(request.query_params["after"], "after", 10**18), _PATIENCE)
        return JSONResponse({**render.game_of(served), "about": render.about(served)})

    async def position(self, request: Request) -> Response:
        """Return the position after `ply` plies."""
        served = self._served(request)
        return JSONResponse(render.past(served, digits(request.path_params["ply"], "ply", served.live.ply)))

    async def thoughts(self, request: Request) -> Response:
        """Return the analysis of a position by the oracle, a search or an agent."""
        served = self._served(request)
        ply = digits(request.path_params["ply"], "ply", served.live.ply)
        state, viewer = served.live.states[ply][0], served.viewer
        found = await self.hall.thoughts(served, render.thinkers(served, ply), ply)
        kinds = [kind for each in found for kind in (each.values, each.unproved, each.probabilities, each.best)]
        places = render.clickable(served.game, state, viewer, sorted({action for kind in kinds for action in kind}))
        thoughts = [render.named(served.game, each) for each in found]
        return JSONResponse({"ply": ply, "thoughts": thoughts, "limits": GRADES, **places})

    async def review(self, request: Request) -> Response:
        """Return the judgements of the decisions in a finished game."""
        served = self._finished(request)
        return JSONResponse(render.judged(served.game, await self.hall.review(served)))

    async def record(self, request: Request) -> Response:
        """Return a finished game as a file of records."""
        served = self._finished(request)
        return _file(served, self.hall.record(served).json() + "\n", "jsonl", "application/jsonl")

    async def film(self, request: Request) -> Response:
        """Return a finished game as an animated GIF, light or, with `theme=dark`, dark."""
        served = self._finished(request)
        theme: Theme = "dark" if request.query_params.get("theme") == "dark" else "light"
        return _file(served, await self.hall.film(served, theme), "gif", "image/gif")

    async def move(self, request: Request) -> Response:
        """Choose an action for a person by its name; `ply`: the number of plies when the person chose it."""
        served = self._served(request)
        given = await body_of(request, "player", "ply", "action")
        player, name = whole(given["player"], "player", len(served.seats) - 1), text(given["action"], "action")
        if player not in served.people:
            raise Refused(409, "an agent has this seat")
        if given["ply"] != served.live.ply:
            raise Refused(409, "the game has gone on meanwhile")
        if name not in served.game.action_names:
            raise Refused(400, f"there is no action {name[:60]!r}: wanted {served.game.faces.action_format}")
        self.hall.choose(served, player, served.game.action_names.index(name))
        return await self._now(served)

    async def take_back(self, request: Request) -> Response:
        """Take back the last move of a person, see `ServedGame.may_take_back`."""
        served = self._served(request)
        if not served.may_take_back:
            raise Refused(409, "two people would learn what is hidden from one of them: no move is taken back")
        self.hall.take_back(served)
        return await self._now(served)

    async def step(self, request: Request) -> Response:
        """Let the agents of a game without people play one ply."""
        served = self._served(request)
        if served.people:
            raise Refused(409, "people play this game")
        await self.hall.step(served)
        return await self._now(served)

    async def again(self, request: Request) -> Response:
        """Begin a new game with the same options and the same seats."""
        served = self._served(request)
        return JSONResponse({"id": (await self.hall.open(served.game, served.seats)).id}, 201)

    async def _now(self, served: ServedGame) -> Response:
        """Return the game; if an agent is to move, wait a moment for its move."""
        await self.hall.settle(served)
        return JSONResponse(render.game_of(served))

    def _finished(self, request: Request) -> ServedGame:
        """Return the game of an address; raise Refused before its end, while hidden information must stay secret."""
        served = self._served(request)
        if not served.live.over:
            raise Refused(409, "the game is not over")
        return served

    def _served(self, request: Request) -> ServedGame:
        served = self.hall.find(request.path_params["id"])
        self.hall.drive(served)
        return served

    # --- records ---

    async def record_files(self, request: Request) -> Response:
        """Return the files of recorded games."""
        return JSONResponse(await in_thread(self.records.listed))

    async def record_games(self, request: Request) -> Response:
        """Return the games of a file."""
        return JSONResponse(await in_thread(self.records.games, request.query_params.get("file", "")))

    async def record_open(self, request: Request) -> Response:
        """Turn a recorded game into a game in progress."""
        given = await body_of(request, "file", "game")
        name, k = text(given["file"], "file"), whole(given["game"], "game", 10**9)
        served = self.hall.reopen(name, k, *await in_thread(self.records.open, name, k))
        return JSONResponse({"id": served.id})


def _game(given: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    return text(given["game"], "game"), texts(given["options"], "options")


def _file(served: ServedGame, content: str | bytes, ending: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{served.game.id}-{served.id}.{ending}"'}
    return Response(content, media_type=kind, headers=headers)


def _all_games() -> list[dict[str, Any]]:
    return [
        {
            "id": game.id,
            "title": game.title,
            "pitch": game.faces.pitch,
            "players": game.num_players,
            "picture": picture_of(game.id) is not None,
            "levels": [{"name": each.name, "agent": each.agent, "about": each.about} for each in levels_of(game)],
        }
        for game in map(load, GAMES)
    ]


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse({"error": error.reason}, error.status)


async def _http_error(request: Request, error: Exception) -> Response:
    """Return the response for addresses and methods that do not exist."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    """Return the response for an error of the server, or of an agent during an analysis."""
    return JSONResponse({"error": f"this failed with {said(error)}; the server's log says where"}, 500)


def make_app(hall: Hall, records: Records) -> Starlette:
    """Return the ASGI application.

    Args:
        hall: the games; the application closes it at its end.
        records: the recorded games.
    """

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        yield
        hall.close()

    handlers: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        Refused: _refused,
        HTTPException: _http_error,
        Exception: _failed,
    }
    return Starlette(
        routes=App(hall, records).routes,
        middleware=[Middleware(LocalOnly)],
        exception_handlers=handlers,
        lifespan=life,
    )
