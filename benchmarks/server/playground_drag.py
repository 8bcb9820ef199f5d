"""How fast the playground's tree follows a dragged point: proven trees shown a second.

Run: python -m benchmarks.server.playground_drag [--seconds 5] [--sizes 10 20 50] [--shapes 10]
     [--seeds 3] [--first-seed 1]

A headless Chromium drags one point around a circle, one move a frame, against a real server on
loopback. Browser, server and worker share this machine's cores; the browser draws in software.
Every size is tried on the open plane, among obstacles and with existing lines to join, each with
several maps. Where other work slows the machine, the milliseconds of the processor that a
tree takes tell more than trees a second: those of the server with its workers, where Linux
counts them, and those of the browser, with drawing every frame.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from common import print_provenance, print_table
from playwright.sync_api import Page, sync_playwright

import deepsteiner as ds

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
# One pointer move every frame for some seconds; returns [updates, frames, seconds].
DRAG = """async ([x, y, seconds]) => {
  const frame = () => new Promise(requestAnimationFrame);
  const target = document.elementFromPoint(x, y);
  const move = (type, px, py) => target.dispatchEvent(
    new PointerEvent(type, {clientX: px, clientY: py, pointerId: 1, button: 0, buttons: 1,
                            isPrimary: true, bubbles: true, pointerType: "mouse"}));
  move("pointerdown", x, y);
  const before = playground.modes.explore.updates, began = performance.now();
  let frames = 0, now = began;
  while (now - began < 1000 * seconds) {
    const turn = (now - began) / 300;
    move("pointermove", x + 40 * Math.sin(turn), y + 40 * (1 - Math.cos(turn)));
    await frame();
    frames += 1;
    now = performance.now();
  }
  const updates = playground.modes.explore.updates - before;
  move("pointerup", x, y);
  return [updates, frames, (now - began) / 1000];
}"""


HEADER = [
    "plane", "n", "trees a second", "on the slowest map", "frames a second",
    "server, ms a tree", "browser, ms a tree",
]  # fmt: skip
KINDS = ("open", "obstacles", "lines")
# The share of the plane's width around the dragged point that obstacles leave free.
ROOM = 0.13


# What tells maps apart where one of a seed has no room: far from all seeds in use.
APART = 1000


def fragment(kind: str, n: int, count: int, seed: int) -> str:
    """Return what opens a plane of this kind; its first point has room to be dragged."""
    if kind == "open":
        return f"sample=random,{n},{seed}"
    made = ds.datasets.generate_map("convex", n, obstacles=count, cover=0.1, seed=seed)
    outer = [rings[0][:-1] for rings in made.obstacles]
    if kind == "lines":  # one side of each obstacle
        points, word, shapes = made.points, "lines", [ring[:2] for ring in outer]
    else:
        word, shapes = "obstacles", outer
        corners = np.concatenate(outer)
        room = np.hypot(*(made.points[:, None] - corners).transpose(2, 0, 1)).min(axis=1)
        points = made.points[np.argsort(-room)]
        if room.max() < ROOM:
            return fragment(kind, n, count, seed + APART)
    listed = [";".join(f"{x:.4f},{y:.4f}" for x, y in places) for places in (points, *shapes)]
    return f"points={listed[0]}&{word}={'_'.join(listed[1:])}"


def processor_seconds(root: int) -> float:
    """Return the time of a process and all below it, as Linux counts it; nan elsewhere."""
    times, parents = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        number = int(entry.parent.name)
        parents[number] = int(fields[1])
        # Its own time, and that of those below it that have ended, such as a worker given up.
        times[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    found = [root]
    for number in found:
        found += [child for child, parent in parents.items() if parent == number]
    return sum(times[number] for number in found) if times else float("nan")


def spent_so_far(server: int) -> np.ndarray:
    """Return the processor seconds of the server with its workers, and of the browser."""
    serving = processor_seconds(server)
    return np.array([serving, processor_seconds(os.getpid()) - serving - time.process_time()])


def drag(page: Page, address: str, server: int, plane: str, seconds: float) -> tuple[float, ...]:
    """Open a plane and drag; return trees and frames a second, and what a tree costs in ms."""
    page.goto("about:blank")
    page.goto(f"{address}/#{plane}")
    page.wait_for_selector("body[data-ready]")
    page.wait_for_timeout(1500)
    box = page.locator("#plane-a").bounding_box()
    assert box is not None
    px, py = page.evaluate("playground.viewport.toScreen(playground.store.coordinates[0])")
    before = spent_so_far(server)
    updates, frames, spent = page.evaluate(DRAG, [box["x"] + px, box["y"] + py, seconds])
    cost = 1000 * (spent_so_far(server) - before) / max(updates, 1)
    return updates / spent, frames / spent, *cost


def row(
    page: Page, address: str, server: int, kind: str, n: int, given: argparse.Namespace
) -> list[object]:
    """Drag on several planes of a kind."""
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    planes = [fragment(kind, n, given.shapes, seed) for seed in seeds]
    drag(page, address, server, planes[0], 1.0)  # kernels of a kind load at the first request
    found = np.array([drag(page, address, server, plane, given.seconds) for plane in planes])
    mean, least = found.mean(axis=0), found[:, 0].min()
    return [kind, n, f"{mean[0]:.0f}", f"{least:.0f}", *(f"{one:.0f}" for one in mean[1:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--shapes", type=int, default=10, help="obstacles, or existing lines")
    parser.add_argument("--seeds", type=int, default=3, help="maps of each kind")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    given = parser.parse_args()
    print_provenance(seed=given.first_seed)
    command = [sys.executable, "-m", "deepsteiner", "serve", "--no-open", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        time.sleep(15)  # the workers load the other methods meanwhile
        with sync_playwright() as playwright:
            found = shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            rows = [
                row(page, address, server.pid, kind, n, given)
                for kind in given.kinds
                for n in given.sizes
            ]
            browser.close()
    finally:
        server.terminate()
        server.wait(30)
    print_table(HEADER, rows)


if __name__ == "__main__":
    main()
