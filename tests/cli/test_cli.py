"""The command `ttt`: its help, its exit statuses, and the verbs that tell about games and agents."""

import ast
import base64
import csv
import dataclasses
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from importlib import import_module
from importlib.metadata import EntryPoint
from itertools import pairwise
from pathlib import Path

import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.cli import VERBS, main
from ttt_envs.cli.games import Games
from ttt_envs.core.game import Game
from ttt_envs.core.options import parameters
from ttt_envs.drawing.terminal import escape, protocol
from ttt_envs.registry import full_id, options_of
from ttt_envs.storage.tables import TableMissing, load_or_build, without_building

ROOT = Path(__file__).resolve().parents[2]
TTT = (sys.executable, "-m", "ttt_envs")
IDS = list(ttt_envs.GAMES)
SUPER = "super_tic_tac_toe"


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")


def verb_class(verb):
    module, name = VERBS[verb].split(":")
    return getattr(import_module(module), name)


def lines_of(capsys):
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


# --- help ---


def test_the_help_lists_every_verb_and_imports_none():
    code = (
        "import sys; from ttt_envs.cli import main, VERBS\n"
        "try: main(['--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numba', 'torch', 'matplotlib', 'rich.table', *(place.split(':')[0] for place in VERBS.values())}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert "loaded: []" in done.stdout
    shown = " ".join(re.sub(r"[│•]", " ", done.stdout).split())
    for verb in VERBS:
        summary = " ".join(inspect.getdoc(verb_class(verb)).partition("\n\n")[0].split())
        assert f"{verb} {summary}" in shown


@pytest.mark.parametrize("verb", list(VERBS))
def test_a_verb_explains_each_field_on_its_own(verb, capsys):
    found = verb_class(verb)
    with pytest.raises(SystemExit) as end:
        main([verb, "--help"])
    assert end.value.code == 0
    shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
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


def test_a_verb_brings_nothing_that_it_does_not_need():
    code = (
        "import sys; from ttt_envs.cli import main\n"
        "assert main(['games']) == 0\n"
        "heavy = 'torch', 'matplotlib', 'pygame', 'rich.progress', 'ttt_envs.evaluation', 'ttt_envs.agents'\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_shell_completes_verbs_and_options(tmp_path):
    script = tmp_path / "ttt.bash"
    done = subprocess.run([*TTT, "--tyro-print-completion", "bash"], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    script.write_text(done.stdout)

    def completed(*words):
        asked = (
            f"source {shlex.quote(str(script))}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; "
            "$(complete -p ttt | sed 's/.*-F \\([^ ]*\\).*/\\1/') ttt; echo ${COMPREPLY[@]}"
        )
        found = subprocess.run(["bash", "-c", asked], capture_output=True, text=True)
        return found.stdout.split()

    assert "play" in completed("ttt", "pl")
    assert "agents" not in completed("ttt", "pl")
    assert {"--agents", "--option", "--seed"} <= set(completed("ttt", "play", SUPER, "--"))


# --- exit statuses ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe", "super_tic_tac_tow"], "unknown game 'super_tic_tac_tow'; did you mean 'super_tic_tac_toe'"),
        (["describe", SUPER, "--option", "won_board=open"], "unknown option 'won_board'; did you mean 'won_boards'"),
        (["describe", SUPER, "--option", "won_boards"], "must be name=value"),
        (["describe", SUPER, "--option", "random_opening_plies=many"], "'many' is not of type int"),
        (["agents", "chess"], "unknown game 'chess'"),
        (["agents", "--option", "size=4"], "--option needs the game"),
        (["describe", SUPER, "--option", "a=1", "--option", "b=2"], "--option is given twice"),
    ],
)
def test_a_user_s_error_is_one_line(arguments, words, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert words in shown.err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "error: there is not enough memory for this\n"),
        (MemoryError("9 TiB"), "error: there is not enough memory for this: 9 TiB\n"),
        (OSError(28, "No space left on device", "x"), "error: x: No space left on device\n"),
        (OSError(28, "No space left on device"), "error: No space left on device\n"),
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
        (["describe", "tic_tac"], "fits tic_tac_dice and tic_tac_super_dice and tic_tac_match"),
        (["describe", "supr"], "did you mean 'super_tic_tac_toe'?"),
        (
            ["describe", "martian", "--option", "players=4"],
            "option players=4 must be from 2 to 3; size=5 allows up to 4",
        ),
        (
            ["play", SUPER, "--agents", "random", "random", "--out", "x.bmp"],
            "a picture is an .svg or a .png, not x.bmp",
        ),
        (["games", "--json", "--csv"], "give --json or --csv, not both"),
    ],
)
def test_a_word_that_is_wrong_is_named_with_what_may_be_meant(arguments, words, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert words in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["describe"], ["describe", SUPER, "more"]])
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


