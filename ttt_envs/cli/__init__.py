"""The command `ttt`, also as `python -m ttt_envs`. Each verb has a file; only `measures` has several verbs.

A verb is a dataclass: its fields are the command line, its docstring is the help, and its method `run` does the work
and returns an exit status, or None for success. If the dataclass has a class method `narrowed`, that is called first,
with the words after the verb, and may return another object to run.
"""

import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from ttt_envs.cli.layout import paragraphs, table
from ttt_envs.cli.measures import MEASURES
from ttt_envs.cli.shell import parse, run, summary_of
from ttt_envs.core.compile.notice import announce
from ttt_envs.core.version import __version__

DESCRIPTION = (
    "Play, compare and measure agents on variants of tic-tac-toe. `ttt VERB --help` explains a verb, and "
    "`ttt --version` tells the version."
)

#: Group of the help -> verb -> "module:dataclass".
GROUPS: dict[str, dict[str, str]] = {
    "Play": {
        "games": "ttt_envs.cli.games:Games",
        "describe": "ttt_envs.cli.describe:Describe",
        "agents": "ttt_envs.cli.agents:Agents",
        "play": "ttt_envs.cli.play:Play",
        "serve": "ttt_envs.cli.serve:Serve",
        "replay": "ttt_envs.cli.replay:Replay",
    },
    "Train": {
        "train": "ttt_envs.cli.train:Train",
        "study": "ttt_envs.cli.study:Study",
    },
    "Measure": {
        "tournament": "ttt_envs.cli.tournament:Tournament",
        "ladder": "ttt_envs.cli.ladder:Ladder",
        **{each.__name__.lower(): f"{each.__module__}:{each.__name__}" for each in MEASURES},
        "exam": "ttt_envs.cli.exam:Exam",
    },
    "Extend": {
        "solve": "ttt_envs.cli.solve:Solve",
        "game": "ttt_envs.cli.game:GameVerb",
    },
}

VERBS: dict[str, str] = {verb: place for group in GROUPS.values() for verb, place in group.items()}

#: Verbs that are not in the help.
HIDDEN: dict[str, str] = {"warm": "ttt_envs.cli.warm:Warm"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default that of this process; return the exit status."""
    if arguments is None:
        announce(_say_compiling)
    return run(partial(_run, sys.argv[1:] if arguments is None else list(arguments)))


def _say_compiling() -> None:
    words = "Compiling for this machine, as it is the first time: up to a minute; `ttt warm GAME` does it beforehand."
    print(words, file=sys.stderr, flush=True)


def _run(arguments: list[str]) -> int | None:
    if "" not in sys.path:
        # Find package.module:Name also in the current folder, as `python -m ttt_envs` does.
        sys.path.append("")
    if arguments == ["--version"]:
        print(f"ttt-envs {__version__}")
        return None
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_help())
        return None
    repeated = _repeated(arguments)
    if repeated is not None:
        raise ValueError(f"{repeated} is given twice: give it once, and several values behind each other")
    verb = arguments[0]
    verbs = {**VERBS, verb: HIDDEN[verb]} if verb in HIDDEN else VERBS
    narrowed = getattr(_class_of(verbs[verb]), "narrowed", None) if verb in verbs else None
    given: Any = narrowed(arguments[1:]) if narrowed else None
    if given is None:
        every = verb.replace("_", "-").startswith("--tyro-")  # completion of the shell's asks for all
        known = {name: (_class_of if every or name == verb else summary_of)(place) for name, place in verbs.items()}
        given = parse(known, arguments, "ttt", DESCRIPTION)
    status: int | None = given.run()
    return status


def _help() -> str:
    lines, widest = list(paragraphs(DESCRIPTION)), max(map(len, VERBS))
    for group, verbs in GROUPS.items():
        rows = [[f"  {verb:{widest}}", _first_sentence(summary_of(place))] for verb, place in verbs.items()]
        lines += ["", f"{group}:", *table(rows)]
    return "\n".join(lines)


def _first_sentence(verb: Any) -> str:
    return " ".join((verb.__doc__ or "").split()).partition(". ")[0].rstrip(".")


def _class_of(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(module), name)


def _repeated(arguments: Sequence[str]) -> str | None:
    """Return the first option that is given twice, or None; the parser would ignore one of its values."""
    names = [word.partition("=")[0] for word in arguments if word.startswith("--") and word != "--"]
    return next((name for k, name in enumerate(names) if name in names[:k]), None)
