"""Settings of the documentation: ``make docs`` builds it, with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import princomp  # noqa: E402

project = "princomp"
author = "The princomp developers"
version = release = princomp.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "seen_data",
]
exclude_patterns = ["_build", "**/*.py.md5"]
# Two hyphens of a flag stay two hyphens.
smartquotes = False
templates_path = ["_templates"]
nitpicky = False

# ---- pages ----------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

# ---- API ------------------------------------------------------------------------------

autosummary_generate = True
autosummary_imported_members = True
# Names that differ by capitals only would share a file on macOS and Windows.
autosummary_filename_map = {
    "princomp.pca": "princomp.pca-function",
    "princomp.plan": "princomp.plan-function",
}
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# ---- examples -------------------------------------------------------------------------


sphinx_gallery_conf = {
    "examples_dirs": ["../examples/learn", "../examples/gallery"],
    "gallery_dirs": ["learn/tutorials", "gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("gallery_figures.scraper",),
    "ignore_repr_types": r"matplotlib|NoneType",
    "capture_repr": ("_repr_html_", "__repr__"),
    "download_all_examples": False,
    # Figures that are the value of a cell are shown by this only.
    "first_notebook_cell": "%matplotlib inline",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 5,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "backreferences_dir": "api/examples",
    "doc_module": ("princomp",),
    "nested_sections": False,
    "write_computation_times": False,
    "reset_modules": (),
    "plot_gallery": True,
}

# ---- HTML -----------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"princomp {version}"
html_static_path = ["_static"]
html_context = {"default_mode": "auto"}
html_css_files = ["princomp.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "princomp"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "cli", "benchmarks", "trust", "changelog")}
project_copyright = "The princomp developers, BSD 3-Clause"


def escape_stars(app: object, context: object, lines: list[str]) -> None:
    """Keep the stars of wildcards in help texts: they are no markup."""
    lines[:] = [line.replace("*", r"\*") for line in lines]


def setup(app: Any) -> None:
    """Connect to Sphinx."""
    app.connect("sphinx-click-process-description", escape_stars)
