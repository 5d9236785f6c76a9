"""`ttt play`: people at the terminal, and agents among themselves."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.search.mcts import MCTS
from ttt_envs.cli import main
from ttt_envs.cli.play import default_agents, play

ROOT = Path(__file__).resolve().parents[2]
TTT = (sys.executable, "-m", "ttt_envs")
SUPER = "super_tic_tac_toe"


def spawn(*arguments: str) -> pexpect.spawn:
    command = ["-m", "ttt_envs", "play", *arguments, "--seed", "1"]
    return pexpect.spawn(sys.executable, command, cwd=str(ROOT), encoding="utf-8", timeout=60)


def ended(child: pexpect.spawn) -> int | None:
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


def test_a_person_plays_a_game_to_the_end() -> None:
    child = spawn(SUPER, "--agents", "human", "random")
    child.expect("X to move in board 4")
    child.expect("player 0 chooses:.*1: 4/0 +2: 4/1")
    for answer, words in {
        "": "the name of an action.*legal:.*1: 4/0 +2: 4/1",
        "?": "the name of an action.*legal:.*1: 4/0 +2: 4/1",
        "4/9": "'4/9' is no action; did you mean 4/8",
        "north": "'north' is no action. Wanted: the name of an action",
        "44": "44 is not a number of the list, which has 1 to 9",
        "0": "0 is not a number of the list",
        "5/4": "5/4 is not legal now; did you mean 4/4",
    }.items():
        child.expect("your move")
        child.sendline(answer)
        child.expect(words)
    child.sendline("5")  # of the list
    child.expect(r"human \(player 0\): 4/4")
    child.expect(r"random \(player 1\): 4/\d")
    for _ in range(80):
        found = child.expect([r"chooses:\s+1: (\d/\d)", r"over: (X wins with|O wins with|draw)"])
        if found == 1:
            break
        move = child.match.group(1)
        child.sendline(move)
        child.expect_exact(f"human (player 0): {move}")
    child.expect(r"(player [01]\) wins: [XO] wins with boards.*; player 0 [-+]1, player 1 [-+]1|draw)")
    assert ended(child) == 0


def test_a_person_leaves() -> None:
    child = spawn(SUPER, "--agents", "human", "random")
    child.expect("your move")
    child.sendline("q")
    child.expect("game left")
    assert ended(child) == 0

    child = spawn(SUPER, "--agents", "human", "human")
    child.expect("your move")
    child.sendline("4/4")
    child.expect("O to move in board 4.*your move")
    child.sendintr()
    child.expect("interrupted: game left")
    assert ended(child) == 130


def test_two_people_see_nothing_of_each_others_secret_choices() -> None:
    child = spawn("operation_tic_tac_toe", "--agents", "human", "human")
    clear = "\x1b[H\x1b[2J\x1b[3J"
    child.expect("player 0 chooses")  # who places first: one decides, and all may look on
    assert clear not in child.before
    child.sendline("place first")
    for offered in (r"1: (choose \w+)", "1: (spy to A)"):
        child.expect_exact("player 0 takes the seat")
        child.sendline("")
        child.expect(offered)
        first = child.match.group(1)
        child.expect("your move")
        child.sendline(first)
        child.expect_exact(clear)
        child.expect_exact("player 1 takes the seat")
        assert first not in child.before
        child.sendline("")
        child.expect("your move")
        assert "player 1 chooses" in child.before
        child.sendline("1")
        child.expect_exact(clear)
        # Then both are shown.
        child.expect_exact(f"human (player 0): {first}")
        child.expect_exact("human (player 1): ")
    child.expect("your move|takes the seat")
    child.sendline("q")
    assert ended(child) == 0


def test_two_people_do_not_see_each_others_hands() -> None:
    child = spawn("tic_tac_match", "--agents", "human", "human")
    clear = "\x1b[H\x1b[2J\x1b[3J"
    for player in (1, 0, 1):
        child.expect_exact(f"player {player} takes the seat")
        assert "hand" not in child.before
        child.sendline("")
        child.expect(rf"hand {1 - player}: \d hidden|hand {1 - player}: .*hidden")
        child.expect(r"1: (\w+) (\w) to (\w)")
        colour, symbol, cell = child.match.groups()
        child.expect("your move")
        # As the screen writes it.
        child.sendline(f"{colour[0]}{symbol} {cell}".upper())
        child.expect_exact(clear)
        child.expect_exact(f"human (player {player}): {colour} {symbol} to {cell}")
    child.sendline("q")
    assert ended(child) == 0


def test_without_a_terminal_a_line_separates_the_players() -> None:
    answers = "1\n\n1\n\n1\n"
    command = [*TTT, "play", "operation_tic_tac_toe", "--agents", "human", "human", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, input=answers, capture_output=True, text=True, timeout=60)
    assert "\x1b" not in done.stdout
    assert done.stdout.count("=" * 72) == 2


def test_the_finished_board_of_a_round_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for game, words in (("tic_tac_dice", "round over: "), ("operation_tic_tac_toe", "round over: ")):
        assert main(["play", game, "--agents", "random", "random", "--seed", "2"]) == 0
        shown = capsys.readouterr().out
        assert shown.count(words) >= 2
        assert shown.index(words) < shown.index("last round: ")
        assert re.search(r"random \(player [01]\) wins: [XO] wins, .*; player 0 [-+]1, player 1 [-+]1\n", shown)


def test_play_in_a_pipe() -> None:
    command = [*TTT, "play", SUPER, "--agents", "human", "random", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, input="4/4\n", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "human (player 0): 4/4" in done.stdout
    assert "the input has ended" in done.stdout
    assert done.stderr == ""


def test_play_shows_every_move_and_draws_the_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    drawing = tmp_path / "new" / "end.svg"
    arguments = ["play", SUPER, "--option", "first_move=anywhere", "random_opening_plies=3"]
    arguments += ["--agents", "greedy", "oracle:fallback=random", "--seed", "3"]
    assert main([*arguments, "--out", str(drawing)]) == 0
    shown = capsys.readouterr().out
    plies = shown.count("to move")
    assert 17 - 3 <= plies <= 81
    assert plies == shown.count("(player 0): ") + shown.count("(player 1): ")
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chess"], "unknown game 'chess'"),
        ([SUPER, "--option", "won=1"], "unknown option 'won'"),
        ([SUPER, "--option", "won_boards=ajar"], "won_boards='ajar' must be one of"),
        ([SUPER, "--agents", "random"], "has 2 players and needs as many agents, not 1: random"),
        ([SUPER, "--agents", "random", "radnom"], "did you mean 'random'"),
        ([SUPER, "--agents", "random", "random", "--seed", "-1"], "seed must be from 0"),
        ([SUPER, "--agents", "oracle", "random", "--option", "won_boards=closed"], "agent oracle cannot play"),
        ([SUPER, "--agents", "random", "--agents", "random"], "--agents is given twice"),
        (["tic_tac_match", "--agents", "random", "mcts"], "agent mcts plays only games without hidden information"),
    ],
)
def test_play_refuses(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert words in shown.err
    assert not shown.out


def test_play_into_a_closed_pipe() -> None:
    command = f"{shlex.join(TTT)} play {SUPER} --agents random random --seed 1 | head -3"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "X to move" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("game_id", list(ttt_envs.GAMES))
def test_a_person_meets_the_search_that_plays_the_game(game_id: str) -> None:
    game = ttt_envs.load(game_id)
    person, *others = default_agents(game)
    assert person == "human"
    assert len(others) == game.num_players - 1
    for name in others:
        agent = agents.load(name)
        assert isinstance(agent, MCTS)
        agent.check(game)


def test_everybody_has_a_seat_by_default() -> None:
    game = ttt_envs.load("tic_tac_match", players=4)
    assert default_agents(game) == ("human", "ismcts", "ismcts", "ismcts")


def test_agents_may_be_objects(capsys: pytest.CaptureFixture[str]) -> None:
    final = play(ttt_envs.load(SUPER), [lambda observation, mask: int(mask.argmax()), agents.load("random")], seed=5)
    assert final["done"]
    assert "<lambda> (player 0): 4/0" in capsys.readouterr().out
