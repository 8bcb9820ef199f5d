// Compare: two methods on the same points, side by side; both trees follow a drag.

import { $, setText } from "./dom.js";
import * as format from "./format.js";
import { LiveSolver, treeOf } from "./live.js";
import { findOptimum, gapOf, learn } from "./optimum.js";
import { statusText } from "./status.js";

const SIDES = [
  { key: "method", letter: "a" },
  { key: "other", letter: "b" },
];

function segmentsOf({ solution }) {
  if (!solution) return [];
  const nodes = [...solution.terminals, ...solution.steiner_points];
  return solution.edges.map(([a, b]) => [nodes[a], nodes[b]]);
}

export class Compare {
  constructor({ store, planes, strip, catalogue }) {
    this.store = store;
    this.planes = planes;
    this.results = [null, null];
    this.solvers = SIDES.map(
      ({ key }, side) =>
        new LiveSolver(store, {
          strip,
          method: () => store.settings[key],
          // Options belong to the method picked in Explore; the right side takes the defaults.
          settings: () => (key === "method" ? store.settings.options : {}),
          takesStart: (name) => catalogue.takesStart(name),
          onResult: (result) => this.#show(side, result),
          onError: (message) => this.#refuse(side, message),
        }),
    );
  }

  enter() {
    $("#pane-b").hidden = false;
    for (const solver of this.solvers) solver.start();
  }

  leave() {
    for (const solver of this.solvers) solver.stop();
    for (const plane of this.planes) {
      plane.setTree(null);
      plane.setMarks();
    }
    for (const { letter } of SIDES) setText($(`#caption-${letter}`), "");
    this.results = [null, null];
    $("#pane-b").hidden = true;
  }

  changed() {
    for (const solver of this.solvers) solver.request(false);
  }

  #show(side, result) {
    this.results[side] = result;
    this.planes[side].setTree(treeOf(result));
    // The other tree shows through, faintly: where they differ is what one came to see.
    this.planes[1 - side].setMarks({ ghost: segmentsOf(result) });
    learn(result.points, result.solution);
    this.#write(side);
    this.#verdict();
    if (result.live || !result.solution) return;
    findOptimum(result.points)
      .then(() => this.results.forEach((known, i) => known === result && this.#write(i)))
      .catch(() => {});
  }

  #refuse(side, message) {
    this.results[side] = null;
    this.planes[side].setTree(null);
    setText($(`#caption-${SIDES[side].letter}`), message);
    setText($("#versus-verdict"), "");
  }

  #write(side) {
    const { letter } = SIDES[side];
    const { solution, mstLength, points, method } = this.results[side];
    setText($(`#versus-${letter}`), method);
    const gap = gapOf(points, solution);
    const cells = {
      length: format.length(solution?.length),
      saving: solution && mstLength ? format.percent(1 - solution.length / mstLength) : "–",
      gap: format.percent(gap),
      steiner: solution ? format.count(solution.steiner_points.length) : "–",
      time: format.seconds(solution?.runtime),
      status: solution ? statusText(solution.status) : "–",
    };
    for (const [name, text] of Object.entries(cells)) setText($(`#v${letter}-${name}`), text);
    const excess = gap === null ? "" : gap > 0 ? `, ${format.percent(gap)} too long` : ", shortest";
    setText($(`#caption-${letter}`), `${method} · ${cells.length}${excess}`);
  }

  #verdict() {
    const [a, b] = this.results;
    if (!a?.solution || !b?.solution || a.points !== b.points) return;
    const difference = a.solution.length / b.solution.length - 1;
    let text = "Both trees have the same length.";
    if (Math.abs(difference) > 1e-9) {
      const shorter = difference < 0 ? a.method : b.method;
      text = `${shorter} is ${format.percent(Math.abs(difference))} shorter.`;
    }
    setText($("#versus-verdict"), text);
  }
}
