"""A study from one command: plan, search, runs that go on after a kill, statistics, page, methods of one's own."""

import json
import tarfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import ttt_envs
from ttt_envs import cli
from ttt_envs.agents.networks import load_network
from ttt_envs.learning import METHODS
from ttt_envs.learning.runs.measurements import read_rows
from ttt_envs.storage.files import locked_folder
from ttt_envs.studies import grid, measure, page, plan, statistics
from ttt_envs.studies.page import Row, write_page
from ttt_envs.studies.plan import plan_of, read_plan
from ttt_envs.studies.tasks import task_of, tasks

SHIPPED = Path(__file__).parents[2] / "docs/studies"
SOLVER = "examples/methods/cfr_plus.py:train"
OF_THE_PLANS = [SOLVER, "agents/rules_of_thumb.py:by_chances", "examples/methods/board_table.py:BoardTable"]
ONE = {"tasks": ["match-mini"], "seeds": 1, "steps": 300, "methods": {"mmd": {"num_envs": 32}}}
QUICK = {
    "tasks": ["match-mini"],
    "seeds": 2,
    "steps": [300, 1500],
    "also": {"cut": "network:{},threshold=0.3", "searched": "guided:{},simulations=2"},
    "agents": {"match-mini": ["greedy"]},
    "methods": {"mmd": {"num_envs": 32, "hidden": [16]}, "ppo": {"num_envs": 32, "hidden": [16], "entropy": 0.1}},
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("study") / "quick"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "read_plan", lambda path, named: plan_of(QUICK))
        assert cli.main(["study", "--quick", "--out", str(out), "--workers", "1"]) == 0
    return out


def test_quick_ends_in_a_page(quick):
    assert {path.name for path in quick.iterdir() if path.is_file()} == {
        "study.md",
        "table.csv",
        "study.png",
    }
    text = (quick / "study.md").read_text()
    assert "Partial" not in text
    for words in ("| method | 300 | 1500 | cut | above 0.9 |", "## match-mini: baselines", "| greedy |", "ppo"):
        assert words in text
    assert str(quick.parent) not in text
    rows = read_rows(quick / "table.csv", Row)
    runs = [row for row in rows if row.method in QUICK["methods"]]
    assert {(row.method, row.budget, row.seed, row.played) for row in runs} == {
        (method, budget, seed, played)
        for method in QUICK["methods"]
        for budget in QUICK["steps"]
        for seed in (0, 1)
        for played in ("", "cut")  # no tree search is for hidden hands
    }
    assert all(row.steps >= row.budget and 0 < row.processor_seconds < 100 for row in runs)
    assert all(row.score == pytest.approx(1 - row.measure / task_of("match-mini").random) for row in rows)
    (greedy, _) = [row for row in rows if row.method == "greedy"]
    assert greedy.measure == pytest.approx(measure("match-mini", "greedy"))


def test_a_run_is_measured_as_any_agent_is(quick):
    (row,) = [
        each
        for each in read_rows(quick / "table.csv", Row)
        if (each.method, each.played, each.budget, each.seed) == ("mmd", "", 1500, 1)
    ]
    network = quick / "runs/match-mini/mmd/1500-steps/seed-1"
    assert measure("match-mini", f"network:{network}", seed=1) == pytest.approx(row.measure, abs=1e-6)


def test_each_method_has_a_colour_of_its_own():
    assert len(set(page._COLOURS)) == len(page._COLOURS) >= len(METHODS)


@pytest.fixture
def undrawn(monkeypatch):
    monkeypatch.setattr(page, "picture", lambda *given: b"")


def test_a_finished_study_trains_nothing_again(quick, monkeypatch, undrawn):
    before = (quick / "study.md").read_text()
    monkeypatch.setattr(grid, "_train", lambda *given: pytest.fail("it trains again"))
    monkeypatch.setattr(plan, "read_plan", lambda path, named: plan_of(QUICK))
    assert cli.main(["study", "--quick", "--out", str(quick), "--workers", "1"]) == 0
    assert (quick / "study.md").read_text() == before


STUDIES = ("match_medium", "operation_spies", "dice_round", "martian_3x3")


