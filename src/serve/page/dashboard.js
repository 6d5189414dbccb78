// The page of `sixfold dashboard`: requests the runs every two seconds and draws what is new.
import {Chart, DASHES, colour} from "/page/chart.js";
import {drawSamples} from "/page/samples.js";
import {byId, duration, html, short, svg} from "/page/elements.js";

const named = (names) => new Map(Object.entries(names));
const UNITS = named({loss: "Loss", perplexity: "Perplexity", learning_rate: "Learning rate", gradient_norm: "Gradient norm",
  tokens_per_second: "Tokens/s", memory_mb: "Memory (MB)"});
const charts = new Map();
let version = 0, runs = [], scores = new Map();

// The title of a metric as a heading: "accuracy" gets a capital letter, "chrF2" stays.
const heading = (title) => /^[a-z]+\b/.test(title) ? title[0].toUpperCase() + title.slice(1) : title;

function key(run) {
  const line = svg("line", {x1: 1, x2: 33, y1: 7, y2: 7, stroke: colour(run), "stroke-width": 2.4});
  if (DASHES[run % 8]) line.setAttribute("stroke-dasharray", DASHES[run % 8]);
  return svg("svg", {width: 34, height: 14, "aria-hidden": "true"}, line);
}

const last = (run, name) => run.curves[name]?.[1].at(-1);
const lastUpdate = (run) => last(run, "last_update") || 0;

function figures(run) {
  const rows = [["update", short(run.update) + (lastUpdate(run) ? ` of ${short(lastUpdate(run))}` : "")],
    ["time", duration(run.seconds)]];
  const left = last(run, "seconds_left");
  if (left > 0) rows.push(["left", duration(left)]);
  if (last(run, "tokens_per_second")) rows.push(["tokens/s", short(last(run, "tokens_per_second"))]);
  rows.push(["loss", short(last(run, "loss") ?? null)]);
  for (const [name, curve] of Object.entries(run.curves))
    if (name.startsWith("validation ")) {
      const score = name.slice(11);
      rows.push([scores.get(score) ?? name, short(curve[1].at(-1))]);
    }
  const sizes = run.settings?.model;
  if (sizes?.d_model) rows.push(["d_model", sizes.d_model]);
  return html("dl", {}, ...rows.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, String(value)))));
}

function card(run, number) {
  const parts = [html("div", {class: "run-name"}, key(number), html("span", {}, run.name),
    html("span", {class: "task"}, String(run.task ?? "").replaceAll("_", " ")))];
  const end = lastUpdate(run);
  if (end) parts.push(html("progress", {max: end, value: Math.min(run.update, end), "aria-label": `progress of ${run.name}`}));
  parts.push(Object.keys(run.curves).length ? figures(run) : html("p", {class: "quiet"}, "It reads its data. Its first figures come after its first update."));
  if (run.diagnoses.length)
    parts.push(html("ul", {class: "diagnoses warning", "aria-label": `diagnoses of ${run.name}`}, ...run.diagnoses.map((diagnosis) =>
      html("li", {}, html("strong", {}, diagnosis.id), ` (update ${short(diagnosis.update)}): ${diagnosis.text}`))));
  if (run.problem) parts.push(html("p", {class: "warning"}, `Warning: ${run.problem}`));
  return html("li", {class: "run card", title: run.path}, ...parts);
}

// The curves of each chart. There is a chart for each quantity; training and validation share those of loss and
// perplexity.
function chartCurves() {
  const found = new Map([...UNITS.values()].map((title) => [title, []]));
  const share = byId("axis").value === "share";
  runs.forEach((run, number) => {
    const end = lastUpdate(run) || run.update || 1;
    for (const [name, [updates, values]] of Object.entries(run.curves)) {
      const valid = name.startsWith("validation ");
      const quantity = valid ? name.slice(11) : name;
      const title = UNITS.get(quantity) ?? (valid ? scores.get(quantity) ?? quantity : null);
      if (!title) continue;
      const x = share ? updates.map((update) => update / end) : updates;
      const label = valid ? `${run.name} validation` : run.name;
      found.set(title, [...(found.get(title) ?? []), {run: number, label, valid, x, y: values}]);
    }
  });
  return found;
}

function drawCurves() {
  const options = {axis: byId("axis").value, logarithmic: false};
  const found = chartCurves();
  for (const [title, chart] of charts) {  // charts of a run that was replaced or deleted
    if (found.get(title)?.length) continue;
    chart.element.remove();
    charts.delete(title);
  }
  for (const [title, curves] of found) {
    if (curves.length === 0) continue;
    if (!charts.has(title)) {
      charts.set(title, new Chart(title));
      byId("curves").append(charts.get(title).element);
    }
    const logarithmic = byId("logarithmic").checked && (title === "Loss" || title === "Perplexity");
    charts.get(title).draw(curves, {...options, logarithmic});
  }
}

function draw() {
  byId("runs").replaceChildren(...runs.map(card));
  drawCurves();
  drawSamples(runs);
}

// Sets the text only if it has changed, because screen readers read it again whenever it is set.
function setState(text, style) {
  const state = byId("state");
  if (state.textContent !== text) state.textContent = text;
  state.className = style;
}

async function fetchJson(path) {
  try {
    return await (await fetch(path)).json();
  } catch {
    return null;
  }
}

async function update() {
  setTimeout(update, document.hidden ? 10000 : 2000);
  const data = await fetchJson(`/runs?version=${version}`);
  if (!data) return setState("The server does not answer; trying again. What is shown is what was last read.", "warning");
  setState("The page follows the runs as they go on. Dots are validations.", "");
  if (!data.runs) return;
  version = data.version, runs = data.runs;
  scores = new Map(Object.entries(data.titles).map(([name, title]) => [name, heading(title)]));
  try {
    draw();
  } catch (error) {
    setState(`The page can't draw the runs: ${error.message}`, "warning");
  }
}

byId("axis").addEventListener("change", drawCurves);
byId("logarithmic").addEventListener("change", drawCurves);
update();
