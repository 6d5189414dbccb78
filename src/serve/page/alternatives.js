// The panel with the n best translations of a sentence, and the tokens of the chosen one.
import {byId, html} from "/page/elements.js";
import {percent} from "/page/matrix.js";

const fixed = (value) => value.toFixed(2).replace("-", "−");
const NORMALIZATION = {
  none: "The score is this sum.",
  length: "The score divides it by n^α for n tokens, with α = {α}.",
  gnmt: "The score divides it by ((5 + n)/6)^α for n tokens, with α = {α}, so that long translations have no disadvantage.",
};

// A token with a bar for its probability.
export function tokenChip(text, logProbability, name = "li") {
  const share = Math.exp(logProbability), bar = html("span", {class: "bar", "aria-hidden": "true"});
  bar.style.setProperty("--share", share);
  return html(name, {class: "chip"}, html("span", {}, text), html("span", {class: "share"}, percent(share)), bar);
}

function row(translation, rank, chosen, choose) {
  const radio = html("input", {type: "radio", name: "alternative", value: rank});
  radio.checked = rank === chosen;
  radio.addEventListener("change", () => choose(rank));
  return html("tr", {},
    html("td", {}, html("label", {}, radio, ` ${rank + 1}`)),
    html("td", {}, translation.text, translation.repeats ? html("span", {class: "warning"}, " (repeats itself)") : ""),
    html("td", {class: "number"}, fixed(translation.score)),
    html("td", {class: "number"}, fixed(translation.log_probability)));
}

export function describeScores(model) {
  const {normalization, length_penalty: alpha} = model.generation;
  byId("score-formula").textContent = NORMALIZATION[normalization]?.replace("{α}", fixed(alpha)) ??
    `The score normalizes it for the length (${normalization}).`;
}

// Calls `choose` with the selected translation, at once and whenever another one is selected.
export function showAlternatives(sentence, choose) {
  const all = sentence?.translations ?? [];
  const select = (rank) => {
    byId("token-scores").replaceChildren(...(all[rank]?.tokens ?? []).map((token) => tokenChip(token.text, token.log_probability)));
    choose(all[rank] ?? null);
  };
  byId("alternatives").tBodies[0].replaceChildren(...all.map((translation, rank) => row(translation, rank, 0, select)));
  select(0);
}