@pytest.mark.parametrize("name", STUDIES)
def test_the_shipped_table_says_what_the_results_of_the_runs_do(name):
    measured = {}
    with tarfile.open(SHIPPED / f"{name}_results.tar.gz") as archive:
        for path in (path for path in archive.getnames() if path.startswith("runs/")):
            result = json.load(archive.extractfile(path))
            for way, one in {"": result["measure"], **result["also"]}.items():
                measured[(*path.split("/")[2:5], way)] = one
    rows = [row for row in read_rows(SHIPPED / f"{name}.csv", Row) if row.budget]
    found = {(row.method, f"{row.budget:g}-seconds", f"seed-{row.seed}", row.played): row.measure for row in rows}
    assert found == {run: one for run, one in measured.items() if one is not None}


SEARCH = {**ONE, "search": 3, "methods": {"mmd": {"ranges": {"num_envs": [16, 32, 64], "magnet": [0.1, 0.3]}}}}


def test_a_search_finds_the_settings(tmp_path, monkeypatch, undrawn):
    trained = []

    def train(out, speeds, also, run):
        trained.append(run)
        path = run.folder(out) / grid.RESULT
        path.parent.mkdir(parents=True)
        value = run.settings["magnet"] + run.settings["num_envs"] / 1000
        settings = grid._settings_of(run)
        path.write_text(json.dumps({"measure": value, "seconds": 1, "steps": 300, "also": {}, "settings": settings}))
        return value

    monkeypatch.setattr(grid, "_train", train)
    made = plan_of(SEARCH)
    tried = made.configurations(made.methods["mmd"][0])
    assert len({json.dumps(run.settings, sort_keys=True) for run in tried}) == 3
    assert grid.runs_of(made, tmp_path) == []
    with pytest.raises(ValueError, match="no run is finished yet"):
        write_page(made, tmp_path, 1)
    assert grid.carry_out(made, tmp_path, 1)
    assert [run.seed for run in trained] == [1] * 3 + [2, 3, 4] * 3 + [0]
    best = min(tried, key=lambda run: run.settings["magnet"] + run.settings["num_envs"] / 1000)
    assert (trained[-1].settings, trained[-1].number) == (best.settings, None)
    assert f"magnet={best.settings['magnet']}" in write_page(made, tmp_path, 1)


def test_a_search_is_carried_out(tmp_path, undrawn):
    assert grid.carry_out(plan_of({**SEARCH, "search": 1}), tmp_path, 1)
    assert len(list(tmp_path.glob("search/*/*/*/*/seed-*/result.json"))) == 1 + 3
    assert "| mmd |" in write_page(plan_of({**SEARCH, "search": 1}), tmp_path, 1)


def test_what_a_killed_run_left_is_gone_on_with(tmp_path):
    (run,) = grid.runs_of(
        plan_of({**ONE, "steps": 900, "methods": {"mmd": {"num_envs": 32, "save_every": 300}}}), tmp_path
    )
    early = run.config(300, run.folder(tmp_path))
    grid.import_module(METHODS["mmd"]).train(early)
    assert grid._train(tmp_path, {}, {}, run) is not None
    found = grid.result_of(run, tmp_path)
    assert 900 <= found["steps"] < 1200
    assert load_network(run.folder(tmp_path)).info.steps == found["steps"]


def test_an_interrupt_before_the_first_finished_run_is_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(grid, "carry_out", lambda *given: False)
    assert cli.main(["study", "--quick", "--out", str(tmp_path)]) == 130
    assert "interrupted: no run is finished yet" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[]", '{"x": "y"}'])
def test_damaged_files_are_named(tmp_path, text):
    made = plan_of({**{name: value for name, value in ONE.items() if name != "steps"}, "seconds": 2.0})
    (tmp_path / grid.SPEEDS).write_text(text)
    with pytest.raises(ValueError, match=r"speeds\.json is damaged"):
        grid.carry_out(made, tmp_path, 1)
    (run,) = grid.runs_of(made, tmp_path)
    run.folder(tmp_path).mkdir(parents=True)
    (run.folder(tmp_path) / grid.RESULT).write_text(text)
    with pytest.raises(ValueError, match=r"result\.json is damaged"):
        grid.result_of(run, tmp_path)


def test_what_was_trained_otherwise_is_refused(quick):
    other = {**QUICK, "methods": {"mmd": {**QUICK["methods"]["mmd"], "magnet": 0.5}}}
    with pytest.raises(ValueError, match=r"has other settings: magnet is null there and 0\.5 here"):
        grid.carry_out(plan_of(other), quick, 1)


