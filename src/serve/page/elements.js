// Creates elements. Children that are strings become text nodes, so that no data is interpreted as HTML.
const SVG = "http://www.w3.org/2000/svg";

function withContent(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);
export const html = (name, attributes, ...children) => withContent(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) =>
  withContent(document.createElementNS(SVG, name), attributes, children);

// A number in few characters, such as 0.00012, 3.46, 21,300.
export function short(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

export function duration(seconds) {
  const whole = Math.round(seconds);
  const two = (number) => String(number).padStart(2, "0");
  const minutes = `${Math.floor(whole / 60) % 60}`;
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}
