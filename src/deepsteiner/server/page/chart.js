// Small line charts as SVG, with linear or logarithmic axes.

import { svg } from "./dom.js";
import { roundStep } from "./geometry.js";

const LABEL_WIDTH = 70;
const LABEL_HEIGHT = 13;
const PAD = { left: 58, right: 14, top: 12, bottom: 26 };

/** A chart in a container; it redraws itself when the container changes size. */
export class Chart {
  #spec = null;

  constructor(container, label) {
    this.container = container;
    this.root = svg("svg", { class: "chart", role: "img", "aria-label": label });
    container.append(this.root);
    new ResizeObserver(() => this.#draw()).observe(container);
  }

  /**
   * spec: {x, y, series, right?}. An axis is {min, max, log?, ticks?, format, title?}; a series is
   * {points: [[x, y], ...], class?, colour?, dash?, dots?, label?}. `right` widens that margin.
   */
  set(spec) {
    this.#spec = spec;
    this.#draw();
  }

  clear() {
    this.#spec = null;
    this.root.replaceChildren();
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.container;
    if (!this.#spec || width < 40 || height < 40) return;
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const right = this.#spec.right ?? PAD.right;
    const x = scaleOf(this.#spec.x, PAD.left, width - right);
    const y = scaleOf(this.#spec.y, height - PAD.bottom, PAD.top);
    this.root.replaceChildren(
      ...this.#axes(x, y, width - right, height),
      ...this.#spec.series.flatMap((series) => drawSeries(series, x, y)),
      ...placeLabels(this.#spec.series, x, y, height - PAD.bottom),
    );
  }

  #axes(x, y, right, height) {
    const parts = [];
    for (const value of this.#spec.y.ticks ?? ticks(this.#spec.y, (height - 40) / 34)) {
      parts.push(svg("path", { class: "chart-grid", d: `M${PAD.left} ${y(value)}H${right}` }));
      parts.push(tick(this.#spec.y.format(value), PAD.left - 8, y(value) + 4, "end"));
    }
    for (const value of this.#spec.x.ticks ?? ticks(this.#spec.x, (right - PAD.left) / 64)) {
      const at = x(value);
      parts.push(svg("path", { class: "chart-notch", d: `M${at} ${height - PAD.bottom}v4` }));
      parts.push(tick(this.#spec.x.format(value), at, height - 8, "middle"));
    }
    return parts;
  }
}

function tick(text, x, y, anchor) {
  return svg("text", { class: "chart-tick", x, y, "text-anchor": anchor }, text);
}

function scaleOf({ min, max, log }, from, to) {
  const f = log ? Math.log : (value) => value;
  const span = f(max) - f(min) || 1;
  return (value) => from + ((f(log ? Math.max(value, min) : value) - f(min)) / span) * (to - from);
}

function ticks({ min, max, log, whole }, most) {
  const values = [];
  if (log) {
    const first = Math.ceil(Math.log10(min) - 1e-9);
    for (let p = first; 10 ** p <= max * 1.0001; p++) values.push(10 ** p);
    return values;
  }
  let step = roundStep((max - min) / Math.max(2, most));
  // roundStep rounds down; go up until the labels have room.
  while ((max - min) / step > Math.max(2, most)) step = roundStep(step * 2.6);
  if (whole) step = Math.max(1, step);
  const first = Math.ceil(min / step - 1e-9);
  for (let i = first; i * step <= max + 1e-9 * step; i++) values.push(i * step);
  return values;
}

function drawSeries({ points, colour, dash, dots, class: kind = "" }, x, y) {
  const place = points.map(([u, v]) => [x(u), y(v)]);
  const parts = [];
  if (place.length > 1) {
    const d = `M${place.map(([u, v]) => `${u.toFixed(1)} ${v.toFixed(1)}`).join("L")}`;
    const line = { class: `chart-line ${kind}`, d, stroke: colour, "stroke-dasharray": dash };
    parts.push(svg("path", line));
  }
  const marked = dots === "all" ? place : dots === "last" ? place.slice(-1) : [];
  for (const [u, v] of marked) {
    parts.push(svg("circle", { class: `chart-dot ${kind}`, cx: u, cy: v, r: 3.6, fill: colour }));
  }
  return parts;
}

/** Labels at the ends of lines, pushed apart so that none covers another. */
function placeLabels(all, x, y, bottom) {
  const labels = all
    .filter(({ label, points }) => label && points.length)
    .map(({ label, points }) => ({ label, u: x(points.at(-1)[0]), v: y(points.at(-1)[1]) }));
  labels.sort((a, b) => b.v - a.v);
  const placed = [];
  for (const { label, u, v } of labels) {
    let at = Math.min(v + 4, bottom - 4);
    // Those below were placed first; climb over every one that is in the way.
    for (const other of placed) {
      const beside = Math.abs(other.u - u) >= LABEL_WIDTH;
      if (!beside && Math.abs(other.at - at) < LABEL_HEIGHT) at = other.at - LABEL_HEIGHT;
    }
    const text = svg("text", { class: "chart-label", x: u + 8, y: at }, label);
    placed.push({ u, at, text });
  }
  return placed.map(({ text }) => text);
}
