"""Make the samples of the sets of solved positions, which come with the package, from the sets as a whole.

    ttt dataset --sets all --out runs/solved
    python -m tools.samples runs/solved

The first rows of each split are taken, so that a sample has the shares of the set; `load_solved` reads it.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tyro

from ttt_envs.evaluation.solved.dataset import SPLITS, sample_file, set_of, solved_sets
from ttt_envs.registry import folder_of
from ttt_envs.storage.files import write_whole


@dataclass(frozen=True)
class Config:
    """Make the samples that come with the package."""

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder with the sets, as `ttt dataset --sets all` makes it."""
    rows: int = 250
    """Positions of each sample."""


def sample(folder: Path, rows: int) -> dict[str, np.ndarray]:
    """The first rows of each split of a set in a folder, as arrays by column, with the column `split`.

    Raises ValueError if the folder has another version of the set than the present one.
    """
    shares = sum(SPLITS.values())
    parts = {
        split: pq.read_table(folder / f"{split}.parquet").slice(0, rows * share // shares)
        for split, share in SPLITS.items()
    }
    table = pa.concat_tables(parts.values())
    name, version = (table.schema.metadata[key].decode() for key in (b"set", b"set version"))
    if int(version) != set_of(name).version:
        raise ValueError(f"{folder} has version {version} of {name}, not {set_of(name).version}: build it again")
    arrays = {name: array_of(table[name].combine_chunks()) for name in table.column_names}
    return {**arrays, "split": np.repeat(list(parts), [len(part) for part in parts.values()])}


def array_of(column: pa.Array) -> np.ndarray:
    """A column as an array, lists of a fixed length as rows."""
    if isinstance(column, pa.FixedSizeListArray):
        return np.asarray(column.flatten()).reshape(len(column), -1)
    return np.array(column.to_pylist()) if pa.types.is_string(column.type) else np.asarray(column)


def main() -> None:
    """The command line."""
    config = tyro.cli(Config)
    for name, each in solved_sets().items():
        out = io.BytesIO()
        np.savez_compressed(out, **sample(config.folder / name, config.rows))  # type: ignore[arg-type]
        place = folder_of(each.game)
        assert isinstance(place, Path)
        write_whole(place / sample_file(name), out.getvalue())
        print(f"{place / sample_file(name)}: {len(out.getvalue()) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