@pytest.mark.slow  # trains for seconds, several times
def test_a_plan_of_processor_time(tmp_path, undrawn):
    given = {name: value for name, value in ONE.items() if name != "steps"}
    given |= {"seconds": [1, 2.5], "methods": {"mmd": {}, "mmd-large": {"method": "mmd", "hidden": [512, 512]}}}
    said: list[str] = []
    assert grid.carry_out(plan_of(given), tmp_path, 1, said.append)
    assert "steps a second" in said[0]
    assert not list((tmp_path / "pilots").glob("*/*/*")), "pilot runs are thrown away"
    write_page(plan_of(given), tmp_path, 1)
    rows = {(row.method, row.budget): row for row in read_rows(tmp_path / "table.csv", Row)}
    assert rows["mmd", 2.5].steps > 2 * rows["mmd-large", 2.5].steps > 2000
    assert all(0.4 < row.processor_seconds / row.budget < 3 for row in rows.values())


@pytest.mark.slow  # starts a cluster
def test_on_ray_the_same_is_learned(tmp_path):
    pytest.importorskip("ray")
    made = plan_of({**ONE, "seeds": 2})
    assert grid.carry_out(made, tmp_path / "ray", "ray")
    assert grid.carry_out(made, tmp_path / "here", 1)
    for run in grid.runs_of(made, tmp_path):
        ours, theirs = (load_network(run.folder(tmp_path / where)).tensors for where in ("here", "ray"))
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_settings_of_one_task_and_other_seeds(tmp_path):
    own = {"mmd": {"num_envs": 32, "magnet": 0.3, "match-tiny": {"magnet": 0.4}}, "ppo": {"tasks": ["match-tiny"]}}
    made = plan_of({**ONE, "tasks": ["match-mini", "match-tiny"], "first_seed": 7, "methods": own})
    assert [(run.label, run.task.name, run.seed, dict(run.settings)) for run in grid.runs_of(made, tmp_path)] == [
        ("mmd", "match-mini", 7, {"num_envs": 32, "magnet": 0.3}),
        ("mmd", "match-tiny", 7, {"num_envs": 32, "magnet": 0.4}),
        ("ppo", "match-tiny", 7, {}),
    ]


def test_there_are_never_two_writers(tmp_path):
    with locked_folder(tmp_path / "x"), pytest.raises(OSError, match="being written by process"):
        grid.carry_out(plan_of(ONE), tmp_path / "x", 1)


def test_an_unfinished_study_has_a_partial_page(quick, undrawn):
    assert "**Partial: 8 of 12 runs are finished.**" in write_page(plan_of({**QUICK, "seeds": 3}), quick, 1)


OWN = """
import time
from ttt_envs import agents
from ttt_envs.dev import Agent, uniform

class Mine(Agent):
    def __init__(self):
        print("made")

    def policy(self, view):
        return uniform(view.masks)

def train(game, seed, budget):
    assert game.id == "tic_tac_match" and budget in (300, 600)
    return Mine()
"""


def test_a_method_of_the_users_own(tmp_path, undrawn, capsys):
    file, path = tmp_path / "my.py", tmp_path / "plan.toml"
    file.write_text(OWN)
    path.write_text(
        f'tasks = ["match-mini"]\nsteps = [300, 600]\nseeds = 2\n[methods.mine]\ntrain = "{file}:train"\n'
        f'[agents]\nmatch-mini = ["{file}:Mine"]\n'
    )
    assert cli.main(["study", str(path), "--out", str(tmp_path / "out")]) == 2
    assert "name it behind --trust" in capsys.readouterr().err
    trusted = ["--trust", f"{file}:train", f"{file}:Mine", "--workers", "1"]
    assert cli.main(["study", str(path), "--out", str(tmp_path / "out"), *trusted]) == 0
    rows = read_rows(tmp_path / "out/table.csv", Row)
    assert len(rows) == 2 * 2 + 2
    assert all(row.measure == pytest.approx(task_of("match-mini").random, abs=1e-6) for row in rows)
    capsys.readouterr()
    assert cli.main(["study", "--task", "match-mini", "--agents", f"{file}:Mine", "--workers", "1"]) == 0
    out = capsys.readouterr().out
    assert f"| {file}:Mine | all 3 seeds: 0.0612 |" in out
    assert out.count("made") == 1
    file.write_text(f"{OWN}\n# changed\n")
    assert cli.main(["study", str(path), "--out", str(tmp_path / "out"), *trusted]) == 2
    assert "has other settings: digest of the code is" in capsys.readouterr().err


