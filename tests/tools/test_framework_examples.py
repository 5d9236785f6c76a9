"""The examples of frameworks: what they need is readable, and those that can run here do, for one update."""

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

from tools import examples

PAGE = examples.ROOT / "docs" / "frameworks.md"

#: The one that is quick enough for the default run; the others run where their framework is installed.
QUICK = {"cleanrl_ppo"}


#: What `--tests` runs.
USUAL = examples.TESTS


def test_every_example_is_short_on_the_page_and_says_what_it_needs():
    assert set(examples.examples()) > QUICK
    page = PAGE.read_text()
    for name, path in examples.examples().items():
        assert len(path.read_text().splitlines()) <= 260
        needed = examples.requirements(path)
        assert needed[0] == "ttt-envs"
        assert all(re.fullmatch(r"[\w.\[\]-]+==[\d.]+", each) for each in needed[1:]), "tested versions"
        assert f"python examples/{name}.py" in path.read_text()
        row = re.search(rf"^\| (.+?) \| `examples/{name}.py` \|", page, re.M)[1]
        versions = dict(each.split("==") for each in needed[1:])
        assert not versions or row.split()[-1] in versions.values(), "the page has the tested version"
        # What came out stands at the top of the file and on the page.
        figure = re.search(r"\d\.\d{3} \((\d\.\d{3}) to \d\.\d{3}\)", ast.get_docstring(ast.parse(path.read_text())))
        assert float(figure[1]) > 0.5, "better than random"
        assert re.search(rf"^\| `examples/{name}.py` \|.*\| {re.escape(figure[0])}", page, re.M)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in examples.examples()]
)
def test_an_example_runs(name, capfd, monkeypatch):
    path = examples.examples()[name]
    if not examples.satisfied(examples.requirements(path)):
        pytest.skip("needs an environment of its own: make examples")
    if name in QUICK:  # in this process, which need not import torch again
        monkeypatch.setattr(sys, "argv", [str(path), examples.SHORT])
        runpy.run_path(str(path), run_name="__main__")
    else:
        assert examples.main([name, "--short"]) == 0
    out = capfd.readouterr().out
    assert re.search(r"scores [\d.]+ \([\d.]+ to [\d.]+\) against random in \d+ games", out)
    assert " failed at ply " not in out, "a game that is lost by an error is rated too"


def script(folder: Path, code: str, needs: str = '"ttt-envs"') -> Path:
    path = folder / "mine.py"
    path.write_text(f"# /// script\n# dependencies = [{needs}]\n# ///\n{code}\n")
    return path


def test_the_last_line_is_what_came_out(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(examples, "FOLDER", tmp_path)
    script(tmp_path, "import sys\nprint('steps', *sys.argv[1:])\nprint('it is better\\n')")
    assert examples.main(["--short"]) == 0
    out = capfd.readouterr().out
    assert "steps 1" in out
    assert re.search(r"mine +\d+ s +it is better", out)


def test_an_example_that_fails_is_reported_and_the_next_one_runs(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(examples, "FOLDER", tmp_path)
    script(tmp_path, "raise SystemExit(3)").rename(tmp_path / "bad.py")
    script(tmp_path, "print('fine')")
    assert examples.main([]) == 1
    out = capfd.readouterr().out
    assert "FAILED: status 3" in out
    assert re.search(r"mine +\d+ s +fine", out)
    assert examples.main(["mien"]) == 2
    assert "did you mean 'mine'" in " ".join(capfd.readouterr().err.split())


def test_what_is_not_installed_gets_an_environment_of_its_own(tmp_path, monkeypatch, capfd):
    assert examples.satisfied(["ttt-envs", "numpy>=1"])
    assert not examples.satisfied(["numpy==0.1"])
    assert not examples.satisfied(["no-such-package-anywhere==1"])
    monkeypatch.setattr(examples, "FOLDER", tmp_path)
    monkeypatch.setattr(examples, "ENVIRONMENTS", tmp_path / "environments")
    calls = []

    def run(command, check):
        calls.append([str(each) for each in command])
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)

    monkeypatch.setattr(examples.subprocess, "run", run)
    needed = ["ttt-envs", "other==1.0", "torch==0.0.1"]
    python = examples.python_for(needed)
    assert python != Path(sys.executable)
    assert [call[1:3] for call in calls] == [["-m", "venv"], ["-m", "pip"], ["-m", "pip"]]
    assert calls[1][-1] == "torch==0.0.1"
    assert calls[2][-5:] == ["-e", str(examples.ROOT), "pytest", "other==1.0", "torch==0.0.1"]
    assert examples.python_for(needed) == python
    assert len(calls) == 3, "it is made once"
    script(tmp_path, "print(1)", '"ttt-envs", "other==1.0"')
    assert examples.main(["--here"]) == 0
    assert "left out" in capfd.readouterr().out


def test_tests_run_once_in_each_environment(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(examples, "FOLDER", tmp_path)
    monkeypatch.setattr(examples, "TESTS", ["--version"])
    script(tmp_path, "raise SystemExit(3)").rename(tmp_path / "first.py")
    script(tmp_path, "raise SystemExit(3)")
    assert examples.main(["--tests"]) == 0
    out = capfd.readouterr().out
    assert re.search(r"first +\d+ s +pytest \d", out)
    assert not re.search(r"mine +\d+ s", out)
    assert all((examples.ROOT / each).exists() for each in USUAL)


def test_packages_are_tested_and_not_run(tmp_path, monkeypatch, capfd):
    (package,) = examples.packages().values()
    assert {re.match(r"[\w-]+", each)[0] for each in examples.requirements(package)} == {"openenv", "ttt-envs"}
    monkeypatch.setattr(examples, "FOLDER", tmp_path)
    monkeypatch.setattr(examples, "run", lambda *command: "tested" if "pytest" in command else "run")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "pyproject.toml").write_text('[project]\ndependencies = ["ttt-envs"]\n')
    assert examples.main(["package"]) == 2
    assert examples.main(["package", "--tests"]) == 0
    assert re.search(r"package +\d+ s +tested", capfd.readouterr().out)


def test_an_example_without_metadata_is_named(tmp_path):
    (tmp_path / "bare.py").write_text("print(1)\n")
    with pytest.raises(ValueError, match=r"bare.py has no block of inline metadata"):
        examples.requirements(tmp_path / "bare.py")
