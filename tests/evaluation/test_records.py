"""Recorded games: what is written is read, and replayed to the identical positions; what does not fit is refused."""

import gzip
import json

import numpy as np
import pytest
import toy_coin
from option_sets import OPTIONS
from stubborn import Stubborn, Wrong

import ttt_envs
from ttt_envs import agents, evaluation, registry
from ttt_envs.evaluation import records
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.records.replaying import replay

DICE = ("tic_tac_dice", {"rounds": "single"})


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")


def played(game, n, lineup=("random", "greedy"), chunk=None, strict=True):
    players = [agents.load(each) for each in lineup]
    seats = np.random.default_rng(0).integers(0, len(players), (n, game.num_players))
    seeds = game_seeds(7, n)
    games = play_games(
        game, players, seats=seats, seeds=seeds, record=range(n), keep=range(n), chunk=chunk, strict=strict
    )
    return games, list(records.of_games(game, games, [each.name for each in players], seats, seeds, first=100))


def check_replays(game, n, tmp_path):
    """n games, written, read, and replayed in other batches than they were played in, end where they did."""
    games, written = played(game, n, chunk=97)
    assert records.write(tmp_path / "games.jsonl", written) == n
    found = list(records.read(tmp_path / "games.jsonl"))
    assert found == written
    count = 0
    for k, each in enumerate(replay(found)):
        assert each.states.tobytes() == games.records[k].states.tobytes()
        np.testing.assert_array_equal(each.actions, games.records[k].actions)
        assert each.record.number == 100 + k
        count += 1
    assert count == n


