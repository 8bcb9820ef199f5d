"""The playground's modes in a real browser, long solves, and how the page fits its screen."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

MODES = ("explore", "compare", "step", "proof", "race")


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
