"""Sphinx: how the site is built. `make docs` runs it, with every warning an error."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "benchmarks"))

import deepsteiner  # noqa: E402

project = "deepsteiner"
author = "The deepsteiner authors"
copyright = f"2026, The deepsteiner authors. Version {deepsteiner.__version__}. Licence: Apache-2.0"
version = release = deepsteiner.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "site_pages",
    "site_parts",
    "site_pictures",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_generated", "figures", "**/README.rst", "gallery/*.ipynb"]
templates_path = ["_templates"]
default_role = "code"  # names in docstrings stand in single backticks
nitpicky = True
# Types of other projects: there is no network, and so no inventory of theirs.
nitpick_ignore_regex = [
    ("py:.*", r"(?!deepsteiner).*"),
    ("py:.*", r"deepsteiner\..*\._.*"),
    # Base classes, whose methods stand with Solution's.
    ("py:class", r"deepsteiner\.(editable|core\.exported)\..*"),
]
suppress_warnings = ["config.cache"]  # functions in the gallery's settings cannot be pickled

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline", "attrs_block", "html_image"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_attributes_as_param_list = True

html_theme = "pydata_sphinx_theme"
html_title = "deepsteiner"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"image_light": "_static/mark.svg", "image_dark": "_static/mark.svg",
             "text": "deepsteiner"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "back_to_top_button": False,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}  # fmt: skip

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "image_scrapers": ("matplotlib", "site_pictures"),
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "thumbnail_size": (420, 300),
    "abort_on_example_error": True,
    "write_computation_times": False,
    "plot_gallery": os.environ.get("DEEPSTEINER_GALLERY", "1") != "0",
}
