"""Solved positions: every value against slow, obvious searches; their file; and what is refused."""

import itertools
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import toy_race
import toy_rows
import toy_walk
from changed import changed

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Game
from ttt_envs.core.lines import has_row
from ttt_envs.core.loops import refuse
from ttt_envs.core.positions import (
    FILE,
    FORMAT,
    Keys,
    digest_of,
    oracle_of,
    random_plies,
    read_positions,
    write_positions,
)
from ttt_envs.core.state import state_dtype
from ttt_envs.core.view import View
from ttt_envs.evaluation.questions import draw_endings
from ttt_envs.games.tic_tac_dice import rules as dice
from ttt_envs.solvers.positions import estimate, solve
from ttt_envs.solvers.tree import TooLarge
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors
from ttt_envs.testing import CHECKS

#: Few enough for a quick estimate.
LIMIT = 20_000


@cache
def solved(make, **options):
    """The oracle of a game with these options, and the number of its positions."""
    game = make(**options)
    positions = solve(game, limit=LIMIT)
    return game, oracle_of(game, lambda: positions), len(positions.keys)


# --- against slow searches ---


class SlowRows:
    """Tic-tac-toe on 3x3 cells as a text of nine signs: all positions, with their values for X."""

    LINES = ("012", "345", "678", "036", "147", "258", "048", "246")

    def __init__(self, misere: bool, again: float) -> None:
        self.row_pays, self.again = -1 if misere else 1, again
        self.known: dict[tuple[str, str], float] = {}
        self.value("." * 9, "X")

    def result(self, cells: str) -> float | None:
        for line in self.LINES:
            marks = {cells[int(k)] for k in line}
            if marks in ({"X"}, {"O"}):
                return self.row_pays * (1 if "X" in marks else -1)
        return None if "." in cells else 0

    def after(self, cells: str, mover: str, cell: int) -> float:
        marked = cells[:cell] + mover + cells[cell + 1 :]
        if (result := self.result(marked)) is not None:
            return result
        other = "O" if mover == "X" else "X"
        value = (1 - self.again) * self.value(marked, other)
        return value + self.again * self.value(marked, mover) if self.again else value

    def value(self, cells: str, mover: str) -> float:
        if (cells, mover) not in self.known:
            values = [self.after(cells, mover, cell) for cell in range(9) if cells[cell] == "."]
            self.known[cells, mover] = max(values) if mover == "X" else min(values)
        return self.known[cells, mover]

    def states(self, game: Game) -> np.ndarray:
        states = np.repeat(game.prototype, len(self.known))
        for state, (cells, mover) in zip(states, self.known, strict=True):
            state["cells"] = np.array([".XO".index(sign) for sign in cells]).reshape(3, 3)
            state["ply"], state["to_move"] = 9 - cells.count("."), "XO".index(mover)
        return states


@pytest.mark.parametrize(
    ("options", "positions", "known"),
    [({}, 627, 4520), ({"misere": True}, 627, 4520), ({"again": 4}, 3073, 21727)],
)
def test_every_position_of_tic_tac_toe(options, positions, known, monkeypatch):
    monkeypatch.setattr("ttt_envs.solvers.positions._CHUNK", 100)
    game, oracle, number = solved(toy_rows.make, **options)
    slow = SlowRows(options.get("misere", False), 1 / options["again"] if "again" in options else 0.0)
    states, values = slow.states(game), np.array(list(slow.known.values()))
    assert (number, len(states)) == (positions, known)
    assert oracle.covers(states).all()
    assert np.abs(oracle.value(states, 0) - values).max() < 1e-12
    assert (oracle.value(states, 1) == -oracle.value(states, 0)).all()
    some = slice(None, None, 31)
    for state, told, player in zip(
        states[some], oracle.action_values(states[some], 0), states["to_move"][some], strict=True
    ):
        cells = "".join(".XO"[mark] for mark in state["cells"].ravel())
        expected = [slow.after(cells, "XO"[player], k) if cells[k] == "." else np.nan for k in range(9)]
        assert told == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_a_winner_hurries_and_a_loser_delays():
    game, oracle, _ = solved(toy_rows.make)
    states = np.concatenate([each[:40] for each in random_plies(game, 60)])
    plies, policy = oracle.plies_to_end(states), oracle.policy(states, states["to_move"])
    values = oracle.value(states, states["to_move"])
    assert policy.sum(axis=1) == pytest.approx(1)
    assert {-1, 1, 2, 3} <= set(plies.tolist())
    for action in range(9):
        rows = np.flatnonzero(policy[:, action] > 0)
        after = game.step(states[rows], np.full(len(rows), action))
        won = values[rows] != 0
        assert (oracle.plies_to_end(after)[won] == plies[rows][won] - 1).all()
        assert (oracle.value(after, states["to_move"][rows]) == values[rows]).all()
    assert (oracle.policy(states, 1 - states["to_move"]) == 0).all()


