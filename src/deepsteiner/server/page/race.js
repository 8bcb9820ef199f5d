// Race: gap versus time of several methods on the same points.

import * as api from "./api.js";
import { Chart } from "./chart.js";
import { $, $$, element, setText, svg, toast } from "./dom.js";
import * as format from "./format.js";
import { learn, optimumOf } from "./optimum.js";
import { statusText } from "./status.js";

// Okabe and Ito's colours, told apart with every kind of colour vision; dashes for the rest.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];
const DASHES = [undefined, "6 4", "2 3"];
const DEFAULT = ["exact", "local", "greedy", "smith", "thompson", "mst"];
const LEFT_OUT = ["auto", "rand1"];
// Who gets a colour of its own first.
const ORDER = ["exact", "local", "greedy", "policy", "neural", "smith", "thompson", "mst"];

// Gaps run over decades; the foot of the chart stands for "no gap".
const FOOT = 1e-6;
const FLOOR_TIME = 1e-4;
const LIMIT = 20;

export class Race {
  #stream = null;
  #running = false;
  #runs = [];

  constructor({ store, planes, catalogue }) {
    this.store = store;
    this.plane = planes[0];
    this.catalogue = catalogue;
    this.chart = new Chart($("#race-chart"), "Gap by time, one line a method");
    $("#race-start").addEventListener("click", () => (this.#running ? this.#stop() : this.#run()));
    store.addEventListener("points", () => store.settings.mode === "race" && this.#reset());
    this.#offerMethods();
  }

  #offerMethods() {
    const rank = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
    const names = this.catalogue.names().filter((name) => !LEFT_OUT.includes(name));
    names.sort((a, b) => rank(a) - rank(b));
    this.styles = new Map(
      names.map((name, i) => [name, { colour: COLOURS[i % 7], dash: DASHES[Math.floor(i / 7)] }]),
    );
    $("#race-methods").append(
      ...names.map((name) => {
        const chosen = DEFAULT.includes(name);
        const box = element("input", { type: "checkbox", value: name, checked: chosen });
        return element("label", {}, box, name);
      }),
    );
  }

  enter() {
    $("#pane-race").hidden = false;
    this.#reset();
  }

  leave() {
    this.#stop();
    this.plane.setTree(null);
    $("#pane-race").hidden = true;
  }

  changed() {}

  #reset() {
    this.#stop();
    this.#runs = [];
    this.plane.setTree(null);
    this.#draw();
  }

  #stop() {
    this.#running = false;
    this.#stream?.abort();
    this.#label();
  }

  #label() {
    setText($("#race-start"), this.#running ? "Stop" : "Start the race");
  }