@pytest.mark.parametrize("which", ["dice", "toy 2", "toy 3"])
def test_games_replay_to_the_identical_positions(which, tmp_path):
    game = ttt_envs.load(DICE[0], **DICE[1]) if which == "dice" else toy_coin.make(players=int(which[-1]))
    check_replays(game, 40, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("game_id", list(ttt_envs.GAMES))
def test_ten_thousand_games_of_every_kind_replay(game_id, tmp_path):
    """10,000 in all: a share of each game, with its first two option sets."""
    for options in OPTIONS[game_id][:2]:
        n = -(-10_000 // sum(min(len(sets), 2) for sets in OPTIONS.values()))
        check_replays(ttt_envs.load(game_id, **options), n, tmp_path)


def test_a_failed_game_replays_to_its_forfeit(tmp_path):
    game = ttt_envs.load(DICE[0], **DICE[1])
    games, written = played(game, 20, lineup=("random", Wrong(np.array([4]))), strict=False)
    assert games.failures
    for k, each in enumerate(replay(written)):
        assert each.states.tobytes() == games.records[k].states.tobytes()
        assert bool(each.record.failures) == (k in {failure.game for failure in games.failures})
    coin = toy_coin.make(players=3)
    games, written = played(coin, 30, lineup=(Stubborn(), Wrong(np.array([5]))), strict=False)
    assert any(len(each.failures) > 1 for each in written), "several failed at once"
    for k, each in enumerate(replay(written)):
        assert each.states.tobytes() == games.records[k].states.tobytes()


def test_a_tournament_records_its_games(tmp_path):
    report = evaluation.tournament(
        DICE[0], ["random", "greedy", "oracle"], **DICE[1], games=10, out=tmp_path / "x", quiet=True
    )
    found = list(records.read(tmp_path / "x" / "games.jsonl"))
    assert [each.number for each in found] == list(range(30))
    np.testing.assert_array_equal(
        [each.rewards for each in found], np.concatenate([each.rewards for each in report.results])
    )
    seats = np.array(report.agents)[np.concatenate([each.seats for each in report.results])]
    assert [each.agents for each in found] == [tuple(row) for row in seats.tolist()]
    assert len(list(replay(found))) == 30
    assert report.files == ("report.md", "report.html", "results.json", "games.jsonl")
    assert {path.name for path in (tmp_path / "x").iterdir()} == {*report.files, "config.json"}


@pytest.fixture(scope="module")
def lines():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")
        dice = [each.json() for each in played(ttt_envs.load(DICE[0], **DICE[1]), 12)[1]]
        return dice, [each.json() for each in played(toy_coin.make(), 12)[1]]


def test_records_are_filtered(lines, tmp_path):
    (tmp_path / "games.jsonl").write_text("\n".join(lines[0]) + "\n")
    every = list(records.read(tmp_path / "games.jsonl"))

    def numbers(**given):
        return [each.number for each in records.read(tmp_path / "games.jsonl", **given)]

    assert numbers(number=103) == [103]
    assert numbers(agent="nobody") == []
    assert numbers(agent="greedy") == [each.number for each in every if "greedy" in each.agents] != numbers()
    assert numbers(winner="random") == [each.number for each in every if each.winners == ("random",)]
    draws = [each.number for each in every if not each.winners]
    assert numbers(winner="draw") == draws
    assert 0 < len(numbers(winner="random")) < 12
    assert numbers(min_plies=6, max_plies=7) == [e.number for e in every if 6 <= len(e.actions) <= 7] != numbers()


def test_a_compressed_file_is_read_and_always_the_same(lines, tmp_path):
    (tmp_path / "plain").write_text("\n".join(lines[0]))
    every = list(records.read(tmp_path / "plain"))
    records.write(tmp_path / "games.jsonl.gz", every)
    records.write(tmp_path / "again.jsonl.gz", iter(every))
    data = (tmp_path / "games.jsonl.gz").read_bytes()
    assert gzip.decompress(data).decode() == "\n".join(lines[0]) + "\n"
    assert data == (tmp_path / "again.jsonl.gz").read_bytes()
    assert list(records.read(tmp_path / "games.jsonl.gz")) == every
    (tmp_path / "cut.gz").write_bytes(data[:-30])
    (tmp_path / "flipped.gz").write_bytes(data[:60] + bytes([data[60] ^ 255]) + data[61:])
    for name in ("cut.gz", "flipped.gz"):
        with pytest.raises(ValueError, match=rf"{name}, line \d+: the (compressed file|line) is damaged"):
            list(records.read(tmp_path / name))


def test_a_file_is_whole_or_not_there(lines, tmp_path):
    (tmp_path / "plain").write_text(lines[0][0])

    def broken():
        yield from records.read(tmp_path / "plain")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        records.write(tmp_path / "new.jsonl", broken())
    with pytest.raises(FileNotFoundError, match=r"no file of records at .*missing"):
        records.write(tmp_path / "new.jsonl", records.read(tmp_path / "missing"))
    assert [path.name for path in tmp_path.iterdir()] == ["plain"]


def changed(line, **keys):
    found = json.loads(line) | keys
    return json.dumps({name: value for name, value in found.items() if value is not None})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: line[:50], "the line is damaged, it is no JSON"),
        (lambda line: "[" * 100_000, "the line is damaged, it is no JSON"),
        (lambda line: "\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "damaged"),
        (lambda line: "[]", "this is no record of a game: it lacks the format 'ttt-envs game'"),
        (
            lambda line: changed(line, version=2, library="9.0"),
            r"a record of version 2, but ttt-envs 0.1.0 reads version 1; it was written by ttt-envs 9.0",
        ),
        (lambda line: changed(line, version=True), "a record of version True"),
        (lambda line: changed(line, seed=None), "the record is damaged: the key 'seed' is missing"),
        (lambda line: changed(line, seed=7), "seed must be of type str, not 7"),
        (lambda line: changed(line, agents=["a"]), "must have one entry per player"),
        (lambda line: changed(line, rewards=["x", 2]), "damaged: "),
    ],
)
def test_a_damaged_line_is_named(change, words, lines, tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text("\n".join([lines[0][0], lines[0][1], change(lines[0][2]), lines[0][3]]), encoding="latin-1")
    with pytest.raises(ValueError, match=rf"games.jsonl, line 3: .*{words}") as raised:
        list(records.read(path))
    assert len(str(raised.value)) < 700


def last_but_one(line):
    return json.loads(line)["actions"][:-1]


@pytest.mark.parametrize(
    ("which", "change", "words"),
    [
        (0, lambda line: changed(line, game="chess"), "line 3: unknown game 'chess'.*must be registered first"),
        (0, lambda line: changed(line, options={"size": 3}), "line 3: the record ends after 8 plies"),
        (0, lambda line: changed(line, actions=["Z"]), "line 3, ply 0: 'Z' cannot be played in tic_tac_dice"),
        (0, lambda line: changed(line, actions=last_but_one(line)), r"line 3: the record ends after \d plies, but"),
        (
            0,
            lambda line: changed(line, actions=[*json.loads(line)["actions"], "A"]),
            r"line 3: the game is over after \d plies, but the record goes on",
        ),
        (
            0,
            lambda line: changed(line, actions=json.loads(line)["actions"][:1] * 2),
            "line 3, ply 1: player . cannot play '.' .* now; legal: ",
        ),
        (0, lambda line: changed(line, actions=["A"] * 10**4), "line 3: the record goes on after 9 plies, and no "),
        (0, lambda line: changed(line, rewards=[0.5, -0.5]), "line 3: the game pays .*, but the record says"),
        (0, lambda line: changed(line, digest="0" * 16), "line 3: .* its digest differs: the record was changed"),
        (
            0,
            lambda line: changed(
                line, actions=[], failures=[{"player": 1, "reason": "x"}, {"player": 0, "reason": ""}]
            ),
            "line 3: player [01] cannot have failed after 0 plies, not being asked",
        ),
        (1, lambda line: changed(line, actions=["heads"]), "ply 0: 'heads' cannot .* a list of 2 actions or null"),
        (1, lambda line: changed(line, actions=[["heads", None]]), "ply 0: player 1 acts here, but the record has no"),
        (
            1,
            lambda line: changed(line, actions=[["heads", "heads"], ["keep", "stay"]]),
            "ply 1: player 1 has no choice here, but the record has 'stay'",
        ),
    ],
)
def test_a_record_that_does_not_fit_is_refused(which, change, words, lines, tmp_path):
    some = lines[which]
    (tmp_path / "games.jsonl").write_text("\n".join([*some[:2], change(some[2]), *some[3:]]))
    with pytest.raises(ValueError, match=words) as raised:
        list(replay(records.read(tmp_path / "games.jsonl")))
    assert len(str(raised.value)) < 900


def test_pandas_keeps_records(lines, tmp_path):
    """As docs/records.md says."""
    pandas = pytest.importorskip("pandas")
    (tmp_path / "games.jsonl").write_text("\n".join(lines[0]))
    frame = pandas.read_json(tmp_path / "games.jsonl", lines=True, dtype={"seed": str, "digest": str})
    frame.drop(columns="job", errors="ignore").to_json(
        tmp_path / "kept.jsonl", orient="records", lines=True, double_precision=15
    )
    assert len(list(replay(records.read(tmp_path / "kept.jsonl")))) == len(lines[0])
    assert [each.seed for each in records.read(tmp_path / "kept.jsonl")] == [
        int(json.loads(each)["seed"]) for each in lines[0]
    ]


def test_a_game_that_is_not_registered_can_be_given(lines, tmp_path, monkeypatch):
    (tmp_path / "games.jsonl").write_text("\n".join(lines[1]))
    monkeypatch.delitem(registry.GAMES, "toy_coin")
    assert len(list(replay(records.read(tmp_path / "games.jsonl"), game=toy_coin.make()))) == 12
    with pytest.raises(ValueError, match="does not fit toy_coin with players=3"):
        list(replay(records.read(tmp_path / "games.jsonl"), game=toy_coin.make(players=3)))
    with pytest.raises(ValueError, match="unknown game 'toy_coin'"):
        list(replay(records.read(tmp_path / "games.jsonl")))
