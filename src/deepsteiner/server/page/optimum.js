// What the shortest tree measures, where that is known: gaps are told against it.

import * as api from "./api.js";

// `exact` answers within a fraction of a second up to here, so the page asks it unasked.
const ASK_UP_TO = 60;

const known = new WeakMap();

/** Note a proven optimum for an array of points (arrays are never changed in place). */
export function learn(points, solution) {
  if (solution?.status === "optimal") known.set(points, solution.length);
}

/** The optimum of these points, or null where nobody proved it yet. */
export const optimumOf = (points) => known.get(points) ?? null;

/** Find the optimum of a small instance in the background; resolves to it or null. */
export async function findOptimum(points) {
  if (known.has(points)) return known.get(points);
  if (!points.length || points.length > ASK_UP_TO) return null;
  const coordinates = points.map(({ x, y }) => [x, y]);
  const { solution } = await api.solve({ points: coordinates, method: "exact" });
  learn(points, solution);
  return optimumOf(points);
}

/** (length - optimum) / optimum, never below zero for what rounding does. */
export function gapOf(points, solution) {
  const best = optimumOf(points);
  if (best === null || !solution) return null;
  return best > 0 ? Math.max(0, solution.length / best - 1) : 0;
}
