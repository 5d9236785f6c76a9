"""Settings of Sphinx: `make docs` builds the site from this folder."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

# As plain Python, kernels are functions with signatures and docstrings, and nothing is compiled for a few positions.
os.environ["NUMBA_DISABLE_JIT"] = "1"

import ttt_envs  # noqa: E402

project = "ttt-envs"
author = "The ttt-envs developers"
project_copyright = f"2026, {author}"
version = release = ttt_envs.__version__
language = "en"

extensions = [
    "myst_nb",  # pages in Markdown, and notebooks
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "tools.site.directives",
]
exclude_patterns = ["films", "generated"]

# Notebooks are shown with the results that they are kept with; tests run them.
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # would come from another host
nb_mime_priority_overrides = [("html", "image/svg+xml", 0)]  # the picture of a widget that has no kernel here
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

toc_object_entries = False  # contents name the modules, and not each class in each of them
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Large, and in no extra that the site needs; where they are installed, parts of them may still be missing.
autodoc_mock_imports = ["pyspiel", "ray"]
# A package's names are documented where they are defined.
autodoc_default_options = {"members": True, "ignore-module-all": True}
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # what a class documents as its attributes is not documented again
# `name` in a docstring is code, and a link where it names something of the library.
default_role = "py:obj"
suppress_warnings = ["ref.python"]

html_theme = "furo"
# Where the site will stand beside those of other versions: a tag, or dev for what is not released (releases.md).
folder = os.environ.get("DOCS_FOLDER", "")
html_title = f"ttt-envs {release}" + (", not released" if folder == "dev" else "")
html_context = {"others": bool(folder)}
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = html_logo = "_static/icon.svg"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f9e", "color-brand-content": "#1f5f9e"},
    "dark_css_variables": {"color-brand-primary": "#7cb7ee", "color-brand-content": "#7cb7ee"},
}
copybutton_exclude = ".linenos, .gp, .go"
