"""Conformance: checks that every game must pass, a game of your own too.

`check_game(game)` runs them all. `CHECKS` has them by name, for parametrised tests. They play random games, and need
nothing but the Game: rules, observation, text and drawing are held against each other, against the game's declared
facts and symmetries, and against what environments and agents rely on.
"""

from collections.abc import Callable

from ttt_envs.core.game import Game
from ttt_envs.testing import environments, rules, symmetry, text, views

__all__ = ["CHECKS", "check_game"]


def __dir__() -> list[str]:
    return __all__


#: Every check, by name. A check takes a Game, and raises AssertionError if the game fails it.
CHECKS: dict[str, Callable[[Game], None]] = {
    name.removeprefix("check_"): check
    for module in (rules, symmetry, views, text, environments)
    for name, check in vars(module).items()
    if name.startswith("check_")
}


def check_game(game: Game, *, progress: Callable[[str], None] | None = None) -> list[str]:
    """Run every check of `CHECKS`, and return their names.

    Args:
        game: the game, with the options that are to be checked.
        progress: called with a line for each check that the game passes, such as `print`.

    Raises:
        AssertionError: the game fails a check, which is named; an exception within the game's own functions counts as
            a failure, and is the cause of the AssertionError.
        RuntimeError: Python runs without assertions (-O).
    """
    if not __debug__:
        raise RuntimeError("check_game needs assertions: run Python without -O and PYTHONOPTIMIZE")
    for name, check in CHECKS.items():
        try:
            check(game)
        except Exception as error:
            said = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            first = (check.__doc__ or "").splitlines()[0]
            raise AssertionError(f"{game} fails the check {name!r} ({first}) {said}") from error
        if progress is not None:
            progress(f"{name.replace('_', ' ')}: {(check.__doc__ or '').splitlines()[0]}")
    return list(CHECKS)
