// The few helpers that stand in for a framework.

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** An HTML element: `element("button", { class: "ghost", onclick: save }, "Save")`. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Change text only where it differs: screen readers hear news, and layout is not redone. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The same for attributes: an SVG that is told what it knows is painted again all the same. */
export function put(node, name, value) {
  const text = String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

const live = () => $("#announcer");
let lastAnnounced = 0;
let waiting = 0;

/** Say something to screen readers, at most once a second: a drag must not chatter. */
export function announce(text) {
  clearTimeout(waiting);
  const delay = Math.max(0, 1000 - (performance.now() - lastAnnounced));
  waiting = setTimeout(() => {
    lastAnnounced = performance.now();
    setText(live(), text);
  }, delay);
}

let toastTimer = 0;

/** Show one sentence for a few seconds; errors stay longer and are read out at once. */
export function toast(text, kind = "note") {
  const box = $("#toast");
  box.textContent = text;
  box.dataset.kind = kind;
  box.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => box.classList.remove("shown"), kind === "error" ? 8000 : 3500);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
