"""The list of mutants and the tool that tests them, on a project of two lines."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tools import mutants, mutants_sample
from tools.mutants import ROOT, Mutant, Places, Settings, Verdict, read, run

LIST = """
file = "product.py"
tests = "tests/test_product.py -k number"

[[mutant]]
breaks = "the number is another one"
old = "NUMBER = 1"
new = "NUMBER = 2"

[[mutant]]
breaks = "a word that nobody tests"
old = "one"
new = "two"

[[mutant]]
breaks = "what always fails"
old = "one"
new = "three"
tests = "tests/test_product.py -k always"

[[mutant]]
breaks = "what no test is selected for"
old = "one"
new = "four"
tests = "tests/test_product.py -k nothing"

[[mutant]]
breaks = "what only skipped tests would notice"
old = "one"
new = "five"
tests = "tests/test_product.py -k compiled"

[[mutant]]
breaks = "a text that is gone"
old = "NUMBER = 3"
new = "NUMBER = 4"

[[mutant]]
breaks = "a text that stands twice"
old = "R"
new = "r"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "tests" / "mutants").mkdir(parents=True)
    (folder / "product.py").write_text('NUMBER = 1\nWORD = "one"\n')
    (folder / "tests" / "test_product.py").write_text(
        "import pytest\nimport product\n\ndef test_number():\n    assert product.NUMBER == 1\n\n"
        "def test_always():\n    assert False\n\ndef test_compiled():\n    pytest.skip()\n"
    )
    (folder / "tests" / "mutants" / "part.toml").write_text(LIST)
    return folder


def test_the_report_says_what_became_of_each(project):
    said: list[str] = []
    assert run(project, Settings(), said.append) == 1
    verdicts = {line.partition("part: ")[2].splitlines()[0]: line for line in said[:7]}
    assert "killed" in verdicts["the number is another one"]
    assert "by tests/test_product.py::test_number" in verdicts["the number is another one"]
    assert "SURVIVED" in verdicts["a word that nobody tests"]
    assert "no test was selected" in verdicts["what no test is selected for"]
    assert "do they need jit = true?" in verdicts["what only skipped tests would notice"]
    assert "no longer stands in product.py" in verdicts["a text that is gone"]
    assert "stands 2 times in product.py" in verdicts["a text that stands twice"]
    assert "test_always fails without the mutant too" in said[-2]
    assert said[-1].startswith("1 of 7 mutants killed")
    assert (project / "product.py").read_text() == 'NUMBER = 1\nWORD = "one"\n'


