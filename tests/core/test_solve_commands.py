"""What `ttt solve` can run: the commands of all games, and tables that are kept in files."""

import ast
import dataclasses
import inspect
from pathlib import Path

import pytest
import tyro

import ttt_envs
from ttt_envs.storage.files import check_writable
from ttt_envs.storage.tables import BadTable, load_or_build, table_folder

COMMANDS = [
    pytest.param(command, id=f"{game_id} {name}")
    for game_id in ttt_envs.GAMES
    for name, command in ttt_envs.load(game_id).solve_commands.items()
]


def test_some_games_have_commands():
    assert len(COMMANDS) > 2


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_a_dataclass_with_a_line_of_help_for_each_field(command):
    assert tyro.cli(command, args=[]) == command()
    body = ast.parse(inspect.getsource(command)).body[0].body
    assert ast.get_docstring(ast.parse(inspect.getsource(command)).body[0])
    for field in dataclasses.fields(command):
        (k,) = (k for k, node in enumerate(body) if isinstance(node, ast.AnnAssign) and node.target.id == field.name)
        assert isinstance(body[k + 1], ast.Expr), f"{field.name} has no help"
        assert "\n" not in body[k + 1].value.value


@pytest.mark.parametrize("game_id", list(ttt_envs.GAMES))
def test_an_oracle_states_its_error(game_id):
    try:
        error = ttt_envs.load(game_id).oracle().error
    except NotImplementedError:
        return
    assert isinstance(error, float)
    assert 0 <= error < 0.01


# --- tables in files ---


def read(path: Path) -> str:
    text = path.read_text()
    if not text.startswith("table"):
        raise BadTable(f"{path} is damaged")
    return text


class Builder:
    def __init__(self):
        self.built = 0

    def __call__(self, progress):
        progress("counting", 0.5)
        self.built += 1
        return f"table {self.built}"


def test_a_table_is_built_when_it_is_missing_or_damaged(tmp_path, capsys):
    path, build = tmp_path / "new" / "table", Builder()

    def write(path, table):
        path.parent.mkdir(exist_ok=True)
        path.write_text(table)

    assert load_or_build(path, read, build, write) == "table 1"
    said = capsys.readouterr().err
    assert "needed for the first time" in said
    assert f"kept in {path}" in said
    assert load_or_build(path, read, build, write) == "table 1"
    assert not capsys.readouterr().err
    path.write_text("something else")
    assert load_or_build(path, read, build, write) == "table 2"
    assert f"{path} is damaged" in capsys.readouterr().err
    assert path.read_text() == "table 2"


def test_a_table_that_cannot_be_written_is_used_from_memory(tmp_path, capsys):
    def write(path, table):
        raise PermissionError("not here")

    assert load_or_build(tmp_path / "table", read, Builder(), write) == "table 1"
    said = capsys.readouterr().err
    assert "cannot be kept" in said
    assert "not here" in said


def test_a_variable_says_where_tables_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TTT_ENVS_CACHE", str(tmp_path))
    assert table_folder() == tmp_path
    monkeypatch.delenv("TTT_ENVS_CACHE")
    assert table_folder().name == "ttt_envs"


def test_a_place_is_checked_before_the_work(tmp_path, monkeypatch):
    check_writable(tmp_path / "new" / "file")
    assert not list((tmp_path / "new").iterdir())
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        check_writable(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        check_writable(tmp_path / "file" / "below")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="no file can be written in the folder"):
        check_writable(tmp_path / "other")
