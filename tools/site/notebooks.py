"""The notebooks as pages, with the results that are stored in them."""

from pathlib import Path
from typing import Any

from ttt_envs.core.files import write_whole


def copy_notebooks(app: Any) -> None:
    """Put the checkout's notebooks, or what has changed of them, where Sphinx looks for pages."""
    source = Path(app.srcdir)
    pages = source / "notebooks"
    pages.mkdir(exist_ok=True)
    wanted = {path.name: path.read_bytes() for path in (source.parent / "notebooks").glob("*.ipynb")}
    for path in pages.glob("*.ipynb"):
        if path.name not in wanted:
            path.unlink()
    for name, data in wanted.items():
        path = pages / name
        if not path.exists() or path.read_bytes() != data:
            write_whole(path, data)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", copy_notebooks)
