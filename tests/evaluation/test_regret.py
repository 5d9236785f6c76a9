"""Regret: against a game small enough to be solved by hand, and against the identities that it must obey."""

import json
import re
import sys

import numpy as np
import pytest
import toy_coin
from changed import changed
from stubborn import Interrupts
from toy_pile import BY_HAND, PileOracle, pile

import ttt_envs
from ttt_envs import agents, evaluation, registry
from ttt_envs.agents import Agent
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.judging import MISTAKE
from ttt_envs.evaluation.regret import Tally, WorstDecision, measure

DICE = ttt_envs.load("tic_tac_dice", rounds="single")


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(registry.GAMES, "pile", "toy_pile:pile")
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")


class Takes(Agent):
    """Takes the best number by hand, but `wrong` of `at` stones."""

    def __init__(self, at=0, wrong=0, name="takes"):
        self.name = name
        self.at, self.wrong = at, wrong

    def act(self, view):
        left = view.observations.argmax(axis=1)
        best = np.array([np.argmax(BY_HAND[k]) if k else -1 for k in left])
        return np.where(left == self.at, self.wrong - 1, best)


RANDOM, ORACLE = agents.load("random"), agents.load("oracle")


def decisions(game, agent, games, seed):
    """All decisions of an agent that plays itself: (stones, action, game), one after the other."""
    n = game.num_players
    played = play_games(game, [agent], seats=[0] * n, games=games, seed=seed, record=range(games))
    for k, record in played.records.items():
        for state, joint in zip(record.states[:-1], record.actions, strict=True):
            yield int(state["left"]), int(joint[state["to_move"]]), k


def by_hand(left, action):
    return max(BY_HAND[left]) - BY_HAND[left][action]


def test_the_oracle_of_the_toy_is_the_hand_s():
    oracle = PileOracle(2)
    for left, values in BY_HAND.items():
        np.testing.assert_allclose(oracle.actions[left, : len(values), 0], values)
        np.testing.assert_allclose(oracle.actions[left, : len(values), 1], np.negative(values))


# --- what is measured ---


def test_random_is_what_a_loop_by_hand_finds():
    losses = [(by_hand(left, action), k) for left, action, k in decisions(pile(), RANDOM, 500, seed=3)]
    found = measure(pile(), RANDOM, games=500, seed=3)
    assert found.decisions == len(losses)
    assert found.per_decision == pytest.approx(np.mean([loss for loss, _ in losses]), abs=1e-12)
    assert found.per_game == pytest.approx(sum(loss for loss, _ in losses) / 1000, abs=1e-12)
    assert found.suboptimal == pytest.approx(np.mean([loss > 0 for loss, _ in losses]))
    assert found.worst.regret == 2
    assert (found.worst.position, found.worst.played, found.worst.best) == ("left 3", "one", "three")
    per_seed = np.bincount([k for _, k in losses], [loss for loss, _ in losses]) / 2
    low, high = found.per_game_interval
    half = 1.9648 * per_seed.std(ddof=1) / np.sqrt(500)
    assert low == pytest.approx(found.per_game - half, abs=0.2 * half)
    assert found.per_game + half <= high <= found.per_game + 1.3 * half


def test_wrong_in_one_position():
    at, wrong, loss = 6, 2, 0.625
    agent = Takes(at, wrong)
    visits = sum(left == at for left, _, _ in decisions(pile(), agent, 300, seed=0))
    found = measure(pile(), agent, games=300)
    assert visits > 20
    assert found.per_game * found.sides == pytest.approx(loss * visits)
    assert found.suboptimal * found.decisions == pytest.approx(visits)
    assert found.worst == WorstDecision(
        pytest.approx(loss), found.worst.player, ("one", "two")[wrong - 1], found.worst.best, f"left {at}"
    )


def test_a_loss_counts_even_if_it_is_no_mistake(monkeypatch):
    all_losses = measure(DICE, agents.load("greedy"), games=20).suboptimal
    monkeypatch.setattr(sys.modules[measure.__module__], "ROUNDING", MISTAKE)
    assert measure(DICE, agents.load("greedy"), games=20).suboptimal < all_losses


def test_the_opponent_s_decisions_do_not_count():
    assert measure(pile(), Takes(), games=50, opponent=Takes(5, 2)).suboptimal == 0
    found = measure(pile(), Takes(5, 2), games=50, opponent=Takes())
    assert found.suboptimal > 0
    seats = np.array([[0, 1], [1, 0]] * 25)
    played = play_games(pile(), [Takes(5, 2), Takes()], seats=seats, seeds=np.repeat(game_seeds(0, 25), 2))
    assert found.decisions == played.decisions[0]


