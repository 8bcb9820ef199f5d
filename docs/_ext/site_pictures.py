"""Pictures of the gallery: those that `compare` and `plot` return, which pyplot does not know of; thumbnails."""

from __future__ import annotations

from pathlib import Path
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


def crop_thumbnails(app: Any) -> None:
    """Show one panel of a wide picture: all of them side by side are too small to see."""
    from PIL import Image

    images = Path(app.srcdir) / "gallery" / "images"
    size = app.config.sphinx_gallery_conf["thumbnail_size"]
    for path in sorted(images.glob("sphx_glr_*_001.png")):
        small = images / "thumb" / f"{path.stem.removesuffix('_001')}_thumb.png"
        with Image.open(path) as picture:
            if not small.is_file() or picture.width < 2.2 * picture.height:
                continue
            # With its title a panel is a little higher than wide; the last is what it leads to.
            panels = round(picture.width / picture.height / 0.84)
            left = picture.width - picture.width // panels
            panel = picture.crop((left, 0, *picture.size)).convert("RGB")
        panel.thumbnail(size)
        made = Image.new("RGB", size, "white")
        made.paste(panel, tuple((a - b) // 2 for a, b in zip(size, panel.size, strict=True)))
        made.save(small)


def setup(app: Any) -> dict[str, Any]:
    """Crop once the gallery has been drawn, which happens at the same event."""
    app.connect("builder-inited", crop_thumbnails, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
