"""The command `ttt`: its help, its exit statuses, and `ttt solve`."""

import ast
import dataclasses
import inspect
import os
import re
import subprocess
import sys
import textwrap
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import ttt_envs
from ttt_envs.cli import GROUPS, VERBS, main
from ttt_envs.cli.games import Games
from ttt_envs.core.game import Game
from ttt_envs.registry import full_id

ROOT = Path(__file__).resolve().parents[2]
TTT = (sys.executable, "-m", "ttt_envs")
IDS = list(ttt_envs.GAMES)
SUPER = "super_tic_tac_toe"


pytestmark = pytest.mark.usefixtures("narrow")


def verb_class(verb):
    module, name = VERBS[verb].split(":")
    return getattr(import_module(module), name)


def test_the_help_lists_every_verb_and_imports_none_and_a_verb_what_it_needs():
    code = (
        "import sys; from ttt_envs.cli import main, VERBS\n"
        "assert main([]) == main(['--help']) == 0\n"
        "heavy = {'numba', 'torch', 'matplotlib', 'rich.table', *(place.split(':')[0] for place in VERBS.values())}\n"
        "heavy.discard('ttt_envs.cli.measures')  # whose list is read\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))\n"
        "assert main(['games']) == 0\n"
        "heavy = {'torch', 'matplotlib', 'pygame', 'rich.progress', 'ttt_envs.evaluation', 'ttt_envs.agents'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert done.stdout.count("loaded: []") == 2
    shown = " ".join(re.sub(r"[│•]", " ", done.stdout).split())
    for verb in VERBS:
        summary = " ".join(inspect.getdoc(verb_class(verb)).partition("\n\n")[0].split())
        assert f"{verb} {summary.partition('. ')[0].rstrip('.')}" in shown
    for group in GROUPS:
        assert f" {group}: " in shown
    assert " warm " not in shown, "it is hidden"


@pytest.mark.parametrize("verb", list(VERBS))
def test_a_verb_explains_each_field_on_its_own_and_fits_the_terminal(verb, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = verb_class(verb)
    with pytest.raises(SystemExit) as end:
        main([verb, "--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", out).split())
    assert shown.startswith(f"usage: ttt {verb}")
    assert inspect.getdoc(found).splitlines()[0].split(".")[0] in shown
    helps = {}
    for base in reversed(found.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body
        for node, after in pairwise(body):
            if isinstance(node, ast.AnnAssign) and isinstance(after, ast.Expr):
                helps[node.target.id] = " ".join(after.value.value.split())
    for field in dataclasses.fields(found):
        assert helps[field.name] in shown, f"{field.name} has no help"
        assert helps[field.name].endswith(".")
        assert helps[field.name][0].isupper()


# --- exit statuses ---


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError("9 TiB"), "error: there is not enough memory for this: 9 TiB\n"),
        (OSError(28, "No space left on device", "x"), "error: x: No space left on device\n"),
        (OSError("of its own"), "error: of its own\n"),
    ],
)
def test_an_error_of_the_system_is_one_line_too(error, said, monkeypatch, capsys):
    def fail(self):
        raise error

    monkeypatch.setattr(verb_class("games"), "run", fail)
    assert main(["games"]) == 2
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chess"], "ttt: unknown command 'chess'; known: games"),
        (["tornament"], "did you mean 'tournament'?"),
        (["train", "pp"], "ttt train: unknown command 'pp'; did you mean 'ppo'"),
        (["games", "--colour"], "ttt games: unknown option '--colour'; `ttt games --help` lists them"),
        (["tournament", SUPER, "--agent", "random"], "unknown option '--agent'; did you mean '--agents'?"),
        (["describe", "tic_tac"], "is ambiguous: tic_tac_dice, tic_tac_super_dice, tic_tac_match"),
        (["describe", "supr"], "did you mean 'super_tic_tac_toe'?"),
        (
            ["describe", "martian", "--option", "players=4"],
            "option players=4 must be from 2 to 3; size=5 allows up to 4",
        ),
        (
            ["play", SUPER, "--agents", "random", "random", "--out", "x.bmp"],
            "a drawing is a file that ends in .svg or .png, not x.bmp",
        ),
        (["games", "--json", "--csv"], "give --json or --csv, not both"),
        (["describe", SUPER, "--option", "won_board=open"], "unknown option 'won_board'; did you mean 'won_boards'"),
        (["describe", SUPER, "--option", "won_boards"], "must be name=value"),
        (["describe", SUPER, "--option", "a=1", "--option", "b=2"], "--option is given twice"),
        (["agents", "--option", "size=4"], "--option needs the game"),
    ],
)
def test_a_word_that_is_wrong_is_named_with_what_may_be_meant(arguments, words, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert words in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["describe"], ["describe", SUPER, "more"]])
def test_a_wrong_command_line_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert "Traceback" not in shown.err


