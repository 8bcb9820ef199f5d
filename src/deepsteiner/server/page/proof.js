// How the proof works: full Steiner trees, linear programmes with ever more cuts, the tree.

import { $, setText } from "./dom.js";
import * as format from "./format.js";
import { Lesson } from "./lesson.js";

// More sets than this on one picture are a fog.
const MOST_SETS = 10;

export class Proof extends Lesson {
  method = "exact";
  mostPoints = 120;

  async frames({ trace, solution }) {
    this.trees = trace.fsts.map((tree) => this.#segments(tree));
    this.rounds = trace.rounds;
    this.solution = solution;
    this.#measure();
    const frames = [{ kind: "points" }, { kind: "trees" }];
    this.rounds.forEach((round, index) => frames.push({ kind: "round", round, index }));
    frames.push({ kind: "tree" });
    return frames;
  }

  #segments({ terminals, steiner_points: steiner, edges }) {
    const nodes = [...terminals.map((t) => this.points[t]), ...steiner];
    return edges.map(([a, b]) => [nodes[a], nodes[b]]);
  }

  /** What is proven after each round: the best bound and the best tree so far. */
  #measure() {
    let bound = 0;
    let best = Infinity;
    this.bounds = [];
    this.bests = [];
    for (const { value, length, node } of this.rounds) {
      // Below the root a programme bounds its own branch only.
      if (node === 0 && value !== null) bound = Math.max(bound, value);
      if (length !== null) best = Math.min(best, length);
      this.bounds.push(bound);
      this.bests.push(best);
    }
  }

  draw(frame) {
    const count = $("#frame-count").textContent;
    const done = frame.kind === "tree";
    const { steiner_points: steiner, edges } = this.solution;
    this.plane.setTree(done ? { ids: this.ids, steiner, edges } : null);
    if (frame.kind === "points") this.#drawPoints(count);
    else if (frame.kind === "trees") this.#drawTrees(count);
    else if (frame.kind === "round") this.#drawRound(frame, count);
    else this.#drawTree(count);
    this.#facts(frame);
    this.#chart(frame.kind === "round" ? frame.index : done ? this.rounds.length - 1 : -1);
  }

  #drawPoints(count) {
    this.plane.setMarks();
    const words =
      "A shortest tree falls apart at its terminals into full Steiner trees: which could occur?";
    this.caption(format.plural(this.points.length, "terminal"), count, words);
  }

  #drawTrees(count) {
    const lines = this.trees.flat();
    this.plane.setMarks({ under: [{ lines, class: "fst", opacity: 0.45, width: 1.1 }] });
    const words = "Geometry shows a shorter way around every other one: no shortest tree holds it.";
    this.caption(`${format.plural(this.trees.length, "full Steiner tree")} survive`, count, words);
  }

  #faintTrees() {
    return { lines: this.trees.flat(), class: "fst", opacity: 0.13, width: 1 };
  }

  #drawRound({ round, index }, count) {
    const weights = new Map();
    for (const [tree, weight] of round.x) {
      const key = Math.max(0.05, Math.round(weight * 20) / 20);
      if (!weights.has(key)) weights.set(key, []);
      weights.get(key).push(...this.trees[tree]);
    }
    const under = [this.#faintTrees()];
    for (const [weight, lines] of [...weights].sort((a, b) => a[0] - b[0])) {
      const kind = weight < 1 ? "fst split" : "fst";
      under.push({ lines, class: kind, opacity: 0.3 + 0.7 * weight, width: 1 + 2.4 * weight });
    }
    const sets = [...round.violated].sort((a, b) => a.length - b.length).slice(0, MOST_SETS);
    const hulls = sets.map((set) => ({ hull: set.map((t) => this.points[t]), class: "violated" }));
    const members = [...new Set(sets.flat())].map((t) => this.points[t]);
    // A hull may cover terminals that are not in the set; a ring tells who is.
    const rings = { dots: members, class: "violated-member" };
    this.plane.setMarks({ under: [...hulls.reverse(), ...under, rings] });
    this.caption(`Linear programme ${index + 1}`, count, this.#roundText(round));
  }

  #roundText({ value, violated: sets, x, node }) {
    const split = x.filter(([, weight]) => weight < 1 - 1e-6).length;
    const halves = split ? ` ${format.plural(split, "tree")} taken in part.` : "";
    const branch = node > 0 ? ` Branch ${node}.` : "";
    const bound = `No tree is shorter than ${format.length(value)}.${branch}${halves}`;
    if (!sets.length) return `${bound} Nothing is violated.`;
    const who = sets.length === 1 ? "The marked set" : `Each of ${sets.length} marked sets`;
    return `${bound} ${who} holds more weight than a tree could: forbid that.`;
  }

  #drawTree(count) {
    this.plane.setMarks({ under: [this.#faintTrees()] });
    const { status, length } = this.solution;
    const words =
      status === "optimal"
        ? "Bound and tree meet: no shorter tree exists."
        : "The limits ended the proof before bound and tree met.";
    this.caption(`Length ${format.length(length)}`, count, words);
  }

  #facts(frame) {
    const done = frame.kind === "tree";
    const at = frame.index ?? -1;
    const bound = done ? this.solution.lower_bound : (this.bounds[at] ?? null);
    const best = done ? this.solution.length : (this.bests[at] ?? null);
    setText($("#proof-fsts"), frame.kind === "points" ? "–" : format.count(this.trees.length));
    setText($("#proof-bound"), format.length(bound));
    setText($("#proof-best"), format.length(best));
    setText($("#proof-gap"), bound ? format.percent(Math.max(0, best / bound - 1)) : "–");
  }

  #chart(at) {
    const n = this.rounds.length;
    if (!n) return;
    const bounds = this.bounds.map((value, i) => [i + 1, value]);
    const found = this.bests.map((value, i) => [i + 1, value]);
    const bests = found.filter(([, value]) => Number.isFinite(value));
    const values = [...bounds, ...bests].map(([, value]) => value).filter((value) => value > 0);
    const low = Math.min(...values);
    const high = Math.max(...values);
    const pad = 0.1 * (high - low) || 0.01 * high;
    const series = [
      { points: bests, class: "line-tree", dots: "all", label: "tree" },
      { points: bounds, class: "line-bound", dots: "all", label: "bound" },
    ];
    if (at >= 0) series.push({ points: [bounds[at]], class: "line-now", dots: "last" });
    this.chart.set({
      right: 54,
      x: { min: 1, max: Math.max(2, n), whole: true, format: String },
      y: { min: low - pad, max: high + pad, format: (v) => v.toPrecision(4) },
      series,
    });
  }
}
