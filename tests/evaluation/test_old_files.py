"""Files that were written before a game had an option that it has now: each kind is read, and means the same game."""

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs import agents, cli, evaluation, registry
from ttt_envs.agents import shipped
from ttt_envs.agents.networks import misfit
from ttt_envs.agents.tabular import ActionTable
from ttt_envs.core.options import before, gone, options_then
from ttt_envs.evaluation import records
from ttt_envs.evaluation.placements import ladder as rungs
from ttt_envs.evaluation.records.replaying import game_of, replay
from ttt_envs.evaluation.reports.leaderboard import leaderboard
from ttt_envs.learning import checkpoint
from ttt_envs.learning.tabular import Config
from ttt_envs.registry import game_of_file

TOY = "toy_coin"
RUNGS = ["random", "greedy"]


def usual(*, players: int = 2, tosses: int = 1, loud: bool = False) -> ttt_envs.Game:
    """The toy game of the next version, with one more option."""
    made = toy_coin.make(players=players, tosses=tosses)
    return replace(made, options={**made.options, "loud": loud}, factory=usual)


@before(loud=False)
def changed(*, players: int = 2, tosses: int = 1, loud: bool = True) -> ttt_envs.Game:
    """The toy game of another next version, whose default is not what the game was before."""
    made = toy_coin.make(players=players, tosses=tosses)
    return replace(made, options={**made.options, "loud": loud}, factory=changed)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with every kind of file, as the version before writes them."""
    folder = tmp_path_factory.mktemp("old")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.GAMES, TOY, toy_coin.make)
        game = ttt_envs.load(TOY)
        quiet = {"quiet": True, "resamples": 10}
        evaluation.tournament(TOY, RUNGS, games=8, record=True, out=folder / "tournament", **quiet)
        evaluation.calibrate(TOY, RUNGS, games=8, out=folder / "calibration", quiet=True)
        facts = {"game": TOY, "options": dict(game.options), "inputs": game.observation_size, "blocks": [], "steps": 1}
        ActionTable(game.num_actions, np.ones(game.observation_size, np.bool_)).save(
            folder / "table.safetensors", facts
        )
        checkpoint.Run(Config(game=TOY, out=folder / "run"), "tabular").write_config()
    (folder / "run" / checkpoint.RESUME).touch()
    return folder


@pytest.fixture(params=[usual, changed], ids=["the default of before", "another default"])
def newer(request, monkeypatch):
    """The game with the new option, in the place of the old one; and as it was before."""
    monkeypatch.setitem(registry.GAMES, TOY, request.param)
    return ttt_envs.load(TOY, loud=False)


def test_the_files_do_not_name_the_option(written):
    for path in written.rglob("*.json*"):
        assert "loud" not in path.read_text()
    assert json.loads((written / "run" / "config.json").read_text())["settings"]["options"] == toy_coin.make().options


def test_records_are_replayed(newer, written):
    found = list(replay(records.read(written / "tournament" / "games.jsonl")))
    assert len(found) == 8
    assert all(each.game.options == newer.options for each in found)
    assert len(list(replay(records.read(written / "tournament" / "games.jsonl"), game=newer))) == 8
    with pytest.raises(ValueError, match=r"line 1: .* does not fit"):
        list(replay(records.read(written / "tournament" / "games.jsonl"), game=newer.factory(loud=True)))


def test_a_ladder_is_found_and_climbed(newer, written, tmp_path, monkeypatch):
    table = written / "calibration" / "ladder.json"
    (tmp_path / "ladder.json").write_bytes(table.read_bytes())
    monkeypatch.setattr(rungs, "folder_of", lambda game: tmp_path)
    assert rungs.find(newer).options == toy_coin.make().options
    with pytest.raises(ValueError, match="comes with no ladder; it has one with players=2, tosses=1;"):
        rungs.find(newer.factory(loud=True))
    given = {"loud": False, "games": 8, "quiet": True}
    assert evaluation.ladder(TOY, "greedy:samples=2", table=table, **given).games == 8
    with pytest.raises(ValueError, match="is one of toy_coin with options"):
        evaluation.ladder(TOY, "greedy", table=table, loud=True)


def test_a_calibration_goes_on(newer, written, tmp_path):
    (tmp_path / "pairs.json").write_bytes((written / "calibration" / "pairs.json").read_bytes())
    given = {"games": 8, "quiet": True, "resume": True, "out": tmp_path}
    again = evaluation.calibrate(TOY, RUNGS, loud=False, **given)
    assert again.ladder.pairs == rungs.read(written / "calibration" / "ladder.json").pairs
    with pytest.raises(ValueError, match=r"has games with options .*'loud': False.*, not .*True"):
        evaluation.calibrate(TOY, RUNGS, loud=True, **given)


def test_what_was_trained_plays_on(newer, written):
    agent = agents.load(f"tabular:{written / 'table.safetensors'}")
    old = dict(toy_coin.make().options)
    facts = "it", TOY, old, newer.observation_size, newer.num_actions
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.check(newer)
        assert misfit(newer, *facts) == ""
    with pytest.warns(UserWarning, match='with options .*"loud": false.*plays with .*"loud": true'):
        assert misfit(newer.factory(loud=True), *facts) == ""
    card = shipped.cards()[0]
    card = replace(card, game=TOY, outcomes=(replace(card.outcomes[0], options={}),))
    assert shipped._differences(newer, card) == 0
    assert shipped._differences(newer.factory(loud=True), card) == 1


def test_a_run_is_resumed(newer, written):
    config = checkpoint.saved(Config, written / "run")
    assert config.options == newer.options
    checkpoint.Run(config, "tabular")
    checkpoint.Run(replace(config, options={"loud": False}), "tabular")
    with pytest.raises(ValueError, match=r'other settings: options is .*"loud": false.* there and .*true'):
        checkpoint.Run(replace(config, options={"loud": True}), "tabular")


def test_a_tournament_goes_on(newer, written, tmp_path):
    for path in (written / "tournament").rglob("*.*"):
        copy = tmp_path / path.relative_to(written / "tournament")
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    assert cli.main(["tournament", "--resume", "--games", "10", "--out", str(tmp_path)]) == 0
    assert cli.main(["tournament", "--add", "greedy:samples=2", "--out", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "config.json").read_text())["settings"]["option"]["loud"] == "false"
    own = {"resume": True, "record": True, "games": 10, "resamples": 10, "quiet": True, "out": tmp_path}
    report = evaluation.tournament(newer, [*RUNGS, "greedy:samples=2"], **own)
    assert report.game.options == newer.options
    with pytest.raises(ValueError, match=r'option is .*"loud": "false".* there and .*"true"'):
        evaluation.tournament(TOY, [*RUNGS, "greedy:samples=2"], loud=True, **own)


def test_a_game_that_is_not_registered_has_the_same_rule(newer, written, monkeypatch):
    monkeypatch.delitem(registry.GAMES, TOY)
    assert len(list(replay(records.read(written / "tournament" / "games.jsonl"), game=newer))) == 8
    own = {"games": 8, "resamples": 10, "quiet": True}
    report = evaluation.tournament(newer, RUNGS, measured=[written / "tournament"], **own)
    assert len(report.measured) == 1


def test_results_stand_together(newer, written, tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    text = (written / "tournament" / "results.json").read_text()
    (tmp_path / "old" / "results.json").write_text(text)
    (tmp_path / "new" / "results.json").write_text(json.dumps({**json.loads(text), "options": dict(newer.options)}))
    board = leaderboard(tmp_path)
    assert [len(each["tournament"]) for each in board.results.values()] == [2 * len(RUNGS)]
    assert "loud=false" in board.markdown()


# --- what comes with the library ---


def named_less(options, game):
    """The options without those that are as they are by default, one at a time."""
    chosen = game.chosen
    return [{k: v for k, v in options.items() if k != name} for name in options if name not in chosen]


FILMS = sorted((Path(__file__).resolve().parents[2] / "docs" / "films").glob("*.jsonl"))


@pytest.mark.parametrize("path", FILMS, ids=lambda path: path.stem)
def test_a_film_of_a_version_without_an_option_is_that_game(path):
    for record in records.read(path):
        game = game_of(record)
        fewer = named_less(record.options, game)
        assert fewer, "some option is as it is by default"
        for options in fewer:
            assert game_of(replace(record, options=options)).options == game.options


@pytest.mark.parametrize("game_id", list(ttt_envs.GAMES))
def test_a_ladder_of_a_version_without_an_option_is_the_games(game_id):
    game = ttt_envs.load(game_id)
    ladder = rungs.find(game)
    for options in named_less(ladder.options, game):
        assert replace(ladder, options=options).is_of(game)


# --- what is newer than this version ---


def test_options_of_a_newer_version_are_refused_by_name():
    words = "unknown option 'later'.*known: first_move, won_boards, random_opening_plies; a version of ttt-envs newer"
    with pytest.raises(ValueError, match=f"super_tic_tac_toe: {words}"):
        game_of_file("super_tic_tac_toe", {"later": 1})
    with pytest.raises(ValueError, match="super_tic_tac_toe: options must be names with values, not 3"):
        game_of_file("super_tic_tac_toe", 3)
    with pytest.raises(ValueError, match=r"unknown game 'os:system'.*registered first"):
        game_of_file("os:system", {})
    game = ttt_envs.load("super_tic_tac_toe")
    ladder = replace(rungs.find(game), options={"later": 1})
    with pytest.raises(ValueError, match=words):
        ladder.is_of(game)
    reason = misfit(game, "it", game.id, {"later": 1}, game.observation_size, game.num_actions)
    assert re.match(f"it is of no super_tic_tac_toe of this version: {words}", reason)


def test_what_no_file_has_named():
    assert options_then(toy_coin.make, {}) == {"players": 2, "tosses": 1}
    assert options_then(changed, {}) == {"players": 2, "tosses": 1, "loud": False}
    assert options_then(changed, {"loud": True, "tosses": [[1], 2]})["tosses"] == ((1,), 2)


def test_an_option_that_is_gone(tmp_path):
    """Files that name it are those of today's games, or of games that are gone with it."""
    without = gone(loud=False)(lambda *, players=2: toy_coin.make(players=players))
    assert options_then(without, {"loud": False, "players": 3}) == {"players": 3}
    for value in (True, 0, None):
        with pytest.raises(ValueError, match=f"option loud={value} is no more.*loud=False"):
            options_then(without, {"loud": value})
    file = {"players": 2, "history": 0}
    assert game_of_file("tic_tac_match", file) == ttt_envs.load("tic_tac_match")
    match = ttt_envs.load("tic_tac_match")
    then = rungs.find(match).json()
    (tmp_path / "then.json").write_text(json.dumps({**then, "options": {**then["options"], "history": 0}}))
    assert rungs.read(tmp_path / "then.json").is_of(match)
    with pytest.raises(ValueError, match="tic_tac_match: option history=3 is no more"):
        game_of_file("tic_tac_match", {"history": 3})
    with pytest.raises(TypeError, match="history"):
        ttt_envs.load("tic_tac_match", history=0)
