"""The site's list of agents, generated from their docstrings and parameters."""

import inspect

from tools.site.games import table
from ttt_envs import agents
from ttt_envs.core.options import as_text, parameters


def listed() -> str:
    """Return Markdown with each agent's name, description and parameters."""
    parts = []
    for name, kind in agents.known().items():
        parts.append(f"### `{name}`\n\n{(inspect.getdoc(kind) or '').partition(chr(10) * 2)[0]}")
        known = parameters(kind) if inspect.isclass(kind) else []
        if known:
            rows = [("parameter", "default", "meaning")]
            for each in known:
                default = "" if each.default is inspect.Parameter.empty else f"`{as_text(each.default)}`"
                rows.append((f"`{each.name}`", default, each.meaning))
            parts.append(table(rows))
    return "\n\n".join(parts)