  async #run() {
    const chosen = $$("#race-methods input:checked").map((box) => box.value);
    if (!chosen.length || this.store.points.length < 2) {
      toast("A race needs at least one method and two points.");
      return;
    }
    this.#running = true;
    this.#label();
    const fresh = { marks: [], solution: null, error: null, state: "waiting" };
    const runs = chosen.map((method) => ({ ...fresh, method }));
    this.#runs = runs;
    this.points = this.store.points;
    for (const run of runs) {
      if (!this.#racing(runs)) return;
      run.state = "warming up";
      this.#draw();
      await warmUp(run.method);
      if (this.#racing(runs)) await this.#runOne(run);
    }
    if (this.#runs === runs) this.#stop();
  }

  /** A race that was stopped may not go on once another has begun. */
  #racing(runs) {
    return this.#running && this.#runs === runs;
  }

  async #runOne(run) {
    run.state = "running";
    this.#draw();
    const job = { points: this.store.coordinates, method: run.method, time_limit: LIMIT };
    this.#stream = api.solveStream(job, ({ elapsed, length }) => {
      if (length === null || length === undefined) return;
      const before = run.marks.at(-1)?.[1] ?? Infinity;
      if (length < before) run.marks = [...run.marks, [elapsed, length]];
      this.#drawSoon();
    });
    try {
      const { solution } = await this.#stream.result;
      run.solution = solution;
      run.state = "done";
      // What was reported on the way may be a bound of the true length; the end is what counts.
      run.marks = run.marks.filter(([, length]) => length > solution.length);
      run.marks.push([solution.runtime, solution.length]);
      learn(this.points, solution);
      this.#showBest();
    } catch (error) {
      run.state = "stopped";
      if (error.name !== "AbortError") run.error = error.message;
    }
    this.#draw();
  }

  #best() {
    const lengths = this.#runs.flatMap((run) => run.marks.map(([, length]) => length));
    return optimumOf(this.points ?? []) ?? Math.min(...lengths);
  }

  /** Show the shortest tree of the race so far on the plane. */
  #showBest() {
    const done = this.#runs.filter((run) => run.solution);
    const { solution } = done.reduce((a, b) => (b.solution.length < a.solution.length ? b : a));
    const ids = this.points.map(({ id }) => id);
    this.plane.setTree({ ids, steiner: solution.steiner_points, edges: solution.edges });
  }

  #frame = 0;

  #drawSoon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    this.#drawTable();
    const best = this.#runs.length ? this.#best() : 1;
    const gap = (length) => Math.max(FOOT, length / best - 1);
    const series = this.#runs
      .filter((run) => run.marks.length)
      .map(({ method, marks }) => {
        const style = this.styles.get(method);
        return { ...style, points: staircase(marks, gap), dots: "last", label: method };
      });
    const times = series.flatMap(({ points }) => points.map(([time]) => time));
    const gaps = series.flatMap(({ points }) => points.map(([, value]) => value));
    this.chart.set({
      right: 74,
      x: { log: true, min: FLOOR_TIME, max: Math.max(1, ...times) * 1.5, format: timeTick },
      y: { log: true, min: FOOT, max: Math.max(0.1, ...gaps) * 1.5, format: gapTick },
      series,
    });
  }

  #drawTable() {
    const best = this.#runs.length ? this.#best() : null;
    const rows = this.#runs.map((run) => {
      const { colour, dash } = this.styles.get(run.method);
      const { solution } = run;
      const now = solution?.length ?? run.marks.at(-1)?.[1];
      const status = run.error ?? (solution ? statusText(solution.status) : run.state);
      const name = element("th", { scope: "row" }, key(colour, dash), run.method);
      const cells = [
        format.length(now),
        now ? format.percent(Math.max(0, now / best - 1)) : "–",
        format.seconds(solution?.runtime ?? run.marks.at(-1)?.[0]),
        status,
      ];
      const data = cells.map((text) => element("td", {}, text));
      return element("tr", { "data-state": run.state }, name, ...data);
    });
    $("#race-table tbody").replaceChildren(...rows);
  }
}

/** Loading and compiling are not part of a race: two workers solve something small first. */
function warmUp(method) {
  const job = { points: [[0, 0], [4, 1], [5, 4], [1, 5], [2, 2], [3, 7]], method };
  return Promise.allSettled([api.solve(job), api.solve(job)]);
}

/** A gap stays what it was until the next improvement. */
function staircase(marks, gap) {
  const points = [];
  for (const [time, length] of marks) {
    const at = Math.max(FLOOR_TIME, time);
    if (points.length) points.push([at, points.at(-1)[1]]);
    points.push([at, gap(length)]);
  }
  return points;
}

const timeTick = (seconds) => (seconds < 1 ? `${1000 * seconds} ms` : `${seconds} s`);

function gapTick(value) {
  if (value <= FOOT * 1.01) return "none";
  return `${Number((100 * value).toPrecision(1))} %`;
}

function key(colour, dash) {
  const line = svg("path", { d: "M1 4H21", stroke: colour, "stroke-dasharray": dash });
  return svg("svg", { class: "key", viewBox: "0 0 22 8", "aria-hidden": "true" }, line);
}
