// Explore: one method, one tree that follows the points.

import { $, announce, setText } from "./dom.js";
import * as format from "./format.js";
import { boundingBox, relaysOn } from "./geometry.js";
import { LiveSolver, treeOf } from "./live.js";
import { findOptimum, gapOf, learn } from "./optimum.js";
import { showStatus } from "./status.js";

// The relay slider runs over this range, as shares of the diagonal of all points.
const SHORTEST = 1 / 150;
const LONGEST = 1 / 2;

export class Explore {
  result = null;
  /** Times of the latest live answers, for the rate; and how many there were in all. */
  #beats = [];
  updates = 0;

  constructor({ store, planes, strip, catalogue }) {
    this.store = store;
    this.plane = planes[0];
    this.solver = new LiveSolver(store, {
      strip,
      method: () => store.settings.method,
      settings: () => store.settings.options,
      takesStart: (name) => catalogue.takesStart(name),
      beside: () => this.#beside(),
      pace: () => this.#pace,
      onResult: (result) => this.#show(result),
      onError: (message) => this.#refuse(message),
      onSkip: () => this.#stale("moving"),
      onWait: () => this.#stale("solving"),
    });
    this.#wireRelays();
  }

  enter() {
    this.solver.start();
  }

  leave() {
    this.solver.stop();
    this.plane.setTree(null);
    this.plane.setMaxEdge(null);
    this.plane.setRanges(null);
  }

