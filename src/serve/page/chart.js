// A chart of curves, as SVG. The curves of a run have the same colour and the same pattern of dashes, so that runs can be
// distinguished without colours.
import {html, short, svg} from "/page/elements.js";

const WIDTH = 380, HEIGHT = 190, LEFT = 48, RIGHT = 8, TOP = 10, BOTTOM = 22;
export const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "12 4", "1 4", "9 2 2 2 2 2"];

export function colour(run) {
  return `var(--series-${run % 8})`;
}

// Round values between min and max, for the marks of an axis.
function ticks(min, max, logarithmic) {
  if (logarithmic) {
    const all = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); ++power)
      for (const step of [1, 2, 5]) all.push(step * 10 ** power);
    const inside = all.filter((value) => value >= min * 0.999 && value <= max * 1.001);
    return inside.length > 6 ? inside.filter((value) => Math.log10(value) % 1 === 0) : inside;
  }
  const smallest = (max - min) / 5.5;
  const power = 10 ** Math.floor(Math.log10(smallest));
  const step = [1, 2, 5, 10].find((one) => one * power >= smallest) * power;
  const first = Math.ceil(min / step);
  return Array.from({length: 7}, (_, i) => (first + i) * step).filter((value) => value <= max + step / 1e6);
}

// The minimum and the maximum of the values; null if there are none.
function range(values) {
  let min = Infinity, max = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    min = Math.min(min, value), max = Math.max(max, value);
  }
  if (min > max) return null;
  // A single value is in the middle, and is the only number on its axis.
  if (max - min <= 1e-12 * Math.max(Math.abs(min), Math.abs(max))) {
    const room = 0.1 * (Math.abs(min) || 1);
    return Object.assign([min - room, max + room], {only: min});
  }
  return [min, max];
}

// curves: [{run, label, valid, x: [...], y: [...]}]; `valid`: whether it is a curve of validation; null in y is a gap.
export class Chart {
  constructor(title) {
    this.title = title;
    this.reading = html("span", {class: "reading"});
    this.image = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: "0"});
    this.element = html("figure", {class: "chart card"},
      html("figcaption", {}, html("h3", {}, title), this.reading), this.image);
    this.image.addEventListener("pointermove", (event) => this.point(event));
    this.image.addEventListener("pointerleave", () => this.read(null));
    this.image.addEventListener("keydown", (event) => this.step(event));
    this.image.addEventListener("blur", () => this.read(null));
  }

  draw(curves, options) {
    const xs = range(curves.flatMap((curve) => curve.x));
    const ys = range(curves.flatMap((curve) => curve.y));
    this.curves = curves;
    if (!xs || !ys) return this.image.replaceChildren();
    const logarithmic = options.logarithmic && ys[0] > 0;
    const scale = logarithmic ? Math.log : (value) => value;
    const [low, high] = [scale(ys[0]), scale(ys[1])];
    this.x = (value) => LEFT + (value - xs[0]) / (xs[1] - xs[0]) * (WIDTH - LEFT - RIGHT);
    this.y = (value) => HEIGHT - BOTTOM - (scale(value) - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    this.axis = options.axis;
    const parts = [];
    const marks = (ends, log) => ends.only === undefined ? ticks(ends[0], ends[1], log) : [ends.only];
    for (const value of marks(ys, logarithmic)) {
      const y = this.y(value);
      parts.push(svg("line", {class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y}),
        svg("text", {x: LEFT - 6, y: y + 4, "text-anchor": "end"}, short(value)));
    }
    for (const value of marks(xs, false).slice(0, 6)) {
      const label = options.axis === "share" ? `${Math.round(100 * value)} %` : short(value);
      parts.push(svg("text", {x: this.x(value), y: HEIGHT - 6, "text-anchor": "middle"}, label));
    }
    for (const curve of curves) parts.push(...this.line(curve));
    this.cursor = svg("line", {class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden"});
    this.image.replaceChildren(...parts, this.cursor);
    this.describe();
  }

  line(curve) {
    let path = "", open = false;
    const marks = [];
    curve.x.forEach((x, i) => {
      const y = curve.y[i];
      if (y === null) return void (open = false);
      const place = `${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)}`;
      path += `${open ? "L" : "M"}${place}`, open = true;
      if (curve.valid || curve.x.length === 1)
        marks.push(svg("circle", {cx: this.x(x), cy: this.y(y), r: 2.6, fill: colour(curve.run)}));
    });
    const line = svg("path", {class: curve.valid ? "line valid" : "line", d: path, stroke: colour(curve.run)});
    if (DASHES[curve.run % 8]) line.setAttribute("stroke-dasharray", DASHES[curve.run % 8]);
    return [line, ...marks.slice(-120)];
  }

  describe() {
    const last = this.curves.map((curve) => `${curve.label} ${short(curve.y.at(-1))}`).join(", ");
    this.image.setAttribute("aria-label", `${this.title}: ${last}. Arrow keys move along the curves.`);
    if (this.at === undefined || this.at === null) this.reading.textContent = this.curves.length === 1 ? short(this.curves[0].y.at(-1)) : "";
  }

  point(event) {
    const box = this.image.getBoundingClientRect();
    const place = (event.clientX - box.left) / box.width * WIDTH;
    const all = (this.curves ?? []).flatMap((curve) => curve.x);
    if (all.length === 0) return;
    this.read(all.reduce((best, x) => Math.abs(this.x(x) - place) < Math.abs(this.x(best) - place) ? x : best));
  }

  step(event) {
    const move = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!move || !this.curves?.length) return;
    event.preventDefault();
    const all = [...new Set(this.curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
    const now = this.at === undefined || this.at === null ? all.length - 1 : all.indexOf(this.at);
    this.read(all[Math.min(all.length - 1, Math.max(0, now + move))]);
  }

  // Shows the values of all curves at x; null: shows none.
  read(x) {
    this.at = x;
    if (!this.cursor) return;
    this.cursor.setAttribute("visibility", x === null ? "hidden" : "visible");
    if (x === null) return this.describe();
    this.cursor.setAttribute("x1", this.x(x));
    this.cursor.setAttribute("x2", this.x(x));
    const values = this.curves.map((curve) => {
      const i = curve.x.findLastIndex((one) => one <= x);
      return i < 0 ? "–" : short(curve.y[i]);
    });
    const where = this.axis === "share" ? `${Math.round(100 * x)} %` : short(x);
    this.reading.textContent = `${where}: ${values.join(" · ")}`;
  }
}
