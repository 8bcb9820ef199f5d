// Step through: Algorithm 1 as the policy plays it, one added point after the other.

import { $, setText } from "./dom.js";
import * as format from "./format.js";
import { spanningTree, treeLength } from "./geometry.js";
import { Lesson } from "./lesson.js";
import { findOptimum } from "./optimum.js";

// Candidates are drawn in this many classes of probability, each one path.
const CLASSES = 8;
const LEAST = 1e-4;

/** Class of a probability, on a logarithmic scale: 0 is at most 1e-4, the last is likely. */
function heat(p) {
  const share = 1 - Math.log(Math.max(p, LEAST)) / Math.log(LEAST);
  return Math.min(CLASSES - 1, Math.floor(share * CLASSES));
}

export class Steps extends Lesson {
  method = "policy";
  mostPoints = 150;

  async frames({ trace, solution, mst_length: mstLength }) {
    const kept = trace.filter((step) => step.kept);
    this.mstLength = mstLength;
    this.lengths = [mstLength, ...kept.map((step) => step.length)];
    this.optimum = await findOptimum(this.store.points).catch(() => null);
    const frames = trace.map((step, i) => this.#stepFrame(step, i, kept));
    frames.push({ kind: "end", added: kept.map((step) => step.chosen), length: solution.length });
    this.#chart();
    return frames;
  }

  #stepFrame(step, i, kept) {
    return {
      kind: step.kept ? "step" : "stop",
      step,
      number: i + 1,
      added: kept.slice(0, i).map(({ chosen }) => chosen),
      before: i ? kept[Math.min(i, kept.length) - 1].length : this.mstLength,
    };
  }

  draw(frame, index) {
    const nodes = [...this.points, ...frame.added];
    this.plane.setTree({ ids: this.ids, steiner: frame.added, edges: spanningTree(nodes) });
    this.plane.setMarks({ over: frame.step ? this.#candidates(frame) : [] });
    this.#caption(frame);
    this.#facts(frame, treeLength(nodes, spanningTree(nodes)));
    this.#chart(Math.min(index, this.lengths.length - 1));
  }

  /** Candidates by class of probability, then the chosen one with a ring and its new edges. */
  #candidates({ step, added, kind }) {
    const classes = Array.from({ length: CLASSES }, () => []);
    step.candidates.forEach((point, i) => classes[heat(step.probabilities[i])].push(point));
    const marks = classes.map((dots, level) => ({ dots, class: `heat heat-${level}` }));
    const nodes = [...this.points, ...added, step.chosen];
    const last = nodes.length - 1;
    const lines = spanningTree(nodes)
      .filter(([a, b]) => a === last || b === last)
      .map(([a, b]) => [nodes[a], nodes[b]]);
    return [
      { lines, class: kind === "stop" ? "rejected-edge" : "new-edge" },
      ...marks,
      { dots: [step.chosen], class: kind === "stop" ? "pick-rim rejected" : "pick-rim" },
      { dots: [step.chosen], class: "pick" },
    ];
  }

  #caption(frame) {
    const count = $("#frame-count").textContent;
    if (frame.kind === "end") {
      const added = format.plural(frame.added.length, "added point");
      this.caption("The tree of the policy", count, `${added} and the spanning tree over all.`);
      return;
    }
    const { step, before } = frame;
    const p = Math.max(...step.probabilities).toFixed(2);
    const among = `${format.count(step.candidates.length)} candidates; the likeliest has p = ${p}.`;
    const lengths = `from ${format.length(before)} to ${format.length(step.length)}`;
    const end = frame.kind === "stop" ? ", which is no gain: stop here." : ".";
    const title = frame.kind === "stop" ? "No gain left" : `Add point ${frame.number}`;
    this.caption(title, count, `${among} The spanning tree goes ${lengths}${end}`);
  }

  #facts(frame, shown) {
    const length = frame.kind === "step" ? frame.step.length : shown;
    setText($("#step-mst"), format.length(this.mstLength));
    setText($("#step-length"), format.length(length));
    setText($("#step-optimum"), this.optimum === null ? "not known" : format.length(this.optimum));
    setText($("#step-gap"), this.optimum ? format.percent(length / this.optimum - 1) : "–");
  }

  #chart(at = 0) {
    const points = this.lengths.map((length, i) => [i, length]);
    const low = Math.min(this.optimum ?? Infinity, ...this.lengths);
    const pad = 0.08 * (this.mstLength - low) || 0.01 * this.mstLength;
    const last = Math.max(1, this.lengths.length - 1);
    const series = [{ points, class: "line-tree", dots: "all" }];
    if (this.optimum) {
      const points = [[0, this.optimum], [last, this.optimum]];
      series.unshift({ points, class: "line-bound", label: "optimum" });
    }
    series.push({ points: [points[at]], class: "line-now", dots: "last" });
    this.chart.set({
      right: 66,
      x: { min: 0, max: last, whole: true, format: String },
      y: { min: low - pad, max: this.mstLength + pad, format: (v) => v.toPrecision(4) },
      series,
    });
  }
}
