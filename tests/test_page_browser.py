"""The playground in a real browser: everything a visitor can do, against a real server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

import deepsteiner as ds

pytest.importorskip("fastapi", reason="the page needs the server of the [serve] extra")
playwright_api = pytest.importorskip(
    "playwright.sync_api", reason="the page's tests need playwright"
)

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
MODES = ("explore", "compare", "step", "proof", "race")
SQUARE = "#points=0,0;1,0;1,1;0,1"


@pytest.fixture(scope="module")
def address():
    command = [sys.executable, "-m", "deepsteiner", "serve", "--no-open", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        assert line.startswith("serving on "), line
        yield line.split()[-1]
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


@pytest.fixture(scope="module")
def browser():
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    with playwright_api.sync_playwright() as playwright:
        try:
            # Without a browser of the system: playwright's own, where it was installed.
            chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        except playwright_api.Error as error:
            pytest.skip(f"no browser could be started: {str(error).splitlines()[0]}")
        yield chromium
        chromium.close()


class Visit:
    """One visitor's page, with what a test wants to do and to know."""

    def __init__(self, browser, address: str, **settings) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, **settings)
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


@pytest.fixture
def visit(browser, address):
    visits = []

    def make(fragment: str = SQUARE, **settings) -> Visit:
        visits.append(Visit(browser, address, **settings))
        return visits[-1].open(fragment)

    yield make
    for made in visits:
        made.context.close()
        assert made.problems == []


def test_opens_on_an_example(visit):
    here = visit("")
    solution = here.solved()
    assert len(solution["terminals"]) == 24
    assert solution["status"] == "optimal"
    assert "optimal" in here.text("#status")
    assert "shorter than the spanning tree" in here.text("#verdict")
    assert here.text("#fact-gap") == "0 %"


def test_add_drag_remove_undo_redo(visit):
    here = visit()
    assert here.solved()["length"] == pytest.approx(1 + 3**0.5)
    here.page.mouse.click(*here.pixel(0.5, 0.5))
    assert len(here.points()) == 5
    assert len(here.solved()["terminals"]) == 5
    assert here.points()[4] == pytest.approx([0.5, 0.5], abs=0.01)

    here.drag(here.pixel(0.5, 0.5), here.pixel(0.8, 0.5))
    assert here.points()[4] == pytest.approx([0.8, 0.5], abs=0.02)
    moved = here.solved()
    assert moved["length"] == pytest.approx(ds.solve(here.points(), "exact").length)

    here.page.mouse.click(*here.pixel(*here.points()[4]), button="right")
    assert len(here.points()) == 4
    here.page.keyboard.press("Control+z")
    here.page.keyboard.press("Control+z")
    assert here.points()[4] == pytest.approx([0.5, 0.5], abs=0.01)
    here.page.keyboard.press("Shift+Control+Z")
    assert here.points()[4] == pytest.approx([0.8, 0.5], abs=0.02)
    here.page.click("#undo")
    here.page.click("#undo")
    assert here.points() == [[0, 0], [1, 0], [1, 1], [0, 1]]
    assert here.page.is_disabled("#undo")


def test_marquee_moves_and_removes_several(visit):
    here = visit("#points=0,0;0.1,0.2;1,0;1,1")
    left, top = here.pixel(-0.05, 0.35)
    here.drag((left, top), here.pixel(0.3, -0.05))
    assert here.page.evaluate("playground.store.selection.size") == 2
    here.drag(here.pixel(0, 0), here.pixel(0.1, 0.1))
    moved = np.array(here.points())
    assert moved[1] - moved[0] == pytest.approx([0.1, 0.2], abs=0.01)
    assert moved[0] == pytest.approx([0.1, 0.1], abs=0.02)
    assert moved[2:].tolist() == [[1, 0], [1, 1]]
    here.page.keyboard.press("Delete")
    assert here.points() == [[1, 0], [1, 1]]


def test_tree_follows_a_drag(visit):
    here = visit("#sample=random,20,1")
    here.solved()
    before = here.page.evaluate("playground.modes.explore.updates")
    x, y = here.pixel(*here.points()[0])
    here.page.mouse.move(x, y)
    here.page.mouse.down()
    began = time.monotonic()
    for step in range(60):
        here.page.mouse.move(x + step, y - step / 2)
        here.page.wait_for_timeout(12)
    spent = time.monotonic() - began
    here.page.mouse.up()
    updates = here.page.evaluate("playground.modes.explore.updates") - before
    print(f"{updates / spent:.0f} updates a second")
    assert updates >= 5  # 30 a second on an idle machine; this one may be busy
    assert here.solved()["status"] == "optimal"


