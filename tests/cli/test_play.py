"""`ttt play`: people at the terminal, and agents among themselves."""

import io
import os
import pty
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pexpect
import pytest
from pexpect.fdpexpect import fdspawn

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.search.mcts import MCTS
from ttt_envs.agents.terminal import say
from ttt_envs.cli import hints, main
from ttt_envs.cli.play import default_agents, play

ROOT = Path(__file__).resolve().parents[2]
TTT = (sys.executable, "-m", "ttt_envs")
SUPER, DICE = "super_tic_tac_toe", "tic_tac_dice"


class Terminal(fdspawn):
    """The command line in a fork of this process, at a terminal without colours: a new process imports for seconds."""

    def __init__(self, *arguments: str) -> None:
        pid, terminal = pty.fork()
        if not pid:
            status = 70
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
                for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
                    os.environ.pop(name, None)
                os.environ["TERM"] = "dumb"
                status = main(list(arguments))
            except SystemExit as end:
                status = int(end.code or 0)
            finally:
                sys.stdout.flush()
                os._exit(status)
        super().__init__(terminal, timeout=60, encoding="utf-8")
        self.process = pid

    def ended(self) -> int:
        self.expect(pexpect.EOF)
        self.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def spawn(*arguments: str) -> Terminal:
    return Terminal("play", *arguments, "--seed", "1")


def test_a_person_plays_and_asks() -> None:
    child = spawn(SUPER, "--agents", "human", "random")
    child.expect_exact("Super Tic-Tac-Toe: X (you), O (random)")
    child.expect("X to move in board 4")
    child.expect("You are X. You can play:.*1: 4/0 +2: 4/1")
    for answer, words in {
        "": "an action +its name, or its number.*X can play:.*1: 4/0 +2: 4/1",
        "?": "rules +the rules of the game.*hint .*undo .*history .*save FILE .*1: 4/0 +2: 4/1",
        "4/9": "'4/9' is no action; did you mean 4/8",
        "north": "'north' is no action. Type the name of an action",
        "44": "44 is not a number of the list, which has 1 to 9",
        "0": "0 is not a number of the list",
        "5/4": "5/4 is not legal now; did you mean 4/4",
        "hnit": "'hnit' is no action; did you mean hint",
        "rules": "Nine small tic-tac-toe boards",
        "undo": "nothing has been played that could be taken back",
        "history": "nothing has been played yet",
        "save": "save needs the name of a file",
        "hint": r"Best: 4/4\.|estimates",  # a machine that is busy may have no answer of the oracle in time
    }.items():
        child.expect("your move")
        child.sendline(answer)
        child.expect(words)
    child.sendline("5")  # of the list
    child.expect_exact("X (you): 4/4")
    child.expect(r"O \(random\): 4/\d")
    child.expect("last move: O 4/")
    child.sendline("HISTORY")
    child.expect(r"1\. X: 4/4\s+2\. O: 4/\d")
    child.sendline("undo")
    child.expect("Taken back.*X to move in board 4.*1: 4/0 +2: 4/1")
    for _ in range(81):
        if child.expect(["your move", r"over: (X wins with|O wins with|draw)"]):
            break
        child.sendline("1")
    child.expect(r"(player [01]\) wins: [XO] wins with boards.*; player 0 [-+]1, player 1 [-+]1|draw)")
    child.expect(r"You win\.|You lose\.|Nobody wins\.")
    assert child.ended() == 0


#: Each game with options that make it short, and what its position begins with where a person is asked.
SHORT: dict[str, tuple[list[str], str]] = {
    "martian_tic_tac_toe": (["max_plies=152"], "[RB] to move"),
    "tic_tac_dice": (["rounds=single"], "[XO] claims by dice"),
    "tic_tac_match": (["max_turns=12"], r"seat \d plays"),
    "operation_tic_tac_toe": (["mode=round", "max_idle_turns=4"], "[XO] places, [XO] predicts|decides on the ability"),
}