@pytest.mark.parametrize(("method", "least"), [(SOLVER, 0.99), (SOLVER.replace("cfr_plus", "mccfr"), 0.1)])
def test_the_examples_of_methods_learn(method, least, tmp_path):
    task = task_of("match-mini")
    ttt_envs.load(task.game, **task.options).start(0, recall=True).apply(0)  # compiled before their time begins
    made = plan_of({"tasks": [task.name], "seeds": 1, "seconds": 1, "methods": {"mine": {"train": method}}}, [method])
    assert grid.carry_out(made, tmp_path, 1)
    (run,) = grid.runs_of(made, tmp_path)
    assert task.score(np.array(grid.result_of(run, tmp_path)["measure"])) > least


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tasks": ["chess"]}, "unknown task 'chess'"),
        ({"tasks": []}, "tasks must be one name or several"),
        ({"seed": 1}, "unknown entry 'seed'"),
        ({"steps": [20, 10]}, "steps must be one number or several in ascending order"),
        ({"also": {"x": "network"}}, r"also\.x: 'network' is no agent of the library with {}"),
        ({"also": {"x": "my.py:Mine:{}"}}, r"also\.x: .* is no agent of the library"),
        ({"agents": {"match-mini": ["my.py:Mine"]}}, "names the agent 'my.py:Mine'.* --trust"),
        ({"agents": {"chess": ["random"]}}, "agents: unknown task of the plan 'chess'"),
        ({"agents": ["random"]}, "agents must be a table"),
        ({"methods": {}}, "a plan needs methods"),
        ({"methods": {"sarsa": {}}}, r"methods.sarsa: unknown method 'sarsa'"),
        ({"methods": {"../x": {"method": "mmd"}}}, "a name has letters"),
        ({"methods": {"mmd": {"tasks": ["match-tiny"]}}}, "methods.mmd: tasks: unknown task of the plan 'match-tiny'"),
        ({"methods": {"mmd": {"tasks": "match-mini"}}}, "methods.mmd: tasks must be a list"),
        ({"methods": {"mmd": {"magnet": -1.0}}}, "methods.mmd: magnet must be"),
        ({"methods": {"mmd": {"magnetism": 1.0}}}, "methods.mmd: .*magnetism"),
        ({"methods": {"mmd": {"ranges": {"magnet": 0.1}}}}, "ranges must be a table of lists"),
        ({"search": 2, "methods": {"mmd": {"ranges": {"magnet": [0.1, -1.0]}}}}, "methods.mmd: magnet must be"),
        ({"methods": {"mmd": {"match-mini": 3}}}, "methods.mmd: match-mini must be a table, not 3"),
        ({"methods": {"mmd": {"method": {"a": 1}}}}, "methods.mmd: unknown method {'a': 1}"),
        ({"methods": {"mmd": {"game": "tic_tac_dice"}}}, "methods.mmd: game is for the plan and its tasks to decide"),
        ({"methods": {"x": {"train": "my.py:train"}}}, "methods.x: my.py:train is a program"),
        ({"methods": {"x": {"train": SOLVER, "a": 1}}}, "methods.x: a function that trains has no settings"),
        ({"tasks": [["match-mini"]]}, "tasks must be a list of names"),
        ({"seconds": 5}, "either steps or seconds"),
        ({"first_seed": -1}, "first_seed must be"),
    ],
)
def test_a_wrong_plan_is_refused(changes, words):
    with pytest.raises((ValueError, TypeError), match=words):
        plan_of({**ONE, **changes})


def test_a_plan_in_a_file(tmp_path, capsys):
    path = tmp_path / "plan.toml"
    path.write_text('tasks = ["match-mini"]\nseeds = 2\nsteps = 10\n[methods.x]\nmethod = "nfsp"\n')
    made = grid.runs_of(read_plan(path), tmp_path)
    assert [(run.label, run.method, run.seed, run.budget) for run in made] == [
        ("x", "nfsp", 0, 10),
        ("x", "nfsp", 1, 10),
    ]
    path.write_text("tasks = [")
    assert cli.main(["study", str(path)]) == 2
    assert "plan.toml:" in capsys.readouterr().err
    assert cli.main(["study", str(tmp_path / "missing.toml")]) == 2
    for wrong in ([str(path), "--quick"], [str(path), "--task", "match-mini"], ["--quick", "--agents", "random"], []):
        assert cli.main(["study", *wrong]) == 2
        assert "give one of a plan" in capsys.readouterr().err