def test_keyboard_alone(visit):
    here = visit()
    here.solved()
    here.page.focus("#plane-a .cursor")
    assert "Point 1 of 4" in here.page.get_attribute("#plane-a .cursor", "aria-label")
    here.page.keyboard.press("n")
    assert "Point 2 of 4" in here.page.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>"
        " done(document.querySelector('#plane-a .cursor').getAttribute('aria-label')))))"
    )
    here.page.keyboard.press("Shift+ArrowLeft")
    assert here.points()[1][0] < 0.99
    here.page.keyboard.press("a")
    assert len(here.points()) == 5
    here.page.keyboard.press("Delete")
    assert len(here.points()) == 4
    here.page.keyboard.press("Control+a")
    assert here.page.evaluate("playground.store.selection.size") == 4
    here.page.keyboard.press("Escape")
    assert here.page.evaluate("playground.store.selection.size") == 0


def test_switch_method_and_options(visit):
    here = visit("#sample=random,24,305")
    best = here.solved()["length"]
    here.page.select_option("#method", "greedy")
    here.until("playground.modes.explore.result?.method === 'greedy'")
    assert here.solved()["status"] == "feasible"
    here.until("document.querySelector('#fact-gap').textContent.endsWith('%')")
    gap = here.page.evaluate("playground.modes.explore.result.solution.length") / best - 1
    assert here.text("#fact-gap") == f"{100 * gap:.2f} %"
    assert "optimal" not in here.text("#status")
    here.page.click("#options summary")
    here.page.uncheck("#options-form label:has-text('relax') input")
    here.until(f"playground.modes.explore.result.solution.length > {best * (1 + gap)}")


def test_refusals_are_shown(visit):
    here = visit()
    here.solved()
    here.page.evaluate("playground.store.set({ options: { nonsense: 1 } })")
    here.page.evaluate("playground.modes.explore.changed()")
    here.page.wait_for_selector("#status[data-status=error]")
    assert "nonsense" in here.text("#verdict")
    here.problems.clear()  # the browser notes the refused request


def test_samples(visit):
    here = visit()
    for name, count in (("D1", 10), ("D2", 20), ("D3", 10)):
        here.page.select_option("#sample", name)
        here.until(f"playground.store.points.length === {count}")
    for name in ("lattice", "clustered", "random"):
        here.page.select_option("#sample", name)
        here.page.fill("#sample-n", "13")
        here.page.press("#sample-n", "Enter")
        here.until(
            f"playground.store.origin?.name === '{name}' && playground.store.points.length === 13"
        )
    first = here.points()
    here.page.click("#sample-go")
    here.until("playground.store.points.length === 13 && playground.store.origin.seed !== 305")
    assert here.points() != first


def test_paste_and_open(visit):
    here = visit()
    paste = """text => {
        const data = new DataTransfer();
        data.setData("text/plain", text);
        const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true });
        document.body.dispatchEvent(event);
    }"""
    here.page.evaluate(paste, "x,y\n0,0\n4,0\n0,3\n")
    here.until("playground.store.points.length === 3")
    assert here.points() == [[0, 0], [4, 0], [0, 3]]
    here.page.click("#read")
    here.page.fill("#read-text", json.dumps([[0, 0], [1, 1]]))
    here.page.click("#read-go")
    here.until("playground.store.points.length === 2")
    here.page.set_input_files(
        "#read-file",
        {"name": "five.csv", "mimeType": "text/csv", "buffer": b"0 0\n1 0\n2 0\n3 1\n4 0\n"},
    )
    here.until("playground.store.points.length === 5")


def test_drop_geojson(visit):
    pytest.importorskip("pyproj", reason="longitude and latitude need pyproj")
    here = visit()
    cities = {"type": "MultiPoint", "coordinates": [[2.35, 48.86], [4.84, 45.76], [5.37, 43.3]]}
    drop = """text => {
        const data = new DataTransfer();
        data.items.add(new File([text], "three cities.geojson"));
        const event = new DragEvent("drop", { dataTransfer: data, bubbles: true });
        document.querySelector("#plane-a").dispatchEvent(event);
    }"""
    here.page.evaluate(drop, json.dumps(cities))
    here.until("playground.store.points.length === 3")
    assert here.solved()["length"] == pytest.approx(670_000, rel=0.02)  # metres, not degrees


