"""Thoughts and reviews: one judge, which never compares a proved value with an estimate."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttt_envs
from ttt_envs.core.played_game import PlayedGame
from ttt_envs.core.view import View
from ttt_envs.evaluation.analysis import GRADES, ORACLE, NoAnswer, grade_of, review, think

SIMULATIONS = 300


def view_after(game_id: str, *actions: str, **options: Any) -> View:
    live = PlayedGame.begin(ttt_envs.load(game_id, **options), 0)
    for action in actions:
        live.choose(live.asked()[0], live.game.parse_action(action))
    return live.view(live.asked()[0])


@pytest.mark.parametrize(
    ("actions", "partly"), [(("4/4", "4/8", "8/4"), False), (("4/4", "4/8"), True), (("4/0", "0/0"), False)]
)
def test_what_is_shown_for_an_action_is_what_the_review_says(actions: tuple[str, ...], partly: bool) -> None:
    view = view_after("super_tic_tac_toe", *actions)
    found = think(view, simulations=SIMULATIONS)
    legal = np.flatnonzero(view.masks[0]).tolist()
    judged = {each.played: each for each in review([(0, view, a) for a in legal], simulations=SIMULATIONS)}
    assert {a: each.regret for a, each in judged.items() if each.regret is not None} == found.losses
    assert {each.value for each in judged.values()} == {next(iter(judged.values())).value}
    assert {each.source for each in judged.values()} == {found.source}
    assert found.unproved == ([a for a in legal if judged[a].regret is None] if found.source == ORACLE else [])
    assert bool(found.unproved) == partly
    if partly:  # next to a proved win, the others are compared with nothing
        assert found.source == ORACLE
        assert found.value == 1
        assert found.values
        assert not set(found.values) & set(found.unproved)
        assert all(found.losses[a] == 1 - found.values[a] for a in found.values)


def test_what_a_search_mixes_loses_nothing() -> None:
    def silent(view: View) -> Any:
        raise NoAnswer("nothing is known")

    found = think(view_after("operation_tic_tac_toe", mode="round"), oracle=silent, simulations=SIMULATIONS)
    mixed = [action for action, probability in found.best_probabilities.items() if probability > 0.05]
    assert len({found.values[action] for action in mixed}) > 1, "their estimates differ"
    assert {found.losses[action] for action in mixed} == {0.0}
    assert max(found.losses.values()) > 0


def test_without_a_table_a_search_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTT_ENVS_CACHE", str(tmp_path / "empty"))
    view = view_after("martian_tic_tac_toe", same_size_swap=True, max_plies=202)  # not one that a test has solved
    found = think(view, simulations=20)
    assert found.silence == "The oracle's table is not built yet: `ttt solve` builds it."
    assert found.source != ORACLE
    (judged,) = review([(0, view, found.best[0])], simulations=20)
    assert judged.source != ORACLE
    assert not (tmp_path / "empty").exists()


def test_grades_begin_at_their_limits() -> None:
    assert grade_of(0) == grade_of(GRADES[0][1] - 1e-6) == ""
    for name, least in GRADES:
        assert grade_of(least) == name
    assert grade_of(2) == "blunder"