@pytest.mark.parametrize(("game", "games"), [(pile(), 1500), (DICE, 400)], ids=["pile", "dice"])
def test_regret_is_value_lost(game, games):
    units = games // 2
    seats, seeds = np.array([[0, 1], [1, 0]] * units), np.repeat(game_seeds(5, units), 2)
    for opponent in (ORACLE, agents.load("greedy") if game is DICE else Takes(6, 3)):
        own = measure(game, RANDOM, games=games, seed=5, opponent=opponent)
        other = measure(game, opponent, games=games, seed=5, opponent=RANDOM)
        played = play_games(game, [RANDOM, opponent], seats=seats, seeds=seeds, record=range(games))
        starts = np.concatenate([played.records[k].states[:1] for k in range(games)])
        side = np.arange(games) % 2  # which seat the agent has
        result = played.rewards[np.arange(games), side]
        given_up = (game.oracle().value(starts, side) - result).reshape(units, 2).mean(axis=1)
        error = given_up.std(ddof=1) / np.sqrt(units)
        expected = own.per_game - other.per_game
        assert own.per_game > 5 * error
        assert given_up.mean() == pytest.approx(expected, abs=3.5 * error)
        assert (other.per_game < 1e-9) == (opponent is ORACLE)


def test_choices_at_once_count_for_all_who_choose():
    class ByNumber:
        def covers(self, states):
            return np.ones(len(states), np.bool_)

        def action_values(self, states, player):
            return np.arange(6) / np.where(player == 0, 10, 1)[:, None]

    game = changed(toy_coin.make(players=3), hidden_information=False, oracle=ByNumber)
    played = play_games(game, [RANDOM], seats=[0, 0, 0], games=200, seed=0, record=range(200))
    found = measure(game, RANDOM, games=200)
    assert found.decisions == played.decisions.sum()
    total = 0.0
    for record in played.records.values():
        for state, joint in zip(record.states[:-1], record.actions, strict=True):
            for player in range(3):
                mask = np.empty((1, 6), np.bool_)
                game.loops.mask_rows(np.array([state]), np.array([player]), mask)
                if mask.any():
                    total += (np.flatnonzero(mask[0]).max() - joint[player]) / (10 if player == 0 else 1)
    assert found.per_game == pytest.approx(total / 600)


def test_positions_that_are_not_covered_are_left_out_and_told():
    game = pile(most=4)
    losses = [(left, by_hand(left, action)) for left, action, _ in decisions(game, RANDOM, 200, seed=0)]
    known = [loss for left, loss in losses if left <= 4]
    found = measure(game, RANDOM, games=200)
    assert found.decisions == len(losses)
    assert found.covered == found.measured == pytest.approx(len(known) / len(losses))
    assert 0.3 < found.covered < 0.8
    assert found.per_decision == pytest.approx(np.mean(known))
    assert found.per_game == pytest.approx(sum(known) / 400)
    assert found.per_game < measure(pile(), RANDOM, games=200).per_game


def test_actions_of_unknown_value():
    unknown = ((3, 1), (6, 0))  # of 3 taking two, of 6 taking one, which is best
    game = changed(pile(), oracle=lambda: PileOracle(2, unknown=unknown))
    losses = [(left, action, by_hand(left, action)) for left, action, _ in decisions(game, RANDOM, 200, seed=0)]
    known = [loss for left, action, loss in losses if (left, action) not in unknown]
    found = measure(game, RANDOM, games=200)
    assert found.covered == 1
    assert found.measured == pytest.approx(len(known) / len(losses))
    assert found.per_decision == pytest.approx(np.mean(known))
    found = measure(game, Takes(6, 3), games=200)
    assert (found.worst.played, found.worst.best, found.worst.regret) == ("three", "", 1.375)


# --- the report ---


def small(**changes):
    given = {"game": "pile", "agents": ["random", "oracle"], "games": 40, "quiet": True}
    return evaluation.regret(**{**given, **changes})