def test_wheel_and_pinch_zoom_and_fit(visit):
    here = visit()
    scale = "playground.viewport.scale"
    whole = here.page.evaluate(scale)
    here.page.mouse.move(*here.pixel(0, 0))
    here.page.mouse.wheel(0, -300)
    here.until(f"{scale} > {1.3 * whole}")
    assert len(here.points()) == 4
    here.page.click("#fit")
    assert here.page.evaluate(scale) == pytest.approx(whole)
    pinch = """() => {
        const plane = document.querySelector("#plane-a");
        plane.setPointerCapture = () => {};  // made-up pointers cannot be captured
        const send = (type, pointerId, clientX) => plane.dispatchEvent(
            new PointerEvent(type, { pointerId, pointerType: "touch", clientX, clientY: 400 }));
        send("pointerdown", 1, 300); send("pointerdown", 2, 400);
        for (let i = 1; i <= 10; i++) {
            send("pointermove", 1, 300 - 5 * i);
            send("pointermove", 2, 400 + 5 * i);
        }
        send("pointerup", 1, 250); send("pointerup", 2, 450);
    }"""
    here.page.evaluate(pinch)
    assert here.page.evaluate(scale) == pytest.approx(2 * whole, rel=0.05)
    assert len(here.points()) == 4


def test_share_by_address(visit):
    here = visit("#sample=random,12,7")
    assert here.page.evaluate("location.hash") == "#mode=explore&method=exact&sample=random,12,7"
    here.page.select_option("#method", "greedy")
    here.page.mouse.click(*here.pixel(0.5, 0.5))
    here.until("location.hash.includes('points=')")
    here.page.click("#options summary")
    here.page.uncheck("#options-form label:has-text('relax') input")
    there = visit(here.page.evaluate("location.hash"))
    assert there.points() == here.points()
    assert there.page.input_value("#method") == "greedy"
    assert there.page.evaluate("playground.store.settings.options") == {"relax": False}
    assert there.solved()["length"] == here.solved()["length"]


def test_nonsense_in_the_address_opens_the_example(visit):
    assert len(visit("#points=1,a;2&mode=nowhere&method=nothing").points()) == 24


@pytest.mark.parametrize("kind", ["svg", "png", "csv", "geojson", "json"])
def test_export(visit, tmp_path, kind):
    here = visit()
    here.solved()
    here.page.check("#relay-on")
    with here.page.expect_download() as download:
        here.page.click(f"#export button[data-format={kind}]")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == f".{kind}"
    if kind == "png":
        assert path.read_bytes().startswith(b"\x89PNG")
    elif kind == "svg":
        assert "<svg" in path.read_text()
    else:
        solution = ds.Solution.load(path)
        relays = int(here.text("#relay-count").split()[0])
        assert relays > 0
        assert len(solution.steiner_points) == 2 + relays
        assert solution.length == pytest.approx(1 + 3**0.5)


def test_relays(visit):
    here = visit("#points=0,0;10,0")
    here.solved()
    here.page.check("#relay-on")
    limit = float(here.text("#relay-limit"))
    assert here.text("#relay-count").split()[0] == str(int(np.ceil(10 / limit)) - 1)
    here.page.focus("#relay-slider")
    here.page.keyboard.press("End")
    assert here.text("#relay-count") == "1 relay"
    here.page.uncheck("#relay-on")
    assert here.text("#relay-count") == ""


def test_compare(visit):
    here = visit("#mode=compare&method=exact&other=mst&sample=random,24,305")
    here.until("document.querySelector('#caption-b').textContent.includes('too long')")
    assert here.text("#caption-a").endswith("shortest")
    assert here.text("#versus-verdict").startswith("exact is")
    here.page.select_option("#method-b", "greedy")
    here.until("document.querySelector('#versus-b').textContent === 'greedy'")
    assert float(here.text("#va-length")) < float(here.text("#vb-length"))
    edges = here.page.evaluate(
        "playground.planes.map(plane => plane.layers.tree.getAttribute('d').length)"
    )
    assert min(edges) > 100
    # A drag on the right moves the points of both.
    box = here.page.locator("#plane-b").bounding_box()
    x, y = here.page.evaluate("playground.viewport.toScreen(playground.store.coordinates[0])")
    here.drag((box["x"] + x, box["y"] + y), (box["x"] + x + 40, box["y"] + y))
    here.until("playground.modes.compare.results.every(r => r.points === playground.store.points)")


