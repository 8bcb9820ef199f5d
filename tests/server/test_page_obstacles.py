"""Obstacles, existing lines and relays in the playground."""

from __future__ import annotations

import pytest

SQUARE = "#points=0,0;1,0;1,1;0,1"
WALL = "&obstacles=0.45,0.3;0.55,0.3;0.55,0.7;0.45,0.7"


def rings(here):
    return here.page.evaluate("playground.store.outlines('obstacle')")


def lines(here):
    return here.page.evaluate("playground.store.outlines('line')")


def around(here, count):
    """Wait until the tree on the screen was solved with so many obstacles in its way."""
    here.until(f"playground.store.shapes.length === {count}")
    return here.solved()


def test_draw_drag_and_remove_an_obstacle(visit):
    here = visit(SQUARE)
    free = here.solved()["length"]
    here.page.click("#tool-obstacle")
    assert here.page.get_attribute("#tool-obstacle", "aria-pressed") == "true"
    for corner in ((0.4, 0.4), (0.6, 0.4), (0.6, 0.6), (0.4, 0.6)):
        here.page.mouse.click(*here.pixel(*corner))
    here.page.keyboard.press("Enter")
    here.page.click("#tool-obstacle")
    solution = around(here, 1)
    assert solution["length"] > free
    assert solution["bends"]
    assert "bend" in here.text("#verdict")
    here.drag(here.pixel(0.5, 0.5), here.pixel(0.5, 1.3))
    assert here.solved()["length"] == pytest.approx(free)
    assert min(y for _, y in rings(here)[0]) > 1
    here.page.keyboard.press("Control+z")
    assert around(here, 1)["length"] > free
    here.page.mouse.click(*here.pixel(0.5, 0.5), button="right")
    assert around(here, 0)["length"] == pytest.approx(free)
    assert here.problems == []


def test_a_drawing_can_be_given_up(visit):
    here = visit(SQUARE)
    here.page.click("#tool-obstacle")
    here.page.mouse.click(*here.pixel(0.4, 0.4))
    here.page.keyboard.press("Escape")
    here.page.keyboard.press("Enter")
    assert rings(here) == []
    assert len(here.points()) == 4


def test_links_hold_obstacles(visit):
    here = visit(SQUARE + WALL)
    assert rings(here) == [[[0.45, 0.3], [0.55, 0.3], [0.55, 0.7], [0.45, 0.7]]]
    assert "obstacles=0.45,0.3;" in here.page.evaluate("location.hash")
    solution = here.solved()
    assert len(solution["obstacles"]) == 1


def test_draw_drag_and_remove_an_existing_line(visit):
    here = visit(SQUARE)
    free = here.solved()["length"]
    here.page.click("#tool-line")
    assert here.page.is_visible("#draw-hint")
    for place in ((0.1, 0.5), (0.5, 0.6), (0.9, 0.5), (0.9, 0.5)):
        here.page.mouse.click(*here.pixel(*place))
        here.page.wait_for_timeout(400)  # not a double click
    joined = around(here, 1)
    assert lines(here)[0] == [
        pytest.approx(place, abs=0.01) for place in ([0.1, 0.5], [0.5, 0.6], [0.9, 0.5])
    ]
    assert joined["length"] < free
    assert joined["status"] == "optimal"
    assert "joint" in here.text("#verdict")
    here.page.click("#tool-line")
    assert here.page.is_hidden("#draw-hint")
    here.drag(here.pixel(0.5, 0.6), here.pixel(0.5, 1.6))
    assert here.solved()["length"] > joined["length"]
    assert min(y for _, y in lines(here)[0]) > 1
    assert "lines=" in here.page.evaluate("location.hash")
    here.page.click("#fit")
    here.page.mouse.click(*here.pixel(0.5, 1.6), button="right")
    assert around(here, 0)["length"] == pytest.approx(free)


def test_links_hold_existing_lines(visit):
    here = visit(SQUARE + "&lines=0.2,0.5;0.8,0.5_0,2;1,2")
    assert lines(here) == [[[0.2, 0.5], [0.8, 0.5]], [[0, 2], [1, 2]]]
    assert len(here.solved()["existing"]) == 2
    here.mode("compare")
    assert here.page.is_hidden("#tool-line")
    assert here.page.get_attribute("#plane-a .layer-lines", "d") == ""


def test_lines_and_obstacles_together(visit):
    here = visit(SQUARE + WALL + "&lines=0.2,2;0.8,2")
    solution = here.solved()
    assert solution["joints"]
    assert solution["existing"]
    assert solution["obstacles"]
    assert "around 1 obstacle, " in here.text("#verdict")
    assert "on 1 existing line" in here.text("#verdict")


def test_a_terminal_inside_is_told(visit):
    here = visit("#points=0,0;1,0;0.5,0.5" + WALL)
    here.until("document.querySelector('#verdict').dataset.kind === 'error'")
    assert "point 2" in here.text("#verdict")
    assert "inside an obstacle" in here.text("#verdict")


def test_fewest_relays_with_their_range(visit):
    here = visit("#points=1,0;0.309,0.951;-0.809,0.588;-0.809,-0.588;0.309,-0.951")
    here.solved()
    assert here.page.is_disabled("#relay-few")
    here.page.check("#relay-on")
    here.page.evaluate("playground.store.set({ maxEdge: 1.001 })")
    here.page.check("#relay-few")
    here.until("playground.modes.explore.result?.network")
    network = here.page.evaluate("playground.modes.explore.result.network")
    assert network["bound"] >= 1
    assert "at least" in here.text("#verdict")
    here.page.wait_for_timeout(200)
    assert here.page.get_attribute(".layer-ranges", "d").startswith("M")
    here.page.uncheck("#relay-few")
    here.until("!playground.modes.explore.result?.network")
    assert here.problems == []