def test_report_and_files(tmp_path):
    lineup = ["random", "greedy", "oracle"]
    report = evaluation.regret(DICE, lineup, opponent="random", games=31, out=tmp_path / "r", quiet=True)
    assert report.complete
    text = (tmp_path / "r" / "report.md").read_text()
    command = (
        "ttt regret tic_tac_dice --agents random greedy oracle --opponent random --games 31 --option rounds=single"
    )
    assert f"\n{command}\n" in text
    for part in ("## Regret", "## Decisions", "## Worst decisions", "32 games of each agent", "held by random"):
        assert part in text
    assert "### greedy, the worst decision" in text
    assert "oracle: no loss was seen in 16 seeds; with 95 % confidence fewer than 17.1 % of them have one" in text
    data = json.loads((tmp_path / "r" / "results.json").read_text())
    assert data["complete"]
    assert [m["agent"] for m in data["measurements"]] == lineup
    expected = measure(DICE, RANDOM, games=31, opponent=agents.load("random"))
    assert data["measurements"][0]["per_game"] == expected.per_game
    assert data["measurements"][0]["worst"]["position"] == expected.worst.position
    assert data["measurements"][1]["per_game"] > data["measurements"][2]["per_game"] == 0
    with pytest.raises(FileExistsError, match="choose another folder"):
        evaluation.regret(DICE, "greedy", games=1, out=tmp_path / "r")
    assert "held by the agent too" in evaluation.regret(DICE, "greedy", games=1, quiet=True).markdown()


def test_the_report_says_what_is_not_known(registered, tmp_path):
    text = small(agents="random", most=4).markdown()
    assert re.search(r"\| random \| ≥ \d", text)
    assert re.search(r"random: only \d\d\.\d % of its decisions could be measured", text)
    text = small(agents="random", most=0, out=tmp_path / "r").markdown()
    assert "so there is no figure" in text
    assert re.search(r"\| random \| – \| – \| – \| 0\.0 % \|", text)
    assert json.loads((tmp_path / "r" / "results.json").read_text())["measurements"][0]["per_game"] is None
    text = small(agents="random", game="super_tic_tac_toe").markdown()
    assert "the oracle knows the position, but not what the action played there is worth" in text
    assert "no loss was seen" not in text
    assert re.search(r"\| random \| \d\.\d % measured\* \(≥ 0\.0000\) \| –\* \| 0\.0 %\* \|", text)
    assert "So few decisions were measured, less than 10.0 %, that this is no regret" in text
    assert "that this is no regret" not in small(agents="random", most=4).markdown()


@pytest.mark.parametrize(("opponent", "calls", "chunk", "left"), [(None, 8, 9, 18), ("random", 5, 7, 6)])
def test_an_interrupt_keeps_what_is_finished(registered, tmp_path, monkeypatch, opponent, calls, chunk, left):
    """Whole chunks of games, and of these whole seeds: with an opponent 7 games are 3 pairs."""
    play = Tally.play
    monkeypatch.setattr(Tally, "play", lambda tally, _, progress: play(tally, chunk, progress))
    report = small(agents=["random", Interrupts(calls, Takes()), "greedy"], opponent=opponent, out=tmp_path / "r")
    assert not report.complete
    whole = small(opponent=opponent)
    assert report.measurements[0].__dict__ == {**whole.measurements[0].__dict__, "worst": report.measurements[0].worst}
    assert len(report.measurements) == 2
    assert report.measurements[1].games == left
    part = measure(pile(), Takes(), games=report.measurements[1].games, opponent=opponent and RANDOM)
    assert report.measurements[1].decisions == part.decisions
    text = (tmp_path / "r" / "report.md").read_text()
    assert "Partial: it was interrupted." in text
    assert f"| i | {report.measurements[1].games} of 40 |" in text
    assert "Not measured, since it was interrupted: greedy." in text
    assert not json.loads((tmp_path / "r" / "results.json").read_text())["complete"]


class Wrong(Agent):
    name = "wrong"

    def act(self, view):
        return np.full(len(view), 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"agents": []}, "at least one agent"),
        ({"games": 0}, "games must be a whole number from 1 to 1,000,000,000, not 0"),
        ({"game": "toy_coin"}, "regret is undefined for .* because of hidden information"),
        (
            {"game": "super_tic_tac_toe", "won_boards": "closed"},
            "regret cannot be measured in .*no oracle for won_boards='closed'",
        ),
        ({"agents": Wrong()}, "agent 'wrong': actions must be from 0 to 2, not 3"),
        ({"opponent": Wrong()}, "agent 'wrong': actions must be from 0 to 2, not 3"),
    ],
)
def test_wrong_settings_are_refused(registered, tmp_path, changes, words):
    with pytest.raises((TypeError, ValueError), match=words):
        small(**changes, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
