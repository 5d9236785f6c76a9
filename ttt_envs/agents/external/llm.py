"""Language models as agents: any server that speaks OpenAI's chat completions protocol.

For each decision, the model gets the prompt of `ttt_envs.core.prompts`. If the answer names no legal action, the model
gets the reason and may answer again. With `rules="first"`, a whole game is one conversation. The model receives only
the player's view, and no seed. See docs/language_models.md.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

import numpy as np

from ttt_envs.agents.base import Agent, Fault, gathered
from ttt_envs.agents.external.transcripts import Transcripts
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, choice, within
from ttt_envs.core.prompts import ANSWERS, ILLEGAL_ANSWERS, prompt, read_answer
from ttt_envs.core.rng import Stream, stream_seeds
from ttt_envs.core.view import View
from ttt_envs.storage.extras import require
from ttt_envs.storage.untrusted import brief, printable, read_json

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# OpenAI's own server, which needs a key and uses another name for `max_tokens`.
_OPENAI = "https://api.openai.com/v1"

# The most characters of a rejected answer that are sent back to the model with the reason.
_REPEATED = 4000

# Timeout in seconds for the check that the server can be reached.
_REACH = 10.0

# The most bytes of a response; even long responses have only some hundred kilobytes.
_MOST_BYTES = 4 << 20

# Apart from the key, only these headers are sent to a server that the agent's spec names.
# The `openai` package would add others, some of them from environment variables.
_PLAIN_HEADERS = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"}

_KEY = "OPENAI_API_KEY"

_MILLION = 1e6

#: Key in `counts` for decisions in which the server failed or was too slow.
FAILED = "server failures"

#: When prompts include the rules: always, only at the start of a game (which is then one conversation), or never.
RULES = ("always", "first", "never")

_TOOL = {
    "type": "function",
    "function": {
        "name": "play",
        "description": "Play one of your legal actions.",
        "parameters": {
            "type": "object",
            "properties": {"action": {"type": "string", "description": "The name of a legal action."}},
            "required": ["action"],
        },
    },
}

# Answer format -> further entries of a request.
_FORMS: dict[str, dict[str, Any]] = {
    "text": {},
    "json": {"response_format": {"type": "json_object"}},
    "tool": {"tools": [_TOOL], "tool_choice": {"type": "function", "function": {"name": "play"}}},
}


class _Unusable(Exception):
    """Raised for a response that cannot be read."""


class LanguageModel(Agent):
    """A language model behind any server that speaks OpenAI's chat completions protocol.

    Requests for positions of several games are sent concurrently. If the server fails or the model names no legal
    action, only that game is lost. Reports list requests, tokens and cost.
    """

    name = "llm"
    failure = ""  # the last failure of the server

    def __init__(
        self,
        model: str,
        *,
        url: str | None = None,
        key: str | None = None,
        seconds: float = 120.0,
        retries: int = 2,
        illegal: str = "lose",
        server_retries: int = 3,
        at_once: int = 8,
        rules: Literal["always", "first", "never"] = "always",
        legal: bool = True,
        system: str | None = None,
        answers: Literal["text", "json", "tool"] = "text",
        temperature: float | None = None,
        max_tokens: int | None = None,
        extra_body: str | Mapping[str, Any] | None = None,
        transcripts: str | None = None,
        input_price: float | None = None,
        output_price: float | None = None,
    ) -> None:
        """Set up the client. No request is sent until a game is checked or an action is requested.

        Args:
            model: name of the model, as the server knows it.
            url: base URL of the server, such as http://localhost:8000/v1; by default the environment variable
                OPENAI_BASE_URL, or OpenAI's.
            key: name of the environment variable that contains the API key. By default, the default server gets
                OPENAI_API_KEY, and any other `url` gets no key.
            seconds: time limit for a decision, including all its requests.
            retries: number of further answers that the model may give if an answer names no legal action.
            illegal: what happens when no retries are left: "lose" the game, or play a "random" legal action.
            server_retries: number of times that a failed request is repeated, with growing pauses.
            at_once: the most concurrent requests.
            rules: "always" includes the rules in each prompt, "never" in none. "first" includes them only in the first
                prompt of a game; the game is then one conversation, if the caller numbers games (`View.episodes`).
            legal: whether prompts list the legal actions.
            system: system message that begins each conversation; None for none.
            answers: "text" for a last line with the action's name, "json" for a JSON object {"action": name}, "tool"
                for a call of the tool `play`. The server must support "json" and "tool".
            temperature: sampling temperature of the model; None uses the server's default.
            max_tokens: the most tokens of an answer; None uses the server's default.
            extra_body: further entries of each request, such as {"top_p": 0.9, "reasoning_effort": "low"}: a mapping,
                or JSON text.
            transcripts: file to which each decision is appended as a line of JSON; None for none.
            input_price: price of a million prompt tokens in any currency, for the cost in reports.
            output_price: price of a million answer tokens, in the same currency.

        Raises:
            ValueError: a value out of range, an invalid URL, `extra_body` that is no JSON object, or no key for
                OpenAI's own server.
            ImportError: the extra `llm` is not installed.
        """
        require("llm", "openai")
        if not model:
            raise ValueError(
                "agent llm needs the name of a model, such as 'llm:model=qwen3,url=http://localhost:8000/v1'"
            )
        within(0.001, 1e6, seconds=seconds)
        within(0, 100, retries=retries, server_retries=server_retries)
        within(1, 1000, at_once=at_once)
        within(0.0, 100.0, temperature=0.0 if temperature is None else temperature)
        within(1, 10**9, max_tokens=1 if max_tokens is None else max_tokens)
        within(0.0, 1e9, input_price=input_price or 0.0, output_price=output_price or 0.0)
        usual = os.environ.get("OPENAI_BASE_URL") or _OPENAI
        self.model, self.url = model, _checked_url(url or usual)
        self._is_usual = self.url == usual.rstrip("/")
        self._key_name = key or (_KEY if self._is_usual else None)
        own = self.url.startswith(_OPENAI)
        if own and not self._key():
            place = "the environment variable " + (self._key_name or f"that `key` names, such as key={_KEY}")
            raise ValueError(f"agent llm needs a key for {self.url} in {place}, which is not set")
        self.seconds, self.retries, self.illegal = seconds, retries, choice("illegal", illegal, ILLEGAL_ANSWERS)
        self.server_retries, self.at_once = server_retries, at_once
        self.rules, self.answers = choice("rules", rules, RULES), choice("answers", answers, ANSWERS)
        self.legal, self.system = legal, system
        self.transcripts = None if transcripts is None else Transcripts(transcripts)
        # Game number -> conversation, for running games.
        self._talks: dict[int, list[dict[str, str]]] = {}
        settings = {
            "temperature": temperature,
            "max_completion_tokens" if own else "max_tokens": max_tokens,
            "extra_body": _object("extra_body", extra_body),
        }
        self._request: dict[str, Any] = {"model": model, **_FORMS[answers]}
        self._request |= {name: value for name, value in settings.items() if value is not None}
        self._prices = input_price, output_price
        self._counts: Counter[str] = Counter()

    def counts(self) -> Mapping[str, float]:
        """Return the numbers of requests, tokens, rejected answers, random moves and decisions in which the server
        failed or was too slow. If prices are set, also return the cost.
        """
        counts: dict[str, float] = dict(self._counts)
        price_in, price_out = self._prices
        if price_in is not None or price_out is not None:
            tokens = self._counts["input tokens"] * (price_in or 0.0) + self._counts["output tokens"] * (
                price_out or 0.0
            )
            counts["cost"] = tokens / _MILLION
        return counts

    def check(self, game: Game) -> None:
        """Raise ValueError if the server does not answer or rejects the key."""
        super().check(game)
        from anyio.from_thread import start_blocking_portal

        with start_blocking_portal() as portal:
            portal.call(self._reach)

    def act(self, view: View) -> np.ndarray:
        """Return one action per position, int64 (n,); -1 if the player has no legal action.

        Raises AgentFailed if, in some positions, the server failed or the model named no legal action.
        """
        from anyio.from_thread import start_blocking_portal

        rows, answers = np.flatnonzero(view.masks.any(axis=1)).tolist(), dict[int, int | Fault]()
        if rows:
            # A new thread, because a notebook already runs an event loop in this one. An interrupt cancels requests.
            with start_blocking_portal() as portal:
                answers = portal.call(self._decide_all, view, rows)
        return gathered(self.name, len(view), answers)

    # --- requests ---

    def _client(self, **settings: Any) -> "AsyncOpenAI":
        from openai import AsyncOpenAI

        settings = {"timeout": self.seconds, "max_retries": self.server_retries, **settings}
        key = self._key() or "none"
        headers = None if self._is_usual else {"Authorization": f"Bearer {key}"}
        return AsyncOpenAI(base_url=self.url, api_key=key, http_client=_http_client(headers), **settings)

    def _key(self) -> str | None:
        return os.environ.get(self._key_name) if self._key_name else None

    async def _reach(self) -> None:
        """Request the list of models, which is free; accept a server without such a list."""
        import anyio
        import openai

        try:
            with anyio.fail_after(_REACH):
                async with self._client(timeout=_REACH, max_retries=1) as client:
                    await client.models.list()
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise ValueError(f"agent {self.name!r}: the server at {self.url} {self._refusal()}") from None
        except TimeoutError:
            raise ValueError(
                f"agent {self.name!r}: the server at {self.url} gave no answer within {_REACH:g} s"
            ) from None
        except _Unusable as error:
            raise ValueError(f"agent {self.name!r}: the server at {self.url} will not do: {error}") from None
        except openai.APIConnectionError as error:
            reason = self._reason(error.__cause__ or error)
            raise ValueError(f"agent {self.name!r}: no server answers at {self.url}: {reason}") from None
        except (openai.OpenAIError, ValueError):
            return

    def _refusal(self) -> str:
        if self._key_name is None:
            return f"wants a key: name the variable of the environment that holds it, such as key={_KEY}"
        known = "which it may not know" if self._key() else "which is not set"
        return f"refuses the key in the environment variable {self._key_name}, {known}"

    async def _decide_all(self, view: View, rows: Sequence[int]) -> dict[int, int | Fault]:
        """Return the action or the fault in each of the positions `rows`."""
        import anyio

        answers: dict[int, int | Fault] = {}
        room = anyio.Semaphore(self.at_once)

        async def decide(row: int) -> None:
            async with room:
                answers[row] = await self._decide(client, view, row)

        try:
            async with self._client() as client, anyio.create_task_group() as group:
                for row in rows:
                    group.start_soon(decide, row)
        except ExceptionGroup as several:  # errors of transcripts that cannot be written
            raise several.exceptions[0] from None
        return answers

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Forget the conversations of these games."""
        for episode in episodes.tolist():
            self._talks.pop(episode, None)

    async def _decide(self, client: "AsyncOpenAI", view: View, row: int) -> int | Fault:
        """Request answers for one position until one names a legal action or no retries are left."""
        import anyio

        episode = None if self.rules != "first" or view.episodes is None else int(view.episodes[row])
        before = [] if episode is None else self._talks.get(episode, [])
        told = self.rules != "never" and not before
        question = prompt(view, row, rules=told, legal=self.legal, answer=self.answers)
        messages = [*before, {"role": "user", "content": question}]
        if self.system is not None and not before:
            messages.insert(0, {"role": "system", "content": self.system})
        answers: list[dict[str, Any]] = []
        failed = ""
        try:
            with anyio.fail_after(self.seconds):
                found = await self._until_legal(client, view, row, messages, answers)
                await anyio.lowlevel.checkpoint()  # applies the time limit also to work without an `await`
        except TimeoutError:
            failed = f"gave no answer within {self.seconds:g} s"
        except Exception as error:  # an invalid response costs only the game in question
            failed = f"the server at {self.url} failed: {self._reason(error)}"
        if failed:
            self._counts[FAILED] += 1
            self.failure, found = failed, Fault(failed)
        if episode is not None:
            self._talks[episode] = messages
        if self.transcripts is not None:
            self.transcripts.add(
                {
                    "model": self.model,
                    "game": view.game.id,
                    "options": dict(view.game.options),
                    "player": int(view.players[row]),
                    "episode": None if view.episodes is None else int(view.episodes[row]),
                    "prompt": question,
                    "answers": answers,
                    "action": None if isinstance(found, Fault) else view.game.action_names[found],
                    "fault": found.reason if isinstance(found, Fault) else None,
                }
            )
        return found

    async def _until_legal(
        self,
        client: "AsyncOpenAI",
        view: View,
        row: int,
        messages: list[dict[str, str]],
        answers: list[dict[str, Any]],
    ) -> int | Fault:
        """Request answers until one names a legal action; append to `messages` (the conversation) and `answers`."""
        reason = ""
        for again in range(self.retries + 1):
            if again:
                messages.append({"role": "user", "content": f"This answer could not be used. {reason}"})
            answer, unusable = await self._answer(client, messages)
            answers.append(answer)
            messages.append({"role": "assistant", "content": brief(answer["text"], _REPEATED) or "(no answer)"})
            try:
                if unusable:
                    raise ValueError(unusable)
                return read_answer(view.game, view.masks[row], answer["text"])
            except ValueError as error:
                reason = str(error)
            self._counts["illegal answers"] += 1
        if self.illegal == "random":
            self._counts["random moves"] += 1
            seed = int(stream_seeds(view.seeds[row : row + 1], Stream.CHOICE)[0])
            return int(np.random.default_rng(seed).choice(np.flatnonzero(view.masks[row])))
        last = brief(messages[-1]["content"])
        return Fault(
            f"named no legal action in {self.retries + 1} answers; the last one: {last!r}. {brief(reason, 500)}"
        )

    async def _answer(self, client: "AsyncOpenAI", messages: Sequence[Mapping[str, str]]) -> tuple[dict[str, Any], str]:
        """Request one answer; return it in the form for transcripts, and the reason to reject it, or "".

        Raises any error that a faulty server causes.
        """
        self._counts["requests"] += 1
        started = perf_counter()
        raw = await client.chat.completions.with_raw_response.create(**self._request, messages=cast(Any, messages))
        seconds = perf_counter() - started
        self._counts["repeated requests"] += raw.retries_taken
        completion: Any = raw.parse()
        usage, choice = completion.usage, completion.choices[0]
        message, ended = choice.message, choice.finish_reason
        asked, answered = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        # Check the numbers of tokens, because a server may send anything.
        tokens = [each for each in (asked, answered) if isinstance(each, int) and 0 <= each <= MOST]
        if len(tokens) == 2:
            self._counts["input tokens"] += tokens[0]
            self._counts["output tokens"] += tokens[1]
        else:
            self._counts["requests without token counts"] += 1
        text, reasoning, unusable = _said(message)
        if ended == "length":
            unusable = "It was cut off at the most tokens of an answer: think less, and name an action."
        refused = getattr(message, "refusal", None)
        answer = {
            "text": text,
            "reasoning": reasoning,
            "refused": refused if isinstance(refused, str) else None,
            "finish_reason": ended if isinstance(ended, str) else None,
            "tokens": tokens if len(tokens) == 2 else None,
            "seconds": round(seconds, 3),
        }
        return answer, unusable

    def _reason(self, error: BaseException) -> str:
        """Return the error as one line, without the key."""
        named = str(error) if isinstance(error, _Unusable) else f"{type(error).__name__}: {error}"
        text = " ".join(printable(named).split())
        key = self._key()
        return brief(text.replace(key, "...") if key else text, 500)


