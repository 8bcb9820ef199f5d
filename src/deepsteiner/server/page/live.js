// Solving while the points move: one request under way, the newest points next.

import * as api from "./api.js";
import { PATIENCE_MS } from "./strip.js";

// A method that takes longer than this cannot follow a drag; it is asked now and then all the same,
// because it may have been slow only once (kernels load at first use), but not if hopeless.
const LIVE_LIMIT = 0.4;
const HOPELESS = 3;
// Nor is one that has not shown its pace on so many points.
const TRY_LIVE = 200;
// A method that answered within this needs no progress bar.
const QUICK = 0.25;
// Up to here a method is done before it could make use of the tree before.
const START_ABOVE = 20;

/** What requests of each name took last: decides whether they can follow a drag. */
const pace = new Map();

const expected = (name, n) => {
  const last = pace.get(name);
  return last && n <= 2 * last.n ? last.seconds : null;
};

/**
 * Follows the store. `options` holds: `method()` and `settings()` (what to ask), `beside()` (what
 * goes with the points) and `pace()` (requests of one name take about as long), `onResult`,
 * `onError`, `onSkip` (too slow to follow), `onWait` (it takes a while), `strip` (progress) and
 * `takesStart(method)`.
 */
export class LiveSolver {
  #busy = false;
  #wanted = null;
  #hangUp = null;
  #last = null;
  #nextTry = 0;
  active = false;

  constructor(store, options) {
    this.store = store;
    this.options = options;
    store.addEventListener("points", (event) => this.active && this.request(event.detail.live));
  }

  start() {
    this.active = true;
    this.request(false);
  }

  stop() {
    this.active = false;
    this.#wanted = null;
    this.#hangUp?.();
  }

  /** The points or the method changed. */
  request(live) {
    const n = this.store.points.length;
    if (live && !this.#canFollow(n)) {
      this.options.onSkip?.();
      return;
    }
    this.#wanted = { live };
    // Hang up on a long solve of points that are gone; a short one may finish (no starvation).
    if (!live) this.#hangUp?.();
    if (!this.#busy) this.#loop();
  }

  /** Where the times of such requests are kept. */
  get #pace() {
    return this.options.pace?.() ?? this.options.method();
  }

  #canFollow(n) {
    const guess = expected(this.#pace, n) ?? (n > TRY_LIVE ? Infinity : 0);
    if (guess <= LIVE_LIMIT) return true;
    const now = performance.now();
    if (guess > HOPELESS || this.#busy || now < this.#nextTry) return false;
    this.#nextTry = now + 2000 * guess; // at most half of the time
    return true;
  }

  async #loop() {
    this.#busy = true;
    while (this.#wanted && this.active) {
      const { live } = this.#wanted;
      this.#wanted = null;
      try {
        await this.#solveOnce(live);
      } catch (error) {
        if (error.name !== "AbortError" && !this.#wanted) this.options.onError(error.message);
      }
    }
    this.#busy = false;
  }

  async #solveOnce(live) {
    const { points, shapes } = this.store;
    const method = this.options.method();
    const asked = { points, shapes, ids: points.map(({ id }) => id), method, live };
    if (!points.length) {
      this.options.onResult({ ...asked, solution: null });
      return;
    }
    const job = {
      points: points.map(({ x, y }) => [x, y]),
      method,
      options: this.options.settings(),
      start: this.#startFor(method, points),
      ...this.options.beside?.(),
    };
    const began = performance.now();
    const name = this.#pace;
    const guess = expected(name, points.length);
    const quick = live || (guess !== null && guess < QUICK);
    const answer = await (quick ? this.#ask(job) : this.#follow(job));
    const seconds = (performance.now() - began) / 1000;
    pace.set(name, { n: points.length, seconds });
    if (!this.active) return;
    const { solution, mst_length: mstLength, network = null } = answer;
    this.#last = { ...asked, seconds, solution, mstLength, network };
    this.options.onResult(this.#last);
  }

  #ask(job) {
    const control = new AbortController();
    const began = performance.now();
    // Only a slow answer is worth hanging up on.
    this.#hangUp = () => performance.now() - began > 1000 * QUICK && control.abort();
    return api.solve(job, control.signal).finally(() => (this.#hangUp = null));
  }

  async #follow(job) {
    const { strip } = this.options;
    let ticket = null;
    const stream = api.solveStream(job, (report) => ticket.report(report));
    ticket = strip.begin(job.radius ? "relays" : job.method, stream.cancel);
    const timer = setTimeout(() => this.options.onWait?.(), PATIENCE_MS);
    this.#hangUp = stream.abort;
    try {
      return await stream.result;
    } finally {
      this.#hangUp = null;
      clearTimeout(timer);
      ticket.end();
    }
  }

  /** The tree before, where it has the same points (moved or not) and the method can use it. */
  #startFor(method, points) {
    const { ids = [], solution, network } = this.#last ?? {};
    if (network || solution?.bends?.length || solution?.joints?.length) return null;
    if (points.length <= START_ABOVE || !this.options.takesStart(method)) return null;
    const same = ids.length === points.length && points.every(({ id }, i) => id === ids[i]);
    return same ? { ...solution, info: {} } : null;
  }
}

/** The tree of a result as planes draw it. */
export function treeOf(result) {
  if (!result?.solution) return null;
  const { steiner_points: steiner, edges, bends = [], joints = [] } = result.solution;
  const proper = steiner.length;
  return { ids: result.ids, steiner: [...steiner, ...bends, ...joints], edges, proper };
}
