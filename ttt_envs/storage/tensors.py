"""Arrays with facts in one file: safetensors, which hold plain numbers and text, and nothing that runs when loaded."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.storage.files import write_whole
from ttt_envs.storage.untrusted import read_json


class BadTensorFile(ValueError):
    """Raised for a file of arrays that is damaged, of another form, or does not fit what it is read for."""


def write_tensors(path: Path, form: str, facts: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
    """Write arrays and facts, whole or not at all; the same contents are the same bytes.

    Args:
        path: the file.
        form: what `read_tensors` must be asked for, such as "ttt-envs network 1".
        facts: for JSON; any name but "format".
        tensors: arrays of numbers by name.
    """
    from safetensors.numpy import save

    # One entry, because safetensors puts several in a random order.
    metadata = {"ttt_envs": json.dumps({"format": form, **facts})}
    write_whole(path, save({name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}, metadata))


def read_tensors(path: Path, *forms: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return facts and arrays of a file by `write_tensors`; with several `forms`, the fact "format" tells which.

    Raises BadTensorFile if it is damaged or of another form.
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
