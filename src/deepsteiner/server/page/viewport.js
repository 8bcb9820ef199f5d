// Which part of the plane is on the screen: world coordinates (y up) to pixels (y down).

import { boundingBox } from "./geometry.js";

const MARGIN = 48;
// The toolbar lies over the top of the plane; points begin below it.
const BELT = 64;

/** One viewport is shared by all planes on the page, so that two trees can be compared. */
export class Viewport extends EventTarget {
  width = 1;
  height = 1;
  /** Pixels per unit, and the world point in the middle. */
  scale = 1;
  centre = [0.5, 0.5];
  #wanted = null;

  toScreen([x, y]) {
    return [
      this.width / 2 + (x - this.centre[0]) * this.scale,
      this.height / 2 - (y - this.centre[1]) * this.scale,
    ];
  }

  toWorld([px, py]) {
    return [
      this.centre[0] + (px - this.width / 2) / this.scale,
      this.centre[1] - (py - this.height / 2) / this.scale,
    ];
  }

  /** A world point rounded to what a pixel can tell: short numbers in links and files. */
  toWorldRounded(pixel) {
    const step = 10 ** Math.floor(Math.log10(0.5 / this.scale));
    const round = (value) => Number((Math.round(value / step) * step).toPrecision(12));
    return this.toWorld(pixel).map(round);
  }

  /** Places moved by so many pixels. */
  shifted(places, [dx, dy]) {
    return places.map((place) => {
      const [x, y] = this.toScreen(place);
      return this.toWorldRounded([x + dx, y + dy]);
    });
  }

  resize(width, height) {
    if (width < 1 || height < 1 || (width === this.width && height === this.height)) return;
    this.width = width;
    this.height = height;
    if (this.#wanted) this.#show(this.#wanted);
    this.#changed();
  }

  /** Show all points; the view keeps following resizes until someone pans or zooms. */
  fit(points) {
    this.#wanted = boundingBox(points);
    this.#show(this.#wanted);
    this.#changed();
  }

  #show({ x0, y0, x1, y1 }) {
    const margin = Math.min(MARGIN, 0.12 * Math.min(this.width, this.height));
    const top = Math.max(margin, BELT);
    const wide = Math.max(x1 - x0, 1e-300);
    const high = Math.max(y1 - y0, 1e-300);
    // A plane that is not laid out yet has no size; any positive scale will do until then.
    const room = [Math.max(1, this.width - 2 * margin), Math.max(1, this.height - margin - top)];
    const scale = Math.min(room[0] / wide, room[1] / high);
    // A single point has no size: give it a neighbourhood of about its own magnitude.
    const single = x0 === x1 && y0 === y1;
    this.scale = single ? this.width / (2 * Math.max(1, Math.abs(x0), Math.abs(y0))) : scale;
    this.centre = [(x0 + x1) / 2, (y0 + y1) / 2 + (top - margin) / 2 / this.scale];
  }

  pan(dx, dy) {
    this.#wanted = null;
    this.centre = [this.centre[0] - dx / this.scale, this.centre[1] + dy / this.scale];
    this.#changed();
  }

  /** Zoom by a factor around a pixel, which keeps its place. */
  zoom(factor, pixel = [this.width / 2, this.height / 2]) {
    this.#wanted = null;
    const before = this.toWorld(pixel);
    this.scale = Math.min(1e12, Math.max(1e-9, this.scale * factor));
    const after = this.toWorld(pixel);
    this.centre = [
      this.centre[0] + before[0] - after[0],
      this.centre[1] + before[1] - after[1],
    ];
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}
