"""Random mutants of the files that the lists of `tools.mutants` name, by the operators of Cosmic Ray.

Cosmic Ray changes one operator, number, comparison or loop at a time. It would do so in the working tree, with one
command of tests for all files, so only its operators are used here: copies and tests are those of `tools.mutants`.
(mutmut leaves out decorated functions, and every kernel is one.)
"""

import ast
import random
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff
from functools import cache
from pathlib import Path
from typing import Any

#: Without the JIT a kernel is the same without its decorator.
_LEFT_OUT = ("RemoveDecorator", "ExceptionReplacer")


def statements(source: str) -> set[int]:
    """Numbers of the lines in the bodies of functions, from 1, without their docstrings and annotations."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1 if ast.get_docstring(node) is not None else 0 :]
            lines.update(line for each in body for line in range(each.lineno, (each.end_lineno or each.lineno) + 1))
    return lines


def places(source: str) -> list[tuple[str, int]]:
    """Each operator of Cosmic Ray, by its name, with the number of each place where it changes the source."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    nodes = list(ast_nodes(get_ast(source)))
    drawn = []
    for name in operator_names():
        if not name.endswith(_LEFT_OUT) and "Variable" not in name:  # those of variables have arguments
            operator = get_operator(name)()
            times = sum(1 for node in nodes for _ in operator.mutation_positions(node))
            drawn += [(name, k) for k in range(times)]
    return drawn


def change(source: str, operator: str, place: int) -> str | None:
    """The source changed by an operator in one place; None if that is outside all functions, or is no Python."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    changed = mutate_code(source, get_operator(operator)(), place) or source
    pairs = zip(source.splitlines(), changed.splitlines(), strict=False)
    line = next((k for k, (old, new) in enumerate(pairs, 1) if old != new), 0)
    if line not in statements(source):
        return None
    try:
        ast.parse(changed)
    except SyntaxError:
        return None
    return changed


def naming(root: Path, file: str) -> list[str]:
    """The modules of tests in which the file is named as a module."""
    name = re.compile(rf"\b{file.removesuffix('.py').replace('/', '[.]')}\b")
    paths = sorted((root / "tests").glob("*/test_*.py"))
    return [path.relative_to(root).as_posix() for path in paths if name.search(path.read_text())]


def draw(root: Path, listed: Sequence[Any], number: int, seed: int) -> list[Any]:
    """Draw `number` mutants for `tools.mutants`: random changes of the files of the listed ones.

    First a file is drawn, each as likely as any other, and then a change of it.
    Those of a file are tested with all tests of the modules that the listed mutants of the file name and of those that
    name the file as a module; with compiled code if one of the listed mutants is.
    """
    generator = random.Random(seed)
    files = sorted({each.file for each in listed if each.file.endswith(".py") and each.file.startswith("ttt_envs/")})
    places_of = cache(lambda file: places((root / file).read_text()))
    drawn: dict[str, Any] = {}
    for _ in range(20 * number):  # some places are outside all functions
        if len(drawn) == number or not files:
            break
        file = generator.choice(files)
        source = (root / file).read_text()
        if not places_of(file):
            continue
        operator, place = generator.choice(places_of(file))
        changed = change(source, operator, place)
        if changed is None:
            continue
        difference = unified_diff(source.splitlines(), changed.splitlines(), n=0, lineterm="")
        shown = " -> ".join(re.sub(r"^[-+]\s*", "", line) for line in list(difference)[3:5])
        same = [each for each in listed if each.file == file]
        named = [word for each in same for word in shlex.split(each.tests) if word.startswith("tests/")]
        tests = dict.fromkeys([*named, *naming(root, file)])
        name = f"{file}, {operator.rpartition('/')[2]}: {shown}"
        jit = any(each.jit for each in same)
        facts = {"part": "sample", "breaks": name, "tests": " ".join(tests), "jit": jit}
        drawn[name] = replace(same[0], old=source, new=changed, **facts)
    return list(drawn.values())
