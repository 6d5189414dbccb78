// The panel in which a language model continues a text: shows each token when it is drawn, with its probability and
// likely alternatives.
import {request, events} from "/page/api.js";
import {tokenChip} from "/page/alternatives.js";
import {byId, html} from "/page/elements.js";
import {percent} from "/page/matrix.js";

let model = null, running = null, userChoseToken = false;
const REASONS = {length: "as many as were asked for", stop: "the model ended the text"};
const visible = (text) => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "·");

// `likeliest`: the log-probabilities of the most likely tokens, by token; the drawn token need not be among them.
function showLikely(chip, token, own, likeliest) {
  for (const other of byId("language-tokens").querySelectorAll("[aria-pressed='true']")) other.setAttribute("aria-pressed", "false");
  chip.setAttribute("aria-pressed", "true");
  const all = new Map([[token, own], ...Object.entries(likeliest ?? {})]);
  const rows = [...all].sort((a, b) => b[1] - a[1]).map(([text, logProbability]) => {
    const bar = html("span", {class: "bar", "aria-hidden": "true"});
    bar.style.setProperty("--share", Math.exp(logProbability));
    return html("tr", {}, html("td", {}, visible(text) + (text === token ? " (drawn)" : "")),
      html("td", {class: "number"}, percent(Math.exp(logProbability))), html("td", {class: "wide"}, bar));
  });
  byId("likely").replaceChildren(html("table", {}, html("thead", {}, html("tr", {}, html("th", {scope: "col"}, "Token"),
    html("th", {scope: "col", class: "number"}, "Probability"), html("th", {scope: "col"}, html("span", {class: "visually-hidden"}, "Bar")))),
    html("tbody", {}, ...rows)));
}

function add(logprobs) {
  logprobs.tokens.forEach((token, i) => {
    const own = logprobs.token_logprobs[i], likeliest = logprobs.top_logprobs?.[i], chip = tokenChip(visible(token), own, "button");
    chip.type = "button";
    chip.setAttribute("aria-pressed", "false");
    for (const event of ["pointermove", "focus", "click"])
      chip.addEventListener(event, () => { userChoseToken = true; showLikely(chip, token, own, likeliest); });
    byId("language-tokens").append(html("li", {}, chip));
    if (!userChoseToken) showLikely(chip, token, own, likeliest);
  });
}

function setState(text, warning = false) {
  byId("language-state").textContent = text;
  byId("language-state").className = warning ? "warning" : "quiet";
}

async function generate() {
  running?.abort();
  const controller = running = new AbortController();
  userChoseToken = false;
  byId("language-tokens").replaceChildren();
  byId("likely").replaceChildren();
  byId("stop").disabled = false;
  setState("Writing…");
  const number = (id) => Number(byId(id).value);
  let count = 0, why = "";
  try {
    const answer = await request("/v1/completions", {model: model.id, prompt: byId("prompt").value, stream: true, logprobs: 5,
      max_tokens: number("max-tokens"), temperature: number("temperature"), seed: number("seed")}, controller.signal);
    for await (const event of events(answer)) {
      if (event.error) throw new Error(event.error.message);
      const {logprobs, finish_reason: reason} = event.choices[0] ?? {};
      if (logprobs) add(logprobs), count += logprobs.tokens.length;
      why = reason ?? why;
    }
    if (why) setState(`${count} tokens; ${REASONS[why] ?? why}.`);
    else setState(`The connection ended after ${count} tokens, before the text did.`, true);
  } catch (error) {
    if (controller === running) setState(error.name === "AbortError" ? `Stopped after ${count} tokens.` : error.message, error.name !== "AbortError");
  } finally {
    if (controller === running) byId("stop").disabled = true;
  }
}

export function startLanguage() {
  byId("generate").addEventListener("click", generate);
  byId("stop").addEventListener("click", () => running?.abort());
}

export function useLanguageModel(chosen, limits) {
  model = chosen;
  running?.abort();
  byId("max-tokens").max = limits.new_tokens;
  byId("language-tokens").replaceChildren();
  byId("likely").replaceChildren();
  generate();  // so that the panel is not empty at first
}
