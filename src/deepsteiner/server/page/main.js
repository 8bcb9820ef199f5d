// The page: makes the parts, wires the controls, and switches between the modes.

import * as api from "./api.js";
import { Catalogue } from "./catalogue.js";
import { Chart } from "./chart.js";
import { Compare } from "./compare.js";
import { $, $$, announce, setText, toast } from "./dom.js";
import { Explore } from "./explore.js";
import { attachFiles } from "./files.js";
import * as format from "./format.js";
import { attachGestures } from "./gestures.js";
import { attachPointKeys, attachShortcuts } from "./keyboard.js";
import { Plane } from "./plane.js";
import { Player } from "./player.js";
import { Proof } from "./proof.js";
import { Race } from "./race.js";
import { fromFragment, toFragment } from "./share.js";
import { Store } from "./state.js";
import { Steps } from "./steps.js";
import { ProgressStrip } from "./strip.js";
import { Tour } from "./tour.js";
import { Viewport } from "./viewport.js";

// What a first visit shows: small enough to fly, large enough to look at.
const OPENING = { name: "random", n: 24, seed: 305 };
const FIXED_SIZES = { D1: 10, D2: 20, D3: 10 };

const store = new Store();
const viewport = new Viewport();
const tools = { select: false, space: false, draw: null };
const DRAWN = {
  obstacle: "Click the corners of an obstacle, then the first one, or Enter",
  line: "Click along an existing line, then its end again, or Enter",
};
const planes = ["#plane-a", "#plane-b"].map((name) => new Plane($(name), store, viewport));
const fit = () =>
  viewport.fit([...store.coordinates, ...store.shapes.flatMap(({ places }) => places)]);
const gestures = [];
let modes = {};
let current = null;
// Answers may come out of order: only that to the last question counts.
let samplesAsked = 0;

async function boot() {
  const [methods, limits] = await Promise.all([api.methods(), api.limits()]);
  const catalogue = new Catalogue(methods);
  const chart = new Chart($("#dock-chart"), "Length by step");
  const strip = new ProgressStrip();
  const parts = { store, planes, catalogue, chart, strip, player: new Player() };
  modes = {
    explore: new Explore(parts),
    compare: new Compare(parts),
    step: new Steps(parts),
    proof: new Proof(parts),
    race: new Race(parts),
  };
  $("#sample-n").max = limits.points;
  attachView();
  attachControls(catalogue);
  attachFiles((points) => replacePoints(points), () => modes.explore.shown);
  const sent = Boolean(location.hash);
  await openFragment(catalogue);
  addEventListener("hashchange", () => openFragment(catalogue));
  // For the browser's console, and for tests.
  window.playground = { store, viewport, planes, modes };
  document.body.dataset.ready = "yes";
  attachTour(sent);
}

function attachTour(sent) {
  const tour = new Tour();
  $("#tour-again").addEventListener("click", () => {
    $("#help-dialog").close();
    tour.restart();
  });
  if (!sent) tour.offer();
}

function attachView() {
  new ResizeObserver(([entry]) => {
    viewport.resize(entry.contentRect.width, entry.contentRect.height);
  }).observe($("#plane-a"));
  for (const plane of planes) {
    gestures.push(attachGestures(plane, tools));
    attachPointKeys(plane);
  }
  attachShortcuts(store, viewport, tools, fit);
  $("#zoom-in").addEventListener("click", () => viewport.zoom(1.25));
  $("#zoom-out").addEventListener("click", () => viewport.zoom(0.8));
  $("#fit").addEventListener("click", fit);
  $("#tool-select").addEventListener("click", ({ currentTarget }) => {
    tools.select = !tools.select;
    currentTarget.setAttribute("aria-pressed", tools.select);
  });
  for (const kind of Object.keys(DRAWN)) {
    $(`#tool-${kind}`).addEventListener("click", () => draw(tools.draw === kind ? null : kind));
  }
  $("#undo").addEventListener("click", () => store.undo());
  $("#redo").addEventListener("click", () => store.redo());
  $("#delete").addEventListener("click", () => store.remove(store.selection));
  store.addEventListener("points", ({ detail }) => onPoints(detail.live));
  store.addEventListener("selection", onSelection);
}

/** Clicks now draw shapes of this kind, or (null) points again; what was begun is ended. */
function draw(kind) {
  for (const { drawing } of gestures) drawing.end(true);
  tools.draw = kind;
  for (const one of Object.keys(DRAWN)) $(`#tool-${one}`).setAttribute("aria-pressed", one === kind);
  const hint = $("#draw-hint");
  hint.hidden = kind === null;
  setText(hint, kind ? `${DRAWN[kind]}.` : "");
  if (kind) announce(DRAWN[kind]);
}