def test_another_way_to_play_is_added_without_training_again(tmp_path, monkeypatch):
    assert grid.carry_out(plan_of(ONE), tmp_path, 1)
    (run,) = grid.runs_of(plan_of(ONE), tmp_path)
    before = load_network(run.folder(tmp_path)).tensors
    assert grid.carry_out(plan_of({**ONE, "also": {"cut": "network:{},threshold=0.3"}}), tmp_path, 1)
    assert grid.result_of(run, tmp_path)["also"]["cut"] > 0
    after = load_network(run.folder(tmp_path)).tensors
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_the_budget_from_which_a_score_is_high():
    """The whole interval has to be above 0.9: a mean that is does not suffice."""
    random = task_of("match-mini").random
    shares = {10: (0.2, 0.2, 0.2), 20: (0.0, 0.09, 0.2), 30: (0.04, 0.05, 0.06)}
    rows = [
        Row("match-mini", 1, "one", "", budget, seed, 10, 1.0, share * random, 1 - share)
        for budget, of_seeds in shares.items()
        for seed, share in enumerate(of_seeds)
    ]
    assert page.Found(rows, "match-mini").reached("one") == "30"
    assert page.Found(rows[:6], "match-mini").reached("one") == "–"


@pytest.mark.parametrize("path", [plan.QUICK, *sorted(SHIPPED.glob("*.toml"))], ids=lambda path: path.name)
def test_shipped_plans_can_be_carried_out(path):
    assert read_plan(path, OF_THE_PLANS).methods


LONG = (
    *("operation-sniper-ninja", "operation-courier-hacker", "operation-mole-pusher"),
    *("big-dice-layouts", "match-medium", "match-flips", "super"),
)


def quick_tasks(names):
    """Names of tasks as parameters: those that are measured for long are slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in names]


@pytest.mark.parametrize("name", quick_tasks(tasks()))
def test_random_play_scores_nothing(name):
    task = task_of(name)
    exact = task.measure == "exploitability"
    assert float(task.score(np.array(measure(name, "random")))) == pytest.approx(0, abs=1e-5 if exact else 0.1)
    assert task.score(np.array(0.0)) == 1 or task.against
    assert task.seconds > 0


@pytest.mark.parametrize(
    ("name", "agent", "least"),
    [("dice-round", "oracle", 1), ("martian-3x3", "oracle", 1), ("super", "oracle", 1), ("dice-round", "greedy", 0.4)],
)
def test_best_play_scores_one_and_what_is_between_is_between(name, agent, least):
    task = task_of(name)
    score = float(task.score(np.array(measure(name, agent))))
    assert score == 1 if least == 1 else least < score < 0.65


@pytest.mark.parametrize(
    ("ends", "cell"),
    [([0.006], "0.0060"), ([0.0] * 5, "all 5 seeds: 0.0000"), ([0.002, 0.004, 0.006], "0.0040 ± 0.0050")],
)
def test_no_interval_has_a_width_of_0(ends, cell):
    rows = [
        Row("match-mini", 1, label, "", 10, seed, 10, 1.0, end + more, float(task_of("match-mini").score(end + more)))
        for label, more in (("one", 0.0), ("other", 0.05))
        for seed, end in enumerate(ends)
    ]
    text = page.page(rows)
    assert f"| one | {cell} |" in text
    (compared,) = [line for line in text.splitlines() if "one over other" in line]
    assert "| 1.00" in compared


def line_of(method: str, cells: list[str]) -> str:
    return f"| `{method}` |" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def seconds_of(found: page.Found, method: str, budget: float) -> float:
    return float(np.mean([row.processor_seconds for row in found.rows[method, "", budget]]))


def exact_p_of(found: page.Found, budget: float, one: str, other: str, played: str = "") -> float:
    return statistics.exact_p(found.measures(one, played, budget), found.measures(other, played, budget))


def by_budget(name: str, columns: list[tuple[str, int]]):
    """What docs/studies/NAME.csv has, after a comparison of its means with the page; and Holm's p of one over other."""
    rows = read_rows(SHIPPED / f"{name}.csv", Row)
    found = page.Found(rows, name.replace("_", "-"))
    for method in found.methods:
        times = ", ".join(f"{seconds_of(found, method, budget):.0f}" for budget in found.budgets)
        cells = [*(found.cell(method, *column).replace("–", "") for column in columns), f"{times} s"]
        assert line_of(method, cells) in (SHIPPED.parent / "study_results.md").read_text()
    p = {}
    for played, budget in columns:
        learners = [each for each in found.methods if each != "solver" and len(found.measures(each, played, budget))]
        pairs = list(combinations(learners, 2))
        values = [exact_p_of(found, budget, *pair, played) for pair in pairs]
        for (one, other), each in zip(pairs, statistics.holm(values), strict=True):
            ahead = found.measures(one, played, budget).mean() < found.measures(other, played, budget).mean()
            p[played, budget, one, other], p[played, budget, other, one] = (each, 1.0) if ahead else (1.0, each)
    return found, p


