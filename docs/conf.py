"""Settings of the documentation. `make docs` builds it, and warnings are errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent / "src")]

project = "presage"
author = "The presage authors"
copyright = author
version = release = re.search(r'^version = "(.+)"', (HERE.parent / "pyproject.toml").read_text(), re.M)[1]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "plain_docstrings",
    "sphinx.ext.napoleon",
    "generated_pages",
]
exclude_patterns = ["_build", "_generated/parts"]
language = "en_GB"
smartquotes_action = "D"  # dashes alone: quotation marks stand beside formulas

html_theme = "furo"
html_title = "presage"
html_static_path = ["static"]
html_css_files = ["presage.css"]
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
highlight_language = "none"  # a block without a language is what was printed

# Links to headings, as `page.md#heading`; formulas stand between dollars.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
# Formulas are set by one file beside the pages, with its fonts inside: nothing comes from a network, and a page opened
# from a disk is whole. Its menu would ask for more files.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}

# Pages with {code-cell} blocks are run at every build; a cell that fails stops it.
nb_execution_mode = "force"
nb_execution_timeout = 150
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_execution_in_temp = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Complexes", "Floats")}
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
# A name in single backticks links to what it names, and is set as code where there is nothing of that name.
default_role = "py:obj"


def left_to_scikit_learn(app, what, name, thing, skip, options):
    """Methods that scikit-learn adds to every estimator: its own pages have them, and their words link there."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app):
    """What Sphinx calls before it reads the pages."""
    app.connect("autodoc-skip-member", left_to_scikit_learn)
