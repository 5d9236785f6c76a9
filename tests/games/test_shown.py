"""What texts and pictures show of the play: what was played last, who has won and how, the end of a round."""

import re

import numpy as np
import pytest
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.core.state import position_start
from ttt_envs.core.view import View
from ttt_envs.testing.positions import random_play
from ttt_envs.wrappers.common import forfeit

FEW = 4


def games() -> list[Game]:
    return [ttt_envs.load(game_id, **options[0]) for game_id, options in OPTIONS.items()]


@pytest.mark.parametrize("game", games(), ids=lambda game: game.id)
def test_the_last_action_is_shown(game: Game) -> None:
    play = random_play(game, FEW)
    for i in range(FEW):
        for step in range(len(play.actions)):
            before, after = play.states[step, i], play.states[step + 1, i]
            finished = game.faces.finished_round(before, play.actions[step, i], after)
            shown = after if finished is None else finished[0]
            if before["done"]:
                break
            names = [game.action_names[action] for action in play.actions[step, i] if action >= 0]
            text = game.format_state(shown, None)
            line = next((line for line in text.splitlines() if re.match("last (move|claim|play|turn): ", line)), "")
            # Who places first, and with which specialists, the position itself says.
            if any(name.startswith(("choose ", "place first", "predict first")) for name in names):
                continue
            for name in names:
                assert name in line, f"{name!r} was played:\n{text}"


@pytest.mark.parametrize("game", games(), ids=lambda game: game.id)
def test_the_end_says_who_has_won_and_how(game: Game) -> None:
    for state in random_play(game, 20).states[-1]:
        text = game.format_state(state, None)
        first = text.splitlines()[0]
        winners = np.flatnonzero(state["rewards"] > 0)
        assert first.startswith("over: ")
        assert ("draw" in first) == (len(winners) == 0)
        assert "forfeit" not in text
        if len(winners):
            assert re.search("with boards|with [RBYG][123] on|row|markers|line|round 10, wins", text), text
            assert re.search(r"wins|win\b", game.draw(state, None))


@pytest.mark.parametrize("game", games(), ids=lambda game: game.id)
def test_a_forfeit_is_called_so(game: Game) -> None:
    states, names = random_play(game, FEW).states[3].copy(), set()
    for offender in range(game.num_players):
        state = states[:1].copy()
        forfeit(game, state, 0, [offender])
        first = game.format_state(state[0], None).splitlines()[0]
        names.add(first)
        assert first.startswith("over: ")
        assert first.endswith("by forfeit")
        assert "forfeit" in game.draw(state[0], None)
    assert len(names) > 1, "the same winner whoever forfeits"


MATCHES = [
    ttt_envs.load("tic_tac_dice"),
    ttt_envs.load("tic_tac_super_dice", target_points=3),
    ttt_envs.load("operation_tic_tac_toe", rounds_to_win=2, max_idle_turns=3),
]


@pytest.mark.parametrize("game", MATCHES, ids=lambda game: game.id)
def test_the_finished_board_of_a_round(game: Game) -> None:
    play, rounds = random_play(game, FEW), 0
    board = "owner" if "owner" in play.states.dtype.names else "board"
    for i in range(FEW):
        for before, joint, after in zip(play.states[:, i], play.actions[:, i], play.states[1:, i], strict=False):
            kept = before.tobytes(), after.tobytes()
            finished = game.faces.finished_round(before, joint, after)
            assert (before.tobytes(), after.tobytes()) == kept
            cleared = (after[board] != 0).sum() == 0 < (before[board] != 0).sum()
            assert (finished is not None) == (cleared and not after["done"] and not before["done"])
            if finished is None:
                continue
            rounds += 1
            text = game.format_state(finished[0], None)
            assert text.startswith("round over: ")
            assert (finished[0][board] != 0).sum() >= (before[board] != 0).sum() - 1
            assert f"ply {after['ply']}" in text
            assert re.search("(?i)round over", game.draw(finished[0], None))
    assert rounds >= FEW


@pytest.mark.parametrize("game", games(), ids=lambda game: game.id)
def test_every_part_that_can_be_clicked_is_explained_but_buttons(game: Game) -> None:
    for state in random_play(game, FEW).states[:6, 0]:
        viewer = max(int(state["to_move"]), 0)
        tips = game.faces.tips(state, viewer)
        for name, box in game.spots(state, viewer).items():
            if name.startswith(("place ", "predict ", "no ability", "pass", "offer")) or (
                name.startswith(("cell ", "room ")) and not game.hidden_information
            ):
                continue  # a button, or an empty place
            assert any(part.contains(box.x + 2, box.y + 2) for part, _ in tips), name


def test_the_log_of_dice_says_rolls_and_who_found_no_card():
    game = ttt_envs.load("tic_tac_dice")
    play, said = random_play(game, 40), set()
    for before, joints, after in zip(play.states, play.actions, play.states[1:], strict=False):
        for k in np.flatnonzero(~before["done"]):
            aside = game.faces.aside(before[k], joints[k], after[k])
            one, two = before["dice"][k]
            assert aside.startswith(f"rolled {one} and {two}")
            begun = not after["done"][k] and (after["owner"][k] != 0).any()
            assert ("rolls again" in aside) == (begun and one == two)
            mover = int(before["to_move"][k])
            if begun and one != two:
                assert (f"{'XO'[1 - mover]} found no card" in aside) == (after["to_move"][k] == mover)
            elif begun:
                assert (f"{'XO'[mover]} found no card" in aside) == (after["to_move"][k] != mover)
            else:
                assert "found" not in aside
            said.add((one == two, "found" in aside))
    assert len(said) == 4


@pytest.mark.parametrize("game", games(), ids=lambda game: game.id)
def test_what_is_only_shown_is_no_part_of_a_position(game: Game) -> None:
    names = [
        name for name in game.state_dtype.names if game.state_dtype.fields[name][1] < position_start(game.state_dtype)
    ]
    shown = [name for name in names if name.startswith("last")]
    states = random_play(game, FEW).states[4]
    others = states.copy()
    for name in shown:  # what they are at the start is in their range
        others[name] = random_play(game, FEW).states[0][name]
    start = position_start(game.state_dtype)
    assert start % 8 == 0
    for state, other in zip(states, others, strict=True):
        assert state.tobytes()[start:] == other.tobytes()[start:]
    for player in range(game.num_players):
        one, two = (View(game, each, np.full(FEW, player), np.zeros(FEW, np.uint64)) for each in (states, others))
        assert np.array_equal(one.observations, two.observations)
        assert np.array_equal(one.masks, two.masks)
