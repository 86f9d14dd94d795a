"""The documentation site: ``python -m sphinx -W --keep-going docs site`` builds it, without a network."""

import os
import re
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
# The tutorials run in this process and in those that they start: one thread each.
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore", message=".*torch.jit", category=DeprecationWarning)

from clgnn import __version__  # noqa: E402

project = "clgnn"
author = "The clgnn developers"
copyright = "The clgnn developers"
release = version = __version__

extensions = [
    "myst_parser",
    "commands",
    "mathml",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["tutorials", "gallery/sg_execution_times.rst"]

myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_default_options = {"show-inheritance": True}
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Shapes"]

sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    "image_scrapers": ("matplotlib",),
    "min_reported_time": 1,
    "parallel": 2,
}
suppress_warnings = ["config.cache"]

html_theme = "furo"
html_title = "clgnn"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_theme_options = {
    "light_logo": "logo.svg",
    "dark_logo": "logo.svg",
    "light_css_variables": {"color-brand-primary": "#0b6e99", "color-brand-content": "#0b6e99"},
    "dark_css_variables": {"color-brand-primary": "#5cc1ee", "color-brand-content": "#5cc1ee"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def skip_routing(app, what, name, obj, skip, options):
    """Leaves out what scikit-learn adds to every estimator by itself."""
    return True if name == "get_metadata_routing" or re.fullmatch(r"set_\w+_request", name) else None


def keep_underscore(app, what, name, obj, options, lines):
    """``classes_`` is a name here, and a link in reStructuredText."""
    lines[:] = [re.sub(r"^:ivar (\w+)_:", r":ivar \1\\_:", line) for line in lines]


def setup(app):
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-docstring", keep_underscore, priority=900)  # after napoleon
