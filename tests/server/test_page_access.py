"""The page for everybody: what axe says, the tour, keys, fingers, screen readers."""

from __future__ import annotations

import pytest

WALL = "&obstacles=0.45,0.3;0.55,0.3;0.55,0.7;0.45,0.7"
PIPE = "&lines=0.1,-0.2;0.5,0.2;0.9,-0.2"
POINTS = "points=0,0;1,0;1,1;0,1;0.4,0.6"
MODES = ["explore", "compare", "step", "proof", "race"]
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}


def serious(here) -> list:
    """Return what axe finds serious or worse, with the elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    return [
        (one["id"], [node["html"][:160] for node in one["nodes"]][:3])
        for one in axe.run(here.page).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("mode", MODES)
def test_axe_finds_nothing_serious(visit, mode, scheme):
    here = visit(f"#mode={mode}&{POINTS}{WALL}")
    here.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    here.page.wait_for_timeout(400)
    assert serious(here) == []


def test_axe_finds_nothing_serious_on_a_phone(visit):
    here = visit(f"#{POINTS}", reduced_motion="reduce", **PHONE)
    for mode in MODES:
        here.mode(mode)
        here.page.wait_for_timeout(200)
        assert (mode, serious(here)) == (mode, [])


def test_axe_finds_nothing_serious_while_drawing(visit):
    here = visit(f"#{POINTS}{PIPE}", reduced_motion="reduce", **PHONE)
    here.page.tap("#tool-line")
    here.page.wait_for_timeout(200)
    assert here.page.is_visible("#draw-hint")
    assert serious(here) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_tour_and_dialogs(visit, scheme):
    here = visit("", color_scheme=scheme, reduced_motion="reduce")
    here.solved()
    assert here.page.is_visible("#tour")
    assert serious(here) == []
    here.page.click("#help")
    assert serious(here) == []
    here.page.keyboard.press("Escape")
    here.page.click("#read")
    here.page.fill("#read-text", "one, two")
    here.page.click("#read-go")
    here.page.wait_for_selector("#read-fault:not(:empty)")
    assert serious(here) == []
    here.problems.clear()  # the browser notes the refused request


def test_the_tour_comes_once(visit):
    here = visit("")
    assert here.page.is_visible("#tour")
    titles = []
    for _ in range(4):
        titles.append(here.text("#tour-title"))
        assert here.page.locator(".toured").count() == 1
        here.page.click("#tour-next")
    assert len(set(titles)) == 4
    assert here.page.is_hidden("#tour")
    assert here.page.locator(".toured").count() == 0
    here.page.goto("about:blank")
    here.open("")
    assert here.page.is_hidden("#tour")
    here.page.click("#help")
    here.page.click("#tour-again")
    assert here.page.is_hidden("#help-dialog")
    assert here.text("#tour-title") == titles[0]
    assert here.page.evaluate("document.activeElement.id") == "tour-next"


def test_the_tour_with_keys_alone(visit):
    here = visit("")
    assert here.page.evaluate("document.activeElement === document.body")  # nothing was taken
    for _ in range(2):
        here.page.keyboard.press("Tab")
    assert here.page.evaluate("document.activeElement.id") == "tour-skip"
    here.page.keyboard.press("Tab")
    here.page.keyboard.press("Enter")
    assert here.text("#tour-count") == "2 of 4"
    here.page.keyboard.press("Shift+Tab")
    assert here.page.evaluate("document.activeElement.id") == "tour-back"
    here.page.keyboard.press("Enter")
    assert here.text("#tour-count") == "1 of 4"
    assert here.page.evaluate("document.activeElement.id") == "tour-next"
    here.page.keyboard.press("Escape")
    assert here.page.is_hidden("#tour")
    assert here.page.evaluate("document.activeElement.id") == "help"
    here.page.goto("about:blank")
    assert here.open("").page.is_hidden("#tour")


def test_no_tour_over_a_link(visit):
    assert visit("#points=0,0;1,0").page.is_hidden("#tour")


def test_obstacles_with_keys_alone(visit):
    here = visit("#points=0,0;2,1;1,0.2;1,0.8;1.2,0.5;0.8,0.5")
    free = here.solved()["length"]
    here.page.focus("#plane-a .cursor")
    here.page.keyboard.press("o")
    assert here.page.evaluate("playground.store.shapes.length") == 0
    here.until("document.querySelector('#announcer').textContent.startsWith('Select three')")
    here.page.keyboard.press("n")
    for _ in range(4):
        here.page.keyboard.press("n")
        here.page.keyboard.press(" ")
    here.page.keyboard.press("o")
    assert len(here.points()) == 2
    (ring,) = here.page.evaluate("playground.store.outlines('obstacle')")
    # Corners in turn, so that sides do not cross: right, top, left, bottom, from some corner on.
    assert sorted(ring) == [[0.8, 0.5], [1, 0.2], [1, 0.8], [1.2, 0.5]]
    assert abs(ring.index([0.8, 0.5]) - ring.index([1.2, 0.5])) == 2
    around = here.solved()
    assert len(around["obstacles"]) == 1
    assert around["length"] < free
    here.page.keyboard.press("Shift+O")
    assert here.page.evaluate("playground.store.shapes.length") == 0
    here.page.keyboard.press("Control+z")
    here.page.keyboard.press("Control+z")
    assert len(here.points()) == 6


def test_existing_lines_with_keys_alone(visit):
    here = visit("#points=0,1;0.5,1;-2,0;2,0")
    free = here.solved()["length"]
    here.page.focus("#plane-a .cursor")
    for key in ["n", "n", " ", "n", " ", "l"]:
        here.page.keyboard.press(key)
    joined = here.solved()
    assert here.page.evaluate("playground.store.outlines('line')") == [[[-2, 0], [2, 0]]]
    assert joined["joints"] == [[pytest.approx(0.25, abs=0.01), 0]]
    assert joined["length"] < free
    # Lines come after the points; arrows move them, Delete removes them.
    here.page.keyboard.press("p")
    # The name changes with the next drawing.
    here.page.wait_for_selector("#plane-a .cursor[aria-label^='Existing line 1 of 1']")
    here.page.keyboard.press("Shift+ArrowUp")
    moved = here.solved()
    assert moved["length"] < joined["length"]
    here.page.keyboard.press("Delete")
    assert here.page.evaluate("playground.store.shapes.length") == 0
    assert len(here.points()) == 2


def test_a_fault_is_told_where_it_was_made(visit):
    here = visit()
    here.page.click("#read")
    here.page.fill("#read-text", "1, 2\nthree, 4\n")
    here.page.click("#read-go")
    here.page.wait_for_selector("#read-fault:not(:empty)")
    assert "line 2" in here.text("#read-fault")
    here.page.keyboard.press("Escape")
    here.page.click("#read")
    assert here.text("#read-fault") == ""
    here.problems.clear()  # the browser notes the refused request


def test_fingers_find_every_button(visit):
    here = visit(**PHONE)
    small = here.page.evaluate(
        "[...document.querySelectorAll('button, select, .button')].filter((one) => {"
        " const { width, height } = one.getBoundingClientRect();"
        " return width && (height < 44 || width < 40); })"
        ".map((one) => one.id || one.textContent)"
    )
    assert small == []
    wide = here.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