@pytest.mark.parametrize("verb", ["games", "agents"])
def test_a_reader_may_leave(verb):
    command = f"{shlex.join(TTT)} {verb} | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_a_reader_may_have_left_before_the_first_line(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*TTT, "games"], cwd=ROOT, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 2


def test_a_module_is_the_command():
    done = subprocess.run([*TTT, "games", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: ttt games")


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
    with pytest.raises(ValueError, match="fits .* and " if text else "unknown game ''"):
        full_id(text)


# --- games ---


def test_games_as_data(capsys):
    assert main(["games", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert main(["games", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["game"] for row in rows] == IDS == [each["game"] for each in found]
    assert [int(row["actions"]) for row in rows] == [ttt_envs.load(each).num_actions for each in IDS]
    assert found[0]["plies"] == ttt_envs.load(IDS[0]).max_plies


def test_games_has_a_line_for_each(capsys):
    assert main(["games"]) == 0
    head, *rows = lines_of(capsys)
    assert head.split()[0] == "game"
    assert [row.split()[0] for row in rows] == IDS
    for row in rows:
        game = ttt_envs.load(row.split()[0])
        numbers = [game.num_players, game.num_actions, game.observation_size, game.max_plies]
        assert [int(word) for word in row.split()[1:5]] == numbers
        assert ("chance" in row) == game.stochastic
        assert ("hidden" in row) == game.hidden_information
        assert ("simultaneous" in row) == game.simultaneous


# --- describe ---


@pytest.fixture
def no_oracle(monkeypatch):
    """Best play takes its time to be looked up."""

    def refuse(self):
        raise NotImplementedError("not in this test")

    monkeypatch.setattr(Game, "oracle", refuse)


@pytest.mark.parametrize("game_id", IDS)
def test_describe_tells_all(game_id, no_oracle, capsys):
    assert main(["describe", game_id]) == 0
    lines = lines_of(capsys)
    shown, game = "\n".join(lines), ttt_envs.load(game_id)
    flowing = " ".join(shown.split())
    assert lines[0] == f"{game.title} ({game_id})"
    for title in ("A start position", "Rules", "Options", "Actions", "Observation", "Best play"):
        assert any(line.startswith(title) for line in lines)
    for paragraph in game.rules_text.split("\n"):
        assert " ".join(paragraph.split()) in flowing
    for each in options_of(game_id):
        assert re.search(rf"^{each.name}=", shown, re.MULTILINE)
        assert " ".join(each.meaning.split()) in flowing
    start = 0
    for block in game.observation_layout:
        span = f"{start}-{start + block.size - 1}" if block.size > 1 else f"{start}"
        assert re.search(rf"^{span} +{re.escape(block.name)} ", shown, re.MULTILINE)
        start += block.size
    spans = [tuple(map(int, found)) for found in re.findall(r"^(\d+)-(\d+) +\d+  ", _part(shown, "Actions"), re.M)]
    spans += [(int(found), int(found)) for found in re.findall(r"^(\d+) +1  ", _part(shown, "Actions"), re.M)]
    assert sorted(k for low, high in spans for k in range(low, high + 1)) == list(range(game.num_actions))


def _part(shown, title):
    return re.split(rf"^{title}.*\n-+\n", shown, flags=re.MULTILINE)[1].split("\n\n")[0]


def test_describe_honours_options(no_oracle, capsys):
    arguments = ["describe", "martian_tic_tac_toe", "--option", "size=5", "players=3", "repetition_limit=none"]
    assert main(arguments) == 0
    shown = "\n".join(lines_of(capsys))
    assert "5x5 cells" in shown
    assert "red, blue and yellow" in shown
    assert "size=5 (int, default 3)" in shown
    assert "repetition_limit=none (int or None, default 3)" in shown
    assert "occurred" not in _part(shown, "Observation")


def test_describe_shows_what_a_player_may_see(no_oracle, capsys):
    assert main(["describe", "tic_tac_match", "--seed", "4"]) == 0
    shown = _part(capsys.readouterr().out, "A start position")
    assert shown.startswith("as player 1 sees it:")
    assert "hand 0: 4 hidden" in shown


def test_describe_says_what_is_known_of_best_play(capsys):
    assert main(["describe", SUPER]) == 0
    shown = " ".join(_part(capsys.readouterr().out, "Best play").split())
    assert shown.startswith("An oracle exists; its values are exact. Value of the start position above")
    assert "+1 for player 0, -1 for player 1" in shown
    assert main(["describe", SUPER, "--option", "won_boards=closed"]) == 0
    assert "No oracle for won_boards='closed'" in _part(capsys.readouterr().out, "Best play")
    assert main(["describe", "tic_tac_match"]) == 0
    assert "No oracle: best play of this game is not known." in _part(capsys.readouterr().out, "Best play")


def test_describe_builds_no_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TTT_ENVS_CACHE", str(tmp_path / "empty"))
    game = ttt_envs.load("martian_tic_tac_toe", same_size_swap=True, max_plies=201)  # not one that a test has solved
    arguments = ["describe", game.id, "--option", "same_size_swap=true", "max_plies=201"]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    best = " ".join(_part(shown.out, "Best play").split())
    assert "table of best play is not built yet" in best
    assert "`ttt solve martian_tic_tac_toe --help`" in best
    assert not shown.err
    assert not (tmp_path / "empty").exists()


def test_without_building_a_missing_table_is_an_error(tmp_path):
    def read(path):
        return path.read_text()

    def write(path, table):
        path.write_text(table)

    path = tmp_path / "table"
    with without_building(), pytest.raises(TableMissing, match="not built yet"):
        load_or_build(path, read, lambda progress: "built", write)
    assert not path.exists()
    assert load_or_build(path, read, lambda progress: "built", write) == "built"
    with without_building():
        assert load_or_build(path, read, lambda progress: "again", write) == "built"


KITTY, ITERM = {"KITTY_WINDOW_ID": "1"}, {"TERM_PROGRAM": "iTerm.app"}


@pytest.mark.parametrize(
    ("environment", "known"),
    [
        ({}, None),
        ({"TERM": "xterm-256color"}, None),
        (KITTY, "kitty"),
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM_PROGRAM": "ghostty"}, "kitty"),
        (ITERM, "iterm"),
        ({"TERM_PROGRAM": "WezTerm"}, "iterm"),
        ({"LC_TERMINAL": "iTerm2", "TERM": "xterm"}, "iterm"),
        ({**KITTY, "TMUX": "session"}, None),
        ({**ITERM, "TERM": "screen-256color"}, None),
    ],
)
def test_terminals_are_told_apart(environment, known):
    assert protocol(environment) == known


@pytest.mark.parametrize("size", [1, 3072, 3073, 10_000])
def test_a_picture_arrives_whole(size):
    png = os.urandom(size)
    text = escape(png, "kitty")
    parts = re.findall(r"\033_G([^;]*);([^\033]*)\033\\", text)
    assert "".join(f"\033_G{head};{part}\033\\" for head, part in parts) == text
    assert base64.b64decode("".join(part for _, part in parts)) == png
    assert all(len(part) <= 4096 for _, part in parts)
    assert [head[-3:] for head, _ in parts] == ["m=1"] * (len(parts) - 1) + ["m=0"]
    assert parts[0][0].startswith("a=T,f=100,")
    head, data = re.fullmatch(r"\033\]1337;File=([^:]*):([^\a]*)\a", escape(png, "iterm")).groups()
    assert base64.b64decode(data) == png
    assert f"size={size}" in head


@pytest.mark.parametrize(("environment", "start"), [(KITTY, "\033_G"), (ITERM, "\033]1337;File="), ({}, None)])
def test_describe_draws_where_the_terminal_can(environment, start, no_oracle, monkeypatch, capsys):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["describe", SUPER]) == 0
    assert "\033" not in capsys.readouterr().out, "a picture in a pipe"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["describe", SUPER]) == 0
    shown = capsys.readouterr().out
    assert ("X to move in board 4" in shown) == (start is None)
    if start is not None:
        assert start in shown

    def missing(svg, width):
        raise ImportError("no extra")

    monkeypatch.setattr("ttt_envs.drawing.raster.png", missing)
    assert main(["describe", SUPER]) == 0
    assert "X to move in board 4" in capsys.readouterr().out


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
        ([SUPER, "--help"], ("usage: ttt solve super_tic_tac_toe", "count Count something.", "runs CFR+")),
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


# --- what options and parameters mean ---


@pytest.mark.parametrize("game_id", IDS)
def test_every_option_has_a_meaning_and_a_type(game_id):
    declared = options_of(game_id)
    assert [each.name for each in declared] == list(ttt_envs.load(game_id).options)
    for each in declared:
        assert each.meaning.endswith("."), each.name
        assert each.type_name, each.name


def test_every_parameter_has_a_meaning():
    for name, found in agents.known().items():
        for each in parameters(found):
            assert each.meaning.endswith("."), f"{name}: {each.name}"
            assert each.type_name, f"{name}: {each.name}"


def test_meanings_are_read_from_the_docstring():
    def function(first, second: int | None = None, *rest, third: "bool" = False, **more):
        """Something.

        Args:
            first: one line.
            second: two
                lines: with a colon.
            unknown: is passed over.

        Returns:
            third: not this.
        """

    found = parameters(function)
    assert [(each.name, each.type_name, each.meaning) for each in found] == [
        ("first", "", "one line."),
        ("second", "int or None", "two lines: with a colon."),
        ("third", "bool", ""),
    ]
    assert found[0].default is inspect.Parameter.empty
    assert found[1].default is None

    class Bare:
        """Args:
        it: of no concern.
        """

    assert parameters(Bare) == []


# --- agents ---


def entries_of(capsys):
    """Agent -> the lines of its entry."""
    found, name = {}, None
    for line in lines_of(capsys):
        head = re.match(r"- (\w+): ", line)
        if head:
            name = head[1]
            found[name] = []
        if name:
            found[name].append(line)
    return {name: " ".join(" ".join(lines).split()) for name, lines in found.items()}


def test_agents_lists_all_with_what_they_play(capsys):
    assert main(["agents"]) == 0
    found = entries_of(capsys)
    assert list(found) == list(agents.AGENTS)
    assert "plays: every game" in found["random"]
    assert "tic_tac_match" in found["ismcts"]
    assert "tic_tac_match" not in found["mcts"]
    assert "operation_tic_tac_toe" not in found["mcts"]
    assert "operation_tic_tac_toe" in found["smmcts"]
    assert "plays: depends on its parameters" in found["network"]
    assert "a run folder" in found["network"]
    assert "simulations=400 (int) simulations for each decision." in found["mcts"]
    assert "seconds=none (float or None)" in found["mcts"]


def test_agents_of_a_game_are_those_that_play_it(capsys):
    assert main(["agents", "tic_tac_match"]) == 0
    found = entries_of(capsys)
    assert list(found) == [
        "random",
        "greedy",
        "ismcts",
        "mixed",
        "rounds",
        "trained",
        "network",
        "lookahead",
        "guided",
        "tabular",
        "solved",
        "program",
        "isolated",
        "llm",
        "human",
    ]
    assert main(["agents", SUPER]) == 0
    assert "oracle" in entries_of(capsys)
    assert main(["agents", SUPER, "--option", "won_boards=closed"]) == 0
    assert "oracle" not in entries_of(capsys)


class Mine(Agent):
    """Plays what it was told."""

    plays = {"simultaneous": False}

    def __init__(self, move: int = 0):
        """What to play.

        Args:
            move: the action that is always played.
        """

    def act(self, view):
        return view.masks.argmax(axis=1)


def first_legal(observation, mask):
    """Plays the first legal action."""
    return int(mask.argmax())


def test_agents_of_installed_packages_are_listed(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "installed_agents", sys.modules[__name__])
    group = agents.ENTRY_POINTS
    found = [
        EntryPoint("mine", "installed_agents:Mine", group),
        EntryPoint("first", "installed_agents:first_legal", group),
    ]
    monkeypatch.setattr("ttt_envs.agents.entry_points", lambda group: found)
    assert main(["agents"]) == 0
    shown = entries_of(capsys)
    assert "Plays what it was told." in shown["mine"]
    assert "move=0 (int) the action that is always played." in shown["mine"]
    assert "operation_tic_tac_toe" not in shown["mine"]
    assert "first: Plays the first legal action. plays: every game" in shown["first"]
    assert main(["agents", "operation_tic_tac_toe"]) == 0
    shown = entries_of(capsys)
    assert "first" in shown
    assert "mine" not in shown
