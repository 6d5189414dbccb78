// The panel with a small picture of each attention head of each layer. A click opens a large picture with the tokens.
import {byId, html} from "/page/elements.js";
import {dots, matrix, percent} from "/page/matrix.js";

const KINDS = {
  encoder: ["Encoder", "In the encoder every token of the source looks at every token of the source."],
  decoder: ["Decoder", "In the decoder a token looks at itself and at those before it; those after it are masked."],
  cross: ["Cross", "In cross-attention the queries come from the decoder, keys and values from the encoder."],
};
let layers = [], kind = "encoder", shown = null;

function weightsOf(layer, head) {
  const size = layer.source.length * layer.target.length;
  return layer.weights.slice(head * size, (head + 1) * size);
}

const nameOf = (layer, head) => `${KINDS[layer.kind][0]} attention, layer ${layer.layer + 1}, head ${head + 1}`;

function drawDialog() {
  const {layer, head} = shown, weights = weightsOf(layer, head), columns = layer.source.length;
  byId("head-title").textContent = nameOf(layer, head);
  byId("head-text").textContent = "A row is a query, a column is a key; the stronger the colour, the more is taken of the key's value. Each row adds up to 1.";
  byId("head-map").replaceChildren(matrix({source: layer.source, target: layer.target,
    weight: (row, column) => weights[row * columns + column], name: nameOf(layer, head),
    read: (row, column) => {
      byId("head-reading").textContent =
        `“${layer.target[row]}” attends to “${layer.source[column]}”: ${percent(weights[row * columns + column])}`;
    }}));
}

function openDialog(layer, head) {
  shown = {layer, head};
  drawDialog();
  byId("head-dialog").showModal();
  byId("head-map").querySelector("svg").focus();
}

function showNeighbour(by) {
  const all = layers.filter((layer) => layer.kind === kind).flatMap((layer) =>
    Array.from({length: layer.heads}, (_, head) => ({layer, head})));
  const at = all.findIndex((one) => one.layer === shown.layer && one.head === shown.head);
  shown = all[(at + by + all.length) % all.length];
  drawDialog();
}

function drawAll() {
  byId("heads-kind-text").textContent = KINDS[kind][1];
  byId("heads").replaceChildren(...layers.filter((layer) => layer.kind === kind).map((layer) => {
    const row = html("div", {class: "layer"}, html("span", {}, `Layer ${layer.layer + 1}`));
    row.style.setProperty("--heads", layer.heads);
    for (let head = 0; head < layer.heads; ++head) {
      const button = html("button", {type: "button", "aria-label": `Open ${nameOf(layer, head)}`},
        dots(weightsOf(layer, head), layer.source.length));
      button.addEventListener("click", () => openDialog(layer, head));
      row.append(button);
    }
    return row;
  }));
}

export function showHeads(sentence) {
  layers = sentence?.translations?.[0]?.all_attention ?? [];
  const kinds = Object.keys(KINDS).filter((one) => layers.some((layer) => layer.kind === one));
  if (!kinds.includes(kind)) kind = kinds[0] ?? "encoder";
  byId("heads-kinds").replaceChildren(...kinds.map((one) => {
    const radio = html("input", {type: "radio", name: "heads-kind", value: one});
    radio.checked = one === kind;
    radio.addEventListener("change", () => { kind = one; drawAll(); });
    return html("label", {}, radio, ` ${KINDS[one][0]}`);
  }));
  drawAll();
  const without = sentence?.translations?.[0]?.tokens?.length ? "No layer of this model attends." : "The text has no tokens that the model reads.";
  if (!layers.length) byId("heads").textContent = sentence ? sentence.unwatched || without : "";
}

byId("head-close").addEventListener("click", () => byId("head-dialog").close());
byId("head-previous").addEventListener("click", () => showNeighbour(-1));
byId("head-next").addEventListener("click", () => showNeighbour(1));
