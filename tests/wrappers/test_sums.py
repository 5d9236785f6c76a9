"""All that a player is paid by any consumer of the environments adds up to what the game, or a function, has paid."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from stubborn import Stubborn
from toy_wages import wages

import ttt_envs
from ttt_envs import agents
from ttt_envs.core.game import Game
from ttt_envs.core.view import View
from ttt_envs.evaluation import game_seeds, play_games, records

GAMES = {
    "wages": wages(players=3, rounds=9),
    "wages at once": wages(players=3, rounds=9, at_once=True),
    "teams": ttt_envs.load("tic_tac_match", players=4, hand_size=2, max_turns=12),
}


def shaped(before: np.ndarray, after: np.ndarray, player: np.ndarray) -> np.ndarray:
    """What the game pays, doubled, and 1 a ply."""
    rows = np.arange(len(player))
    return 2.0 * (after["rewards"] - before["rewards"])[rows, player] + after["ply"] - before["ply"]


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shaped": {"reward": shaped},
    "cut off": {"reward": shaped, "max_plies": 5},
}

FIRST = Stubborn()

# The decision in which an illegal action is played; None: in none.
WRONG = [None, 4]


def due(states: np.ndarray, settings: dict[str, Any], since: np.ndarray | None = None) -> list[float]:
    """What each player was paid in the only game, by a function since the states `since`."""
    paid = states["rewards"][0].astype(float)
    if "reward" not in settings:
        return paid.tolist()
    plies, before = int(states["ply"][0]), 0.0
    if since is not None:
        plies, before = plies - int(since["ply"][0]), since["rewards"][0].astype(float)
    return (2 * (paid - before) + plies).tolist()


def chosen(mask: np.ndarray, count: int, wrong: int | None) -> int:
    """A legal action, or in the decision `wrong` one that is not, if there is one."""
    among = np.flatnonzero(mask == 0) if count == wrong and not np.all(mask) else np.flatnonzero(mask)
    return int(among[7 * count % len(among)])


# --- each plays a game, and answers what the players were paid, with what they are due ---

Answer = tuple[list[float], list[float]]


def aec(game: Game, settings: dict[str, Any], wrong: int | None) -> Answer:
    env = ttt_envs.make_aec(game, **settings)
    env.reset(seed=1)
    paid = dict.fromkeys(env.possible_agents, 0.0)
    for count, name in enumerate(env.agent_iter()):
        _, reward, terminated, truncated, info = env.last()
        paid[name] += reward
        env.step(None if terminated or truncated else chosen(info["action_mask"], count, wrong))
    return list(paid.values()), due(env.states, settings)


def parallel(game: Game, settings: dict[str, Any], wrong: int | None) -> Answer:
    env = ttt_envs.make_parallel(game, **settings)
    _, infos = env.reset(seed=1)
    paid, count = dict.fromkeys(env.possible_agents, 0.0), 0
    while env.agents:
        masks = {name: infos[name]["action_mask"] for name in env.agents}
        some = next(name for name, mask in masks.items() if not mask[-1])
        actions = {name: chosen(mask, count, wrong if name == some else None) for name, mask in masks.items()}
        _, rewards, *_, infos = env.step(actions)
        paid = {name: each + rewards[name] for name, each in paid.items()}
        count += 1
    return list(paid.values()), due(env.states, settings)


def rllib(game: Game, settings: dict[str, Any], wrong: int | None) -> Answer:
    env = pytest.importorskip("rllib_self_play").RLlibGame({"game": game, **settings})
    seen, _ = env.reset(seed=1)
    paid, count, over = dict.fromkeys(env.possible_agents, 0.0), 0, False
    while not over:
        some = next(iter(seen))
        actions = {n: chosen(each["action_mask"], count, wrong if n == some else None) for n, each in seen.items()}
        seen, rewards, terminated, truncated, _ = env.step(actions)
        over = terminated["__all__"] or truncated["__all__"]
        for name, reward in rewards.items():
            paid[name] += reward
        count += 1
    return list(paid.values()), due(env.env.states, settings)


def single(game: Game, settings: dict[str, Any], wrong: int | None) -> Answer:
    paid, owed = list[float](), list[float]()
    for player in range(game.num_players):
        env = ttt_envs.make_single(game, opponent=FIRST, player=player, **settings)
        env.reset(seed=1)
        since, total, count, over = env.states.copy(), 0.0, 0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(chosen(env.action_masks(), count, wrong))
            total, count, over = total + reward, count + 1, terminated or truncated
        paid.append(total)
        owed.append(due(env.states, settings, since)[player])
    return paid, owed


#: The forms of many games pay as the single one does: test_random_settings.py and test_learners.py.
CONSUMERS = [aec, parallel, rllib, single]


@pytest.mark.parametrize("wrong", WRONG, ids=["legal", "illegal"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
@pytest.mark.parametrize("play", CONSUMERS)
def test_environments(play: Callable[..., Answer], game: Game, settings: dict[str, Any], wrong: int | None) -> None:
    paid, owed = play(game, settings, wrong)
    assert paid == pytest.approx(owed, abs=1e-5)
    assert any(paid) or "wages" not in game.id


class Fails(agents.Agent):
    """Plays the first legal action, and fails in later plies."""

    def act(self, view: View) -> np.ndarray:
        if (view.plies > 4).any():
            raise RuntimeError("no more")
        return view.masks.argmax(axis=1)


@pytest.mark.parametrize("lineup", [[FIRST, agents.load("random")], [FIRST, Fails()]], ids=["legal", "illegal"])
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_data_sets(game: Game, lineup: list[agents.Agent], monkeypatch: pytest.MonkeyPatch) -> None:
    export = pytest.importorskip("tools.export_dataset", reason="data sets need pyarrow and minari")
    # Regrets are not looked at, and to solve a match for them takes a minute.
    monkeypatch.setattr(export, "judge", lambda game, oracle, *decisions: (None, np.nan))
    monkeypatch.setattr(export, "oracle_of", lambda game: None)
    seats = np.arange(4 * game.num_players).reshape(4, -1) % 2
    played = play_games(game, lineup, seats=seats, games=4, seed=3, keep=range(4), strict=False)
    kept = records.of_games(game, played, ["first", "other"], seats, game_seeds(3, 4), first=0)
    for number, each in enumerate(records.replay(list(kept), game=game)):
        found = export.decisions_of(each)
        paid = np.bincount(found.player, found.reward, game.num_players)
        assert paid == pytest.approx(played.rewards[number])


@pytest.mark.parametrize("game", [GAMES["wages"], ttt_envs.load("martian_tic_tac_toe", size=3, players=3)], ids=str)
def test_jax(game: Game) -> None:
    jax_glue = pytest.importorskip("jax_glue", reason="JAX is not installed: pip install jax")
    step, states, paid = jax_glue.rules_of(game), game.to_bytes(game.new_state(seed=1)), np.zeros(game.num_players)
    for count in range(200):
        mask = game.masks(game.from_bytes(np.asarray(states)))[0]
        after = step(states, np.array([chosen(mask, count, None) if mask.any() else 0]))
        states, paid = after.states, paid + np.asarray(after.rewards)[0]
    assert after.done.all()
    assert paid.tolist() == game.from_bytes(np.asarray(states))["rewards"][0].tolist()
    assert paid.any()


def test_who_needs_rewards_at_the_end_refuses_others() -> None:
    spiel = pytest.importorskip("ttt_envs.integrations.open_spiel", reason="OpenSpiel is not installed")
    with pytest.raises(ValueError, match="OpenSpiel's form needs a game that pays at its end alone"):
        spiel.SpielGame(GAMES["wages"])