  /** What goes with the points: what lies there, and the radius where few relays are wanted. */
  #beside() {
    const { shapes, settings } = this.store;
    const asked = {};
    if (shapes.length) {
      asked.obstacles = this.store.outlines("obstacle");
      asked.existing = this.store.outlines("line");
    }
    return this.#few ? { ...asked, radius: settings.maxEdge } : asked;
  }

  /** Relays, and trees among shapes, take other times than the method on the open plane. */
  get #pace() {
    const { shapes, settings } = this.store;
    if (this.#few) return "relays";
    return shapes.length ? `${settings.method} among shapes` : settings.method;
  }

  get #few() {
    return Boolean(this.store.settings.maxEdge) && $("#relay-few").checked;
  }

  /** Another method or other options. */
  changed() {
    this.solver.request(false);
  }

  /** What the card says belongs to other points by now. */
  #stale(status) {
    showStatus($("#status"), status);
    $("#result").classList.add("stale");
  }

  #show(result) {
    this.result = result;
    $("#result").classList.remove("stale");
    this.plane.setTree(treeOf(result));
    if (result.live) this.#beat();
    const { solution, points } = result;
    if (!solution) {
      this.#blank();
      return;
    }
    const open = !result.shapes.length && !result.network;
    if (open) learn(points, solution);
    setText($("#length"), format.length(solution.length));
    showStatus($("#status"), solution.status);
    if (open) this.#verdict(solution, result.mstLength);
    else this.#verdictBeside(result);
    setText($("#fact-mst"), format.length(result.mstLength));
    setText($("#fact-steiner"), format.count(solution.steiner_points.length));
    // `auto` says which method it took.
    const used = solution.method === result.method ? "" : ` (${solution.method})`;
    setText($("#fact-time"), format.seconds(solution.runtime) + used);
    this.#showGap(result, open);
    this.#showRelays();
    if (result.live) return;
    announce(`Length ${format.length(solution.length)}, ${solution.status.replace("_", " ")}`);
    if (!open) return;
    findOptimum(points)
      .then(() => this.result === result && this.#showGap(result))
      .catch(() => {}); // the gap then stays unknown, and says so
  }

  #verdict(solution, mstLength) {
    const saving = mstLength > 0 ? 1 - solution.length / mstLength : 0;
    const same = Math.abs(saving) < 5e-9;
    const words = saving > 0 ? "shorter" : "longer";
    const text = `${format.percent(Math.abs(saving))} ${words} than the spanning tree`;
    setText($("#verdict"), same ? "as long as the spanning tree" : text);
    $("#verdict").dataset.kind = "";
  }

  /** Where shapes lie, and with relays: what is proven is said, not what it saves. */
  #verdictBeside({ solution, network, shapes }) {
    const count = (wanted, name) =>
      format.plural(shapes.filter(({ kind }) => kind === wanted).length, name);
    const { steiner_points: relays, bends = [], joints = [] } = solution;
    const around = `${format.plural(bends.length, "bend")} around ${count("obstacle", "obstacle")}`;
    const joined = `${format.plural(joints.length, "joint")} on ${count("line", "existing line")}`;
    const beside = [
      ...(shapes.some(({ kind }) => kind === "obstacle") ? [around] : []),
      ...(solution.existing?.length ? [joined] : []),
    ];
    const words = network
      ? `${format.plural(relays.length, "relay")}, at least ${network.bound} are needed`
      : beside.join(", ");
    setText($("#verdict"), words);
    $("#verdict").dataset.kind = "";
  }

  #showGap({ points, solution, live }, open = true) {
    const gap = open ? gapOf(points, solution) : null;
    const bounded = gap === null && solution.lower_bound > 0;
    setText($("#fact-gap-name"), bounded ? "Gap to the bound" : "Gap to the optimum");
    const toBound = bounded ? solution.length / solution.lower_bound - 1 : null;
    const unknown = live ? "…" : "not known";
    setText($("#fact-gap"), gap === null && !bounded ? unknown : format.percent(gap ?? toBound));
  }

  #blank() {
    setText($("#length"), "–");
    showStatus($("#status"), "none");
    setText($("#verdict"), "Click on the plane to put a point down.");
    for (const id of ["mst", "gap", "steiner", "time"]) setText($(`#fact-${id}`), "–");
    this.#showRelays();
  }

  #refuse(message) {
    this.result = null;
    $("#result").classList.remove("stale");
    this.plane.setTree(null);
    this.#blank();
    showStatus($("#status"), "error");
    setText($("#verdict"), message);
    $("#verdict").dataset.kind = "error";
    announce(message);
  }

  /** Live answers a second, over the last second. */
  #beat() {
    const now = performance.now();
    this.updates += 1;
    this.#beats = [...this.#beats.filter((time) => now - time < 1000), now];
    const span = now - this.#beats[0];
    if (this.#beats.length > 4) {
      setText($("#fact-rate"), `${Math.round((1000 * (this.#beats.length - 1)) / span)} / s`);
    }
  }

  #wireRelays() {
    const slider = $("#relay-slider");
    const update = () => {
      slider.disabled = !$("#relay-on").checked;
      this.store.set({ maxEdge: slider.disabled ? null : this.#sliderLimit(Number(slider.value)) });
      $("#relay-few").disabled = slider.disabled;
      this.#showRelays();
      if (this.#few || this.result?.network) this.changed();
    };
    $("#relay-few").addEventListener("change", update);
    $("#relay-on").addEventListener("change", update);
    slider.addEventListener("input", update);
  }

  #sliderLimit(share) {
    const { x0, y0, x1, y1 } = boundingBox(this.store.coordinates);
    const diagonal = Math.hypot(x1 - x0, y1 - y0) || 1;
    return Number((diagonal * SHORTEST * (LONGEST / SHORTEST) ** share).toPrecision(3));
  }

  #showRelays() {
    const limit = this.store.settings.maxEdge;
    const { network } = this.result ?? {};
    const { solution } = this.shown;
    const drawn = this.#few && network && solution;
    this.plane.setRanges(drawn ? { relays: solution.steiner_points, radius: network.radius } : null);
    this.plane.setMaxEdge(this.#few ? null : limit);
    setText($("#relay-limit"), limit ? format.coordinate(limit) : "–");
    let text = "";
    if (drawn) {
      text = format.plural(solution.steiner_points.length, "relay");
    } else if (limit && solution && !this.#few) {
      const { terminals, steiner_points: steiner, bends = [], joints = [] } = solution;
      const nodes = [...terminals, ...steiner, ...bends, ...joints];
      text = format.plural(relaysOn(nodes, solution.edges, limit).relays.length, "relay");
    }
    setText($("#relay-count"), text);
  }

  /** What is on the screen, for an export. */
  get shown() {
    return { solution: this.result?.solution ?? null, maxEdge: this.store.settings.maxEdge };
  }
}
