"""Publish the documentation of all versions: a folder for each, `latest`, and a page that lists them.

    python -m tools.site.versions build/docs PAGES v0.1.0

PAGES is a folder with the sites of earlier versions: in the workflow `docs`, a checkout of the branch gh-pages. The
script needs only Python.
"""

import re
import shutil
import sys
from pathlib import Path

LATEST = "latest"
_RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>ttt-envs: versions of the documentation</title></head>
<body>
<h1>ttt-envs: versions of the documentation</h1>
<ul>
{}
</ul>
</body>
</html>
"""


def releases(pages: Path) -> list[str]:
    """Return the folders of releases, the newest first. Pre-releases such as v1.0.0rc1 do not count."""
    releases = {name.name: match for name in pages.iterdir() if (match := _RELEASE.fullmatch(name.name))}
    return sorted(releases, key=lambda name: [int(part) for part in releases[name].groups()], reverse=True)


def publish(site: Path, pages: Path, folder: str) -> None:
    """Copy a built site to `folder` in `pages`, replacing an earlier copy, and update the list of all versions.

    Raises ValueError for a `folder` that cannot name a version, or a site that is not built.
    """
    if not re.fullmatch(r"\w[\w.-]*", folder) or folder == LATEST:
        raise ValueError(f"{folder!r} is no folder for a version: use a tag, such as v0.1.0, or dev")
    if not (site / "index.html").is_file():
        raise ValueError(f"{site} holds no index.html: run make docs first")
    _copy(site, pages / folder)
    released = releases(pages)
    if released and folder == released[0]:
        _copy(site, pages / LATEST)
    others = sorted({each.parent.name for each in pages.glob("*/index.html")} - {LATEST, *released})
    lines = [f'<li><a href="{name}/">{name}</a></li>' for name in [*released, *others]]
    if released:
        lines.insert(0, f'<li><a href="{LATEST}/">{LATEST}</a>: {released[0]}</li>')
    (pages / "index.html").write_text(_PAGE.format("\n".join(lines)), encoding="utf-8")
    (pages / ".nojekyll").touch()  # GitHub Pages leaves out folders such as _static otherwise


def _copy(site: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(site, folder, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