def test_the_page_says_what_all_four_tables_do():
    scores = {}
    for name in STUDIES:
        found = page.Found(read_rows(SHIPPED / f"{name}.csv", Row), name.replace("_", "-"))
        for method in found.methods:
            scores.setdefault(method, {})[name] = float(found.scores(method).mean())
        pairs = list(combinations([each for each in found.methods if each != "solver"], 2))
        exact = [[exact_p_of(found, budget, *pair) for pair in pairs] for budget in found.budgets]
        column = [p for each in exact for p in statistics.holm(each)]
        study = statistics.holm([p for each in exact for p in each])
        assert all(whole < 0.05 for p, whole in zip(column, study, strict=True) if p < 0.01)
        assert all(whole > 0.05 for p, whole in zip(column, study, strict=True) if p > 0.0231)
    del scores["solver"]
    for method, each in scores.items():
        cells = [f"{each[name]:.2f}".replace("-0.00", "0.00") if name in each else "" for name in STUDIES]
        assert line_of(method, cells) in (SHIPPED.parent / "study_results.md").read_text()
    order = [sorted((m for m in scores if name in scores[m]), key=lambda m: -scores[m][name]) for name in STUDIES]
    assert order[1][0] == "value_learning"
    assert set(order[0][:3]) == {"mmd", "value_learning", "mmd-average"}
    assert [set(names[:2]) for names in order[2:]] == [{"value_learning", "alphazero"}, {"ntuple", "alphazero"}]
    assert set(order[3][2:7]) == {"ppo", "dqn", "mmd", "mmd-average", "value_learning"}
    assert {"mmd", "mmd-average"} & set(order[1][:3])


def test_the_page_says_what_the_table_of_hidden_hands_does():
    cut_off = "cut off at 0.03"
    found, p = by_budget("match_medium", [("", 5), ("", 10), ("", 20), (cut_off, 20)])
    mmd, first = ("mmd", "mmd-average"), ("mmd", "mmd-average", "value_learning")
    rest = ("escher", "ppo", "rnad", "dqn", "nfsp")
    assert min(p["", 20, one, other] for one in first for other in first if one != other) > 0.4
    assert max(p["", 20, one, other] for one in first for other in rest) < 0.002
    assert max(p["", 5, one, "value_learning"] for one in mmd) < 0.001
    assert p["", 5, "escher", "ppo"] == pytest.approx(0.008, abs=0.0005)
    assert p["", 20, "escher", "ppo"] > 0.05
    assert p["", 5, "value_learning", "escher"] == pytest.approx(0.96, abs=0.005)
    assert max(p["", budget, "mmd", "escher"] for budget in (5, 10, 20)) < 0.001
    assert min(p["", budget, "ppo", "escher"] for budget in (5, 10, 20)) > 0.05
    assert max(p["", budget, "escher", "rnad"] for budget in (5, 10, 20)) < 0.008
    assert p["", 10, "mmd", "mmd-average"] == pytest.approx(0.048, abs=0.0005)
    assert min(p["", budget, "mmd", "mmd-average"] for budget in (5, 20)) > 0.05
    shares = found.measures("value_learning", "", 20) / found.task.random
    assert (round(shares.mean(), 2), round(shares.min(), 2)) == (0.08, 0.05)
    assert found.measures("solver", "", 10).max() < 0.0011
    assert min(found.measures(name, "", 10).min() for name in (*first, *rest)) == pytest.approx(0.027, abs=0.0005)
    for name, budget, median in (("mmd", 5, 0.058), ("ppo", 10, 0.061)):
        assert np.median(found.measures(name, "", budget)) == pytest.approx(median, abs=0.0005)
    cut = {name: found.measures(name, cut_off, 20) for name in (*first, *rest)}
    assert all((cut[name] < found.measures(name, "", 20)).all() for name in (*mmd, *rest) if name != "dqn")
    assert sorted(cut, key=lambda name: cut[name].mean())[:2] == list(mmd)
    assert [round(p[cut_off, 20, name, "escher"], 3) for name in mmd] == [0.002, 0.011]
    assert min(p[cut_off, 20, name, "value_learning"] for name in mmd) > 0.2


