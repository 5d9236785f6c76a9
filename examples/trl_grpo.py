"""TRL: a tiny transformer learns by GRPO to call the tool `play`, paid minus what each move loses, exactly.

    python examples/trl_grpo.py [updates]  # one run: 0.583 (0.556 to 0.605) against random

The model is made here, with random weights and a token for each call of the tool: nothing is fetched. It is guided,
as servers offer it: only calls with legal actions are sampled, and which of them is good is left to learn.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0", "transformers==5.24.0", "trl==1.16.0"]
# ///

import json
import random
import sys
from typing import Any

import torch
from datasets import Dataset
from judged import JudgedGame
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_template

import ttt_envs
from ttt_envs import agents, evaluation

GAME = ttt_envs.load("tic_tac_dice", rounds="single")
# So small a model is shown the position and the legal actions alone.
TEMPLATE = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ (m.content or '').split('see it')[-1].split('Choose')[0] }}{% for call in m.tool_calls or [] %}<tool_call>
{{ call.function | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


class TRLGame:
    """A game for a model that calls the tool `play`. TRL takes each public method as a tool, so there are no others.

    Attributes:
        judged: the game and its judged moves.
    """

    def __init__(self, env: Any, *, simulations: int = 400) -> None:
        """Take a game from `ttt_envs.make_text`; ValueError for one without an opponent. See also `JudgedGame`."""
        self.judged = JudgedGame(env, simulations=simulations, answers="tool")
        if not env.opponent_names:
            raise ValueError("TRL asks one player: make the game with an opponent")

    def reset(self, **row: Any) -> str:
        """Start the game of the row's `seed`, or the next one; returns the first prompt."""
        return self.judged.reset(row.get("seed"))

    def play(self, action: str) -> str:
        """Play one of your legal actions.

        Args:
            action: The name of a legal action.

        Returns:
            The next position, or how the game has ended.
        """
        if self.judged.env.done:
            raise ValueError("The game is over.")
        asked = self.judged.answer(f"[{action}]")
        return asked or f"The game is over. It has paid you {self.judged.result():g}."

    def get_reward(self) -> float:
        """Return the reward of the game; one that the model has left loses as by answers that cannot be used."""
        self.judged.give_up()
        return self.judged.reward()


def game_results(environments: list[TRLGame], **_: Any) -> list[float]:
    """Return the results of the games, as a reward function of TRL; one that the model has left is lost."""
    for each in environments:
        each.judged.give_up()
    return [each.judged.result() for each in environments]


def make():
    return TRLGame(ttt_envs.make_text(GAME, opponent="random", rules=False, retries=0))


def user(text):
    return {"role": "user", "content": text}


class Model(LlamaForCausalLM):
    """A transformer that calls the tool with a legal action, and says nothing after the end."""

    def generate(self, *arguments, **settings):
        return super().generate(*arguments, prefix_allowed_tokens_fn=self.allowed, **settings)

    def allowed(self, _, tokens):
        said = tokenizer.convert_ids_to_tokens(tokens)
        asked = said[len(said) - 1 - said[::-1].index("line") :] if "line" in said else []
        if said[-1] != heads[-1] or asked[-2:-1] != ["<|im_end|>"] or asked.count("<|im_end|>") > 1:
            return [tokenizer.eos_token_id]
        return [call_ids[GAME.action_names.index(name)] for name in asked[1 : asked.index("<|im_end|>")]]


def answer(prompt):
    """Return the likeliest legal call of the tool, as an answer in text."""
    asked = tokenizer.apply_chat_template([user(prompt)], add_generation_prompt=True, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logits = model(asked).logits[0, -1]
    best = max(model.allowed(0, asked[0]), key=lambda token: float(logits[token]))
    return f"[{GAME.action_names[call_ids.index(best)]}]"


if __name__ == "__main__":
    updates = int(sys.argv[1]) if sys.argv[1:] else 40
    random.seed(0), torch.manual_seed(0), torch.set_num_threads(1)
    words, env = set(), make()
    for seed in range(200):
        text = env.reset(seed=seed)
        while not env.judged.env.done:
            words |= set(text.split())
            text = env.play(random.choice(env.judged.env.legal))
    core = Tokenizer(models.WordLevel({word: k for k, word in enumerate(["[UNK]", *sorted(words)])}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|pad|>")
    calls = [json.dumps({"name": "play", "arguments": {"action": name}}) for name in GAME.action_names]
    calls = [f"<tool_call>\n{call}\n</tool_call>" for call in calls]
    heads = [f"<|im_start|>{role}\n" for role in ("user", "tool", "assistant")]
    tokenizer.add_special_tokens({"additional_special_tokens": [*heads, *calls]})
    tokenizer.chat_template, tokenizer.response_template, tokenizer.padding_side = TEMPLATE, qwen3_template, "left"
    call_ids = tokenizer.convert_tokens_to_ids(calls)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = Model(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=2048, **sizes))

    settings = GRPOConfig(
        output_dir="runs/trl_grpo",
        max_steps=updates,
        per_device_train_batch_size=64,
        num_generations=8,
        max_completion_length=1500,
        max_tool_calling_iterations=10,
        learning_rate=2e-3,
        reward_weights=[0.0],
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
    )
    rows = Dataset.from_list([{"prompt": [user("")], "seed": seed} for seed in range(10_000)])
    trainer = GRPOTrainer(model, game_results, settings, rows, processing_class=tokenizer, environment_factory=make)
    trainer.train()
    rewards = [each["reward"] for each in trainer.state.log_history if "reward" in each]
    part = max(len(rewards) // 6, 1)
    print(f"reward per game: {sum(rewards[:part]) / part:.3f} at first, {sum(rewards[-part:]) / part:.3f} at the end")

    agent = agents.from_text(answer, rules=False, name="model")
    report = evaluation.tournament(GAME, [agent, "random"], games=1000 if updates > 1 else 20, strict=True)
    print(report.comparison("model", "random"))
