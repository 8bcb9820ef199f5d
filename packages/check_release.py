"""Do version, changelog, citation and recipe agree, and is everything there to publish?

make check-release
make check-release ARGS="--publish --tag v0.2.0"
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', text("src/deepsteiner/__init__.py"), re.MULTILINE)
    assert found is not None
    return found[1]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def faults(now: str, *, publish: bool, tag: str | None) -> list[str]:
    """Return what does not fit, a sentence each."""
    said = []
    if not re.search(
        rf"^## {re.escape(now)} \(\d{{4}}-\d\d-\d\d\)$", text("CHANGELOG.md"), re.MULTILINE
    ):
        said.append(f"CHANGELOG.md has no heading '## {now} (YYYY-MM-DD)'")
    if not re.search(rf"^version: {re.escape(now)}$", text("CITATION.cff"), re.MULTILINE):
        said.append(f"CITATION.cff does not say version: {now}")
    if f'version: "{now}"' not in text("recipe/recipe.yaml"):
        said.append(f"recipe/recipe.yaml does not say version: {now}")
    if f"version = {{{now}}}" not in text("docs/project/cite.md"):
        said.append(f"docs/project/cite.md does not cite version {now}")
    if tag is not None and tag != f"v{now}":
        said.append(f"the tag is {tag}, the version {now}")
    urls = tomllib.loads(text("pyproject.toml"))["project"].get("urls", {})
    if publish and "Source" not in urls:
        said.append(
            "pyproject.toml names no Source under [project.urls]: docs/project/releasing.md"
        )
    return said


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--publish", action="store_true", help="ask for public addresses, too")
    parser.add_argument("--tag", help="the tag that is released")
    given = parser.parse_args()
    now = version()
    said = faults(now, publish=given.publish, tag=given.tag)
    for sentence in said:
        print(f"error: {sentence}", file=sys.stderr)
    source = ROOT / "dist" / f"deepsteiner-{now}.tar.gz"
    if source.is_file():
        print(f"{source.name}  sha256 {hashlib.sha256(source.read_bytes()).hexdigest()}")
    return 2 if said else 0


if __name__ == "__main__":
    sys.exit(main())
