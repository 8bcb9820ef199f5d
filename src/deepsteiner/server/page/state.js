// The document: points with stable ids, the selection, undo and redo, and what is asked of whom.
//
// Arrays of points are never changed in place, so a history entry is just a reference.

import { aroundCentre } from "./geometry.js";

const HISTORY_LIMIT = 200;

/** Fires "points" (detail: {live}), "selection" and "settings". */
export class Store extends EventTarget {
  points = [];
  selection = new Set();
  /** What lies in the plane: {id, kind, places}; kind is "obstacle" (a polygon) or "line". */
  shapes = [];
  /** Where the points came from: {name, n, seed} of a sample, or null once they were edited. */
  origin = null;
  settings = { mode: "explore", method: "exact", other: "greedy", options: {}, maxEdge: null };

  #committed = [];
  #committedShapes = [];
  #undo = [];
  #redo = [];
  #nextId = 1;

  /** [[x, y], ...] as the server wants them. */
  get coordinates() {
    return this.points.map(({ x, y }) => [x, y]);
  }

  get canUndo() {
    return this.#undo.length > 0;
  }

  get canRedo() {
    return this.#redo.length > 0;
  }

  find(id) {
    return this.points.find((point) => point.id === id);
  }

  shape(id) {
    return this.shapes.find((one) => one.id === id);
  }

  /** The places [[x, y], ...] of all shapes of a kind. */
  outlines(kind) {
    return this.shapes.filter((one) => one.kind === kind).map(({ places }) => places);
  }

  indexOf(id) {
    return this.points.findIndex((point) => point.id === id);
  }

  /** Put other points in place of all (a sample, a file, a link). */
  replace(coordinates, origin = null) {
    this.selection = new Set();
    this.points = coordinates.map(([x, y]) => ({ id: this.#nextId++, x, y }));
    this.shapes = [];
    this.settle(origin);
    this.#fire("selection");
  }

  add(x, y) {
    const point = { id: this.#nextId++, x, y };
    this.points = [...this.points, point];
    this.settle();
    return point.id;
  }

  remove(ids) {
    const gone = new Set(ids);
    this.points = this.points.filter(({ id }) => !gone.has(id));
    this.selection = new Set([...this.selection].filter((id) => !gone.has(id)));
    this.settle();
    this.#fire("selection");
  }

  addShape(kind, places) {
    this.shapes = [...this.shapes, { id: this.#nextId++, kind, places }];
    this.settle();
  }

  removeShape(gone) {
    this.shapes = this.shapes.filter(({ id }) => id !== gone);
    this.settle();
  }

  /** Turn points, in the order of `ids`, into a shape, in one step of the history. */
  reshape(kind, ids) {
    const gone = new Set(ids);
    const taken = [...gone].map((id) => this.find(id)).map(({ x, y }) => [x, y]);
    const places = kind === "obstacle" ? aroundCentre(taken) : taken;
    this.points = this.points.filter(({ id }) => !gone.has(id));
    this.selection = new Set();
    this.addShape(kind, places);
    this.#fire("selection");
  }

  /** Put a shape elsewhere for now. A gesture ends with `settle`. */
  moveShapeLive(id, places) {
    this.shapes = this.shapes.map((one) => (one.id === id ? { ...one, places } : one));
    this.#fire("points", { live: true });
  }

  /** Move points for now: `targets` maps ids to [x, y]. A gesture ends with `settle`. */
  moveLive(targets) {
    this.points = this.points.map((point) => {
      const target = targets.get(point.id);
      return target ? { id: point.id, x: target[0], y: target[1] } : point;
    });
    this.#fire("points", { live: true });
  }

  /** End an edit: it becomes one step of the history. */
  settle(origin = null) {
    if (this.points !== this.#committed || this.shapes !== this.#committedShapes) {
      this.#undo.push(this.#entry());
      if (this.#undo.length > HISTORY_LIMIT) this.#undo.shift();
      this.#redo = [];
      this.#committed = this.points;
      this.#committedShapes = this.shapes;
      this.origin = origin;
    }
    this.#fire("points", { live: false });
  }

  /** The first points of a session are not an edit one could undo. */
  forgetHistory() {
    this.#undo = [];
    this.#redo = [];
    this.#fire("points", { live: false });
  }

  undo() {
    this.#travel(this.#undo, this.#redo);
  }

  redo() {
    this.#travel(this.#redo, this.#undo);
  }

  #entry() {
    return { points: this.#committed, shapes: this.#committedShapes, origin: this.origin };
  }

  #travel(from, to) {
    if (!from.length) return;
    const entry = from.pop();
    to.push(this.#entry());
    this.points = this.#committed = entry.points;
    this.shapes = this.#committedShapes = entry.shapes;
    this.origin = entry.origin;
    const left = new Set(this.points.map(({ id }) => id));
    this.selection = new Set([...this.selection].filter((id) => left.has(id)));
    this.#fire("points", { live: false });
    this.#fire("selection");
  }

  select(ids) {
    this.selection = new Set(ids);
    this.#fire("selection");
  }

  set(changes) {
    this.settings = { ...this.settings, ...changes };
    this.#fire("settings", { changes });
  }

  #fire(type, detail = {}) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
