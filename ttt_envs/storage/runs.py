"""The initial settings of a run in its `config.json`, which trainings and tournaments read when they resume."""

import json
import platform
from collections.abc import Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from ttt_envs.storage.files import write_whole
from ttt_envs.storage.untrusted import read_json

CONFIG = "config.json"


def write_config(folder: Path, settings: Mapping[str, Any], libraries: Mapping[str, str], **facts: Any) -> None:
    """Write the folder's `config.json` atomically.

    Args:
        folder: the folder of the run.
        settings: everything that determines the results, in JSON's types.
        libraries: module -> distribution, for libraries whose versions may change results.
        facts: further entries of the file.
    """
    versions = {module: metadata.version(name) for module, name in libraries.items()}
    config = {"settings": dict(settings), "versions": {"python": platform.python_version(), **versions}, **facts}
    write_whole(folder / CONFIG, json.dumps(config, indent=2) + "\n")


def read_config(folder: Path, missing: str = "nothing to resume") -> dict[str, Any]:
    """Read the file that `write_config` wrote. The only check of the settings is that they are a dict.

    Raises FileNotFoundError with a text that begins with `missing`, and ValueError if the file is damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise FileNotFoundError(f"{missing}: no file {path}")
    try:
        config = read_json(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(config, dict) or not isinstance(config.get("settings"), dict):
        raise ValueError(f"{path} is damaged: it must have settings, names with values")
    return config


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a game in JSON's types."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(options)))
    return plain


def check_same(
    what: str, there: Mapping[str, Any], here: Mapping[str, Any], may_change: Collection[str], hint: str = ""
) -> None:
    """Raise ValueError naming settings that differ but must not. `what` names the resumed run in the message."""
    changed = [
        f"{name} is {json.dumps(there.get(name))} there and {json.dumps(here.get(name))} here"
        for name in {**there, **here}
        if name not in may_change and there.get(name) != here.get(name)
    ]
    if changed:
        raise ValueError(f"{what} has other settings: {'; '.join(changed)}{hint}")