function attachControls(catalogue) {
  for (const tab of $$("[role=tab]")) {
    tab.addEventListener("click", () => switchMode(tab.dataset.mode));
  }
  $(".modes").addEventListener("keydown", walkTabs);
  attachMethod("#method", "method", catalogue);
  attachMethod("#method-a", "method", catalogue);
  attachMethod("#method-b", "other", catalogue);
  $("#sample-go").addEventListener("click", () => drawSample(true));
  $("#sample").addEventListener("change", () => {
    $("#sample-n").disabled = $("#sample").value in FIXED_SIZES;
    drawSample(false);
  });
  $("#sample-n").addEventListener("change", () => drawSample(false));
  $("#clear").addEventListener("click", () => store.replace([]));
  $("#share").addEventListener("click", share);
  $("#help").addEventListener("click", () => $("#help-dialog").showModal());
  for (const dialog of $$("dialog")) {
    // A click on the backdrop is a click on the dialog itself.
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
}

function attachMethod(selector, key, catalogue) {
  $(selector).addEventListener("change", ({ target }) => {
    store.set(key === "method" ? { method: target.value, options: {} } : { other: target.value });
    showMethods(catalogue);
    writeFragment();
    current?.changed();
  });
}

function showMethods(catalogue) {
  const { method, other, options } = store.settings;
  catalogue.fillPicker($("#method"), method);
  catalogue.fillPicker($("#method-a"), method);
  catalogue.fillPicker($("#method-b"), other);
  catalogue.describe(method);
  catalogue.buildForm(method, options, (changed) => {
    store.set({ options: changed });
    writeFragment();
    current?.changed();
  });
}

/** Arrow keys move between tabs, as people who use them expect. */
function walkTabs(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const tabs = $$("[role=tab]");
  const at = tabs.findIndex((tab) => tab.dataset.mode === store.settings.mode);
  const next = tabs[(at + by + tabs.length) % tabs.length];
  next.focus();
  switchMode(next.dataset.mode);
}

function switchMode(name) {
  current?.leave();
  if (tools.draw) draw(null);
  store.set({ mode: name });
  document.body.dataset.mode = name;
  for (const tab of $$("[role=tab]")) {
    const chosen = tab.dataset.mode === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  for (const card of $$("[data-for]")) card.hidden = card.dataset.for !== name;
  current = modes[name];
  current.enter();
  writeFragment();
}

async function openFragment(catalogue) {
  const { mode, method, other, options, sample, points, shapes } = fromFragment(location.hash);
  const settings = { ...store.settings };
  if (catalogue.has(method)) Object.assign(settings, { method, options });
  if (catalogue.has(other)) settings.other = other;
  store.set(settings);
  if (points) replacePoints(points);
  else await loadSample(sample ?? OPENING);
  for (const [kind, places] of shapes) store.addShape(kind, places);
  if (shapes.length) fit();
  store.forgetHistory();
  showMethods(catalogue);
  switchMode(mode in modes ? mode : "explore");
}

async function loadSample({ name, n, seed }) {
  const question = ++samplesAsked;
  const size = $("#sample-n");
  const typed = size.value;
  try {
    const { points } = await api.sample(name, name in FIXED_SIZES ? null : n, seed);
    if (question !== samplesAsked) return; // another was asked for since
    $("#sample").value = name;
    if (size.value === typed) size.value = points.length; // else somebody is typing there
    size.disabled = name in FIXED_SIZES;
    replacePoints(points, { name, n: points.length, seed });
  } catch (error) {
    toast(error.message, "error");
  }
}

/** Draw the kind that is picked: the first of it, or another one. */
function drawSample(another) {
  const name = $("#sample").value;
  const asked = Math.round(Number($("#sample-n").value)) || OPENING.n;
  const n = Math.min(Number($("#sample-n").max), Math.max(1, asked));
  const fresh = Math.floor(Math.random() * 1e6);
  return loadSample({ name, n, seed: another ? fresh : OPENING.seed });
}

function replacePoints(points, origin = null) {
  store.replace(points, origin);
  fit();
}

function onPoints(live) {
  setText($("#point-count"), format.count(store.points.length));
  $("#undo").disabled = !store.canUndo;
  $("#redo").disabled = !store.canRedo;
  if (live) return;
  // The hint has done its work once somebody edits.
  if (store.canUndo && document.body.dataset.ready) $("#hint").classList.add("gone");
  writeFragment();
}

function onSelection() {
  $("#delete").disabled = !store.selection.size;
  if (store.selection.size) announce(`${format.plural(store.selection.size, "point")} selected`);
}

function writeFragment() {
  const fragment = toFragment(store);
  if (fragment !== null) history.replaceState(null, "", `#${fragment}`);
}

async function share() {
  const fragment = toFragment(store);
  if (fragment === null) {
    toast("Too many points for a link; export them as a file instead.");
    return;
  }
  writeFragment();
  try {
    await navigator.clipboard.writeText(location.href);
    toast("Link copied. It holds the points themselves.");
  } catch {
    // Clipboards need permission, or a secure context: the address bar has the same link.
    toast("The link is in the address bar; copy it from there.");
  }
}

boot().catch((error) => toast(error.message, "error"));
