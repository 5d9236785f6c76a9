"""What steps pay: at each step, in all forms against a plain loop; by a function; and the rounds of matches."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import toy_wages
from changed import changed
from toy_wages import wages

import ttt_envs
from ttt_envs import agents, testing
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.core.view import View

GAMES = {
    "in turn": wages(players=2),
    "three": wages(players=3, rounds=9),
    "at once": wages(players=2, at_once=True),
    "three at once": wages(players=3, rounds=9, at_once=True),
}
SEEDS = range(4)


def choice_of(mask: np.ndarray, ply: int, player: int) -> int:
    legal = np.flatnonzero(mask)
    return int(legal[(5 * ply + 3 * player) % len(legal)])


class Planned(agents.Agent):
    """Chooses so."""

    def act(self, view: View) -> np.ndarray:
        return np.array([choice_of(*each) for each in zip(view.masks, view.plies, view.players, strict=True)])


def plain(game: Game, seed: int) -> Iterator[tuple[dict[int, int], np.ndarray]]:
    """Each ply of the game of a seed: the choices by player, and what they pay, by the text of the rules."""
    state = game.new_state(seed)
    while not state["done"][0]:
        ply, mover = int(state["ply"][0]), int(state["to_move"][0])
        acting = range(game.num_players) if mover == SIMULTANEOUS else [mover]
        chosen = {p: choice_of(game.masks(state, np.array([p]))[0], ply, p) for p in acting}
        paid = np.zeros(game.num_players)
        for player, job in chosen.items():
            for other in range(game.num_players):
                paid[other] += (job + 1) / 4 if other == player else -1 / 8
        yield chosen, paid
        state = game.step(state, [[chosen.get(p, -1) for p in range(game.num_players)]])


def at_decisions(game: Game, seed: int, player: int) -> list[float]:
    """What a player is paid from each of their decisions to the next, the first time with what came before."""
    found, before = list[float](), 0.0
    for chosen, paid in plain(game, seed):
        if player in chosen:
            found.append(before)
            before = 0.0
        if found:
            found[-1] += paid[player]
        else:
            before += paid[player]
    return found


games = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)


@games
def test_batch_and_parallel(game: Game) -> None:
    for seed in SEEDS:
        batch, env = Batch(game, 1, seed=seed), ttt_envs.make_parallel(game)
        env.reset(seed=seed)
        for chosen, paid in plain(game, seed):
            batch.step([[chosen.get(p, -1) for p in range(game.num_players)]])
            _, rewards, *_ = env.step({name: chosen.get(p, -1) for p, name in enumerate(env.possible_agents)})
            assert batch.rewards[0].tolist() == list(rewards.values()) == paid.tolist()
        assert not env.agents


@games
def test_aec(game: Game) -> None:
    """`rewards` are those of the last step, and 0 after a choice that waits; `last` adds up since one's own step."""
    for seed in SEEDS:
        env = ttt_envs.make_aec(game)
        env.reset(seed=seed)
        owed = np.zeros(game.num_players)
        for chosen, paid in plain(game, seed):
            for k, (player, action) in enumerate(chosen.items()):
                assert env.agent_selection == f"player_{player}"
                assert env.last()[1] == owed[player]
                owed[player] = 0
                env.step(action)
                expected = paid if k == len(chosen) - 1 else np.zeros(game.num_players)
                assert list(env.rewards.values()) == expected.tolist()
                owed += expected
        for player, name in enumerate(env.possible_agents):
            assert env._cumulative_rewards[name] == owed[player]


@games
@pytest.mark.parametrize("max_plies", [None, 5])
def test_one_player(game: Game, max_plies: int | None) -> None:
    for player in range(game.num_players):
        env = ttt_envs.make_single(game, opponent=Planned(), player=player, max_plies=max_plies)
        env.reset(seed=3)
        expected, paid, over = at_decisions(cut(game, max_plies), 3, player), [], False
        while not over:
            _, reward, terminated, truncated, _ = env.step(planned(env))
            paid.append(reward)
            over = terminated or truncated
        assert paid == expected
        assert truncated == (max_plies is not None)


def cut(game: Game, max_plies: int | None) -> Game:
    """The same game, if it ended after so many plies: nothing else tells them apart."""
    return game if max_plies is None else wages(**{**game.options, "rounds": max_plies})


def planned(env: Any) -> int:
    return int(Planned().act(env.view())[0])


def answers(env: Any) -> list[int]:
    """The learners' choices; 0 where a game is over."""
    view = env.view()
    return [
        choice_of(mask, ply, player) if mask.any() else 0
        for mask, ply, player in zip(view.masks, view.plies, view.players, strict=True)
    ]


