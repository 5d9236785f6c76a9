"""The settings of all methods: each number has bounds, which are checked by name."""

from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest

from ttt_envs.learning import METHODS, mmd
from ttt_envs.learning.runs.settings import Within, command_line


@pytest.mark.parametrize("method", METHODS)
def test_each_number_has_bounds(method: str) -> None:
    kind = import_module(METHODS[method]).Config
    config = kind(game="tic_tac_dice")
    config.check()
    types = get_type_hints(kind, include_extras=True)
    names = [each.name for each in fields(kind) if type(getattr(config, each.name)) in (int, float)]
    assert len(names) > 10
    for name in names:
        (bounds,) = [each for each in types[name].__metadata__ if isinstance(each, Within)]
        for beyond in (bounds.low - 1, bounds.high + 1):
            with pytest.raises(ValueError, match=f"^{name} must be a (whole )?number from "):
                replace(config, **{name: beyond}).check()


@pytest.mark.parametrize(("text", "steps"), [("1e5", 100_000), ("250000", 250_000), ("1.5", None), ("many", None)])
def test_steps_are_whole_numbers_in_any_form(text: str, steps: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    if steps:
        assert command_line(mmd.Config, "mmd", None, ["tic_tac_dice", "--steps", text]).steps == steps
        return
    with pytest.raises(SystemExit):
        command_line(mmd.Config, "mmd", None, ["tic_tac_dice", "--steps", text])
    assert f"'{text}' is not a whole number" in capsys.readouterr().err


@pytest.mark.parametrize("method", METHODS)
def test_sizes_of_layers_have_bounds(method: str) -> None:
    kind = import_module(METHODS[method]).Config
    if "hidden" in {each.name for each in fields(kind)}:
        for wrong in ((), (0,), (64, 2**16 + 1)):
            with pytest.raises((ValueError, TypeError), match="hidden must be"):
                kind(game="tic_tac_dice", hidden=wrong).check()


def test_a_setting_that_may_be_left_out_has_bounds_where_it_is_given() -> None:
    kind = import_module(METHODS["ppo"]).Config
    kind(game="tic_tac_dice", entropy_final=None).check()
    with pytest.raises(ValueError, match="entropy_final must be a number from 0 to 1,000,000, not -1"):
        kind(game="tic_tac_dice", entropy_final=-1).check()


OF_TWO = ("escher", "mmd", "nfsp", "rnad")
THREE = {"game": "martian_tic_tac_toe", "options": {"size": 5, "players": 3}}


@pytest.mark.parametrize(
    ("method", "changes", "words"),
    [
        ("alphazero", {"game": "operation_tic_tac_toe"}, "without simultaneous choices"),
        ("alphazero", {"game": "tic_tac_match"}, "without hidden information"),
        ("alphazero", {"num_envs": 8, "buffer": 511}, "buffer must be at least num_envs . 64, 512"),
        ("dqn", {"num_envs": 16, "buffer": 63}, r"buffer must be at least num_envs \* \(n_step \+ 1\), 64, not 63"),
        ("dqn", {"seeds": 2}, "a run has one seed"),
        ("nfsp", {"game": "tic_tac_match", "buffer": 100}, "buffer must be at least"),
        ("nfsp", {"game": "tic_tac_match", "anticipation": 1.5}, "anticipation must be"),
        ("ntuple", {"game": "tic_tac_dice"}, "needs a game that has patterns"),
        ("ntuple", {"prior": True}, "suggest no weights to begin with"),
        *((name, THREE, f"{name} is for games of two players; .* has 3") for name in OF_TWO),
        ("value_learning", THREE, "a game of two sides"),
        ("value_learning", {"precision": "low"}, "precision=.low. must be"),
        ("value_learning", {"optimizer": "sgd"}, "optimizer=.sgd. must be"),
        ("value_learning", {"buffer": 3}, "buffer must be at least num_envs"),
    ],
)
def test_what_a_method_cannot_do_is_refused(method: str, changes: dict, words: str, tmp_path: Path) -> None:
    module = import_module(METHODS[method])
    with pytest.raises(ValueError, match=words):
        module.train(module.Config(**{"game": "super_tic_tac_toe", "quiet": True, **changes}, out=tmp_path / "x"))
    assert not (tmp_path / "x" / "config.json").exists()
