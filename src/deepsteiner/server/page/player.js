// Play, pause, step and scrub through a list of frames.

import { $, calm } from "./dom.js";

const BEAT_MS = 1300;

/** Drives the dock's controls; `show(index)` draws a frame. */
export class Player {
  #frames = 0;
  #at = 0;
  #timer = 0;
  #show = () => {};

  constructor() {
    this.scrub = $("#scrub");
    this.button = $("#play");
    this.scrub.addEventListener("input", () => this.go(Number(this.scrub.value), true));
    this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    $("#play-first").addEventListener("click", () => this.go(0, true));
    $("#play-back").addEventListener("click", () => this.go(this.#at - 1, true));
    $("#play-next").addEventListener("click", () => this.go(this.#at + 1, true));
  }

  get playing() {
    return this.#timer !== 0;
  }

  /** Take other frames and begin to play; people who want no motion press play themselves. */
  load(count, show) {
    this.pause();
    this.#frames = count;
    this.#show = show;
    this.scrub.max = Math.max(0, count - 1);
    this.go(0);
    if (count > 1 && !calm()) this.play();
  }

  unload() {
    this.pause();
    this.#frames = 0;
    this.scrub.max = 0;
  }

  go(index, byHand = false) {
    if (byHand) this.pause();
    if (!this.#frames) return;
    this.#at = Math.max(0, Math.min(this.#frames - 1, index));
    this.scrub.value = this.#at;
    this.#show(this.#at);
  }

  play() {
    if (!this.#frames) return;
    if (this.#at === this.#frames - 1) this.go(0);
    this.#timer = setInterval(() => {
      this.go(this.#at + 1);
      if (this.#at === this.#frames - 1) this.pause();
    }, BEAT_MS);
    this.#label();
  }

  pause() {
    clearInterval(this.#timer);
    this.#timer = 0;
    this.#label();
  }

  #label() {
    this.button.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.button.classList.toggle("playing", this.playing);
  }
}
