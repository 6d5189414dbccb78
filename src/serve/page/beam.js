// The panel with the steps of beam search: a column for each step, a box for each hypothesis, and a line to it from the
// hypothesis that it continues.
import {byId, html, svg} from "/page/elements.js";

const WIDTH = 112, HEIGHT = 26, GAP = 30;
const FATES = {
  continues: ["→", "goes on", ""],
  finished: ["✓", "is finished", ""],
  dropped: ["×", "is dropped", ": others are better"],
  stopped: ["■", "is stopped", ": it can't become better than those that are finished"],
};
const STEP_TIME = 700;  // milliseconds for each step while the search is played
let steps = [], at = 0, playing = 0;
const fixed = (value) => value.toFixed(2).replace("-", "−");

// The hypotheses that lead from the first step to one hypothesis, which is the last. `parent` is an index in the step
// before.
function path(step, index) {
  const found = [];
  for (; step >= 0 && index !== null; --step) {
    const one = steps[step][index];
    found.unshift({step, index, one});
    index = one.parent;
  }
  return found;
}

const textOf = (step, index) => path(step, index).map(({one}) => one.token).join(" ");

// The path to the best hypothesis that is finished or continues at the shown step.
function bestPath() {
  let best = null;
  for (let step = 0; step <= at; ++step)
    steps[step].forEach((one, index) => {
      const counts = one.fate === "finished" || (step === at && one.fate !== "dropped");
      if (counts && (!best || one.score > best.score)) best = {score: one.score, step, index};
    });
  return new Set((best ? path(best.step, best.index) : []).map(({step, index}) => `${step} ${index}`));
}

const clip = (text) => text.length > 11 ? `${text.slice(0, 10)}…` : text;
const place = (step, index) => ({x: 4 + step * (WIDTH + GAP), y: 4 + index * (HEIGHT + 6)});

function drawTree() {
  const best = bestPath(), edges = [], nodes = [];
  for (let step = 0; step <= at; ++step)
    steps[step].forEach((one, index) => {
      const {x, y} = place(step, index), isBest = best.has(`${step} ${index}`);
      if (one.parent !== null) {
        const from = place(step - 1, one.parent), y1 = from.y + HEIGHT / 2, y2 = y + HEIGHT / 2, x1 = from.x + WIDTH, half = GAP / 2;
        edges.push(svg("path", {class: isBest ? "edge best" : "edge", d: `M${x1} ${y1}C${x1 + half} ${y1} ${x - half} ${y2} ${x} ${y2}`}));
      }
      nodes.push(svg("g", {class: `${one.fate}${step === at ? " now" : ""}`},
        svg("title", {}, `${textOf(step, index)} ${FATES[one.fate][1]}; score ${fixed(one.score)}`),
        svg("rect", {class: "node", x, y, width: WIDTH, height: HEIGHT, rx: 5}),
        svg("text", {x: x + 7, y: y + 17}, clip(one.token)),
        svg("text", {x: x + WIDTH - 7, y: y + 17, "text-anchor": "end"}, FATES[one.fate][0])));
    });
  const tallest = Math.max(...steps.slice(0, at + 1).map((step) => step.length));
  const width = 8 + (at + 1) * (WIDTH + GAP) - GAP, height = 8 + tallest * (HEIGHT + 6);
  const image = svg("svg", {class: "tree", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": `Hypotheses up to step ${at + 1}; the table below has those of this step`}, ...edges, ...nodes);
  byId("beam-tree").replaceChildren(image);
  byId("beam-tree").scrollLeft = place(at, 0).x + WIDTH + GAP - byId("beam-tree").clientWidth;
}

function draw() {
  byId("step").max = Math.max(1, steps.length), byId("step").value = at + 1;
  byId("step-name").textContent = steps.length ? `${at + 1} of ${steps.length}` : "";
  byId("play").disabled = steps.length < 2;
  byId("step-previous").disabled = at === 0, byId("step-next").disabled = at + 1 >= steps.length;
  byId("step").disabled = steps.length === 0;
  byId("beam-table").tBodies[0].replaceChildren(...(steps[at] ?? []).map((one, index) => html("tr", {},
    html("td", {}, textOf(at, index)), html("td", {class: "number"}, fixed(one.log_probability)),
    html("td", {class: "number"}, fixed(one.score)), html("td", {}, `${FATES[one.fate][0]} ${FATES[one.fate][1]}`))));
  if (steps.length) drawTree();
}

const go = (to) => {
  pause();
  at = Math.min(Math.max(0, to), Math.max(0, steps.length - 1));
  draw();
};

function pause() {
  clearInterval(playing);
  playing = 0;
  byId("play").textContent = "Play";
}

// Plays from the shown step on, or from the first if the last is shown.
function play() {
  if (playing) return pause();
  if (at + 1 >= steps.length) at = 0, draw();
  byId("play").textContent = "Pause";
  playing = setInterval(() => {
    ++at;
    draw();
    if (at + 1 >= steps.length) pause();
  }, STEP_TIME);
}

export function showBeam(sentence) {
  steps = sentence?.search ?? [];
  go(0);
  if (!steps.length) byId("beam-tree").textContent = sentence?.unwatched ?? "";
}

byId("step-previous").addEventListener("click", () => go(at - 1));
byId("step-next").addEventListener("click", () => go(at + 1));
byId("play").addEventListener("click", play);
byId("step").addEventListener("input", () => go(Number(byId("step").value) - 1));
byId("beam-legend").replaceChildren(...Object.values(FATES).map(([sign, words, why]) => html("li", {}, `${sign} ${words}${why}`)),
  html("li", {}, "thick line: what leads to the best so far"));
