"""Arrays and facts in one safetensors file: plain numbers and text; loading runs no code."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.storage.files import write_whole
from ttt_envs.storage.untrusted import read_json


class BadTensorFile(ValueError):
    """Raised for a file of arrays that is damaged, has another format or does not fit its use."""


def write_tensors(path: Path, form: str, facts: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
    """Write arrays and facts atomically; equal contents give equal bytes.

    Args:
        path: the file.
        form: the name of the file's format, such as "ttt-envs network 1", which `read_tensors` checks.
        facts: values for JSON, by name; the name "format" is reserved.
        tensors: arrays of numbers by name.
    """
    from safetensors.numpy import save

    # Use a single entry, because safetensors writes several entries in random order.
    metadata = {"ttt_envs": json.dumps({"format": form, **facts})}
    write_whole(path, save({name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}, metadata))


def read_tensors(path: Path, *forms: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the facts and arrays of a file that `write_tensors` wrote.

    With several `forms`, the facts include "format". Raises BadTensorFile if the file is damaged or has another format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            facts = read_json((file.metadata() or {}).get("ttt_envs", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:
        raise BadTensorFile(f"{path} is damaged, or was not written by this library ({error})") from None
    form = facts.get("format") if isinstance(facts, dict) else None
    if form not in forms:
        wanted = " or ".join(map(repr, forms))
        raise BadTensorFile(f"{path} is no file of the form {wanted}; it says {form!r}")
    if len(forms) == 1:
        del facts["format"]
    return facts, tensors