@games
def test_text(game: Game) -> None:
    for seed in SEEDS:
        env = ttt_envs.make_text(game)
        env.reset(seed=seed)
        total, told = np.zeros(game.num_players), np.zeros(game.num_players)
        for chosen, paid in plain(game, seed):
            for k, (player, action) in enumerate(chosen.items()):
                assert env.player == player
                total += paid if k == len(chosen) - 1 else 0
                _, reward, over, *_ = env.step(f"[{game.action_names[action]}]")
                assert reward == total[player] - told[player]
                told[player] = total[player]
                assert list(env.rewards.values()) == total.tolist()
        assert over


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"rewards": "end"}, "needs rewards='steps'"),
        ({"zero_sum": True}, "needs zero_sum=False"),
        ({"teams": ((0, 2), (1,))}, "players of one team"),
    ],
)
def test_what_a_game_declares_is_checked(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        testing.CHECKS["rewards"](changed(GAMES["three"], **parts))


def test_who_relies_on_rewards_at_the_end_says_so() -> None:
    from ttt_envs.solvers import tree

    with pytest.raises(ValueError, match="a solver of trees needs a game that pays at its end"):
        tree.walk(GAMES["in turn"])
    with pytest.raises(ValueError, match=r"alphabeta.*rewards add up to 0.*zero_sum=False"):
        agents.load("alphabeta").check(changed(GAMES["in turn"], rewards="end"))
    with pytest.raises(ValueError, match="rewards must be one of 'end', 'steps', not 'always'"):
        changed(GAMES["in turn"], rewards="always")


@pytest.mark.parametrize("mode", ["same_step", "next_step", "sb3"])
def test_a_function_pays_many_games(mode: str) -> None:
    game, asked = GAMES["three"], list[tuple[int, ...]]()

    def reward(before: np.ndarray, after: np.ndarray, player: np.ndarray) -> np.ndarray:
        asked.append(tuple(player))
        assert (before["ply"] < after["ply"]).all()
        return player + 0.5

    if mode == "sb3":
        env: Any = ttt_envs.make_sb3(game, 3, reward=reward)
    else:
        env = ttt_envs.make_vec(game, 3, reward=reward, autoreset_mode=mode)
    env.reset()
    for _ in range(12):
        players = env.view().players
        over = np.array([not mask.any() for mask in env.view().masks])
        rewards = env.step(np.array(answers(env)))[1]
        assert rewards.dtype == np.float32
        assert rewards.tolist() == np.where(over, 0, players + 0.5).tolist()
        assert asked.pop() == tuple(players[~over])
        assert not asked


@pytest.mark.parametrize(
    ("reward", "kind", "words"),
    [
        (7, TypeError, "reward must be a function of (before, after, player), not 7"),
        (lambda before, after, player: "much", TypeError, "reward must give numbers"),
        (lambda before, after, player: [1.0] * 7, ValueError, "shape (1,), not (7,)"),
        (lambda before, after, player: np.nan, ValueError, "finite"),
    ],
)
def test_what_a_function_must_give(reward: Any, kind: type[Exception], words: str) -> None:
    def one_step() -> None:
        env = ttt_envs.make_single(GAMES["in turn"], reward=reward)
        env.reset(seed=0)
        env.step(int(env.action_masks().argmax()))

    with pytest.raises(kind) as error:
        one_step()
    assert words in str(error.value)


MATCHES = {
    "dice": ttt_envs.load("tic_tac_dice", target_points=3),
    "operation": ttt_envs.load("operation_tic_tac_toe", rounds_to_win=2, max_rounds=4),
}


@pytest.mark.parametrize("game", MATCHES.values(), ids=MATCHES)
def test_rounds_of_a_match(game: Game) -> None:
    seed, told = 3, dict[str, float]()
    parallel, aec = ttt_envs.make_parallel(game), ttt_envs.make_aec(game)
    _, infos = parallel.reset(seed=seed)
    aec.reset(seed=seed)
    steps, total = list[float](), np.zeros(2)
    while parallel.agents:
        assert [infos[name]["round_reward"] for name in parallel.possible_agents].count(0.0) in (0, 2)
        actions = {
            name: int(agents.load("random").act(parallel.view(name))[0])
            if parallel.action_masks(name)[:-1].any()
            else -1
            for name in parallel.possible_agents
        }
        for name in sorted(name for name, action in actions.items() if action >= 0):
            assert aec.agent_selection == name
            told[name] = told.get(name, 0.0) + aec.last()[4]["round_reward"]
            aec.step(actions[name])
        *_, infos = parallel.step(actions)
        steps.append(infos["player_0"]["round_reward"])
        total += [infos[name]["round_reward"] for name in parallel.possible_agents]
    assert total[0] == -total[1] != 0
    assert np.sign(total).tolist() == parallel.states["rewards"][0].tolist()
    assert len([each for each in steps if each]) > 1
    for name, owed in zip(aec.possible_agents, total, strict=True):
        assert told[name] + aec.infos[name]["round_reward"] == owed

    single = ttt_envs.make_single(game, opponent="random", player=0)
    vector, sb3 = ttt_envs.make_vec(game, 1, player=0), ttt_envs.make_sb3(game, 1, player=0)
    text = ttt_envs.make_text(game, opponent="random", player=0)
    single.reset(seed=seed)
    vector.reset(seed=seed)
    sb3.seed(seed)
    sb3.reset()
    text.reset(seed=seed)
    sums, over = np.zeros(4), False
    while not over:
        action = int(agents.load("random").act(single.view())[0])
        _, _, over, _, info = single.step(action)
        more = vector.step(np.array([action]))[4]["round_reward"].item()
        others = sb3.step(np.array([action]))[3][0].get("round_reward", 0.0)
        by_text = text.step(game.action_names[action])[4]["round_reward"]
        assert info["round_reward"] == more == others == by_text
        sums += info["round_reward"]
    assert sums[0] == total[0]
    assert vector.reset(seed=1)[1]["round_reward"].tolist() == [0]
    assert single.reset(seed=1)[1]["round_reward"] == 0


def test_no_match_has_no_rounds() -> None:
    for game in (ttt_envs.load("super_tic_tac_toe"), ttt_envs.load("tic_tac_dice", rounds="single")):
        assert "round_reward" not in ttt_envs.make_single(game).reset()[1]
    assert toy_wages.wages().extras.round_rewards is None
