// The address holds the points, so a link is a document: #method=exact&points=0.1,0.2;0.3,0.4
// Untouched samples stay short: #method=exact&sample=random,24,7

// Browsers take longer addresses than this, but mail programs and chats cut them.
const MOST_POINTS = 1000;

/** The fragment of the document, without "#"; null where there are too many points. */
export function toFragment({ points, obstacles, origin, settings }) {
  const parts = [`mode=${settings.mode}`, `method=${settings.method}`];
  if (settings.mode === "compare") parts.push(`other=${settings.other}`);
  const options = new URLSearchParams(settings.options).toString();
  if (options) parts.push(`options=${encodeURIComponent(options)}`);
  if (origin) parts.push(`sample=${origin.name},${origin.n},${origin.seed}`);
  else if (points.length > MOST_POINTS) return null;
  else parts.push(`points=${points.map(({ x, y }) => `${x},${y}`).join(";")}`);
  if (obstacles.length) parts.push(`obstacles=${obstacles.map(({ ring }) => pairsText(ring)).join("_")}`);
  return parts.join("&");
}

const pairsText = (places) => places.map(([x, y]) => `${x},${y}`).join(";");

/** Pairs of numbers, or null where something else stands there. */
function readPairs(text) {
  const places = text.split(";").filter(Boolean).map((pair) => pair.split(",").map(Number));
  const sound = places.every((pair) => pair.length === 2 && pair.every(Number.isFinite));
  return sound ? places : null;
}

/** What a fragment says: {mode?, method?, points?, obstacles?, ...}, less any nonsense. */
export function fromFragment(text) {
  const given = new URLSearchParams(text.replace(/^#/, ""));
  const result = { options: readOptions(given.get("options") ?? "") };
  for (const name of ["mode", "method", "other"]) {
    if (given.has(name)) result[name] = given.get(name);
  }
  const sample = /^(\w+),(\d+),(\d+)$/.exec(given.get("sample") ?? "");
  if (sample) result.sample = { name: sample[1], n: Number(sample[2]), seed: Number(sample[3]) };
  if (given.has("points")) {
    const points = readPairs(given.get("points"));
    if (points) result.points = points;
  }
  const rings = (given.get("obstacles") ?? "").split("_").filter(Boolean).map(readPairs);
  if (rings.length && rings.every((ring) => ring?.length > 2)) result.obstacles = rings;
  return result;
}

/** Options are words, numbers and yes or no; the server checks them. */
function readOptions(text) {
  const values = { true: true, false: false };
  const typed = ([name, value]) => {
    const number = value.trim() === "" ? NaN : Number(value);
    return [name, values[value] ?? (Number.isNaN(number) ? value : number)];
  };
  return Object.fromEntries([...new URLSearchParams(text)].map(typed));
}