def test_the_page_says_what_the_table_of_simultaneous_choices_does():
    cut_off = "cut off at 0.03"
    found, p = by_budget("operation_spies", [("", 10), ("", 20), ("", 40), (cut_off, 40)])
    rest = ("mmd", "mmd-average", "ppo", "rnad", "escher", "nfsp", "dqn")
    assert max(p["", budget, "value_learning", other] for budget in (10, 20, 40) for other in rest) < 0.001
    assert p["", 40, "mmd-average", "escher"] < 0.001
    assert [round(p["", 40, name, "escher"], 3) for name in ("mmd", "rnad")] == [0.007, 0.021]
    pair = ("ppo", "escher"), ("escher", "ppo")
    assert min(min(p["", budget, *names] for names in pair) for budget in (10, 20, 40)) > 0.3
    assert p["", 10, "escher", "mmd"] == pytest.approx(0.02, abs=0.005)
    assert max(p["", budget, "mmd-average", "mmd"] for budget in (10, 20, 40)) < 0.03
    more = {name: (found.measures(name, cut_off, 40) > found.measures(name, "", 40)).sum() for name in found.methods}
    assert more == {**dict.fromkeys(rest, 10), "ppo": 9, "rnad": 9, "dqn": 0, "value_learning": 0}
    assert (found.measures("value_learning", cut_off, 40) < found.measures("value_learning", "", 40)).all()
    assert found.measures("value_learning", "", 40).min() > 0.98 / 2
    assert (found.measures("dqn", "", 40) == 1).all()
    less = {budget: {m for m in found.methods if found.measures(m, "", budget).mean() < 0.98} for budget in (10, 40)}
    assert less == {10: {"value_learning", "rnad"}, 40: set(found.methods) - {"nfsp", "dqn"}}
    assert found.measures("random").max() < 0.981


def test_the_page_says_what_the_table_of_chance_does():
    alone, ply = "network alone", "one ply over all rolls"
    found, p = by_budget("dice_round", [("", 5), ("", 10), ("", 20), (alone, 20), (ply, 20)])
    values, policies = ("value_learning", "alphazero", "dqn"), ("ppo", "mmd", "mmd-average")
    rest = (*policies, "escher", "rnad", "nfsp")
    assert max(p["", budget, one, other] for budget in (5, 10, 20) for one in values for other in rest) < 0.001
    assert p["", 20, "value_learning", "alphazero"] == pytest.approx(0.84, abs=0.005)
    assert p["", 5, "alphazero", "value_learning"] == pytest.approx(0.003, abs=0.0005)
    assert max(p[ply, 20, "value_learning", "alphazero"], p["", 10, "alphazero", "value_learning"]) < 0.001
    logs = [
        np.log([seconds_of(found, "value_learning", b), found.measures("value_learning", "", b).mean()])
        for b in found.budgets
    ]
    for budget, equal, first in ((5, 0.066, 0.069), (10, 0.032, 0.029)):
        seconds = seconds_of(found, "alphazero", budget)
        assert np.exp(np.interp(np.log(seconds), *np.transpose(logs))) == pytest.approx(equal, abs=0.0005)
        assert found.measures("alphazero", "", budget).mean() == pytest.approx(first, abs=0.0005)
        assert seconds / seconds_of(found, "value_learning", budget) == pytest.approx(1.25, abs=0.01)
    assert max(p[alone, 20, one, "alphazero"] for one in policies) < 0.001
    searched = {name: found.measures(name, ply, 20).mean() for name in found.methods if name not in ("escher", "nfsp")}
    shares = {name: mean / found.measures(name, alone, 20).mean() for name, mean in searched.items()}
    assert shares.pop("alphazero") == pytest.approx(1 / 7, abs=0.01)
    assert 1 / 3 < min(shares.values()) < max(shares.values()) < 0.6
    assert p["", 20, "ppo", "mmd"] == pytest.approx(0.02, abs=0.005)
    assert p["", 20, "ppo", "mmd-average"] == pytest.approx(0.001, abs=0.0005)
    assert max(p["", 20, one, "escher"] for one in policies) < 0.002
    assert [round(p["", 10, "escher", name], 3) for name in policies[1:]] == [0.044, 0.008]
    table, greedy = (found.measures(name).mean() for name in ("examples/methods/board_table.py:BoardTable", "greedy"))
    assert [name for name in searched if searched[name] < table] == ["value_learning"]
    assert table < min(found.measures(name, "", 20).mean() for name in found.methods)
    assert [name for name in rest if found.measures(name, "", 20).mean() > greedy] == ["rnad", "nfsp"]


