// A shape while it is drawn, corner by corner: what clicks on the plane are for as long as one of the
// tools for drawing is on.

// A click this near to the first corner of a polygon, or to the last place of a line, ends it.
const NEAR = 14;

export class Drawing {
  #kind = null;
  #places = [];

  constructor(plane) {
    this.plane = plane;
    document.addEventListener("keydown", (event) => {
      if (!this.#places.length || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
      this.end(event.key === "Enter");
    });
  }

  /** Add a corner, or end the shape with it. */
  corner(kind, pixel) {
    this.#kind = kind;
    const obstacle = kind === "obstacle";
    const goal = obstacle ? this.#places[0] : this.#places.at(-1);
    if (this.#enough && this.#isNear(goal, pixel)) {
      this.end(true);
      return;
    }
    this.#places = [...this.#places, this.plane.viewport.toWorldRounded(pixel)];
    this.plane.setDraft(obstacle ? [...this.#places, this.#places[0]] : this.#places);
  }

  /** Keep what is drawn, where that is a shape already, or give it up. */
  end(keep) {
    const [kind, places] = [this.#kind, this.#places];
    const whole = keep && this.#enough;
    this.#places = [];
    this.plane.setDraft([]);
    if (whole) this.plane.store.addShape(kind, places);
  }

  get #enough() {
    return this.#places.length >= (this.#kind === "obstacle" ? 3 : 2);
  }

  #isNear(place, pixel) {
    const [x, y] = this.plane.viewport.toScreen(place);
    return Math.hypot(x - pixel[0], y - pixel[1]) < NEAR;
  }
}
