// Pointer, touch and wheel on a plane: they become edits of the store and moves of the viewport.

import { Drawing } from "./drawing.js";

const CLICK_SLOP = 4;
const REACH = { mouse: 11, pen: 14, touch: 24 };

/** Attach all gestures to a plane. `tools.select` makes touch drags frame points, `tools.draw` is
 * the kind of shape that clicks draw, or null. */
export function attachGestures(plane, tools) {
  return new Gestures(plane, tools);
}

const reachOf = (event) => REACH[event.pointerType] ?? REACH.mouse;

class Gestures {
  #pointers = new Map();
  #gesture = null;
  constructor(plane, tools) {
    this.plane = plane;
    this.store = plane.store;
    this.viewport = plane.viewport;
    this.tools = tools;
    this.drawing = new Drawing(plane);
    const { root } = plane;
    root.addEventListener("pointerdown", (event) => this.#down(event));
    root.addEventListener("pointermove", (event) => this.#move(event));
    root.addEventListener("pointerup", (event) => this.#up(event));
    root.addEventListener("pointercancel", (event) => this.#cancel(event));
    root.addEventListener("pointerleave", () => plane.setHover(null));
    root.addEventListener("contextmenu", (event) => this.#context(event));
    root.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  #pixel(event) {
    const box = this.plane.root.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #hit(event) {
    return this.plane.hit(this.#pixel(event), reachOf(event));
  }

  #down(event) {
    const pixel = this.#pixel(event);
    this.plane.root.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, pixel);
    if (this.#pointers.size === 2) {
      this.#abandon();
      this.#gesture = { kind: "pinch" };
      return;
    }
    if (event.button === 2 || this.#gesture) return;
    this.#gesture = this.#begin(event, pixel);
  }

  #begin(event, pixel) {
    const add = event.shiftKey || event.ctrlKey || event.metaKey;
    const base = { start: pixel, moved: false, add };
    if (event.button === 1 || this.tools.space) return { ...base, kind: "pan" };
    const id = this.#hit(event);
    if (id !== null) {
      this.plane.setCursor(id);
      return { ...base, kind: "drag", id };
    }
    if (this.tools.draw) return { ...base, kind: "corner" };
    const held = add ? null : this.plane.shapeAt(pixel, reachOf(event));
    if (held) {
      this.plane.setCursor(held.id);
      return { ...base, kind: "shape", held };
    }
    const frames = event.pointerType !== "touch" || this.tools.select;
    return { ...base, kind: frames ? "marquee" : "pan", mayAdd: true };
  }

  #move(event) {
    const pixel = this.#pixel(event);
    if (!this.#pointers.has(event.pointerId)) {
      if (event.pointerType === "mouse") this.plane.setHover(this.#hit(event));
      return;
    }
    const gesture = this.#gesture;
    if (gesture?.kind === "pinch") this.#pinch(event.pointerId, pixel);
    const before = this.#pointers.get(event.pointerId);
    this.#pointers.set(event.pointerId, pixel);
    if (!gesture || gesture.kind === "pinch") return;
    const far = Math.hypot(pixel[0] - gesture.start[0], pixel[1] - gesture.start[1]);
    if (!gesture.moved && far < CLICK_SLOP * (event.pointerType === "touch" ? 2 : 1)) return;
    if (!gesture.moved) {
      gesture.moved = true;
      if (gesture.kind === "drag") this.#grab(gesture);
    }
    if (gesture.kind === "drag") this.#drag(gesture, pixel);
    else if (gesture.kind === "corner") return;
    else if (gesture.kind === "shape") this.#push(gesture, pixel);
    else if (gesture.kind === "pan") this.viewport.pan(pixel[0] - before[0], pixel[1] - before[1]);
    else this.plane.setMarquee(gesture.start, pixel);
  }

  /** What a drag moves: the selection if the grabbed point is in it, else that point alone. */
  #grab(gesture) {
    const { store } = this;
    if (!store.selection.has(gesture.id)) {
      store.select(gesture.add ? [...store.selection, gesture.id] : []);
    }
    const ids = store.selection.has(gesture.id) ? [...store.selection] : [gesture.id];
    gesture.origins = new Map(ids.map((id) => [id, this.viewport.toScreen(this.plane.place(id))]));
    this.plane.root.classList.add("dragging");
  }

  #drag(gesture, pixel) {
    const dx = pixel[0] - gesture.start[0];
    const dy = pixel[1] - gesture.start[1];
    const targets = new Map();
    for (const [id, [x, y]] of gesture.origins) {
      targets.set(id, this.viewport.toWorldRounded([x + dx, y + dy]));
    }
    this.store.moveLive(targets);
  }

  /** Move a shape with the pointer. */
  #push({ held, start }, pixel) {
    const by = [pixel[0] - start[0], pixel[1] - start[1]];
    this.store.moveShapeLive(held.id, this.viewport.shifted(held.places, by));
  }

  #pinch(id, pixel) {
    const before = this.#pointers.get(id);
    const other = [...this.#pointers].find(([key]) => key !== id)?.[1];
    if (!before || !other) return;
    const span = (a, b) => Math.max(8, Math.hypot(a[0] - b[0], a[1] - b[1]));
    // Each finger moves the middle by half of its own step.
    this.viewport.pan((pixel[0] - before[0]) / 2, (pixel[1] - before[1]) / 2);
    const middle = [(pixel[0] + other[0]) / 2, (pixel[1] + other[1]) / 2];
    this.viewport.zoom(span(pixel, other) / span(before, other), middle);
  }

  #up(event) {
    const pixel = this.#pixel(event);
    this.#pointers.delete(event.pointerId);
    const gesture = this.#gesture;
    if (!gesture) return;
    if (gesture.kind === "pinch") {
      if (!this.#pointers.size) this.#gesture = null;
      return;
    }
    this.#gesture = null;
    this.plane.root.classList.remove("dragging");
    this.plane.setMarquee(null);
    if (gesture.moved) this.#finish(gesture, pixel);
    else if (event.button !== 2) this.#click(gesture, pixel);
  }

  #finish(gesture, pixel) {
    if (gesture.kind === "drag" || gesture.kind === "shape") this.store.settle();
    if (gesture.kind === "corner") this.#click(gesture, gesture.start);
    if (gesture.kind !== "marquee") return;
    const [x0, x1] = [gesture.start[0], pixel[0]].sort((a, b) => a - b);
    const [y0, y1] = [gesture.start[1], pixel[1]].sort((a, b) => a - b);
    const inside = this.store.points.filter((point) => {
      const [x, y] = this.viewport.toScreen([point.x, point.y]);
      return x >= x0 && x <= x1 && y >= y0 && y <= y1;
    });
    const ids = inside.map(({ id }) => id);
    this.store.select(gesture.add ? [...this.store.selection, ...ids] : ids);
  }

