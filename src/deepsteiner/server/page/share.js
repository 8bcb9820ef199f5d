// The address holds the points, so a link is a document: #method=exact&points=0.1,0.2;0.3,0.4
// Untouched samples stay short: #method=exact&sample=random,24,7

// Browsers take longer addresses than this, but mail programs and chats cut them.
const MOST_POINTS = 1000;

// What each kind of shape is called there, and how many places it has at least.
const SHAPES = {
  obstacle: { word: "obstacles", least: 3 },
  line: { word: "lines", least: 2 },
};

/** The fragment of the document, without "#"; null where there are too many points. */
export function toFragment({ points, shapes, origin, settings }) {
  const parts = [`mode=${settings.mode}`, `method=${settings.method}`];
  if (settings.mode === "compare") parts.push(`other=${settings.other}`);
  const options = new URLSearchParams(settings.options).toString();
  if (options) parts.push(`options=${encodeURIComponent(options)}`);
  if (origin) parts.push(`sample=${origin.name},${origin.n},${origin.seed}`);
  else if (points.length > MOST_POINTS) return null;
  else parts.push(`points=${points.map(({ x, y }) => `${x},${y}`).join(";")}`);
  for (const [kind, { word }] of Object.entries(SHAPES)) {
    const texts = shapes.filter((one) => one.kind === kind).map(({ places }) => pairsText(places));
    if (texts.length) parts.push(`${word}=${texts.join("_")}`);
  }
  return parts.join("&");
}

const pairsText = (places) => places.map(([x, y]) => `${x},${y}`).join(";");

/** Pairs of numbers, or null where something else stands there. */
function readPairs(text) {
  const places = text.split(";").filter(Boolean).map((pair) => pair.split(",").map(Number));
  const sound = places.every((pair) => pair.length === 2 && pair.every(Number.isFinite));
  return sound ? places : null;
}

/** What a fragment says: {mode?, method?, points?, shapes, ...}, less any nonsense. */
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
  result.shapes = Object.entries(SHAPES).flatMap(([kind, { word, least }]) => {
    const read = (given.get(word) ?? "").split("_").filter(Boolean).map(readPairs);
    const sound = read.every((places) => places?.length >= least);
    return sound ? read.map((places) => [kind, places]) : [];
  });
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
