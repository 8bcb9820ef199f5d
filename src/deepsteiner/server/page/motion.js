// Trees that flow into each other: Steiner points glide from where their likes stood before.

import { calm } from "./dom.js";
import { distance, nearestOnSegment } from "./geometry.js";

// Beyond this many Steiner points the pairing (all against all) would cost more than it pleases.
const MOST_MOVING = 160;
// Time constant of the approach: short enough to feel attached to the pointer.
const GLIDE_MS = 55;

/**
 * A drawn tree. Terminals are known by id and always stand where the document has them; Steiner
 * points stand at `shown` and move towards `tree.steiner`.
 *
 * A tree is {ids, steiner, edges, proper}: edges over terminals 0..ids.length-1, then Steiner points,
 * of which the first `proper` are such and the others bends at obstacles and joints on lines.
 */
export class MovingTree {
  tree = null;
  shown = [];

  /** Take the next tree. `place` gives the present position of a terminal by id, or undefined. */
  set(tree, place) {
    const before = this.tree;
    const stood = this.shown;
    this.tree = tree;
    if (!tree) {
      this.shown = [];
      return;
    }
    const still = !before || calm() || Math.max(tree.steiner.length, stood.length) > MOST_MOVING;
    this.shown = still ? tree.steiner : startingPlaces(tree, before, stood, place);
  }

  /** Move on by `elapsed` ms; returns whether anything still moves. */
  advance(elapsed, tolerance) {
    if (!this.tree || this.shown === this.tree.steiner) return false;
    const share = 1 - Math.exp(-elapsed / GLIDE_MS);
    let moving = false;
    this.shown = this.shown.map((at, i) => {
      const goal = this.tree.steiner[i];
      if (distance(at, goal) < tolerance) return goal;
      moving = true;
      return [at[0] + share * (goal[0] - at[0]), at[1] + share * (goal[1] - at[1])];
    });
    if (!moving) this.shown = this.tree.steiner;
    return moving;
  }

  /** Where Steiner points stand, and bends and joints. */
  get kinds() {
    const count = this.tree?.proper ?? this.shown.length;
    return { steiner: this.shown.slice(0, count), turns: this.shown.slice(count) };
  }

  /** Edges as pairs of positions; an edge whose terminal was removed is left out. */
  segments(place) {
    if (!this.tree) return [];
    const { ids, edges } = this.tree;
    const at = (node) => (node < ids.length ? place(ids[node]) : this.shown[node - ids.length]);
    const segments = [];
    for (const [a, b] of edges) {
      const from = at(a);
      const to = at(b);
      if (from && to) segments.push([from, to]);
    }
    return segments;
  }
}

function startingPlaces(tree, before, stood, place) {
  const partner = pairUp(tree, before, stood);
  return tree.steiner.map((goal, i) =>
    partner[i] >= 0 ? stood[partner[i]] : nearestOnTree(goal, before, stood, place),
  );
}

/** For each Steiner point of `tree` one of `before`, nearest first; common terminals attract. */
function pairUp(tree, before, stood) {
  const mine = terminalNeighbours(tree);
  const theirs = terminalNeighbours(before);
  const pairs = [];
  tree.steiner.forEach((goal, i) => {
    stood.forEach((at, j) => {
      const common = mine[i].filter((id) => theirs[j].includes(id)).length;
      pairs.push([distance(goal, at) * 0.3 ** common, i, j]);
    });
  });
  pairs.sort((a, b) => a[0] - b[0]);
  const partner = new Array(tree.steiner.length).fill(-1);
  const taken = new Set();
  for (const [, i, j] of pairs) {
    if (partner[i] >= 0 || taken.has(j)) continue;
    partner[i] = j;
    taken.add(j);
  }
  return partner;
}

function terminalNeighbours({ ids, steiner, edges }) {
  const lists = steiner.map(() => []);
  for (const [a, b] of edges) {
    if (a >= ids.length && b < ids.length) lists[a - ids.length].push(ids[b]);
    if (b >= ids.length && a < ids.length) lists[b - ids.length].push(ids[a]);
  }
  return lists;
}

/** A new Steiner point grows out of the old tree. */
function nearestOnTree(goal, before, stood, place) {
  let best = goal;
  let least = Infinity;
  const at = (node) =>
    node < before.ids.length ? place(before.ids[node]) : stood[node - before.ids.length];
  for (const [a, b] of before.edges) {
    const from = at(a);
    const to = at(b);
    if (!from || !to) continue;
    const foot = nearestOnSegment(goal, from, to);
    const d = distance(foot, goal);
    if (d < least) [best, least] = [foot, d];
  }
  return best;
}
