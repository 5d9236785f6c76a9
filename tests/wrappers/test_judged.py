"""Games of language models whose moves are judged, for TRL, verifiers and TextArena."""

import inspect

import numpy as np
import pytest
from chat_server import chat_server
from judged import JudgedGame
from toy_wages import wages

import ttt_envs
from ttt_envs.core.game import Game

DICE = ttt_envs.load("tic_tac_dice", rounds="single")
MATCH = ttt_envs.load("tic_tac_match")  # hidden hands: no oracle


def losses(judged: JudgedGame) -> np.ndarray:
    """What each legal action of the one to answer loses, by the oracle."""
    env = judged.env
    values = env.game.oracle().action_values(env.states, env.player)[0]
    return np.nanmax(values) - values


def play(judged: JudgedGame, seed: int, which: str) -> list[float]:
    """Play a game by the oracle's best or worst actions; returns what they lose."""
    asked, lost = judged.reset(seed), []
    while not judged.env.done:
        assert judged.env.legal[0] in asked
        loss = losses(judged)
        action = int(np.nanargmin(loss) if which == "best" else np.nanargmax(loss))
        lost.append(float(loss[action]))
        asked = judged.answer(f"[{judged.env.game.action_names[action]}]")
    assert asked == ""
    return lost


@pytest.mark.parametrize("which", ["best", "worst"])
def test_the_reward_is_minus_the_regret_of_the_moves(which: str) -> None:
    judged = JudgedGame(ttt_envs.make_text(DICE, opponent="random"), simulations=0)
    for seed in range(4):
        lost = play(judged, seed, which)
        assert [move.regret for move in judged.moves] == pytest.approx(lost, abs=1e-4)
        assert judged.reward() == pytest.approx(-sum(lost), abs=1e-3)
        assert (judged.reward() == 0) == (which == "best")
        assert judged.judged_by() == "oracle"
        assert judged.result() == judged.env.rewards[judged.env.player]


def test_both_players_may_be_asked() -> None:
    judged = JudgedGame(ttt_envs.make_text(DICE), simulations=0)
    lost = play(judged, 1, "worst")
    assert {move.player for move in judged.moves} == {0, 1}
    assert judged.reward(0) + judged.reward(1) == pytest.approx(-sum(lost), abs=1e-3)
    assert judged.result(0) == -judged.result(1) != 0


def test_answers_that_cannot_be_used_lose_what_a_lost_game_does() -> None:
    judged = JudgedGame(ttt_envs.make_text(DICE, opponent="random", retries=1), simulations=0)
    first = judged.reset(3)
    value = float(DICE.oracle().value(judged.env.states, judged.env.player)[0])
    again = judged.answer("no idea")
    assert "YOUR LAST ANSWER could not be used" in again
    assert "RULES" in first
    assert "RULES" not in again
    assert judged.moves == []
    assert judged.answer("no idea") == ""
    (move,) = judged.moves
    assert move.action is None
    assert move.regret == pytest.approx(value + 1, abs=1e-3)
    assert (judged.reward(), judged.result()) == (pytest.approx(-value - 1, abs=1e-3), -1.0)


def test_a_game_that_is_left_is_lost() -> None:
    judged = JudgedGame(ttt_envs.make_text(DICE, opponent="random"), simulations=0)
    judged.reset(3)
    judged.answer(f"[{judged.env.legal[0]}]")
    assert not judged.env.done
    judged.give_up()
    assert judged.env.done
    assert judged.result() == -1
    assert judged.moves[-1].action is None


@pytest.mark.parametrize(("simulations", "by"), [(20, "estimate"), (0, "result")])
def test_elsewhere_a_search_estimates_or_the_result_counts(simulations: int, by: str) -> None:
    judged = JudgedGame(ttt_envs.make_text(MATCH, opponent="random"), simulations=simulations)
    judged.reset(0)
    while not judged.env.done:
        judged.answer(f"[{judged.env.legal[-1]}]")
    several = [move for move in judged.moves if not move.exact]
    assert judged.judged_by() == by
    assert several
    if by == "result":
        assert all(move.regret is None for move in several)
        assert judged.reward() == judged.result()
    else:
        assert judged.reward() == pytest.approx(-sum(move.regret for move in judged.moves))


def test_a_move_that_the_oracle_has_not_proved_is_estimated() -> None:
    judged = JudgedGame(ttt_envs.make_text("super_tic_tac_toe"), simulations=100)
    for action, exact in (("4/4", True), ("4/0", False)):
        judged.reset(1)
        judged.answer(f"[{action}]")
        (move,) = judged.moves
        assert (move.regret == 0, move.exact) == (exact, exact)
        assert move.regret is not None


def test_a_wrong_game_is_refused() -> None:
    with pytest.raises(TypeError, match="make_text"):
        JudgedGame(ttt_envs.make_aec(DICE))
    with pytest.raises(ValueError, match="simulations"):
        JudgedGame(ttt_envs.make_text(DICE), simulations=-1)