def test_the_page_says_what_the_table_of_depth_and_loops_does():
    alone, ply, plies = "network alone", "one ply of search", "three plies of search"
    columns = [("", 5), ("", 10), ("", 20), (alone, 20), (ply, 20), (plies, 20)]
    found, p = by_budget("martian_3x3", columns)
    middle, last = ("ppo", "dqn", "mmd", "mmd-average", "value_learning"), ("nfsp", "rnad", "escher")
    first = {key: each for key, each in p.items() if key[2] == "ntuple"}
    assert {key[:2] for key in first} == {(played, budget) for played, budget in columns if played != alone}
    assert max(first.values()) < 0.001
    for budget, limit in ((5, 0.05), (10, 0.001), (20, 0.001)):
        assert max(p["", budget, "alphazero", other] for other in (*middle, *last)) < limit
    assert min(p["", 20, one, other] for one in middle for other in middle if one != other) == 1
    assert max(p["", 20, one, other] for one in middle for other in last) < 0.02
    assert min(p[plies, 20, *pair] for pair in combinations((*middle, "rnad"), 2)) == 1
    for played in (ply, plies):
        means = {
            name: found.measures(name, played, 20).mean() for name in found.methods if name not in ("nfsp", "escher")
        }
        assert sorted(means, key=means.get)[:2] == ["ntuple", "alphazero"]
        assert p[played, 20, "alphazero", "dqn"] == 1
        assert p[played, 20, "alphazero", "mmd"] > 0.05
    shares = []
    for name in ("ntuple", "alphazero", *middle, "rnad"):
        lower = (found.measures(name, plies, 20) < found.measures(name, "", 20)).sum()
        assert lower == (8 if name == "mmd" else 10)
        shares.append(found.measures(name, plies, 20).mean() / found.measures(name, "", 20).mean())
    assert (round(min(shares), 2), round(max(shares), 2)) == (0.58, 0.75)
    assert max(p[alone, 20, one, "alphazero"] for one in middle) < 0.008
    assert [name for name in found.methods if found.measures(name, "", 20).mean() > 0.532] == list(last)
    assert set(found.measures("greedy")) == {0.532}
    steps = {name: np.mean([row.steps for row in found.rows[name, "", 20]]) / 1e6 for name in found.methods}
    assert round(steps.pop("ntuple"), 1) == 2.9
    assert (round(min(steps.values()), 1), round(max(steps.values()), 1)) == (0.2, 0.8)


def test_exact_p_values_by_enumeration():
    """Two runs against two have six orders, one of which is as extreme on either side; equal runs say nothing."""
    assert statistics.exact_p(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == pytest.approx(2 / 6)
    assert statistics.exact_p(np.arange(5) + 10.0, np.arange(5) + 0.0) == pytest.approx(2 / 252)
    assert statistics.exact_p(np.array([1.0, 4.0]), np.array([2.0, 3.0])) == 1
    assert statistics.exact_p(np.ones(4), np.ones(3)) == 1
    assert statistics.exact_p(np.array([2.0, 2.0]), np.array([1.0, 2.0])) == pytest.approx(1)


def test_holm_by_hand():
    assert statistics.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert statistics.holm([0.9, 0.5]) == pytest.approx([1, 1])
    assert statistics.holm([]) == []


def test_statistics_by_hand():
    # 0.5 beats one of two, 0.7 both; equal scores count half.
    assert statistics.improvement(np.array([0.5, 0.7]), np.array([0.6, 0.4]))[0] == pytest.approx(0.75)
    assert statistics.improvement(np.array([0.2, 0.2]), np.array([0.2, 0.1]))[0] == pytest.approx(0.75)


def test_a_method_that_is_ahead_in_all_few_runs_may_not_always_be():
    ends = {}
    for n in (2, 3, 5, 30):
        value, (ends[n], high) = statistics.improvement(np.ones(n), np.zeros(n))
        assert (value, high) == (1, 1)
    assert ends[2] < ends[3] < 0.5 < ends[5] < 0.7 < 0.9 < ends[30] < 1
    assert np.isnan(statistics.improvement(np.ones(1), np.zeros(1))[1]).all()
    value, (low, high) = statistics.improvement(np.ones(3), np.ones(3))
    assert (value, low) == (0.5, pytest.approx(1 - high))