def _object(name: str, given: str | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    found = given
    if isinstance(given, str):
        try:
            found = read_json(given)
        except ValueError:
            found = given
    if found is not None and not isinstance(found, Mapping):
        raise ValueError(f'agent llm: {name} must be a JSON object such as {{"top_k": 20}}, not {brief(repr(given))}')
    return found


def _said(message: Any) -> tuple[str, str | None, str]:
    """Return the text of a message, the reasoning if the server sends it, and the reason for a rejection or "".

    If there are tool calls, the text is their arguments.
    """
    content, calls = getattr(message, "content", None), getattr(message, "tool_calls", None)
    # Servers use one of these names for reasoning, or send a list of parts.
    thoughts = [getattr(message, name, None) for name in ("reasoning_content", "reasoning")]
    if isinstance(content, list):
        thoughts += ["".join(_parts(content, "thinking"))]
        content = "".join(_parts(content, "text"))
    reasoning = next((each for each in thoughts if each and isinstance(each, str)), None)
    text, unusable = content if isinstance(content, str) else "", ""
    if isinstance(calls, list) and calls:
        functions = [getattr(call, "function", None) for call in calls]
        given = list(dict.fromkeys(str(getattr(each, "arguments", "")) for each in functions))
        text = "\n".join(given)
        if {getattr(each, "name", None) for each in functions} != {"play"} or len(given) > 1:
            unusable = "Call the tool `play`, and no other, with one action."
    return text.encode(errors="replace").decode(), reasoning, unusable


def _parts(content: Sequence[Any], kind: str) -> Iterator[str]:
    for each in content:
        found = each.get(kind) if isinstance(each, Mapping) and each.get("type") == kind else None
        if isinstance(found, str):
            yield found


def _http_client(headers: Mapping[str, str] | None) -> Any:
    """Return the HTTP client of the requests: it follows no redirects and limits the size of responses.

    `headers`: headers to send in addition to `_PLAIN_HEADERS`; None sends all headers of `openai`.
    """
    import openai

    class Bounded(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, **settings: Any) -> Any:
            sent = dict(request.headers)
            if headers is not None:
                sent = {name: value for name, value in sent.items() if name in _PLAIN_HEADERS} | dict(headers)
            # A small compressed response may expand to gigabytes, and decompression cannot be interrupted.
            sent["accept-encoding"] = "identity"
            # Do not change the headers of `request` itself, because `openai` reads them later.
            plain = type(request)(
                request.method, request.url, headers=sent, stream=request.stream, extensions=request.extensions
            )
            answer = await super().send(plain, **{**settings, "stream": True, "follow_redirects": False})
            try:
                body = await _body(answer)
            finally:
                await answer.aclose()
            status = answer.status_code
            if request.method == "POST" and status == 200 and not _is_completion(body):
                said = brief(printable(body.decode(errors="replace")))
                # Status 502 makes `openai` repeat the request.
                status, body = 502, json.dumps({"error": {"message": f"no chat completion: {said}"}}).encode()
            return type(answer)(status, headers=answer.headers, content=body, request=request)

    return Bounded()


def _is_completion(body: bytes) -> bool:
    """Return whether a body is a chat completion: some servers send errors with a success status."""
    try:
        found = read_json(body)
        return not found.get("error") and isinstance(found["choices"][0]["message"], dict)
    except (ValueError, AttributeError, KeyError, IndexError, TypeError):
        return False


async def _body(answer: Any) -> bytes:
    """Return the body of a response; raise _Unusable for a redirect or a compressed or too long body."""
    if answer.is_redirect:
        place = printable(answer.headers.get("location", "elsewhere"))
        raise _Unusable(f"it redirects to {brief(place)}, which is not followed: give the agent that url")
    encoding = answer.headers.get("content-encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise _Unusable(f"its answer is compressed ({brief(printable(encoding), 40)}), though that was not asked for")
    body = bytearray()
    async for part in answer.aiter_raw():
        body += part
        if len(body) > _MOST_BYTES:
            raise _Unusable(f"its answer is longer than {_MOST_BYTES >> 20} MiB")
    return bytes(body)


def _checked_url(url: str) -> str:
    """Return the URL without a final slash; raise ValueError if it is invalid or contains a password."""
    try:
        parts = urlsplit(url)
        port_is_number = parts.port is None or parts.port >= 0
    except ValueError:
        parts, port_is_number = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_number:
        raise ValueError(f"agent llm: url must be like http://localhost:8000/v1, not {url!r}")
    if parts.username or parts.password:
        raise ValueError("agent llm: a URL stands in reports: put the key into the environment, not into the URL")
    return url.rstrip("/")
