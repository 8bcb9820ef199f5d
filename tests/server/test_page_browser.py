"""The playground's points in a real browser: adding, moving, reading, sharing, exporting them."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import deepsteiner as ds


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


def test_only_models_that_fit_a_method_are_offered(visit):
    here = visit()
    here.solved()
    here.page.select_option("#method", "policy")
    here.page.wait_for_selector("#options-form label:has-text('model')", state="attached")
    models = "[...document.querySelectorAll('#options-form label')].filter((label) =>"
    models += " label.textContent.startsWith('model')).flatMap((label) =>"
    models += " [...label.querySelectorAll('option')].map((option) => option.value))"
    offered = here.page.evaluate(models)
    assert "mst-d1" in offered
    assert {"neural", "tsp20"}.isdisjoint(offered)
    here.page.select_option("#method", "neural")
    here.page.wait_for_selector("#options-form label:has-text('pieces')", state="attached")
    assert here.page.evaluate(models) == []  # there is one, which is no choice


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


def hold_lattices(here, unless: str) -> list:
    """Keep back the requests for lattices whose address lacks some words; return them."""
    held = []
    here.page.route(
        "**/api/samples/lattice*",
        lambda route: route.continue_() if unless in route.request.url else held.append(route),
    )
    return held


def test_a_late_sample_does_not_replace_a_later_one(visit):
    here = visit()
    held = hold_lattices(here, unless="n=13")
    here.page.select_option("#sample", "lattice")
    here.page.fill("#sample-n", "13")
    here.page.press("#sample-n", "Enter")
    here.until("playground.store.points.length === 13")
    (late,) = held
    with here.page.expect_response("**/api/samples/lattice*"):
        late.continue_()
    here.page.wait_for_timeout(300)
    assert len(here.points()) == 13
    assert here.page.input_value("#sample-n") == "13"


def test_a_sample_leaves_a_number_that_is_being_typed(visit):
    here = visit()
    held = hold_lattices(here, unless="n=13")
    here.page.select_option("#sample", "lattice")
    here.page.fill("#sample-n", "13")
    held.pop().continue_()
    here.until("playground.store.origin?.name === 'lattice'")
    assert len(here.points()) != 13
    assert here.page.input_value("#sample-n") == "13"
    here.page.press("#sample-n", "Enter")
    here.until("playground.store.points.length === 13")


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
