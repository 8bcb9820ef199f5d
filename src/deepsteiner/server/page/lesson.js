// What "step through" and "proof" share: ask for a trace, play its frames in the dock.

import * as api from "./api.js";
import { $, announce, setText, toast } from "./dom.js";
import { spanningTree } from "./geometry.js";

// Points keep changing while someone drags; a trace is worth asking for when they rest.
const REST_MS = 250;

/** Subclasses give `method`, `mostPoints`, `frames(answer)` and `draw(frame, index)`. */
export class Lesson {
  #timer = 0;
  #control = null;
  #active = false;

  constructor({ store, planes, player, chart }) {
    this.store = store;
    this.plane = planes[0];
    this.player = player;
    this.chart = chart;
    store.addEventListener("points", (event) => this.#active && this.#moved(event.detail.live));
  }

  enter() {
    this.#active = true;
    $("#dock").hidden = false;
    this.#load();
  }

  leave() {
    this.#active = false;
    clearTimeout(this.#timer);
    this.#control?.abort();
    this.player.unload();
    this.#wipe();
    $("#dock").hidden = true;
  }

  changed() {
    this.#load();
  }

  #moved(live) {
    this.player.unload();
    this.#control?.abort();
    this.#wipe();
    const { points } = this.store;
    if (points.length <= this.mostPoints) {
      const edges = spanningTree(points.map(({ x, y }) => [x, y]));
      this.plane.setTree({ ids: points.map(({ id }) => id), steiner: [], edges });
    }
    this.caption("Let go to play it again", "", "Meanwhile, this is the spanning tree.");
    clearTimeout(this.#timer);
    if (!live) this.#timer = setTimeout(() => this.#load(), REST_MS);
  }

  #wipe() {
    this.plane.setTree(null);
    this.plane.setMarks();
    this.chart.clear();
  }

  async #load() {
    this.#control?.abort();
    const control = (this.#control = new AbortController());
    // Repeated points add nothing to a lesson, and indices in traces are those of distinct ones.
    const distinct = new Map(this.store.points.map((point) => [`${point.x} ${point.y}`, point]));
    const points = [...distinct.values()];
    this.#wipe();
    if (points.length < 3 || points.length > this.mostPoints) {
      const wanted = `between 3 and ${this.mostPoints} points`;
      this.caption("Nothing to play", "", `This needs ${wanted}; there are ${points.length}.`);
      return;
    }
    this.caption("Solving…", "", "");
    this.points = points.map(({ x, y }) => [x, y]);
    this.ids = points.map(({ id }) => id);
    try {
      const answer = await api.trace({ points: this.points, method: this.method }, control.signal);
      if (control.signal.aborted) return;
      const frames = await this.frames(answer);
      if (control.signal.aborted) return;
      this.player.load(frames.length, (index) => {
        setText($("#frame-count"), `${index + 1} / ${frames.length}`);
        this.draw(frames[index], index);
        // Read out what someone stepped to; a film would talk without end.
        if (this.player.playing) return;
        announce(`${$("#frame-title").textContent}. ${$("#frame-text").textContent}`);
      });
    } catch (error) {
      if (error.name === "AbortError") return;
      this.caption("This did not work", "", error.message);
      toast(error.message, "error");
    }
  }

  caption(title, count, text) {
    setText($("#frame-title"), title);
    setText($("#frame-count"), count);
    setText($("#frame-text"), text);
  }
}
