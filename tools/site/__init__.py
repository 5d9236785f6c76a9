"""Sphinx extension of the documentation: what its pages say of games and commands is made from games and commands.

`docs/conf.py` loads it. Directives for pages in Markdown:

- `{facts}`, `{rules}`, `{actions}`, `{observation}`, `{options}` and `{rewards}` of a game, by its id;
- `{position}`, a position given as text, and `{film}`, a recorded game, drawn;
- `{agents}`, all agents that have a name, and `{commands}`, the reference of the command `ttt`.
"""

from typing import Any

from tools.site import agents, commands, games, notebooks, pictures


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    for module in (games, pictures, agents, commands, notebooks):
        module.setup(app)
    return {"parallel_read_safe": True}
