// The panel that translates what is typed. Also requests the details of one sentence, which other panels show.
import {ApiError, request} from "/page/api.js";
import {byId, html} from "/page/elements.js";

const PAUSE = 250;  // milliseconds without a key before a request is sent
// The text that is translated before something is typed, so that the page is not empty, by language.
const EXAMPLES = {
  cs: "Starý pes spí.", da: "Den gamle hund sover.", de: "Der alte Hund schläft.", en: "The old dog sleeps.",
  es: "El perro viejo duerme.", fi: "Vanha koira nukkuu.", fr: "Le vieux chien dort.", hu: "Az öreg kutya alszik.",
  it: "Il vecchio cane dorme.", ja: "年老いた犬は眠っている。", nl: "De oude hond slaapt.", pl: "Stary pies śpi.",
  pt: "O velho cão dorme.", ro: "Câinele bătrân doarme.", ru: "Старая собака спит.", sv: "Den gamla hunden sover.",
  tr: "Yaşlı köpek uyuyor.", uk: "Старий собака спить.", zh: "老狗在睡觉。",
};
let example = "";  // the shown example, until something is typed
let model = null, limits = {}, running = null, timer = 0;
let onDetails = () => {};  // called with the details of the chosen sentence

const beamSize = () => Math.min(32, Math.max(1, Math.round(Number(byId("beam-size").value)) || 1));

// The chosen languages, as fields of a request; none for a model of one language pair.
const languages = () => model.languages ? {source: byId("from").value, target: byId("into").value} : {};

function nameOf(code) {
  try {
    return new Intl.DisplayNames(["en"], {type: "language"}).of(code);
  } catch {
    return code;  // not a code of the standard
  }
}

// Whether the model translates from one language into another. Without a list of pairs, it translates between all.
const translates = (source, target) => !model.pairs || model.pairs.includes(`${source}-${target}`);

function offerLanguages() {
  const all = model.languages ?? [];
  const offered = {from: all.filter((source) => all.some((target) => translates(source, target))), into: all};
  for (const [id, usual, index] of [["from", model.source, 0], ["into", model.target, 1]]) {
    byId(id).replaceChildren(...offered[id].map((code) => html("option", {value: code}, nameOf(code))));
    byId(id).selectedIndex = usual ? offered[id].indexOf(usual) : index;
    byId(`${id}-label`).hidden = all.length === 0;
  }
}

// Offers the target languages of the chosen source language. If the chosen target is not among them, chooses the first.
function offerTargets() {
  const source = byId("from").value, into = byId("into");
  for (const option of into.options) option.hidden = option.disabled = !translates(source, option.value);
  if (into.selectedOptions[0]?.disabled) into.value = [...into.options].find((option) => !option.disabled).value;
}

function nameLanguages() {
  if (model.languages) offerTargets();
  const {source, target} = model.languages ? languages() : model;
  byId("source-label").textContent = source ? nameOf(source) : "Text";
  byId("target-label").textContent = target ? nameOf(target) : "Translation";
  byId("source-text").lang = source || "";
  byId("target-text").lang = target || "";
  if (byId("source-text").value === example)
    byId("source-text").value = example = EXAMPLES[(source || "").split("-")[0]] ?? "";
  translate();
}

function setState(text, warning = false) {
  byId("state").textContent = text;
  byId("state").className = warning ? "warning" : "quiet";
}

// Requests the details of one sentence. For a sentence longer than observed_tokens, they do not include the attention of
// all layers and the search.
async function details(text, signal) {
  const nBest = Math.min(beamSize(), limits.alternatives + 1);
  const fields = {model: model.id, ...languages(), text, n_best: nBest, beam_size: beamSize(), tokens: true, alignment: true, attention: true};
  let unwatched = "";
  if (limits.observed_tokens > 0) {
    try {
      const answer = await request("/v1/translate", {...fields, all_attention: true, search: true}, signal);
      return {...(await answer.json()).results[0].sentences[0], unwatched: ""};
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      unwatched = `Not shown: ${error.message}. The setting observed_tokens of the server is this limit.`;
    }
  } else {
    unwatched = "This server does not show them: its setting observed_tokens is 0.";
  }
  // With split_sentences false, the text is translated as the same single sentence.
  const answer = await request("/v1/translate", {...fields, split_sentences: false}, signal);
  return {...(await answer.json()).results[0].sentences[0], unwatched};
}

function offerSentences(sentences) {
  const select = byId("sentence"), before = select.selectedIndex;
  select.replaceChildren(...sentences.map((sentence, i) =>
    html("option", {value: i}, `${i + 1}: ${sentence.source.slice(0, 60)}`)));
  select.selectedIndex = Math.min(Math.max(0, before), sentences.length - 1);
  byId("sentence-label").hidden = sentences.length < 2;
  return sentences[select.selectedIndex];
}

function clear() {
  byId("target-text").textContent = "";
  byId("sentence-label").hidden = true;
  setState("");
  onDetails(null);
}

async function translate() {
  running?.abort();
  const controller = running = new AbortController();
  const text = byId("source-text").value;
  if (!text.trim()) return clear();
  byId("target-text").classList.add("old");
  const began = performance.now();
  try {
    const answer = await request("/v1/translate", {model: model.id, ...languages(), text, beam_size: beamSize()}, controller.signal);
    const result = (await answer.json()).results[0];
    if (controller !== running) return;
    byId("target-text").textContent = result.text;
    byId("target-text").classList.remove("old");
    const cut = result.sentences.filter((sentence) => sentence.tokens_cut > 0).length;
    const time = `${Math.round(performance.now() - began)} ms`;
    if (cut) setState(`${cut} of ${result.sentences.length} sentences are longer than the model reads: their ends are not translated.`, true);
    else setState(result.sentences.length > 1 ? `${result.sentences.length} sentences in ${time}` : time);
    const sentence = offerSentences(result.sentences.filter((one) => one.source.trim()));
    const all = sentence ? await details(sentence.source, controller.signal) : null;
    if (controller === running) onDetails(all);
  } catch (error) {
    if (error.name === "AbortError" || controller !== running) return;
    clear();  // the shown translation belongs to another text or model
    setState(error.message, true);
  }
}

function translateSoon() {
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE);
}

export function startTranslating(callback) {
  onDetails = callback;
  byId("source-text").addEventListener("input", translateSoon);
  byId("source-text").addEventListener("focus", () => {  // typing then replaces the example
    if (example && byId("source-text").value === example) byId("source-text").select();
  });
  byId("beam-size").addEventListener("input", translateSoon);
  byId("sentence").addEventListener("change", translate);
  for (const id of ["from", "into"]) byId(id).addEventListener("change", nameLanguages);
}

export function useModel(chosen, allLimits) {
  model = chosen, limits = allLimits;
  byId("beam-size").value = model.generation.beam_size;
  offerLanguages();
  nameLanguages();
}
