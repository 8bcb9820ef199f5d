"""A visitor's page in a browser, with what a test wants to do there and to know."""

from __future__ import annotations

import time


class Visit:
    """One visitor's page; `problems` collects what the browser complained about."""

    def __init__(self, browser, address: str, **settings) -> None:
        settings = {"viewport": {"width": 1280, "height": 800}, **settings}
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.address = address
        self.problems: list[str] = []
        self.requested: list[str] = []
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._note)

    def _note(self, message) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def open(self, fragment: str = "") -> Visit:
        self.page.goto(f"{self.address}/{fragment}")
        self.page.wait_for_selector("body[data-ready]")
        return self

    def until(self, condition: str, seconds: float = 30.0) -> None:
        """Wait for a JavaScript condition (the page's policy forbids playwright's own way)."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"{condition} did not come true"
            self.page.wait_for_timeout(30)

    def solved(self) -> dict:
        """Wait until the tree on the screen is that of the points; return its solution."""
        self.until(
            "playground.modes.explore.result?.points === playground.store.points"
            " && playground.modes.explore.result.shapes === playground.store.shapes"
            " && !playground.modes.explore.result.live"
        )
        return self.page.evaluate("playground.modes.explore.result.solution")

    def points(self) -> list[list[float]]:
        return self.page.evaluate("playground.store.coordinates")

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        box = self.page.locator("#plane-a").bounding_box()
        px, py = self.page.evaluate(f"playground.viewport.toScreen([{x}, {y}])")
        return box["x"] + px, box["y"] + py

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def mode(self, name: str) -> None:
        self.page.click(f"[role=tab][data-mode={name}]")

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=steps)
        mouse.up()
