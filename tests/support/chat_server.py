"""A server on this machine that speaks OpenAI's chat completions protocol; the model's name says how it behaves."""

import gzip
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Tokens that each answer is said to have taken.
INPUT_TOKENS, OUTPUT_TOKENS = 200, 3

#: 64 KB, compressed once more; unpacked 64 MiB.
BOMB = gzip.compress(bytes(1 << 26))


#: Model -> what comes with the status of a success.
FAILURES: dict[str, Any] = {
    "garbage": {"object": "nothing"},
    "error": {"error": {"message": "quota exceeded"}},
    "null message": {"object": "chat.completion", "choices": [{"message": None}]},
}


class ChatServer(ThreadingHTTPServer):
    """Attributes: `asked`, bodies of all requests; `headers`, those of the last one; `keys`, their keys; `at_once`, the
    most together to `slow`; `moved`, where it redirects to, if anywhere.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.headers: dict[str, str] = {}
        self.moved = ""
        self.failed: Counter[str] = Counter()
        self.now = self.at_once = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has hung up is none."""


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def legal_in(prompt: str) -> list[str]:
    """The legal actions that a prompt lists."""
    return re.search(r"YOUR LEGAL ACTIONS.*?\n\n(.*?)\n\n", prompt, re.DOTALL)[1].split("\n")


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """The list of models."""
        if self.server.moved:
            return self.move()
        if self.headers["Authorization"] == "Bearer wrong":
            return self.send(401, {"error": {"message": "wrong key"}})
        return self.send(200, {"object": "list", "data": []})

    def do_POST(self) -> None:
        """An answer."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.asked.append(body)
            server.keys.add(self.headers["Authorization"])
            server.headers = {name.lower(): value for name, value in self.headers.items()}
            server.now += body["model"] == "slow"
            server.at_once = max(server.at_once, server.now)
        try:
            self.answer(body["model"], body["messages"])
        finally:
            with server.lock:
                server.now -= body["model"] == "slow"

    def answer(self, model: str, messages: list[dict[str, str]]) -> None:
        asked = next(each["content"] for each in reversed(messages) if "YOUR SIDE" in each["content"])
        first = legal_in(asked)[0] if "YOUR LEGAL ACTIONS" in asked else "nothing"
        if self.server.moved:
            return self.move()
        if model == "bomb":
            return self.send_data(200, BOMB, {"Content-Encoding": "gzip"})
        if model == "endless":
            return self.trickle(b"x" * 65536, 0.0)
        if model == "drip":
            return self.trickle(b"x", 0.05)
        if model == "down":
            return self.send(500, {"error": {"message": f"out of order, {self.headers['Authorization']}"}})
        if model in ("flaky", "quota"):
            with self.server.lock:
                self.server.failed[messages[0]["content"]] += 1
                again = self.server.failed[messages[0]["content"]] < 2
            if again and model == "quota":
                return self.send(200, FAILURES["error"])
            if again:
                return self.send(503, {"error": {"message": "busy"}}, {"Retry-After": "0.01"})
        if model in ("slow", "hangs"):
            time.sleep(0.5)
        if model in FAILURES:
            return self.send(200, FAILURES[model])
        if model == "text":
            return self.send(200, None)
        if model == "control":
            return self.send(500, {"error": {"message": "\x1b[2J\x07\ud800 out of order"}})
        said: str | None = {
            "wrong": "I play north",
            "empty": None,
            "half an emoji": "\ud83d" if len(messages) == 1 else f"[{first}]",
            "out of tokens": None,
            "doubtful": f"[{first}]" if len(messages) == 5 else "I am not sure",
        }.get(model, f"Let me think.\nI play [{first}].")
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if model == "object":
            message["content"] = json.dumps({"thought": "It is the first.", "action": first})
        if model.startswith("calls "):
            calls = [{"name": name, "arguments": json.dumps({"action": first})} for name in model.split()[1:]]
            calls[-1]["arguments"] = (
                json.dumps({"action": legal_in(asked)[-1]}) if "twice" in model else calls[0]["arguments"]
            )
            calls = [{**each, "name": each["name"].removeprefix("twice-")} for each in calls]
            calls = [{"id": str(k), "type": "function", "function": each} for k, each in enumerate(calls)]
            message |= {"content": None, "tool_calls": calls}
        if model == "parts":
            thought = {"type": "thinking", "thinking": "Not [nothing]."}
            message["content"] = [thought, {"type": "text", "text": "I play "}, {"type": "text", "text": f"[{first}]"}]
        if model in ("thinks", "out of tokens"):
            message["reasoning_content"] = "The first is as good as any."
        ended = "length" if model in ("cut", "out of tokens") else "stop"
        usage = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": 203}
        if model == "boasts":
            usage["prompt_tokens"] = 10**400
        return self.send(
            200,
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": model,
                "choices": [{"index": 0, "message": message, "finish_reason": ended}],
                **({} if model == "uncounted" else {"usage": usage}),
            },
        )

    def send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self.send_data(status, b"no JSON" if body is None else json.dumps(body).encode(), headers or {})

    def move(self) -> None:
        """Redirect, so that a client that follows asks the same of the other server."""
        self.send_data(307, b"", {"Location": f"{self.server.moved}{self.path.removeprefix('/v1')}"})

    def trickle(self, part: bytes, pause: float) -> None:
        """Send such parts for some seconds, unless the client hangs up."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(400):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            time.sleep(pause)

    def send_data(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
