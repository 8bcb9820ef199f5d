"""Pictures of the gallery that pyplot knows nothing of: those that `compare` and `plot` return."""

from __future__ import annotations

from typing import Any


def figures_of(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures that an example holds by name and that were not shown yet."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from sphinx_gallery.scrapers import figure_rst

    saved = []
    for value in list(block_vars["example_globals"].values()):
        figure = value.get_figure(root=True) if isinstance(value, Axes) else value
        if not isinstance(figure, Figure) or hasattr(figure, "shown_in_gallery"):
            continue
        figure.shown_in_gallery = True  # type: ignore[attr-defined]
        if figure.canvas.manager is None:  # else pyplot has it, and so has its scraper
            path = next(block_vars["image_path_iterator"])
            figure.savefig(path, dpi=160)
            saved.append(path)
    return figure_rst(saved, gallery_conf["src_dir"])


def _get_sg_image_scraper() -> Any:
    return figures_of
