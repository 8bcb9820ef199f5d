// One drawing of the plane: grid, marks, tree, points. The number of SVG elements does not grow
// with the number of points: all dots of a kind are one path of zero-length strokes whose round
// caps are the dots.

import { put, setText, svg } from "./dom.js";
import * as format from "./format.js";
import {
  boundingBox, convexHull, distance, isInside, nearestOnSegment, relaysOnSegments, roundStep,
} from "./geometry.js";
import { MovingTree } from "./motion.js";

const LAYERS = [
  "grid", "ranges", "obstacles", "lines-rim", "lines", "draft", "under", "ghost", "tree", "over",
  "relays", "turns", "steiner-rim", "steiner", "terminal-rim", "terminal", "chosen", "hover",
];

export class Plane {
  /** What modes draw below and above the tree: lists of marks (see `#drawMark`). */
  #under = [];
  #over = [];
  #ghost = [];
  #maxEdge = null;
  #ranges = null;
  #draft = [];
  #hovered = null;
  #cursor = null;
  #frame = 0;
  #last = 0;
  #places = new Map();
  #box = boundingBox([]);

  constructor(root, store, viewport) {
    this.root = root;
    this.store = store;
    this.viewport = viewport;
    this.moving = new MovingTree();
    this.layers = {};
    for (const name of LAYERS) {
      const tag = name === "under" || name === "over" ? "g" : "path";
      this.layers[name] = svg(tag, { class: `layer-${name}` });
    }
    this.marquee = svg("rect", { class: "marquee", visibility: "hidden" });
    // One focusable ring stands for the point that the keyboard works on.
    this.ring = svg("circle", { class: "cursor", r: 11, tabindex: 0, role: "img" });
    const label = svg("text", { "text-anchor": "end" });
    this.scaleBar = svg("g", { class: "scale" }, svg("path"), label);
    root.replaceChildren(...Object.values(this.layers), this.scaleBar, this.marquee, this.ring);
    viewport.addEventListener("change", () => this.redraw());
    store.addEventListener("points", () => this.#pointsChanged());
    store.addEventListener("selection", () => this.redraw());
  }

  /** Show a tree {ids, steiner, edges}, or none. */
  setTree(tree) {
    this.moving.set(tree, this.place);
    this.redraw();
  }

  /** Put relays on the drawn edges so that no piece is longer than this, or none. */
  setMaxEdge(limit) {
    this.#maxEdge = limit;
    this.redraw();
  }

  /** Draw the range of every relay of a network {relays, radius}, or of none. */
  setRanges(network) {
    this.#ranges = network;
    this.redraw();
  }

  /** Places of a shape that is being drawn. */
  setDraft(places) {
    this.#draft = places;
    this.redraw();
  }

  /** The line within `reach` of a pixel or the obstacle around it, the last drawn first, or null. */
  shapeAt(pixel, reach) {
    const here = this.viewport.toWorld(pixel);
    const onto = ({ kind, places }) =>
      kind === "obstacle"
        ? isInside(here, places)
        : places.slice(1).some((end, i) => {
            const foot = nearestOnSegment(here, places[i], end);
            return distance(foot, here) * this.viewport.scale < reach;
          });
    return this.#shapes.findLast(onto) ?? null;
  }

  /** The shapes on the screen: only one mode knows of them. */
  get #shapes() {
    return this.store.settings.mode === "explore" ? this.store.shapes : [];
  }

  setMarks({ under = [], over = [], ghost = [] } = {}) {
    this.#under = under;
    this.#over = over;
    this.#ghost = ghost;
    this.redraw();
  }

  /** The present position of a terminal by id, or undefined once it is gone. */
  place = (id) => this.#places.get(id);

  get cursor() {
    return this.#cursor;
  }

