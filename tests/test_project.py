"""What stands around the library: versions of Python, workflows, which cannot run here, sites of versions."""

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

import ttt_envs
from tools.site import versions

ROOT = Path(__file__).resolve().parent.parent
MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def workflow(name: str) -> dict[str, Any]:
    """A workflow; the key `on` is True to YAML."""
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())


def variable(name: str) -> str:
    (text,) = re.findall(rf"^{name} = ((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)
    return text.replace("\\\n", " ")


def test_the_tasks_of_a_contributor_touch_six_files_each_that_exist():
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("## What a change touches")[2].partition("\n## ")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 8
    for row in rows:
        paths, folder = [], ""
        for name in re.findall(r"`([^`]+)`", row):
            paths.append(name if "/" in name else f"{folder}/{name}")
            folder = paths[-1].rpartition("/")[0]
        assert len(paths) <= 6, row
        for path in paths:
            for game in ttt_envs.GAMES.values():
                there = path.replace("<game>", game.partition(":")[0].rpartition(".")[2])
                assert (ROOT / there).exists(), there


def test_the_versions_of_python_are_the_same_everywhere():
    matrix = workflow("tests")["jobs"]["tests"]["strategy"]["matrix"]
    classifiers = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert classifiers == matrix["python"]
    assert PROJECT["requires-python"] == f">={classifiers[0]}"
    assert f"Python {classifiers[0]} or newer is needed ({classifiers[0]} to {classifiers[-1]} are tested)" in MAKEFILE


@pytest.mark.parametrize(("version", "taken"), [((2, 7), False), ((3, 10), False), ((3, 11), True), ((3, 15), True)])
def test_make_refuses_an_old_python_alone(version, taken, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (*version, 0))
    monkeypatch.setattr(sys, "argv", ["-c", "Choose another."])
    if taken:
        exec(variable("CHECK_VERSION"))
    else:
        with pytest.raises(SystemExit, match=rf"is Python {version[0]}\.{version[1]}, but 3\.11 or newer .*Choose ano"):
            exec(variable("CHECK_VERSION"))


def test_a_game_is_as_long_as_the_pages_say():
    sources = [path.read_text() for path in (ROOT / "examples" / "connect_four").glob("*.py")]
    lines = sum(bool(line.strip()) for text in sources for line in text.splitlines())
    for page in "README.md", "docs/five_minutes.md":
        assert re.findall(r"about (\d+) lines", (ROOT / page).read_text()) == [str(round(lines, -1))]


# --- workflows ---


def test_macos_and_windows_run_the_tests_of_environments():
    (command,) = (
        step["run"] for step in workflow("tests")["jobs"]["environments"]["steps"] if "pytest -n" in step.get("run", "")
    )
    assert command.split("worksteal ")[1] == variable("RANGE_TESTS")


def test_tests_run_with_the_extras_of_comparisons_and_once_without():
    tests = workflow("tests")["jobs"]["tests"]
    matrix = tests["strategy"]["matrix"]
    assert "make test EXTRAS=${{ matrix.extras }}" in [step.get("run") for step in tests["steps"]]
    assert [extras in (ROOT / ".ci" / "run").read_text() for extras in matrix["extras"]] == [True]
    assert [(entry["extras"], entry["tried"]) for entry in matrix["include"]].count(("dev", False)) == 1


@pytest.mark.parametrize(
    ("tag", "changelog", "owner", "passes"),
    [
        ("v1.2.3", "## [1.2.3] - 2030-01-01", "someone", True),
        ("v1.2.4", "## [1.2.3] - 2030-01-01", "someone", False),
        ("v1.2.3", "## [Unreleased]", "someone", False),
        ("v1.2.3", "## [1.2.3] - 2030-01-01", "OWNER", False),
    ],
)
def test_a_release_is_refused_that_does_not_agree_with_its_tag(tag, changelog, owner, passes, tmp_path):
    (check,) = (
        step["run"]
        for step in workflow("release")["jobs"]["build"]["steps"]
        if "GITHUB_REF_NAME" in step.get("run", "")
    )
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 1.2.3\n")
    python.chmod(0o755)
    (tmp_path / "CHANGELOG.md").write_text(f"{changelog}\n")
    addresses = "\n".join(PROJECT["urls"].values())
    (placeholder,) = set(re.findall(r"github\.com/(\w+)/", addresses))
    settings = (ROOT / "pyproject.toml").read_text()
    for form in "github.com/{}/", "//{}.github.io":
        settings = settings.replace(form.format(placeholder), form.format(owner))
    (tmp_path / "pyproject.toml").write_text(settings)
    # As GitHub calls bash.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", check]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "GITHUB_REF_NAME": tag}, capture_output=True)
    assert (done.returncode == 0) == passes


# --- sites of versions ---


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site" / "_static").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text("first")
    return tmp_path / "site"


def test_sites_of_versions_stand_beside_each_other(site, tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    versions.publish(site, pages, "dev")
    assert not (pages / "latest").exists()
    for text, folder in [("ten", "v0.10.0"), ("nine", "v0.9.1"), ("candidate", "v1.0.0rc1")]:
        (site / "index.html").write_text(text)
        versions.publish(site, pages, folder)
    shown = {path.parent.name: path.read_text() for path in pages.glob("*/index.html")}
    assert shown == {
        "dev": "first",
        "v0.10.0": "ten",
        "latest": "ten",
        "v0.9.1": "nine",
        "v1.0.0rc1": "candidate",
    }
    listed = re.findall(r'href="(.*)/"', (pages / "index.html").read_text())
    assert listed == ["latest", "v0.10.0", "v0.9.1", "dev", "v1.0.0rc1"]
    assert (pages / ".nojekyll").exists()


def test_a_version_s_site_replaces_its_older_one(site, tmp_path):
    versions.publish(site, tmp_path, "v1.0.0")
    (site / "page.html").write_text("new")
    (site / "_static").rmdir()
    versions.publish(site, tmp_path, "v1.0.0")
    for folder in "v1.0.0", "latest":
        assert {path.name for path in (tmp_path / folder).iterdir()} == {"index.html", "page.html"}


@pytest.mark.parametrize("folder", ["latest", "", "..", "a/b", "-x"])
def test_what_is_no_version_gets_no_folder(folder, site, tmp_path):
    with pytest.raises(ValueError, match="no folder for a version"):
        versions.publish(site, tmp_path / "site", folder)
    assert not (tmp_path / "site" / ".nojekyll").exists()


def test_no_two_modules_of_tests_have_one_name():
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, times in names.items() if times > 1] == []