def test_step_through(visit):
    pytest.importorskip("torch", reason="the policy needs the [learn] extra")
    here = visit("#mode=step&sample=D1,10,3")
    here.until("document.querySelector('#scrub').max > 0", 60)
    here.page.click("#play-first")
    frames = int(here.page.get_attribute("#scrub", "max")) + 1
    dots = "document.querySelectorAll('#plane-a .heat[d^=M]').length"
    assert here.text("#frame-count") == f"1 / {frames}"
    assert here.text("#frame-title").startswith(("Add point 1", "No gain left"))
    here.until(f"{dots} > 1")
    lengths = []
    for _ in range(frames):
        lengths.append(float(here.text("#step-length")))
        here.page.click("#play-next")
    assert lengths == sorted(lengths, reverse=True)
    assert here.text("#frame-title") == "The tree of the policy"
    here.until(f"{dots} === 0")
    here.page.click("#play")
    here.until("document.querySelector('#scrub').value === '1'")
    here.page.click("#play")


def test_proof(visit):
    here = visit("#mode=proof&sample=random,24,305")
    here.until("document.querySelector('#scrub').max > 0", 60)
    here.page.click("#play-first")
    frames = int(here.page.get_attribute("#scrub", "max")) + 1
    bounds, sets = [], 0
    for _ in range(frames):
        here.page.wait_for_timeout(40)
        sets += here.page.locator("#plane-a .violated").count()
        if (bound := here.text("#proof-bound")) != "–":
            bounds.append(float(bound))
        here.page.click("#play-next")
    assert len(bounds) >= 3
    assert bounds == sorted(bounds)
    assert sets > 0
    assert here.text("#proof-gap") == "0 %"
    assert here.text("#proof-best") == here.text("#proof-bound")
    assert "no shorter tree exists" in here.text("#frame-text")


def test_race(visit):
    here = visit("#mode=race&sample=random,24,305")
    here.page.uncheck("#race-methods input[value=thompson]")
    here.page.click("#race-start")
    here.until("document.querySelectorAll('#race-table tr[data-state=done]').length === 5", 60)
    rows = {
        row.split("\t")[0].strip(): row.split("\t")
        for row in here.text("#race-table tbody").splitlines()
    }
    assert set(rows) == {"exact", "local", "greedy", "smith", "mst"}
    assert rows["exact"][2] == "0 %"
    assert "optimal" in rows["exact"][4]
    assert float(rows["mst"][2].split()[0]) > 1
    assert here.page.locator("#race-chart .chart-dot").count() == 5


def test_long_solve_shows_progress_and_can_be_stopped(visit):
    here = visit()
    here.solved()
    here.page.fill("#sample-n", "1500")
    here.page.press("#sample-n", "Enter")
    here.page.wait_for_selector("#progress:not([hidden])", timeout=30_000)
    here.until("document.querySelector('#progress-numbers').textContent.includes('best')")
    here.page.click("#cancel")
    assert here.solved()["status"] == "interrupted"
    assert here.text("#status") == "stopped"
    assert not here.page.is_visible("#progress")


def test_nothing_leaves_the_machine(visit):
    here = visit("")
    for mode in MODES:
        here.mode(mode)
        here.page.wait_for_timeout(150)
    here.mode("explore")
    here.solved()
    assert {urlsplit(url).hostname for url in here.requested} == {"127.0.0.1"}
    answer = here.page.request.get(here.address)
    assert "default-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("width", [360, 390])
def test_narrow_screen(visit, width):
    size = {"width": width, "height": 780}
    here = visit("", has_touch=True, is_mobile=True, screen=size)
    here.page.set_viewport_size(size)
    here.solved()
    for mode in MODES:
        here.mode(mode)
        here.page.wait_for_timeout(100)
        wide = here.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{mode} scrolls sideways: {wide} > {width}"
    here.mode("explore")
    box = here.page.locator("#plane-a").bounding_box()
    here.page.touchscreen.tap(box["x"] + 30, box["y"] + box["height"] - 60)
    assert len(here.points()) == 25


def test_dark_and_light(visit):
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = visit(color_scheme="dark")
    light = visit(color_scheme="light")
    assert dark.page.evaluate(paper) != light.page.evaluate(paper)
    night = dark.page.evaluate(paper)
    dark.page.click("#theme")  # auto -> light
    assert dark.page.evaluate(paper) == light.page.evaluate(paper)
    dark.page.click("#theme")  # light -> dark
    assert dark.page.evaluate(paper) == night
    dark.page.reload()
    assert dark.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_numbers_do_not_move_the_panel(visit):
    here = visit("#sample=random,20,1")
    here.solved()
    places = "[...document.querySelectorAll('.card:not([hidden])')].map(c => c.offsetTop).join()"
    before = here.page.evaluate(places)
    x, y = here.pixel(*here.points()[3])
    here.page.mouse.move(x, y)
    here.page.mouse.down()
    for step in range(10):
        here.page.mouse.move(x + 12 * step, y)
        here.page.wait_for_timeout(30)
        assert here.page.evaluate(places) == before
    here.page.mouse.up()