@pytest.mark.parametrize(
    "game_id",
    # Choices of one and of both by default.
    [
        pytest.param(each, marks=() if each in ("tic_tac_dice", "operation_tic_tac_toe") else pytest.mark.slow)
        for each in SHORT
    ],
)
def test_a_person_plays_a_game_to_its_end(game_id: str) -> None:
    options, position = SHORT[game_id]
    child = spawn(game_id, "--option", *options, "--agents", "human", "random")
    game = ttt_envs.load(game_id)
    me, other = game.player_names
    child.expect_exact(f"{game.title}: {me} (you), {other} (random)")
    asked = 0
    for number in range(300):
        if child.expect([rf"{me}, your move \(\? for help\): ", "over: [^\r]*"]):
            break
        assert re.search(position, child.before)
        assert f"You are {me}. You can play:" in child.before
        legal = re.findall(r"\b(\d+): ", child.before.partition("You can play:")[2])
        assert legal == [str(k + 1) for k in range(len(legal))]
        child.sendline(legal[number % len(legal)])
        child.expect_exact(f"{me} (you): ")
        asked += 1
    assert asked >= 2
    child.expect(r"You win\.|You lose\.|Nobody wins\.")
    assert child.ended() == 0


def test_colours(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    game = ttt_envs.load(SUPER)
    shown = game.format_state(game.step(game.new_state(0), [40])[0], None)
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    say(shown, game=game)
    assert capsys.readouterr().out == f"{shown}\n"  # into a file or a pipe
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    say(shown, game=game)
    coloured = capsys.readouterr().out
    assert "\x1b[1;31mX\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == f"{shown}\n"
    monkeypatch.setenv("NO_COLOR", "1")
    say(shown, game=game)
    assert not re.search(r"\x1b\[[\d;]*3\d", capsys.readouterr().out)


def test_a_person_leaves() -> None:
    child = spawn(SUPER, "--agents", "human", "human")
    child.expect("your move")
    child.sendline("4/4")
    child.expect("O to move in board 4.*your move")
    child.send("\x03")  # Ctrl-C
    child.expect("interrupted: game left")
    assert child.ended() == 130


def test_ctrl_c_leaves_a_hint_and_not_the_game(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*given: object, **settings: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(hints, "think", interrupted)
    answers = iter(["hint", "1", "q"])
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    with pytest.raises(SystemExit):
        play(ttt_envs.load(DICE, rounds="single"), ["human", "random"], seed=1)
    printed = capsys.readouterr().out
    assert re.search(r"the hint is left; the game goes on.*X \(you\): .*game left", printed, re.DOTALL)


def test_two_people_see_nothing_of_each_others_secret_choices() -> None:
    child = spawn("operation_tic_tac_toe", "--agents", "human", "human")
    clear = "\x1b[H\x1b[2J\x1b[3J"
    child.expect("You are X. You can play")  # who places first: one decides, and all may look on
    assert clear not in child.before
    child.sendline("place first")
    for offered in (r"1: (choose \w+)", "1: (spy to A)"):
        child.expect_exact("X takes the seat")
        child.sendline("")
        child.expect(offered)
        first = child.match.group(1)
        child.expect("your move")
        child.sendline(first)
        child.expect_exact(clear)
        child.expect_exact("O takes the seat")
        assert first not in child.before
        child.sendline("")
        child.expect("your move")
        assert "You are O. You can play" in child.before
        child.sendline("1")
        child.expect_exact(clear)
        # Then both are shown.
        child.expect_exact(f"X (a person): {first}")
        child.expect_exact("O (a person): ")
    child.expect("your move|takes the seat")
    child.sendline("q")
    assert child.ended() == 0


def test_two_people_do_not_see_each_others_hands() -> None:
    child = spawn("tic_tac_match", "--agents", "human", "human")
    clear = "\x1b[H\x1b[2J\x1b[3J"
    for player in (1, 0, 1):
        child.expect_exact(f"seat {player} takes the seat")
        assert "hand" not in child.before
        child.sendline("")
        child.expect(rf"hand {1 - player}: \d hidden|hand {1 - player}: .*hidden")
        child.expect(r"1: (\w+) (\w) to (\w)")
        colour, symbol, cell = child.match.groups()
        child.expect("your move")
        # As the screen writes it.
        child.sendline(f"{colour[0]}{symbol} {cell}".upper())
        child.expect_exact(clear)
        child.expect_exact(f"seat {player} (a person): {colour} {symbol} to {cell}")
    child.sendline("q")
    child.expect("game left")
    assert child.ended() == 0


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A function that plays a game with these lines as its input, not at a terminal, and returns what it prints."""

    def run(lines: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        with pytest.raises(SystemExit) as end:
            main(["play", *arguments, "--seed", "1"])
        assert end.value.code == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        return shown.out

    return run


def test_without_a_terminal_a_line_separates_the_players(piped: Callable[..., str]) -> None:
    shown = piped("1\n\n1\n\n1\n", "operation_tic_tac_toe", "--agents", "human", "human")
    assert "\x1b" not in shown
    assert shown.count("=" * 72) == 2


def test_the_second_of_two_who_choose_at_once_takes_the_turn_before_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["1", "", "1", "", "undo", "q"])
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    with pytest.raises(SystemExit):
        main(["play", "operation_tic_tac_toe", "--agents", "human", "human", "--seed", "1"])
    before, _, after = capsys.readouterr().out.partition("Taken back.")
    question = "You are X. You can play:\n  1: place first"
    assert before.count(question) == after.count(question) == 1


def test_the_finished_board_of_a_round_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for game, words in (("tic_tac_dice", "round over: "), ("operation_tic_tac_toe", "round over: ")):
        assert main(["play", game, "--agents", "random", "random", "--seed", "2"]) == 0
        shown = capsys.readouterr().out
        assert shown.count(words) >= 2
        assert shown.index(words) < shown.index("last round: ")
        assert re.search(r"random \(player [01]\) wins: [XO] wins, .*; player 0 [-+]1, player 1 [-+]1\n", shown)


def test_play_in_a_pipe(piped: Callable[..., str]) -> None:
    shown = piped("4/4\n", SUPER, "--agents", "human", "random")
    assert "X (you): 4/4" in shown
    assert "the input has ended" in shown


def test_play_shows_every_move_and_draws_the_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    drawing = tmp_path / "new" / "end.svg"
    arguments = ["play", SUPER, "--option", "first_move=anywhere", "random_opening_plies=3"]
    arguments += ["--agents", "greedy", "oracle:fallback=random", "--seed", "3"]
    assert main([*arguments, "--out", str(drawing)]) == 0
    shown = capsys.readouterr().out
    plies = shown.count("to move")
    assert 17 - 3 <= plies <= 81
    assert plies == shown.count("X (greedy): ") + shown.count("O (oracle:fallback=random): ")
    assert "over: " in shown
    assert "<svg" in drawing.read_text()
    # The same seed, the same game.
    assert main(arguments) == 0
    assert capsys.readouterr().out == shown.removesuffix(f"drawn to {drawing}\n")
    # An earlier drawing is not overwritten, and nobody plays in vain.
    assert main([*arguments, "--out", str(drawing)]) == 2
    shown = capsys.readouterr()
    assert "exists: choose another file" in shown.err
    assert not shown.out
    assert main([*arguments, "--out", str(drawing / "end.svg")]) == 2
    shown = capsys.readouterr()
    assert f"cannot be written: File exists, and is no folder ({drawing})" in shown.err
    assert not shown.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chess"], "unknown game 'chess'"),
        ([], "which game?"),
        ([SUPER, "--option", "won_boards=ajar"], "won_boards='ajar' must be one of"),
        ([SUPER, "--agents", "random"], "has 2 players and needs as many agents, not 1: random"),
        ([SUPER, "--agents", "random", "random", "--seed", "-1"], "seed must be from 0"),
        ([SUPER, "--agents", "oracle", "random", "--option", "won_boards=closed"], "agent oracle cannot play"),
        ([SUPER, "--agents", "random", "--agents", "random"], "--agents is given twice: give it once"),
        (["tic_tac_match", "--agents", "random", "mcts"], "agent mcts plays only games without hidden information"),
    ],
)
def test_play_refuses(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert words in shown.err
    assert not shown.out


@pytest.mark.parametrize("game_id", ["martian_tic_tac_toe", "tic_tac_match"])
def test_a_person_meets_the_search_that_plays_the_game(game_id: str) -> None:
    game = ttt_envs.load(game_id)
    person, *others = default_agents(game)
    assert person == "human"
    assert len(others) == game.num_players - 1
    for name in others:
        agent = agents.load(name)
        assert isinstance(agent, MCTS)
        agent.check(game)


def test_agents_may_be_objects(capsys: pytest.CaptureFixture[str]) -> None:
    final = play(ttt_envs.load(SUPER), [lambda observation, mask: int(mask.argmax()), agents.load("random")], seed=5)
    assert final["done"]
    assert "X (<lambda>): 4/0" in capsys.readouterr().out
