"""verifiers: a scripted model behind a server plays games, and the reward is minus what its answers lose, exactly.

    python examples/verifiers_eval.py [games]  # 0.605 (0.565 to 0.645) against random

The server speaks OpenAI's chat completions protocol, as vLLM does. Trainers such as prime-rl take the same environment.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "verifiers==0.3.1"]
# ///

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import verifiers as vf
from openai import AsyncOpenAI

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.integrations.verifiers import VerifiersGame

GAMES = int(sys.argv[1]) if sys.argv[1:] else 200


class Server(BaseHTTPRequestHandler):
    """The model claims the centre, then corners, then edges."""

    def do_GET(self):
        self.send({"object": "list", "data": []})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = asked["messages"][-1]["content"]
        legal = re.search(r"YOUR LEGAL ACTIONS.*?\n\n(.*?)\n\n", prompt, re.DOTALL)[1].split("\n")
        message = {"role": "assistant", "content": f"I play [{min(legal, key='EACGIBDFH'.index)}]"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        facts = {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.send({**facts, "choices": [choice], "usage": usage})

    def send(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def make():
    return ttt_envs.make_text("tic_tac_dice", rounds="single", opponent="random")


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
client = vf.OpenAIChatCompletionsClient(AsyncOpenAI(base_url=url, api_key="none"))
found = VerifiersGame(make, games=GAMES).evaluate_sync(client, "scripted", num_examples=GAMES, max_concurrent=16)
for name, value in found["metadata"]["avg_metrics"].items():
    print(f"{name}: {value:.3f} a game")

agent = agents.load(f"scripted=llm:model=scripted,url={url}")
report = evaluation.tournament(make().game, [agent, "random"], games=400 if GAMES > 1 else 20)
report.show()
print(report.comparison("scripted", "random"))
