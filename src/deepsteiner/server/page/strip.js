// The progress strip: phase, best tree, bound, gap and a button to stop, for solves that take long.

import { $, setText } from "./dom.js";
import * as format from "./format.js";

// A solve that ends sooner never shows the strip: a flash tells nothing.
export const PATIENCE_MS = 300;

export class ProgressStrip {
  #tickets = [];

  constructor() {
    $("#cancel").addEventListener("click", () => this.#tickets[0]?.cancel());
  }

  /** Announce a solve; returns {report, end}. The oldest one is shown. */
  begin(name, cancel) {
    const ticket = { name, cancel, last: null };
    this.#tickets.push(ticket);
    const timer = setTimeout(() => this.#show(), PATIENCE_MS);
    return {
      report: (progress) => {
        ticket.last = progress;
        if (this.#tickets[0] === ticket) this.#show(true);
      },
      end: () => {
        clearTimeout(timer);
        this.#tickets = this.#tickets.filter((other) => other !== ticket);
        if (!this.#tickets.length) $("#progress").hidden = true;
      },
    };
  }

  #show(onlyIfShown = false) {
    const ticket = this.#tickets[0];
    if (!ticket || (onlyIfShown && $("#progress").hidden)) return;
    $("#progress").hidden = false;
    const { phase, elapsed, done, total, length, lower_bound: bound } = ticket.last ?? {};
    setText($("#progress-phase"), `${ticket.name}: ${phase ?? "starting"}`);
    const parts = [];
    if (elapsed !== undefined) parts.push(format.seconds(elapsed));
    if (length) parts.push(`best ${format.length(length)}`);
    if (bound) parts.push(`bound ${format.length(bound)}`);
    if (length && bound) parts.push(`gap ${format.percent(length / bound - 1)}`);
    setText($("#progress-numbers"), parts.join(" · "));
    const bar = $("#progress-bar");
    if (total > 0) bar.value = done / total;
    else bar.removeAttribute("value");
  }
}
