// The panel with the position encodings of a model, and their similarity for each pair of positions.
import {request} from "/page/api.js";
import {byId, html} from "/page/elements.js";
import {dots} from "/page/matrix.js";

const COUNT = 64;
const KINDS = {
  sinusoidal: "Position encodings are added to the embeddings, so that the model knows the order of the tokens: PE(pos, 2i) = " +
    "sin(pos/10000^(2i/d)), PE(pos, 2i+1) = cos(pos/10000^(2i/d)) (section 3.5). The similarity of two positions depends on " +
    "their distance alone.",
  learned: "A learned vector for each position is added to the embeddings; the paper found it as good as sines (section 3.5, " +
    "table 3 row E). Whatever structure the pictures show was learned.",
  rotary: "This model adds no encodings. Rotary positions turn each pair of features of queries and keys by an angle that grows " +
    "with the position, so that their product depends on the distance (Su et al. 2021).",
  alibi: "This model adds no encodings. ALiBi takes from each attention score an amount that grows with the distance, with a slope " +
    "for each head (Press et al. 2022).",
  sinusoidal_halves: "Position encodings are added to the embeddings, so that the model knows the order of the tokens. They are those of " +
    "section 3.5, but all sines come before all cosines: PE(pos, i) = sin(pos/10000^(2i/d)), PE(pos, d/2 + i) = cos(pos/10000^(2i/d)). " +
    "The similarity of two positions depends on their distance alone.",
  sinusoidal_marian: "Position encodings are added to the embeddings, so that the model knows the order of the tokens. They are those of " +
    "Marian: all sines come before all cosines, with the wavelengths 10000^(i/(d/2 - 1)). The similarity of two positions depends on " +
    "their distance alone.",
  index: "The position itself is the last feature of the input of the first layer, instead of encodings.",
  relative_index: "The position as a share of the sentence is the last feature of the input of the first layer, instead of encodings.",
  t5: "This model adds no encodings: attention itself depends on the distance of two tokens, by a learned number for each range of " +
    "distances and each head (Raffel et al. 2020).",
  none: "This model has no position encodings: what it knows of the order it knows from the mask of the decoder, or from layers " +
    "that read one token after the other.",
};
const OTHER = "This model adds no encodings of its own kind to show.";

const value = (number) => number.toFixed(2).replace("-", "−");

// Draws values as a picture in which the largest absolute value has the strongest colour.
function draw(id, values, columns, {name, read}) {
  const max = values.reduce((max, one) => Math.max(max, Math.abs(one)), 0);
  const picture = dots(values.map((one) => one / (max || 1)), columns, name,
    (row, column) => { byId("positions-reading").textContent = read(row, column, values[row * columns + column]); });
  const scale = html("p", {class: "scale"}, value(-max), html("i", {role: "img", "aria-label": "to"}), value(max));
  byId(id).replaceChildren(picture, scale);
}

let shown = null;  // the model whose positions were requested last

export async function showPositions(model) {
  shown = model;
  byId("positions-reading").textContent = "";
  const answer = await request(`/v1/models/${encodeURIComponent(model.id)}/positions?count=${COUNT}`);
  const data = await answer.json();
  if (shown !== model) return;  // another model was chosen meanwhile
  const {kind, d_model: width, positions, encodings, similarity} = data;
  const learned = kind.startsWith("learned");
  byId("positions-text").textContent = learned ? KINDS.learned : KINDS[kind] ?? OTHER;
  byId("positions-maps").hidden = positions === 0;
  if (!positions) return;
  draw("encodings", encodings, width, {name: `Encodings of the first ${positions} positions, ${width} features`,
    read: (row, column, one) => `Position ${row}, feature ${column}: ${value(one)}`});
  draw("similarity", similarity, positions, {name: `Cosine of each pair of the first ${positions} positions`,
    read: (row, column, one) => `Positions ${row} and ${column}: cosine ${value(one)}`});
}