  /** Where the keyboard is: its point or the first place of its shape, or the middle of the plane. */
  get cursorPlace() {
    const shape = this.store.shape(this.#cursor);
    return this.place(this.#cursor) ?? shape?.places[0] ?? this.viewport.centre;
  }

  /** Ids of all that the keyboard can reach, in turn. */
  get stops() {
    return [...this.store.points, ...this.#shapes].map(({ id }) => id);
  }

  setCursor(id) {
    this.#cursor = id;
    this.redraw();
  }

  setHover(id) {
    if (id === this.#hovered) return;
    this.#hovered = id;
    this.redraw();
  }

  setMarquee(from, to) {
    if (!from) {
      this.marquee.setAttribute("visibility", "hidden");
      return;
    }
    this.marquee.setAttribute("visibility", "visible");
    this.marquee.setAttribute("x", Math.min(from[0], to[0]));
    this.marquee.setAttribute("y", Math.min(from[1], to[1]));
    this.marquee.setAttribute("width", Math.abs(from[0] - to[0]));
    this.marquee.setAttribute("height", Math.abs(from[1] - to[1]));
  }

  /** Id of the point within `reach` pixels of a pixel, nearest first, or null. */
  hit(pixel, reach) {
    let best = null;
    let least = reach;
    for (const { id, x, y } of this.store.points) {
      const [px, py] = this.viewport.toScreen([x, y]);
      const d = Math.hypot(px - pixel[0], py - pixel[1]);
      if (d < least) [best, least] = [id, d];
    }
    return best;
  }

  #pointsChanged() {
    this.#places = new Map(this.store.points.map(({ id, x, y }) => [id, [x, y]]));
    this.#box = boundingBox([...this.#places.values()]);
    if (!this.stops.includes(this.#cursor)) this.#cursor = this.stops[0] ?? null;
    if (!this.#places.has(this.#hovered)) this.#hovered = null;
    // Other points altogether (a sample, a file): nothing of the tree before belongs to them.
    if (!this.moving.tree?.ids.some(this.place)) this.moving.set(null, this.place);
    this.redraw();
  }

  redraw() {
    if (!this.#frame) this.#frame = requestAnimationFrame((now) => this.#draw(now));
  }

  #draw(now) {
    this.#frame = 0;
    if (!this.root.clientWidth) return;
    const elapsed = Math.min(50, now - this.#last);
    this.#last = now;
    const moves = this.moving.advance(elapsed, 0.2 / this.viewport.scale);
    const size = this.#dotSize();
    const { layers } = this;
    this.#drawGrid();
    this.#drawShapes();
    this.#drawMarks(layers.under, this.#under);
    this.#drawMarks(layers.over, this.#over);
    put(layers.ghost, "d", this.#lines(this.#ghost));
    const segments = this.moving.segments(this.place);
    put(layers.tree, "d", this.#lines(segments));
    put(layers.tree, "stroke-width", Math.min(2.5, Math.max(0.7, 0.6 * size)));
    const relays = this.#maxEdge ? relaysOnSegments(segments, this.#maxEdge) : [];
    this.#dots("relays", relays, 1.2 * size);
    // A rim of the background sets dots off from edges, where there is room for one.
    const rim = Math.min(3, 0.55 * size);
    const { steiner, turns } = this.moving.kinds;
    this.#dots("turns", turns, size);
    this.#dots("steiner-rim", steiner, 1.35 * size + 0.7 * rim);
    this.#dots("steiner", steiner, 1.35 * size);
    const all = [...this.#places.values()];
    const chosen = [...this.store.selection].map(this.place).filter(Boolean);
    this.#dots("terminal-rim", all, 2 * size + rim);
    this.#dots("terminal", all, 2 * size);
    this.#dots("chosen", chosen, 2 * size + 1);
    this.#dots("hover", this.#hovered === null ? [] : [this.place(this.#hovered)], 2 * size + 9);
    this.#drawRing();
    if (moves) this.redraw();
  }

  /** Radius of a terminal: what fits the mean distance of so many points, within reason. */
  #dotSize() {
    const { x0, y0, x1, y1 } = this.#box;
    const n = Math.max(1, this.#places.size);
    const spread = Math.max(Math.sqrt(((x1 - x0) * (y1 - y0)) / n), Math.max(x1 - x0, y1 - y0) / n);
    return n < 2 ? 5.5 : Math.min(5.5, Math.max(0.8, 0.1 * spread * this.viewport.scale));
  }

  #dots(name, points, diameter) {
    put(this.layers[name], "d", this.#dotPath(points));
    put(this.layers[name], "stroke-width", diameter);
  }

  #dotPath(points) {
    let path = "";
    for (const point of points) {
      const [x, y] = this.viewport.toScreen(point);
      path += `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
    }
    return path;
  }

  #lines(segments) {
    let path = "";
    for (const [a, b] of segments) {
      const [x, y] = this.viewport.toScreen(a);
      const [u, v] = this.viewport.toScreen(b);
      path += `M${x.toFixed(1)} ${y.toFixed(1)}L${u.toFixed(1)} ${v.toFixed(1)}`;
    }
    return path;
  }

  #drawShapes() {
    const path = (wanted, end) =>
      this.#shapes
        .filter(({ kind }) => kind === wanted)
        .map(({ places }) => this.#chain(places) + end)
        .join("");
    put(this.layers.obstacles, "d", path("obstacle", "Z"));
    for (const name of ["lines-rim", "lines"]) put(this.layers[name], "d", path("line", ""));
    put(this.layers.draft, "d", this.#draft.length ? this.#chain(this.#draft) : "");
    const { relays = [], radius = 0 } = this.#ranges ?? {};
    const r = (radius * this.viewport.scale).toFixed(1);
    const circle = (place) => {
      const [x, y] = this.viewport.toScreen(place);
      return `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
    };
    put(this.layers.ranges, "d", relays.map(circle).join(""));
  }

  #chain(places) {
    const pixels = places.map((place) => this.viewport.toScreen(place));
    return `M${pixels.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;
  }

  #drawMarks(group, marks) {
    while (group.childElementCount > marks.length) group.lastElementChild.remove();
    while (group.childElementCount < marks.length) group.append(svg("path"));
    marks.forEach((mark, i) => this.#drawMark(group.children[i], mark));
  }

  /** A mark is {dots | lines | hull, class, width?, opacity?, colour?}, in world coordinates. */
  #drawMark(node, mark) {
    put(node, "class", `mark ${mark.class}`);
    if (mark.dots) put(node, "d", this.#dotPath(mark.dots));
    else if (mark.lines) put(node, "d", this.#lines(mark.lines));
    else put(node, "d", this.#hullPath(mark.hull));
    for (const [name, value] of [
      ["stroke-width", mark.width], ["opacity", mark.opacity], ["stroke", mark.colour],
    ]) {
      if (value === undefined) node.removeAttribute(name);
      else put(node, name, value);
    }
  }

  #hullPath(points) {
    const hull = convexHull(points).map((point) => this.viewport.toScreen(point));
    return `M${hull.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}Z`;
  }

  #drawGrid() {
    const { width, height, scale } = this.viewport;
    const step = roundStep(130 / scale);
    const [x0, y1] = this.viewport.toWorld([0, 0]);
    const [x1, y0] = this.viewport.toWorld([width, height]);
    let path = "";
    for (let i = Math.ceil(x0 / step); i * step <= x1; i++) {
      path += `M${this.viewport.toScreen([i * step, 0])[0].toFixed(1)} 0V${height}`;
    }
    for (let i = Math.ceil(y0 / step); i * step <= y1; i++) {
      path += `M0 ${this.viewport.toScreen([0, i * step])[1].toFixed(1)}H${width}`;
    }
    put(this.layers.grid, "d", path);
    const [bar, text] = this.scaleBar.children;
    const long = step * scale;
    put(bar, "d", `M${width - 16 - long} ${height - 20}v6h${long}v-6`);
    put(text, "x", width - 16);
    put(text, "y", height - 24);
    setText(text, format.coordinate(step));
  }

  #drawRing() {
    const at = this.cursorPlace;
    const [x, y] = this.viewport.toScreen(at);
    put(this.ring, "cx", x.toFixed(1));
    put(this.ring, "cy", y.toFixed(1));
    put(this.ring, "aria-label", this.cursorLabel);
  }

  /** What the keyboard is at, in words. */
  get cursorLabel() {
    const { points, shapes } = this.store;
    const shape = this.store.shape(this.#cursor);
    const [x, y] = this.cursorPlace.map(format.coordinate);
    if (shape) {
      const alike = shapes.filter(({ kind }) => kind === shape.kind);
      const name = shape.kind === "obstacle" ? "Obstacle" : "Existing line";
      return `${name} ${alike.indexOf(shape) + 1} of ${alike.length}, from x ${x}, y ${y}`;
    }
    if (!points.length) return "No points yet; press A to add one";
    return `Point ${this.store.indexOf(this.#cursor) + 1} of ${points.length}, x ${x}, y ${y}`;
  }
}
