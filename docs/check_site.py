"""Check a built site: every link and picture inside it leads to something, with its anchor.

python docs/check_site.py docs/_build/html
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links, pictures and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.pictures_without_words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag points to, and what it is called."""
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        for name in ("href", "src"):
            if found.get(name) and tag != "base":
                self.links.append(found[name] or "")
        if tag == "img" and found.get("alt") is None:
            self.pictures_without_words.append(found.get("src") or "")


@cache
def page(path: Path) -> Page:
    """Return a page of the site."""
    return Page(path.read_text(encoding="utf-8"))


def faults(site: Path) -> list[str]:
    """Return a sentence for every link that leads nowhere."""
    said = []
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:
            continue
        for link in page(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            name = path.relative_to(site)
            if not target.is_file():
                said.append(f"{name}: {link} is not there")
            elif (
                parts.fragment
                and target.suffix == ".html"
                and unquote(parts.fragment) not in page(target).anchors
            ):
                said.append(f"{name}: {link} has no such place")
        said += [
            f"{path.relative_to(site)}: {one} has no alt"
            for one in page(path).pictures_without_words
        ]
    return said


def main() -> int:
    """Print what is wrong; 1 where anything is."""
    site = Path(sys.argv[1]).resolve()
    said = faults(site)
    for sentence in said:
        print(sentence)
    pages = len(list(site.rglob("*.html")))
    print(f"{pages} pages, {len(said)} faults")
    return int(bool(said) or pages < 50)


if __name__ == "__main__":
    sys.exit(main())