def test_trl_finds_one_tool_and_is_paid_by_regret() -> None:
    module = pytest.importorskip("trl_grpo", reason="TRL is not installed; it wants an environment of its own")
    with pytest.raises(ValueError, match="with an opponent"):
        module.TRLGame(ttt_envs.make_text(DICE))
    env = module.TRLGame(ttt_envs.make_text(DICE, opponent="random", retries=0), simulations=0)
    public = [name for name, _ in inspect.getmembers(type(env), inspect.isfunction) if not name.startswith("_")]
    assert sorted(public) == ["get_reward", "play", "reset"], "TRL takes every other public method as a tool"
    asked = env.reset(prompt="x", seed=2)
    assert asked == env.reset(seed=2)
    assert "Call the tool `play`" in asked
    while not env.judged.env.done:
        asked = env.play(env.judged.env.legal[0])
    assert asked == f"The game is over. It has paid you {env.judged.result():g}."
    assert env.get_reward() == env.judged.reward() < 0
    with pytest.raises(ValueError, match="over"):
        env.play("A")
    env.reset(seed=3)
    assert module.game_results([env], prompts=["x"]) == [-1.0]
    assert env.get_reward() < -0.3


def test_verifiers_plays_and_is_paid_by_regret() -> None:
    vf = pytest.importorskip("verifiers", reason="verifiers is not installed; it wants an environment of its own")
    from openai import AsyncOpenAI

    module = pytest.importorskip("verifiers_eval")

    def make(game: Game = DICE) -> object:
        return ttt_envs.make_text(game, opponent="random", retries=0)

    with pytest.raises(ValueError, match="with an opponent"):
        module.VerifiersGame(lambda: ttt_envs.make_text(DICE))
    for model in ("first", "wrong", "down"):
        with chat_server() as server:
            client = vf.OpenAIChatCompletionsClient(AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0))
            found = module.VerifiersGame(make, games=3, simulations=0).evaluate_sync(client, model, num_examples=3)
        for row in found["outputs"]:
            judged = JudgedGame(make(), simulations=0)
            asked = judged.reset(row["info"]["seed"])
            while model == "first" and asked:
                asked = judged.answer(f"[{judged.env.legal[0]}]")
            if model == "wrong":
                judged.give_up()
            assert row["reward"] == pytest.approx(judged.reward() if model != "down" else 0)
            assert row["game_result"] == judged.result()
            assert (row["error"] is not None) == (model == "down")


@pytest.mark.parametrize("how", ["first", "refused", "left"])
@pytest.mark.parametrize("game", [DICE, MATCH, wages()], ids=["regret", "result", "at each step"])
def test_verifiers_steps_add_up_to_the_reward(game: Game, how: str) -> None:
    module = pytest.importorskip(
        "verifiers_eval", reason="verifiers is not installed; it wants an environment of its own"
    )
    judged = JudgedGame(ttt_envs.make_text(game, opponent="random", retries=1), simulations=0)
    judged.reset(1)
    trajectory: list[dict[str, object]] = []
    moved_at: list[int] = []
    while not judged.env.done and not (how == "left" and trajectory):
        known = len(judged.moves)
        trajectory.append({"reward": None})
        judged.answer("nothing" if how == "refused" and len(trajectory) == 1 else f"[{judged.env.legal[0]}]")
        moved_at += [len(trajectory) - 1] * (len(judged.moves) - known)
    judged.give_up()
    module.pay_steps(trajectory, judged, moved_at)
    assert sum(step["reward"] for step in trajectory) == pytest.approx(judged.reward())
    if how == "refused":
        assert trajectory[0]["reward"] == 0


def test_textarena_plays_and_tells_regret() -> None:
    ta = pytest.importorskip("textarena", reason="TextArena is not installed; it wants an environment of its own")
    module = pytest.importorskip("textarena_play")
    names = module.register()
    assert names == module.register()
    assert set(names) == set(ttt_envs.GAMES)
    env = ta.make(f"{names['tic_tac_dice']}-train", rounds="single")
    env.reset(num_players=2, seed=4)
    judged = JudgedGame(ttt_envs.make_text(DICE), simulations=0)
    judged.reset(4)
    done, total = False, {0: 0.0, 1: 0.0}
    while not done:
        player, observation = env.get_observation()
        assert player == judged.env.player
        assert "RULES" not in observation
        assert DICE.rules_text in observation
        assert judged.env.view().text(0) in observation
        answer = f"[{judged.env.legal[0]}]"
        judged.answer(answer)
        done, info = env.step(action=answer)
        assert info["regret"] == judged.moves[-1].regret
        total[player] += info["regret"]
    rewards, facts = env.close()
    assert rewards == judged.env.rewards
    for player in (0, 1):
        assert facts[player]["regret"] == pytest.approx(total[player])
        assert facts[player]["judged_by"] == "oracle"
    with pytest.raises(ValueError, match="has 2 players, not 3"):
        env.reset(num_players=3)