  #click(gesture, pixel) {
    const { store } = this;
    if (gesture.kind === "corner") {
      this.drawing.corner(this.tools.draw, pixel);
    } else if (gesture.kind === "drag") {
      const chosen = new Set(gesture.add ? store.selection : []);
      if (gesture.add && chosen.has(gesture.id)) chosen.delete(gesture.id);
      else chosen.add(gesture.id);
      store.select(chosen);
    } else if (gesture.mayAdd && store.selection.size > 1) {
      store.select([]); // a click beside a group lets it go; it would be a pity to add a point
    } else if (gesture.mayAdd) {
      store.select([]);
      this.plane.setCursor(store.add(...this.viewport.toWorldRounded(pixel)));
    }
  }

  #context(event) {
    event.preventDefault();
    const id = this.#hit(event);
    this.#abandon(); // a long press arrives while the finger is still down
    const { store } = this;
    const held = id === null ? this.plane.shapeAt(this.#pixel(event), reachOf(event)) : null;
    if (held) store.removeShape(held.id);
    if (id === null) return;
    store.remove(store.selection.has(id) ? store.selection : [id]);
  }

  #cancel(event) {
    this.#pointers.delete(event.pointerId);
    this.#abandon();
  }

  /** Drop the gesture; a drag that already moved points stays as it is, as one edit. */
  #abandon() {
    const gesture = this.#gesture;
    this.#gesture = null;
    this.plane.setMarquee(null);
    this.plane.root.classList.remove("dragging");
    const moves = gesture?.kind === "drag" || gesture?.kind === "obstacle";
    if (moves && gesture.moved) this.store.settle();
  }

  #wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 18 : 1;
    // A pinch on a touchpad arrives as a wheel with ctrlKey and small steps.
    const speed = event.ctrlKey ? 0.01 : 0.0016;
    this.viewport.zoom(Math.exp(-event.deltaY * lines * speed), this.#pixel(event));
  }
}
