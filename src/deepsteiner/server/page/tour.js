// The tour of a first visit: four sentences, each beside what it is about.
//
// It takes no focus by itself and blocks nothing, so that people can go on as if it were not there.
// It comes once, and again from the help. A link that somebody sent is about its points: no tour.

import { $, announce, setText } from "./dom.js";

const KEY = "deepsteiner-tour";

const STOPS = [
  {
    at: ".planes",
    title: "Put points down",
    text: "Click or tap the plane to add a point and drag it: the shortest tree follows. Right-click or hold a point to remove it.",
  },
  {
    at: "#panel",
    title: "Read the length, pick a method",
    text: "“Optimal” is said only where it is proven. Other methods, samples and points of your own are in the same place.",
  },
  {
    at: ".modes",
    title: "Look at it in five ways",
    text: "Compare two methods, step through the learned one, watch how a proof works, or let methods race.",
  },
  {
    at: ".bar-tools",
    title: "Take it with you",
    text: "Share copies a link that holds your points. Help lists every gesture and key, and shows this tour again.",
  },
];

export class Tour {
  #at = 0;
  #marked = null;

  constructor() {
    this.box = $("#tour");
    $("#tour-next").addEventListener("click", () => this.#go(this.#at + 1));
    $("#tour-back").addEventListener("click", () => this.#go(this.#at - 1));
    $("#tour-skip").addEventListener("click", () => this.close());
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
  }

  /** Begin where this browser has not seen it. */
  offer() {
    if (!this.#seen()) this.#start();
  }

  /** Begin because somebody wants it: the keyboard is then in it. */
  restart() {
    this.#start();
    $("#tour-next").focus();
  }

  #start() {
    this.box.hidden = false;
    this.#go(0);
  }

  #go(to) {
    if (to >= STOPS.length) {
      this.close();
      return;
    }
    this.#at = to;
    const { at, title, text } = STOPS[to];
    const last = to === STOPS.length - 1;
    setText($("#tour-title"), title);
    setText($("#tour-text"), text);
    setText($("#tour-count"), `${to + 1} of ${STOPS.length}`);
    setText($("#tour-next"), last ? "Done" : "Next");
    // A button that goes takes the focus along, unless somebody brings it elsewhere first.
    if (to === 0 && document.activeElement === $("#tour-back")) $("#tour-next").focus();
    $("#tour-back").hidden = to === 0;
    $("#tour-skip").hidden = last;
    this.#mark($(at));
    announce(`Tour, ${to + 1} of ${STOPS.length}: ${title}. ${text}`);
  }

  close() {
    const inside = this.box.contains(document.activeElement);
    this.box.hidden = true;
    this.#mark(null);
    if (inside) $("#help").focus();
    try {
      localStorage.setItem(KEY, "seen");
    } catch {
      // Storage may be forbidden: the tour then comes with every visit, and goes with a key.
    }
  }

  #mark(element) {
    this.#marked?.classList.remove("toured");
    element?.classList.add("toured");
    element?.scrollIntoView({ block: "start" });
    this.#marked = element;
  }

  #seen() {
    try {
      return localStorage.getItem(KEY) !== null;
    } catch {
      return false;
    }
  }
}
