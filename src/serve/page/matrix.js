// A matrix of weights as a picture: a row for each query, a column for each key.
import {html, svg} from "/page/elements.js";

const SIZE = 22;

// The width of a label in pixels, in the font of the page and the font size of labels (page.css).
const ruler = document.createElement("canvas").getContext("2d");
function widthOf(text) {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

export const percent = (share) => share > 0 && share < 0.0095 ? "under 1 %" : `${Math.round(100 * share)} %`;

// `weight(row, column)` is from 0 to 1. With `read` the picture can have the focus: arrow keys and the pointer select a
// cell, and `read` is called with its row and column.
export function matrix({source, target, weight, name, read}) {
  const widest = (words) => Math.max(...words.map(widthOf));
  const left = 16 + widest(target), top = 20 + 0.8 * widest(source);  // the labels above are rotated by 50 degrees
  const parts = [], cells = [];
  source.forEach((word, column) => {
    const x = left + column * SIZE + SIZE / 2 + 4;
    parts.push(svg("text", {x, y: top - 6, transform: `rotate(-50 ${x} ${top - 6})`}, word));
  });
  target.forEach((word, row) => {
    parts.push(svg("text", {x: left - 6, y: top + row * SIZE + 15, "text-anchor": "end"}, word));
    source.forEach((from, column) => {
      const cell = svg("rect", {class: "cell", x: left + column * SIZE, y: top + row * SIZE, width: SIZE, height: SIZE,
        "fill-opacity": weight(row, column)});
      if (!read) cell.append(svg("title", {}, `${word} looks at ${from}: ${percent(weight(row, column))}`));
      parts.push(cell), cells.push(cell);
    });
  });
  const width = left + source.length * SIZE + top, height = top + target.length * SIZE + 4;
  const image = svg("svg", {class: "matrix", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": name}, ...parts);
  if (read) followCells(image, cells, source.length, read);
  return image;
}

// Lets arrow keys move through `count` cells in rows of `columns`, and calls `show` with the index of the selected cell.
// Adds a method `goTo` to the element, which selects a cell.
function followKeys(element, count, columns, show) {
  let at = 0;
  element.goTo = (index) => {
    at = index;
    show(at);
  };
  element.setAttribute("tabindex", "0");
  element.addEventListener("keydown", (event) => {
    const move = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns}[event.key];
    if (!move) return;
    event.preventDefault();
    const next = at + move, leavesRow = Math.abs(move) === 1 && Math.floor(next / columns) !== Math.floor(at / columns);
    if (next >= 0 && next < count && !leavesRow) element.goTo(next);
  });
  element.addEventListener("focus", () => show(at));
}

function followCells(image, cells, columns, read) {
  let marked = cells[0];
  followKeys(image, cells.length, columns, (index) => {
    marked.classList.remove("at");
    marked = cells[index];
    marked.classList.add("at");
    marked.parentNode.append(marked);  // on top of its neighbours
    read(Math.floor(index / columns), index % columns);
  });
  image.addEventListener("pointermove", (event) => {
    const index = cells.indexOf(event.target);
    if (index >= 0 && event.target !== marked) image.goTo(index);
  });
}

// A picture of values from -1 to 1 without labels: a dot for each value, in rows of `columns` values. Positive and
// negative values have different hues; 0 is transparent. Without a name, screen readers skip the picture. With `read` it can have
// the focus, as `matrix`.
export function dots(values, columns, name, read) {
  const rows = values.length / columns, label = name ? {role: "img", "aria-label": name} : {"aria-hidden": "true"};
  const canvas = html("canvas", {class: "dots", width: columns, height: rows, ...label});
  const paint = () => {
    const style = getComputedStyle(document.documentElement);
    const [above, below] = ["--heat", "--heat-below"].map((name) => style.getPropertyValue(name).split(",").map(Number));
    const context = canvas.getContext("2d"), picture = context.createImageData(columns, rows);
    values.forEach((value, i) =>
      picture.data.set([...(value < 0 ? below : above), Math.round(255 * Math.min(1, Math.abs(value)))], 4 * i));
    context.putImageData(picture, 0, 0);
  };
  paint();
  canvas.paint = paint;
  if (!read) return canvas;
  const show = (index) => read(Math.floor(index / columns), index % columns);
  followKeys(canvas, values.length, columns, show);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect(), inside = (part, size, count) =>
      Math.min(count - 1, Math.max(0, Math.floor(part / size * count)));
    canvas.goTo(inside(event.clientY - box.top, box.height, rows) * columns + inside(event.clientX - box.left, box.width, columns));
  });
  return canvas;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
  () => document.querySelectorAll("canvas.dots").forEach((canvas) => canvas.paint()));
