"""A plugin for mypy: options of games are checked, as in `ttt_envs.make_aec("some_game", sise=4)`.

::

    [tool.mypy]
    plugins = ["ttt_envs.integrations.mypy"]

Where a game is named by its id, an option that it does not have is an error, as it is when the call is made. Other
arguments need no plugin: their types say what they may be.
"""

from collections.abc import Callable
from functools import partial

from mypy.plugin import FunctionContext, Plugin
from mypy.types import Instance, LiteralType, Type, get_proper_type

from ttt_envs.registry import GAMES, check_arguments

__all__ = ["OptionsPlugin", "plugin"]

_FUNCTIONS = {
    "ttt_envs.registry.load",
    *(f"ttt_envs.make_{shape}" for shape in ("aec", "parallel", "single", "vec", "sb3", "text")),
}


class OptionsPlugin(Plugin):
    """Checks the options given to `load` and to the makers of environments."""

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """As mypy asks for it."""
        return partial(_checked, fullname.rpartition(".")[2]) if fullname in _FUNCTIONS else None


def _checked(function: str, context: FunctionContext) -> Type:
    """Report the options that no such game has; the type of the call stays as it is."""
    game = get_proper_type(context.arg_types[0][0]) if context.arg_types[0] else None
    value = game.last_known_value if isinstance(game, Instance) else game
    if isinstance(value, LiteralType) and value.value in GAMES:
        options = context.callee_arg_names.index("options")
        names = [name for name in context.arg_names[options] if name is not None]
        try:
            check_arguments(function, str(value.value), dict.fromkeys(names))
        except TypeError as error:
            context.api.fail(str(error), context.context)
    return context.default_return_type


def plugin(version: str) -> type[OptionsPlugin]:
    """The entry point that mypy calls, with its version."""
    return OptionsPlugin
