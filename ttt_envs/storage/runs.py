"""The settings that a run began with, `config.json` in its folder, by which trainings and tournaments go on."""

import json
import platform
from collections.abc import Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from ttt_envs.storage.files import write_whole
from ttt_envs.storage.outside import read_json

CONFIG = "config.json"


def write_config(folder: Path, settings: Mapping[str, Any], libraries: Mapping[str, str], **facts: Any) -> None:
    """Write the file, whole or not at all.

    Args:
        folder: of the run.
        settings: what decides it, JSON's types.
        libraries: module -> distribution, those whose versions may change results.
        facts: what else is kept.
    """
    versions = {module: metadata.version(name) for module, name in libraries.items()}
    found = {"settings": dict(settings), "versions": {"python": platform.python_version(), **versions}, **facts}
    write_whole(folder / CONFIG, json.dumps(found, indent=2) + "\n")


def read_config(folder: Path, missing: str = "nothing to resume") -> dict[str, Any]:
    """What `write_config` wrote; of the settings it is known only that they are a dict.

    Raises FileNotFoundError, which begins with `missing`; ValueError, naming the file, if it is damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise FileNotFoundError(f"{missing}: no file {path}")
    try:
        found = read_json(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("settings"), dict):
        raise ValueError(f"{path} is damaged: it must have settings, names with values")
    return found


def check_same(
    what: str, there: Mapping[str, Any], here: Mapping[str, Any], may_change: Collection[str], hint: str = ""
) -> None:
    """Raise ValueError, naming them, if settings differ that may not; `what` it is that goes on, for the message."""
    changed = [
        f"{name} is {json.dumps(there.get(name))} there and {json.dumps(here.get(name))} here"
        for name in {**there, **here}
        if name not in may_change and there.get(name) != here.get(name)
    ]
    if changed:
        raise ValueError(f"{what} has other settings: {'; '.join(changed)}{hint}")
