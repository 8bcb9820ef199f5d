"""How fast the playground's tree follows a dragged point: proven trees shown a second.

Run: python -m benchmarks.server.playground_drag [--seconds 5] [--sizes 10 20 50]

A headless Chromium drags one point around a circle, one move a frame, against a real server on
loopback. Browser, server and worker share this machine's cores; the browser draws in software.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time

from common import print_provenance, print_table
from playwright.sync_api import Page, sync_playwright

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


def drag(page: Page, address: str, n: int, seconds: float) -> list[object]:
    page.goto("about:blank")
    page.goto(f"{address}/#sample=random,{n},1")
    page.wait_for_selector("body[data-ready]")
    page.wait_for_timeout(1500)
    box = page.locator("#plane-a").bounding_box()
    assert box is not None
    px, py = page.evaluate("playground.viewport.toScreen(playground.store.coordinates[0])")
    updates, frames, spent = page.evaluate(DRAG, [box["x"] + px, box["y"] + py, seconds])
    return [n, f"{updates / spent:.0f}", f"{frames / spent:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 50])
    given = parser.parse_args()
    print_provenance(seed=1)
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
            rows = [drag(page, address, n, given.seconds) for n in given.sizes]
            browser.close()
    finally:
        server.terminate()
        server.wait(30)
    print_table(["n", "proven trees a second", "frames a second"], rows)


if __name__ == "__main__":
    main()