def walk_values(slips: int, most: int) -> np.ndarray:
    """[plies left, node, mover]: the value for player 0 of the game that is a draw then."""
    values = np.zeros((most + 1, toy_walk.NODES, 2))
    for left in range(most + 1):
        for node in range(toy_walk.NODES):
            for mover in range(2):
                if toy_walk.RESULT[node] != 9.0:
                    values[left, node, mover] = toy_walk.RESULT[node]
                elif left:
                    before = values[left - 1, :, 1 - mover]
                    ways = [
                        (1 - slips / 4) * before[to] + slips / 4 * before[(to + 1) % toy_walk.NODES]
                        for to in toy_walk.TO[node]
                    ]
                    values[left, node, mover] = max(ways) if mover == 0 else min(ways)
    return values


@pytest.mark.parametrize("slips", [0, 1])
def test_play_may_go_round_in_circles(slips):
    most = 400 if slips else 200
    game, oracle, number = solved(toy_walk.make, slips=slips, max_plies=most)
    expected = walk_values(slips, most)
    assert (expected[-1] != expected[2]).any()
    assert slips or (expected[-1] == 0).any()
    going = np.flatnonzero(toy_walk.RESULT == 9.0)
    assert number <= 2 * len(going)
    covered = []
    for ply in (0, 1, *range(most // 2, most, 20), most - 3, most - 2, most - 1):
        states = np.repeat(game.prototype, 2 * len(going))
        states["node"], states["to_move"] = np.tile(going, 2), np.repeat([0, 1], len(going))
        states["ply"] = ply
        covers = oracle.covers(states)
        values = oracle.value(states, 0)
        right = expected[most - ply, states["node"], states["to_move"]]
        assert np.abs(values - right)[covers].max(initial=0) < 1e-12
        covered.append(int(covers.sum()))
        rows = np.flatnonzero(covers)
        policy = oracle.policy(states[rows], states["to_move"][rows])
        assert policy.sum(axis=1) == pytest.approx(1)
    assert covered[0] == number
    assert covered == sorted(covered, reverse=True)
    assert covered[-1] < number


def test_positions_of_circles_are_drawn_by_their_length():
    game, oracle, _ = solved(toy_walk.make, max_plies=200)
    states, lengths = oracle.draw_positions(ttt_envs.Batch(game, 400, seed=0).states, seed=1)
    assert (oracle.plies_to_end(states) == lengths).all()
    assert (oracle.value(states, states["to_move"]) >= 0).all()
    assert len(set(lengths.tolist())) > 2


# --- keys ---


SHIPPED = [ttt_envs.load(game_id) for game_id in ("super_tic_tac_toe", "martian_tic_tac_toe", "tic_tac_dice")]


@pytest.mark.parametrize("game", [toy_rows.make(), toy_walk.make(), *SHIPPED], ids=lambda game: game.id)
def test_a_key_is_a_position_and_that_of_its_images(game):
    keys = Keys(game)
    for _, states in zip(range(12), random_plies(game, 8), strict=False):
        packed = keys.pack(states)
        assert keys.pack(keys.states(packed)).tobytes() == packed.tobytes()
        least = keys.of(states)
        for symmetry in game.symmetries:
            assert (keys.of(symmetry.states(states)) == least).all()
        assert (keys.movers(packed) == states["to_move"]).all()


def test_fields_without_a_range_keep_all_their_bits():
    dtype = state_dtype(players=2, fields=[("heat", np.float32), ("number", np.int16)])
    facts = {"state_dtype": dtype, "ranges": {}, "max_plies": 9, "num_players": 2, "prototype": np.zeros(1, dtype)}
    keys = Keys(SimpleNamespace(**facts, proper_symmetries=(), extras=SimpleNamespace(without_past=None)))
    states = np.zeros(4, dtype)
    states["heat"], states["number"] = [0.25, 0.5, -0.5, -0.5], [-(2**15), 2**15 - 1, -1, 0]
    assert len(np.unique(keys.of(states), axis=0)) == 4
    assert keys.states(keys.of(states)).tobytes() == states.tobytes()


def test_missing_symmetries_are_noticed():
    game = toy_rows.make()
    quarter = game.symmetries[2:3]
    with pytest.raises(ValueError, match="'1 turns' after another one"):
        solve(replace(game, extras=replace(game.extras, symmetries=lambda: quarter)), limit=LIMIT)
    none = solve(replace(game, extras=replace(game.extras, symmetries=tuple)), limit=LIMIT)
    assert len(none.keys) == 4520


# --- size, and what is refused ---


def test_the_size_is_estimated_from_random_games():
    game = toy_rows.make(size=4, line=3)
    assert 0.7 < estimate(game, Keys(game), 1_000_000) / 434_205 < 1.3


@pytest.mark.parametrize(
    ("game", "said"),
    [
        (
            toy_rows.make(size=4),
            r"toy_rows with .* has more than 20000 positions, by far: about [\d.e+]+ or more",
        ),
        (toy_race.make(), "two sides"),
        (ttt_envs.load("tic_tac_match"), "no game of perfect information"),
        (ttt_envs.load("tic_tac_dice", rounds="single"), "draws again until something fits.* one action that passes"),
    ],
    ids=["large", "race", "match", "dice"],
)
def test_other_games_are_refused(game, said):
    with pytest.raises(ValueError, match=said) as caught:
        solve(game, limit=LIMIT)
    assert isinstance(caught.value, TooLarge) == ("by far" in said)


def test_the_limit_is_kept():
    with pytest.raises(TooLarge, match="more than 600 positions"):
        solve(toy_rows.make(), limit=600)
    assert len(solve(toy_rows.make(), limit=627).keys) == 627


def test_a_field_outside_its_range_is_named():
    ranges = {**toy_rows.make().ranges, "cells": (0, 1, False)}
    ranges["cells"] = type(toy_rows.make().ranges["cells"])(0, 1)
    with pytest.raises(ValueError, match="'cells' outside the range"):
        solve(replace(toy_rows.make(), ranges=ranges), limit=LIMIT)


# --- the file, and the agent that plays by it ---


def test_a_file_of_positions(tmp_path):
    game, path = toy_rows.make(misere=True), tmp_path / FILE
    positions = solve(game, limit=LIMIT)
    write_positions(path, game, positions)
    read = read_positions(path, game)
    assert all((a == b).all() for a, b in zip(positions[:3], read[:3], strict=True))
    assert path.stat().st_size < 627 * 13 + 1000
    with pytest.raises(BadTensorFile, match=r"toy_rows with options .*not those of toy_rows with"):
        read_positions(path, toy_rows.make(size=4, misere=True))
    with pytest.raises(BadTensorFile, match="solve it again"):
        read_positions(path, replace(game, version=1))
    with pytest.raises(FileNotFoundError, match="no solved positions at"):
        read_positions(tmp_path / "nowhere", game)
    facts, arrays = read_tensors(path, FORMAT)
    for wrong in ({"values": arrays["values"][1:]}, {"keys": arrays["keys"][:, 0]}, {"plies": arrays["values"]}):
        write_tensors(path, FORMAT, facts, {**arrays, **wrong})
        with pytest.raises(BadTensorFile, match="is damaged"):
            read_positions(path, game)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadTensorFile, match="is damaged"):
        agents.load(f"solved:{path}")


def test_the_digest_knows_the_rules():
    game = toy_rows.make()
    others = toy_rows.make(misere=True), toy_rows.make(size=4), replace(game, id="other"), replace(game, max_plies=10)
    assert len({digest_of(each) for each in (game, *others)}) == 5
    same = replace(game, kernels=toy_rows.make(misere=True).kernels)
    assert digest_of(same) == digest_of(game)
    prototype = game.prototype.copy()
    prototype["misere"] = True
    assert digest_of(replace(game, prototype=prototype)) != digest_of(game)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What `evaluation.solve` writes of tic-tac-toe."""
    folder = tmp_path_factory.mktemp("solved") / "rows"
    report = evaluation.solve(toy_rows.make(), limit=LIMIT, out=folder, quiet=True)
    assert (report.value, report.data()["draws"] > 0) == (0.0, True)
    assert "| positions | 627 |" in (folder / "report.md").read_text()
    return folder


def test_the_agent_plays_best(folder):
    agent = agents.load(f"solved:{folder}")
    found = evaluation.regret(toy_rows.make(), [agent, "random"], games=20, quiet=True).measurements
    assert found[0].per_decision == 0
    assert found[1].per_decision > 0.1
    view = ttt_envs.Batch(toy_rows.make(), 3, seed=0).view()
    assert (agent.action_values(view) == 0).all()
    with pytest.raises(BadTensorFile, match="solve it again"):
        agent.check(toy_rows.make(misere=True))


def test_the_oracle_of_a_game_is_solved_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TTT_ENVS_CACHE", str(tmp_path))
    states = toy_rows.make().new_state(0)
    for _ in range(2):
        assert toy_rows.make().oracle().value(states, 0) == 0
    assert capsys.readouterr().err.count("Building the table of optimal play") == 1
    (file,) = tmp_path.glob("toy_rows-*.safetensors")
    file.write_bytes(b"garbage")
    assert toy_rows.make().oracle().value(states, 0) == 0
    assert "is damaged" in capsys.readouterr().err
    report = evaluation.mistakes(toy_rows.make(), ["random", "oracle"], positions=60, quiet=True)
    assert [each.share == 0 for each in report.measurements] == [False, True]


@pytest.mark.slow
def test_misere_on_four_by_four(tmp_path):
    """A walk through its tree would have 3e10 positions."""
    game = toy_rows.make(size=4, misere=True)
    report = evaluation.solve(game, out=tmp_path, quiet=True)
    assert (report.value, len(report.solved.keys)) == (0.0, 1_135_214)
    assert (tmp_path / FILE).stat().st_size < 15_000_000
    agent = agents.load(f"solved:{tmp_path}")
    oracle = oracle_of(game, lambda: report.solved)
    states = np.concatenate([each[:50] for each in random_plies(game, 60)])
    after = game.step(
        states, agent.act(View(game, states, states["to_move"], seeds=np.arange(len(states), dtype=np.uint64)))
    )
    assert (oracle.value(after, 0) == oracle.value(states, 0)).all()


# --- against the solvers of the shipped games ---


def test_late_positions_of_super():
    game = ttt_envs.load("super_tic_tac_toe")
    drawn = draw_endings(game, 4, least=0.5, seed=0, remaining=(8, 13))
    for i in range(len(drawn)):
        positions = solve(game, starts=drawn.states[[i]])
        told = oracle_of(game, lambda positions=positions: positions)
        assert told.action_values(drawn.states[[i]], drawn.players[[i]])[0] == pytest.approx(
            drawn.values[i], nan_ok=True
        )
        assert told.plies_to_end(drawn.states[[i]])[0] <= 13


@kernel
def mask_or_pass(state, player, out):
    """Action 0 passes a roll that fits no card."""
    dice.legal_mask(state, player, out)
    if player == state["to_move"] and dice.claimable(state) == 0:
        out[0] = True


@kernel
def step_or_pass(state, actions):
    player, doubles = np.int64(state["to_move"]), dice.doubles(state)
    if dice.claimable(state) != 0:
        cell = actions[player]
        if not 0 <= cell < state["rank"].shape[0] or dice.claimable(state) >> cell & 1 == 0:
            refuse(state)
            return
        state["owner"][cell] = player + 1
        if has_row(dice.markers(state, player + 1), state["size"], state["win_length"]):
            dice.end_round(state, player, dice.ROW_POINTS)
            return
        if dice.markers(state, dice.EMPTY) == 0:
            ahead = np.int64((state["owner"] == 1).sum()) - np.int64((state["owner"] == 2).sum())
            dice.end_round(state, 0 if ahead > 0 else 1, dice.COUNT_POINTS)
            return
    if not doubles:
        state["to_move"] = 1 - player
    one, two = dice.die(state), dice.die(state)
    state["dice"][0], state["dice"][1] = min(one, two), max(one, two)


@pytest.mark.slow  # a minute
def test_a_layout_of_dice_against_its_own_solver():
    def without_past(states):
        new = states.copy()
        new["ply"] = 0
        return new

    single = ttt_envs.load("tic_tac_dice", rounds="single")
    passing = {"legal_mask": mask_or_pass, "step": step_or_pass}
    game = changed(single, max_plies=2000, without_past=without_past, **passing)
    start = single.new_state(5)
    positions = solve(game, starts=start)
    oracle, own = oracle_of(game, lambda: positions), single.oracle()
    batch = ttt_envs.Batch(single, 200, seed=1)
    batch.set_states(np.repeat(start, 200))
    while not batch.states["done"].all():
        states = batch.states[~batch.states["done"]]
        assert np.abs(oracle.value(states, 0) - own.value(states, 0)).max() < 1e-12
        told, expected = (each.action_values(states, states["to_move"]) for each in (oracle, own))
        assert told == pytest.approx(expected, abs=1e-12, nan_ok=True)
        batch.step(agents.load("random").act(batch.view()))


@pytest.mark.slow  # minutes, 1 GB
def test_martian_against_its_own_table():
    game = ttt_envs.load("martian_tic_tac_toe", repetition_limit=None)

    def without_past(states):
        new = states.copy()
        new["ply"] = np.minimum(states["ply"], 2)  # at the first turns other moves are legal
        return new

    bare = replace(game, extras=replace(game.extras, without_past=without_past))
    CHECKS["without_past"](bare)
    positions, own = solve(bare), game.oracle()
    oracle = oracle_of(bare, lambda: positions)
    assert oracle.plies_to_end(game.new_state(0)) == 145
    drawn, lengths = own.draw_positions(np.repeat(game.new_state(0), 20_000), 3)
    assert (oracle.plies_to_end(drawn) == lengths).all()
    assert (oracle.policy(drawn, drawn["to_move"]) == own.policy(drawn, drawn["to_move"])).all()
    for states in itertools.islice(random_plies(game, 1000), 140):
        assert oracle.covers(states).all()
        assert (oracle.plies_to_end(states) == own.plies_to_end(states)).all()
        assert (oracle.value(states, 0) == own.value(states, 0)).all()
