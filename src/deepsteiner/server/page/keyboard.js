// The keyboard: shortcuts of the page, and everything the mouse can do to a point.

import { announce } from "./dom.js";
import * as format from "./format.js";

const STEP = 4; // pixels an arrow key moves a point
const LEAP = 40; // with Shift

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** What drawing is for the mouse: selected points become a shape; with Shift the last one goes. */
const KINDS = {
  o: { kind: "obstacle", name: "obstacle", least: 3, many: "three points" },
  l: { kind: "line", name: "existing line", least: 2, many: "two points" },
};

const TAKES_SPACE = "button, a, input, select, textarea, summary, dialog, .cursor";

const isTyping = (target) => target.matches?.("input:not([type=range]), textarea, select");

/** Shortcuts that work anywhere on the page. */
export function attachShortcuts(store, viewport, tools, fit) {
  document.addEventListener("keydown", (event) => {
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    const actions = command
      ? {
          z: () => (event.shiftKey ? store.redo() : store.undo()),
          y: () => store.redo(),
          a: () => store.select(store.points.map(({ id }) => id)),
        }
      : {
          delete: () => store.selection.size && store.remove(store.selection),
          backspace: () => store.selection.size && store.remove(store.selection),
          escape: () => store.select([]),
          "+": () => viewport.zoom(1.25),
          "=": () => viewport.zoom(1.25),
          "-": () => viewport.zoom(0.8),
          0: fit,
        };
    if (!(key in actions) || event.defaultPrevented) return;
    event.preventDefault();
    actions[key]();
  });
  // Space held down turns the mouse into a hand, unless a control would take the key.
  document.addEventListener("keydown", (event) => {
    if (event.key === " " && !event.target.closest(TAKES_SPACE)) {
      event.preventDefault();
      tools.space = true;
    }
  });
  document.addEventListener("keyup", (event) => {
    if (event.key === " ") tools.space = false;
  });
}

/** Keys of the focusable ring of a plane. */
export function attachPointKeys(plane) {
  const { ring, store } = plane;
  ring.addEventListener("focus", () => announce(ring.getAttribute("aria-label")));
  ring.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in ARROWS) moveCursor(plane, ARROWS[event.key], event.shiftKey ? LEAP : STEP);
    else if (event.key === "n" || event.key === "p") walk(plane, event.key === "n" ? 1 : -1);
    else if (event.key === "a") addBeside(plane);
    else if (event.key.toLowerCase() in KINDS) drawOrRemove(store, event);
    else if (event.key === " " || event.key === "Enter") toggle(store, plane.cursor);
    else if (event.key === "Delete" || event.key === "Backspace") removeAt(plane);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  ring.addEventListener("keyup", (event) => {
    // Arrow keys repeat while held; letting go ends the edit, so it is one step of undo.
    if (event.key in ARROWS) store.settle();
  });
}

function moveCursor(plane, [dx, dy], step) {
  const { store, viewport } = plane;
  if (plane.cursor === null) return;
  const shape = store.shape(plane.cursor);
  if (shape) {
    store.moveShapeLive(shape.id, viewport.shifted(shape.places, [dx * step, dy * step]));
    announce(plane.cursorLabel);
    return;
  }
  const ids = store.selection.has(plane.cursor) ? [...store.selection] : [plane.cursor];
  const targets = new Map();
  for (const id of ids) {
    const [x, y] = viewport.toScreen(plane.place(id));
    targets.set(id, viewport.toWorldRounded([x + dx * step, y + dy * step]));
  }
  store.moveLive(targets);
  const [x, y] = plane.place(plane.cursor);
  announce(`x ${format.coordinate(x)}, y ${format.coordinate(y)}`);
}

function walk(plane, by) {
  const { stops } = plane;
  if (!stops.length) return;
  // What the cursor stood on may be gone; the next drawing would put it at the first stop.
  const at = Math.max(0, stops.indexOf(plane.cursor));
  plane.setCursor(stops[(at + by + stops.length) % stops.length]);
  announce(plane.cursorLabel);
}

function addBeside(plane) {
  const { viewport, store } = plane;
  const [x, y] = viewport.toScreen(plane.cursorPlace);
  const aside = store.points.length ? LEAP : 0;
  plane.setCursor(store.add(...viewport.toWorldRounded([x + aside, y])));
  announce(`Added; ${format.plural(store.points.length, "point")}`);
}

function drawOrRemove(store, { key, shiftKey }) {
  const { kind, name, least, many } = KINDS[key.toLowerCase()];
  const Name = name[0].toUpperCase() + name.slice(1);
  const last = store.shapes.findLast((one) => one.kind === kind);
  if (store.settings.mode !== "explore") {
    announce(`${Name}s are for the mode Explore`);
  } else if (shiftKey) {
    if (last) store.removeShape(last.id);
    announce(last ? `${Name} removed` : `There is no ${name}`);
  } else if (store.selection.size < least) {
    announce(`Select ${many} or more with Space; ${key.toUpperCase()} then makes an ${name} of them`);
  } else {
    store.reshape(kind, store.selection);
    announce(`${Name} added; ${format.plural(store.points.length, "point")} left`);
  }
}

function toggle(store, id) {
  if (!store.find(id)) return; // shapes are moved and removed one by one
  const chosen = new Set(store.selection);
  if (!chosen.delete(id)) chosen.add(id);
  store.select(chosen);
  announce(`${format.plural(chosen.size, "point")} selected`);
}

function removeAt(plane) {
  const { store } = plane;
  if (plane.cursor === null) return;
  if (store.shape(plane.cursor)) {
    store.removeShape(plane.cursor);
    announce("Removed");
    return;
  }
  const at = store.indexOf(plane.cursor);
  store.remove(store.selection.size ? store.selection : [plane.cursor]);
  const next = store.points[Math.min(at, store.points.length - 1)];
  if (next) plane.setCursor(next.id);
  announce(`Removed; ${format.plural(store.points.length, "point")} left`);
}
