"""A terminal of 80 columns."""

import pytest


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def lines_of(narrow, capsys):
    """A function that gives the lines printed so far, none wider than the terminal."""

    def lines():
        found = capsys.readouterr().out.splitlines()
        assert max(map(len, found)) <= 80
        return found

    return lines
