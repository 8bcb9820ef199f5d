// Plane geometry on plain [x, y] pairs: what the page computes itself, without asking the server.

export const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** Sum of the lengths of `edges` over `nodes`. */
export function treeLength(nodes, edges) {
  let total = 0;
  for (const [a, b] of edges) total += distance(nodes[a], nodes[b]);
  return total;
}

/** Minimum spanning tree by Prim's algorithm: quadratic, for the few hundred points of a lesson. */
export function spanningTree(nodes) {
  const n = nodes.length;
  const edges = [];
  if (n < 2) return edges;
  const best = new Float64Array(n).fill(Infinity);
  const from = new Int32Array(n);
  const inside = new Uint8Array(n);
  let current = 0;
  for (let count = 1; count < n; count++) {
    inside[current] = 1;
    let next = -1;
    for (let i = 0; i < n; i++) {
      if (inside[i]) continue;
      const d = distance(nodes[current], nodes[i]);
      if (d < best[i]) {
        best[i] = d;
        from[i] = current;
      }
      if (next < 0 || best[i] < best[next]) next = i;
    }
    edges.push([from[next], next]);
    current = next;
  }
  return edges;
}

/** Relays that cut every edge into equal pieces of at most `limit`, as `Solution.with_max_edge`. */
export function relaysOn(nodes, edges, limit) {
  const relays = [];
  const pieces = [];
  for (const [a, b] of edges) {
    // An edge of exactly k limits needs k - 1 relays; rounding must not add one.
    const count = Math.max(1, Math.ceil((distance(nodes[a], nodes[b]) / limit) * (1 - 1e-12)));
    let tail = a;
    for (let step = 1; step < count; step++) {
      const share = step / count;
      const relay = nodes.length + relays.length;
      relays.push([
        nodes[a][0] * (1 - share) + nodes[b][0] * share,
        nodes[a][1] * (1 - share) + nodes[b][1] * share,
      ]);
      pieces.push([tail, relay]);
      tail = relay;
    }
    pieces.push([tail, b]);
  }
  return { relays, edges: pieces };
}

/** The same for bare segments: only where the relays stand. */
export function relaysOnSegments(segments, limit) {
  const nodes = segments.flat();
  return relaysOn(nodes, segments.map((_, i) => [2 * i, 2 * i + 1]), limit).relays;
}

/** Convex hull, counter-clockwise (Andrew's monotone chain). */
export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (sorted.length < 3) return sorted;
  const cross = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const chain = (list) => {
    const hull = [];
    for (const p of list) {
      while (hull.length > 1 && cross(hull.at(-2), hull.at(-1), p) <= 0) hull.pop();
      hull.push(p);
    }
    hull.pop();
    return hull;
  };
  const hull = [...chain(sorted), ...chain(sorted.reverse())];
  return hull.length ? hull : [sorted[0], sorted.at(-1)];
}

/** The point of segment a-b that is nearest to p. */
export function nearestOnSegment(p, a, b) {
  const dx = b[0] - a[0];
  const dy = b[1] - a[1];
  const square = dx * dx + dy * dy;
  const share = square ? ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / square : 0;
  const t = Math.min(1, Math.max(0, share));
  return [a[0] + t * dx, a[1] + t * dy];
}

/** Bounding box {x0, y0, x1, y1}, or the unit square where there is no point. */
export function boundingBox(points) {
  if (!points.length) return { x0: 0, y0: 0, x1: 1, y1: 1 };
  const box = { x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity };
  for (const [x, y] of points) {
    box.x0 = Math.min(box.x0, x);
    box.y0 = Math.min(box.y0, y);
    box.x1 = Math.max(box.x1, x);
    box.y1 = Math.max(box.y1, y);
  }
  return box;
}

/** The largest of 1, 2, 5 times a power of ten that is at most `value`. */
export function roundStep(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const lead = value / power;
  return power * (lead >= 5 ? 5 : lead >= 2 ? 2 : 1);
}

/** Whether a place is inside a polygon: a ray to the right crosses an odd number of sides. */
export function isInside([x, y], ring) {
  let inside = false;
  ring.forEach(([u, v], i) => {
    const [a, b] = ring[(i + 1) % ring.length];
    if (v > y !== b > y && x < u + ((y - v) / (b - v)) * (a - u)) inside = !inside;
  });
  return inside;
}

/** Places as a polygon that does not cross itself: in the order of their directions from the middle. */
export function aroundCentre(places) {
  const middle = [0, 1].map((k) => places.reduce((sum, place) => sum + place[k], 0) / places.length);
  const turn = ([x, y]) => Math.atan2(y - middle[1], x - middle[0]);
  return [...places].sort((a, b) => turn(a) - turn(b));
}
