// The section with sentences of the validation data: the outputs of the model at each validation, and the
// cross-attention of one sentence.
import {byId, html} from "/page/elements.js";
import {matrix} from "/page/matrix.js";

let runs = [], followsNewest = true;

function validations() {
  return runs.find((run) => run.name === byId("sample-run").value)?.validations ?? [];
}

function showSamples() {
  const all = validations();
  const range = byId("validation");
  range.max = Math.max(0, all.length - 1);
  if (followsNewest) range.value = range.max;
  const one = all[Number(range.value)];
  if (!one) return;
  byId("validation-name").textContent = `at update ${one.update.toLocaleString("en")}`;
  byId("samples").replaceChildren(...one.samples.map((sample) => {
    const rows = [["Input", sample.input, ""], ["Output", sample.output, "output"], ["Reference", sample.reference, ""]];
    return html("div", {class: "sample card"}, html("dl", {}, ...rows.filter(([, text]) => text !== undefined).flatMap(
      ([name, text, style]) => [html("dt", {}, name), html("dd", {class: style}, text || "(nothing)")])));
  }));
  drawAttention(one.samples.find((sample) => sample.attention?.weights));
}

// Draws a row for each target token; the darker a cell, the larger the attention weight of the column's source token.
function drawAttention(sample) {
  byId("attention").hidden = !sample;
  if (!sample) return;
  const {layer, source, target, weights} = sample.attention;
  byId("attention-text").textContent =
    `Cross-attention of “${sample.input}”, the mean of the heads of decoder layer ${layer + 1}: softmax(QKᵀ/√dₖ). Rows are ` +
    "the tokens of the reference as the decoder is to predict them (queries), columns those of the input (keys); each row " +
    "adds up to 1.";
  byId("attention-map").replaceChildren(matrix({source, target, weight: (row, column) => weights[row]?.[column] ?? 0,
    name: `Cross-attention from "${target.join(" ")}" to "${source.join(" ")}"`}));
}

export function drawSamples(all) {
  runs = all;
  const names = runs.filter((run) => run.validations.length > 0).map((run) => run.name);
  byId("samples-section").hidden = names.length === 0;
  const choice = byId("sample-run");
  if (names.join("\n") !== [...choice.options].map((option) => option.value).join("\n"))
    choice.replaceChildren(...names.map((name) => html("option", {value: name}, name)));
  showSamples();
}

byId("sample-run").addEventListener("change", showSamples);
byId("validation").addEventListener("input", () => {
  followsNewest = byId("validation").value === byId("validation").max;
  showSamples();
});
