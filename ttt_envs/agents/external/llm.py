"""Language models as agents: any server that speaks OpenAI's chat completions protocol.

Each decision is a conversation of its own: the prompt of `ttt_envs.wrappers.prompts`, and where the answer names no
legal action, the reason and another answer. A model is told what its player may know, and no seed. See
docs/language_models.md.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import numpy as np

from ttt_envs.agents.base import Agent, Fault, gathered
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, choice, within
from ttt_envs.core.rng import Stream, stream_seeds
from ttt_envs.core.view import View
from ttt_envs.storage.extras import require
from ttt_envs.storage.outside import brief, printable
from ttt_envs.wrappers.prompts import prompt, read_answer

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Where OpenAI's own models are, which need a key, and call the most tokens of an answer by another name.
_OPENAI = "https://api.openai.com/v1"

# Characters of a model's answer that are sent back to it with the reason why it could not be used.
_REPEATED = 4000

# Seconds to see whether there is a server.
_REACH = 10.0

_MILLION = 1e6


class LanguageModel(Agent):
    """A language model behind any server that speaks OpenAI's chat completions protocol.

    Positions of several games are asked about at the same time. A server that fails, or a model that names no legal
    action, loses only the games in question. Requests, tokens and cost are counted and stand in reports.
    """

    name = "llm"

    def __init__(
        self,
        model: str,
        url: str | None = None,
        key: str = "OPENAI_API_KEY",
        seconds: float = 120.0,
        retries: int = 2,
        invalid: str = "forfeit",
        server_retries: int = 3,
        at_once: int = 8,
        temperature: float | None = None,
        max_tokens: int | None = None,
        input_price: float | None = None,
        output_price: float | None = None,
    ) -> None:
        """No request is made before a game is checked or asked about.

        Args:
            model: name of the model, as the server knows it.
            url: base URL of the server, such as http://localhost:8000/v1; by default the environment variable
                OPENAI_BASE_URL, or OpenAI's.
            key: name of the environment variable that holds the key; servers of one's own may need none.
            seconds: time for a decision, all its requests included.
            retries: further answers that the model may give where one names no legal action.
            invalid: what follows then: "forfeit" loses the game, "random" plays a random legal action.
            server_retries: further tries of a request that fails, with growing pauses.
            at_once: requests that are made at the same time.
            temperature: of the model's sampling; None leaves it to the server.
            max_tokens: most tokens of an answer; None leaves it to the server.
            input_price: price of a million tokens of prompts, such as dollars, for the cost in reports.
            output_price: price of a million tokens of answers, in the same unit.

        Raises:
            ValueError: a value out of range, a URL that is none, or no key for OpenAI's own server.
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
        self.model, self.url = model, _checked_url(url or os.environ.get("OPENAI_BASE_URL") or _OPENAI)
        self._key_name = key
        if self.url.startswith(_OPENAI) and not os.environ.get(key):
            raise ValueError(
                f"agent llm needs a key for {self.url} in the environment variable {key}, which is not set"
            )
        self.seconds, self.retries, self.invalid = seconds, retries, choice("invalid", invalid, ("forfeit", "random"))
        self.server_retries, self.at_once = server_retries, at_once
        self._request: dict[str, Any] = {"model": model}
        if temperature is not None:
            self._request["temperature"] = temperature
        if max_tokens is not None:
            own = self.url.startswith(_OPENAI)
            self._request["max_completion_tokens" if own else "max_tokens"] = max_tokens
        self._prices = input_price, output_price
        self._counts: Counter[str] = Counter()

    def counts(self) -> Mapping[str, float]:
        """Requests, tokens, answers that could not be used, random moves; and the cost, if there are prices."""
        found: dict[str, float] = dict(self._counts)
        price_in, price_out = self._prices
        if price_in is not None or price_out is not None:
            tokens = self._counts["input tokens"] * (price_in or 0.0) + self._counts["output tokens"] * (
                price_out or 0.0
            )
            found["cost"] = tokens / _MILLION
        return found

    def check(self, game: Game) -> None:
        """Raise ValueError if no server answers, or if it refuses the key."""
        super().check(game)
        from anyio.from_thread import start_blocking_portal

        with start_blocking_portal() as portal:
            portal.call(self._reach)

    def act(self, view: View) -> np.ndarray:
        """int64 (n,); -1 where the player has no legal action.

        Raises AgentFailed if the server failed in some positions, or the model named no legal action.
        """
        from anyio.from_thread import start_blocking_portal

        rows, found = np.flatnonzero(view.masks.any(axis=1)).tolist(), dict[int, int | Fault]()
        if rows:
            # A loop of its own, in a thread: a notebook has one running. An interrupt cancels what is under way.
            with start_blocking_portal() as portal:
                found = portal.call(self._decide_all, view, rows)
        return gathered(self.name, len(view), found)

    # --- requests ---

    def _client(self, **settings: Any) -> "AsyncOpenAI":
        from openai import AsyncOpenAI

        settings = {"timeout": self.seconds, "max_retries": self.server_retries, **settings}
        return AsyncOpenAI(base_url=self.url, api_key=os.environ.get(self._key_name) or "none", **settings)

    async def _reach(self) -> None:
        """Ask for the list of models, which costs nothing; a server that has no such list will do."""
        import openai

        try:
            async with self._client(timeout=_REACH, max_retries=1) as client:
                await client.models.list()
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise ValueError(
                f"agent {self.name!r}: the server at {self.url} refuses the key in the environment variable "
                f"{self._key_name}, {'which it may not know' if os.environ.get(self._key_name) else 'which is not set'}"
            ) from None
        except openai.APIConnectionError as error:
            reason = self._reason(error.__cause__ or error)
            raise ValueError(f"agent {self.name!r}: no server answers at {self.url}: {reason}") from None
        except (openai.OpenAIError, ValueError):
            return

    async def _decide_all(self, view: View, rows: Sequence[int]) -> dict[int, int | Fault]:
        """The action or the fault of each of these positions."""
        import anyio

        found: dict[int, int | Fault] = {}
        room = anyio.Semaphore(self.at_once)

        async def decide(row: int) -> None:
            async with room:
                try:
                    with anyio.fail_after(self.seconds):
                        found[row] = await self._decide(client, view, row)
                except TimeoutError:
                    found[row] = Fault(f"gave no answer within {self.seconds:g} s")
                except Exception as error:  # whatever a server sends costs its own game, and no other
                    found[row] = Fault(f"the server at {self.url} failed: {self._reason(error)}")

        async with self._client() as client, anyio.create_task_group() as group:
            for row in rows:
                group.start_soon(decide, row)
        return found

    async def _decide(self, client: "AsyncOpenAI", view: View, row: int) -> int | Fault:
        """Ask about one position until an answer names a legal action, or there are no retries left."""
        messages = [{"role": "user", "content": prompt(view, row)}]
        reason = ""
        for _ in range(self.retries + 1):
            answer = await self._answer(client, messages)
            try:
                return read_answer(view.game, view.masks[row], answer)
            except ValueError as error:
                reason = str(error)
            self._counts["invalid answers"] += 1
            messages += [
                {"role": "assistant", "content": brief(answer, _REPEATED) or "(no answer)"},
                {"role": "user", "content": f"This answer could not be used. {reason}"},
            ]
        if self.invalid == "random":
            self._counts["random moves"] += 1
            seed = int(stream_seeds(view.seeds[row : row + 1], Stream.CHOICE)[0])
            return int(np.random.default_rng(seed).choice(np.flatnonzero(view.masks[row])))
        last = brief(messages[-2]["content"])
        return Fault(
            f"named no legal action in {self.retries + 1} answers; the last one: {last!r}. {brief(reason, 500)}"
        )

    async def _answer(self, client: "AsyncOpenAI", messages: Sequence[Mapping[str, str]]) -> str:
        """The text of the model's answer; raises whatever a bad server leads to."""
        self._counts["requests"] += 1
        raw = await client.chat.completions.with_raw_response.create(**self._request, messages=cast(Any, messages))
        self._counts["repeated requests"] += raw.retries_taken
        found: Any = raw.parse()
        try:
            usage, content = found.usage, found.choices[0].message.content
        except (AttributeError, IndexError, TypeError):
            raise ValueError(f"its answer is no chat completion: {brief(repr(found))}") from None
        asked, answered = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        # A server could say anything.
        tokens = [each for each in (asked, answered) if isinstance(each, int) and 0 <= each <= MOST]
        if len(tokens) == 2:
            self._counts["input tokens"] += tokens[0]
            self._counts["output tokens"] += tokens[1]
        else:
            self._counts["requests without token counts"] += 1
        if content is not None and not isinstance(content, str):
            raise ValueError(f"its answer has no text: {brief(repr(content))}")
        return content or ""

    def _reason(self, error: BaseException) -> str:
        """The error as one line, without the key."""
        text = " ".join(printable(f"{type(error).__name__}: {error}").split())
        key = os.environ.get(self._key_name)
        return brief(text.replace(key, "...") if key else text, 500)


def _checked_url(url: str) -> str:
    """The URL without a slash at its end; ValueError for one that is none, or that holds a password."""
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