class Trials:
    """Stands in for the trial of a mutant: all are killed but the survivors, and the names of those tried are kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tried: list[str] = []
        self.survivors: list[str] = []
        self.wrong: set[tuple[str, bool]] = set()
        monkeypatch.setattr(mutants, "judge", self.judge)
        monkeypatch.setattr(mutants, "failing", lambda places, verdicts, seconds: self.wrong)

    def judge(self, places: Places, mutant: Mutant, seconds: float) -> Verdict:
        self.tried.append(mutant.breaks)
        return Verdict(mutant, "" if mutant.breaks in self.survivors else "tests/test_product.py::test_number", 1.0)

    def of_run(self, project: Path, **settings: Any) -> tuple[list[str], str]:
        """Which mutants a run tries, and the last line of its report."""
        self.tried.clear()
        said: list[str] = []
        run(project, Settings(workers=1, **settings), said.append)
        return self.tried, said[-1]


def test_a_run_goes_on_where_an_earlier_one_ended(project, monkeypatch):
    trials = Trials(monkeypatch)
    assert trials.of_run(project, minutes=0) == ([], "0 of 7 mutants killed, and 7 not tried, in 0 s with 1 workers.")
    trials.survivors = ["a word that nobody tests"]
    assert trials.of_run(project)[1].startswith("6 of 7 mutants killed, in")
    ledger = project / ".cache" / "mutants" / "verdicts.jsonl"
    ledger.write_text(ledger.read_text() + '\n{"part": "par')
    tried, report = trials.of_run(project, resume=True)
    assert tried == ["a word that nobody tests"]
    assert report.startswith("6 of 7 mutants killed, 6 of them in earlier runs, in")
    assert len(trials.of_run(project)[0]) == 7, "each is tried again unless the run resumes"
    trials.survivors = []
    trials.of_run(project, resume=True)
    assert trials.of_run(project, resume=True)[0] == []
    test = project / "tests" / "test_product.py"
    test.write_text(f"{test.read_text()}\n")
    assert len(trials.of_run(project, resume=True)[0]) == 7, "a test has changed, that may have been the one to notice"
    lists = project / "tests" / "mutants" / "part.toml"
    lists.write_text(LIST.replace("NUMBER = 2", "NUMBER = 5"))
    assert trials.of_run(project, resume=True)[0] == ["the number is another one"]
    product = project / "product.py"
    product.write_text(f"{product.read_text()}\n")
    assert len(trials.of_run(project, resume=True)[0]) == 7


def test_a_test_that_always_fails_is_not_believed_later_either(project, monkeypatch):
    trials = Trials(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(mutants, "failing", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            trials.of_run(project)
    trials.wrong = {("tests/test_product.py::test_number", False)}
    assert trials.of_run(project, resume=True)[1].startswith("0 of 7 mutants killed")
    assert trials.tried == []
    trials.wrong = set()
    assert len(trials.of_run(project, resume=True)[0]) == 7


def test_only_a_list_that_is_killed_is_success(project, monkeypatch):
    trials = Trials(monkeypatch)
    assert run(project, Settings(only="another one"), lambda text: None) == 0
    trials.survivors = ["the number is another one"]
    assert run(project, Settings(only="another one"), lambda text: None) == 1
    assert run(project, Settings(only="no such mutant"), lambda text: None) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[mutant]]\nbreaks = "x"\nold = "a"\nnew = "b"\n', "'x': wrong keys, file, tests"),
        (LIST.replace("a text that is gone", "a text that stands twice"), "two mutants have one name"),
    ],
)
def test_a_wrong_list_is_refused(project, text, words):
    (project / "tests" / "mutants" / "part.toml").write_text(text)
    with pytest.raises(ValueError, match=words):
        read(project)
    with pytest.raises(ValueError, match="no list nowhere; known: part"):
        read(project, ["nowhere"])


def test_the_command_line(capsys):
    assert mutants.main(["nowhere"]) == 2
    assert "no list nowhere" in capsys.readouterr().err


def test_a_sample_is_of_the_lists_files_with_their_tests(project, monkeypatch):
    (project / "ttt_envs").mkdir()
    product = project / "ttt_envs" / "product.py"
    product.write_text(
        '"""1 + 1"""\nLIMIT = 3\n\n\ndef more(a: int = 1) -> int:\n    """One more."""\n    return a + 1\n'
    )
    assert mutants_sample.statements(product.read_text()) == {7}
    listed = [
        Mutant("part", name, "ttt_envs/product.py", "a", "b", f"tests/test_{name}.py -k one", name == "two")
        for name in ("one", "two")
    ]
    monkeypatch.setattr(mutants_sample, "places", lambda source: [("core/Number", k) for k in range(9)])
    monkeypatch.setattr(
        mutants_sample, "change", lambda source, operator, k: source.replace("a + 1", f"a + {k + 2}") if k % 2 else None
    )
    folder = project / "tests" / "core"
    folder.mkdir()
    (folder / "test_more.py").write_text("from ttt_envs.product import more\n")
    (folder / "test_less.py").write_text("from ttt_envs.products import more\n")
    drawn = mutants_sample.draw(project, listed, 3, seed=1)
    assert len({each.breaks for each in drawn}) == 3
    assert drawn == mutants_sample.draw(project, listed, 3, seed=1)
    assert all(
        each.tests == "tests/test_one.py tests/test_two.py tests/core/test_more.py" and each.jit for each in drawn
    )
    assert all("more" in each.source(project) and each.new != each.old for each in drawn)


def test_the_operators_of_cosmic_ray():
    pytest.importorskip("cosmic_ray")
    source = '"""1 + 1"""\nLIMIT = 3\n\n\ndef more(a: int = 1) -> int:\n    return a < LIMIT\n'
    changed = {mutants_sample.change(source, *place) for place in mutants_sample.places(source)} - {None}
    assert source.replace("a <", "a ==") in changed
    assert all(text.startswith('"""1 + 1"""\nLIMIT = 3\n\n\ndef more(a: int = 1) -> int:\n') for text in changed)


def test_every_mutant_stands_in_the_sources():
    found = read(ROOT)
    assert len(found) >= 60
    for each in found:
        assert each.source(ROOT) != (ROOT / each.file).read_text(), each
        files = [word for word in each.tests.split() if word.startswith("tests/")]
        assert files, f"{each.part}: {each.breaks}: its tests must be a few files, not all"
        assert all((ROOT / file).is_file() for file in files), each.tests
