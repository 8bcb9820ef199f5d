"""Directives: what a page shows of the code itself, made while the page is read.

{drawn} NAME          a picture that a function of docs/figures draws, for light and for dark
{method-card} NAME    a method's picture, promises and options, from the registry
{method-table}        the table of all methods, from the registry
{stored-rows} NAME    a table of results, from stored rows
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from figures import drawings, palette
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

import deepsteiner as ds

HERE = Path(__file__).resolve().parents[1]
PICTURES = HERE / "_generated" / "figures"
YES_NO = {True: "yes", False: "no"}


class Part(SphinxDirective):
    """A directive that answers with Markdown."""

    def parsed(self, text: str) -> list[nodes.Node]:
        """Return the nodes of a Markdown text."""
        holder = nodes.container()
        self.state.nested_parse(StringList(text.splitlines()), self.content_offset, holder)
        return holder.children


class Drawn(Part):
    """A picture in two colourings, of which the page shows the one that suits it."""

    required_arguments = 1
    has_content = True
    option_spec = {"alt": directives.unchanged_required, "width": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        alt = self.options.get("alt")
        if not alt:
            raise ExtensionError(f"{self.env.docname}: picture {name} needs :alt:, a description")
        return self.pictures(name, alt, "\n".join(self.content))

    def pictures(self, name: str, alt: str, caption: str) -> list[nodes.Node]:
        """Return the figure of both pictures, drawn anew where what draws them has changed."""
        figure = nodes.figure(classes=["drawn"])
        for shade in palette.PALETTES:
            path = drawings.draw(name, shade, PICTURES)
            image = nodes.image(uri=f"/{path.relative_to(HERE)}", alt=alt)
            image["classes"] += [f"only-{shade}", "drawn"]
            if "width" in self.options:
                image["width"] = self.options["width"]
            figure += image
        if caption:
            words = nodes.caption()
            holder = nodes.container()
            self.state.nested_parse(StringList(caption.splitlines()), self.content_offset, holder)
            for child in holder.children:
                words += list(child.children)
            figure += words
        for module in drawings.sources(name):
            self.env.note_dependency(str(module))
        return [figure]


class Method(Drawn):
    """What the registry says of one method, with a picture of its tree."""

    required_arguments = 1
    option_spec: dict[str, Any] = {}

    def run(self) -> list[nodes.Node]:
        info = ds.methods()[self.arguments[0]]
        alt = f"The tree of {info.name} on 40 points, beside its length and gap"
        picture = self.pictures(f"method_{info.name}", alt, "")
        return [*self.parsed(facts(info)), *picture, *self.parsed(options(info))]


def facts(info: Any) -> str:
    """Return what a method promises and needs, as a table."""
    said = {
        "In a line": info.summary,
        "Guarantee": info.guarantee,
        "Needs": ", ".join(f"`{name}`" for name in info.needs) or "a plain installation",
        "Steiner points": "degree 3 and 120° angles" if info.strict else "any degree and angle",
        "Takes the seed": YES_NO[info.random],
        "Devices": ", ".join(info.devices),
        "Beyond points": ", ".join(sorted(info.supports)) or "nothing",
    }
    rows = [f"| {name} | {cell(text)} |" for name, text in said.items()]
    return "\n".join(["| | |", "|---|---|", *rows])


def options(info: Any) -> str:
    """Return the options of a method as a table."""
    if not info.options:
        return "`" + info.name + "` has no options of its own."
    lines = ["| option | values | default | what it does |", "|---|---|---|---|"]
    for one in info.options:
        lines.append(f"| `{one.name}` | {values(one)} | `{one.default!r}` | {cell(one.help)} |")
    return "\n".join(lines)


def values(one: Any) -> str:
    """Return what an option may be."""
    if one.choices:
        return ", ".join(f"`{word}`" for word in one.choices)
    low, high = ("" if end is None else f"{end:g}" for end in (one.minimum, one.maximum))
    span = f", {low} to {high}" if low and high else f", from {low}" if low else ""
    return cell(one.type) + span


def cell(text: str) -> str:
    """Return a text that can stand in a table."""
    return text.replace("|", "or")


class Methods(Part):
    """All methods in one table."""

    def run(self) -> list[nodes.Node]:
        lines = ["| method | what it does | guarantee |", "|---|---|---|"]
        for name, info in ds.methods().items():
            lines.append(f"| [`{name}`]({name}.md) | {info.summary} | {cell(info.guarantee)} |")
        return self.parsed("\n".join(lines))


class Stored(Part):
    """A table made from stored rows."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        from deepsteiner.benchmark.readme import site_blocks

        made = site_blocks()
        if self.arguments[0] not in made:
            raise ExtensionError(f"no table {self.arguments[0]}; there are {', '.join(made)}")
        return self.parsed(made[self.arguments[0]])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("drawn", Drawn)
    app.add_directive("method-card", Method)
    app.add_directive("method-table", Methods)
    app.add_directive("stored-rows", Stored)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