@pytest.mark.parametrize(("reason", "said"), [((), "interrupted\n"), (("3 games",), "interrupted: 3 games\n")])
def test_an_interrupt_ends_with_130(reason, said, monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt(*reason)

    monkeypatch.setattr(Games, "run", interrupted)
    assert main(["games"]) == 130
    assert capsys.readouterr().err == said


def test_a_reader_may_have_left_before_the_first_line(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*TTT, "games"], cwd=ROOT, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_signs_that_a_terminal_lacks_are_question_marks(tmp_path):
    line = "tournament tic_tac_dice --option rounds=single --agents random greedy --games 8 --out"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*TTT, *line.split(), str(tmp_path / "t")], cwd=ROOT, capture_output=True, env=environment)
    assert done.returncode == 0
    assert b"?" in done.stdout
    assert b"\xe2" not in done.stdout


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_no_error(closed, monkeypatch):
    monkeypatch.setattr(sys, closed, None)
    assert main(["games"]) == 0


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ttt-envs {ttt_envs.__version__}\n"


@pytest.mark.parametrize(
    ("text", "game_id"),
    [
        *(("super", SUPER), ("martian", "martian_tic_tac_toe"), ("dice", "tic_tac_dice"), ("big", "big_tic_tac_dice")),
        *(("match", "tic_tac_match"), ("operation", "operation_tic_tac_toe"), ("super_d", "tic_tac_super_dice")),
        ("tic_tac_m", "tic_tac_match"),
    ],
)
def test_a_game_has_the_beginnings_of_its_id(text, game_id):
    assert full_id(text) == game_id
    assert ttt_envs.load(text) is ttt_envs.load(game_id)


@pytest.mark.parametrize("text", ["m", "s", "tic_tac", ""])
def test_a_beginning_of_several_ids_is_none(text):
    with pytest.raises(ValueError, match="is ambiguous: .*, " if text else "unknown game ''"):
        full_id(text)


# --- solve ---


@dataclasses.dataclass(frozen=True)
class Count:
    """Count something."""

    upto: int = 3
    """The number to count to."""

    def run(self, options, progress):
        """See `SolveCommand`."""
        if self.upto < 0:
            raise ValueError("--upto must be at least 0")
        progress("counting", 0.5)
        return f"counted to {self.upto} with won_boards={options['won_boards']}"


@pytest.fixture
def own_solver(monkeypatch):
    monkeypatch.setattr(Game, "solve_commands", property(lambda self: {"count": Count}))


def test_solve_runs_the_game_s_own_solver(own_solver, capsys):
    assert main(["solve", SUPER, "count"]) == 0
    assert capsys.readouterr().out == "counted to 3 with won_boards=open\n"
    assert main(["solve", SUPER, "count", "--option", "won_boards=closed", "--upto", "7"]) == 0
    assert capsys.readouterr().out == "counted to 7 with won_boards=closed\n"
    assert main(["solve", SUPER, "count", "--upto", "-1"]) == 2
    assert "error: --upto must be at least 0" in capsys.readouterr().err
    assert main(["solve", SUPER, "count", "--option", "won_boards=ajar"]) == 2
    assert "must be one of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([SUPER, "--help"], ("usage: ttt solve super_tic_tac_toe", "count Count something.", "solves any small game")),
        ([SUPER, "count", "--help"], ("--upto INT The number to count to. (default: 3)", "--option")),
    ],
)
def test_solve_lists_what_the_game_s_solver_works_out(arguments, words, own_solver, capsys):
    with pytest.raises(SystemExit) as end:
        main(["solve", *arguments])
    assert end.value.code == 0
    shown = " ".join(re.sub(r"[│╭╮╰╯─•]", " ", capsys.readouterr().out).split())
    for each in words:
        assert each in shown


def test_solve_names_the_game_s_solver_where_the_tree_is_too_large(own_solver, tmp_path, capsys):
    arguments = ["solve", SUPER, "--limit", "5", "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "more than 5 positions" in error
    assert "its own solver works out: `ttt solve super_tic_tac_toe count`" in error
    assert not (tmp_path / "out").exists()


def test_solve_without_a_solver_of_its_own(tmp_path, capsys):
    assert not ttt_envs.load(SUPER).solve_commands
    assert main(["solve", SUPER, "--limit", "5", "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "more than 5 positions" in error
    assert "its own solver" not in error
