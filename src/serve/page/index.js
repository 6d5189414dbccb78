// The page of `sixfold serve`, which shows one model at a time.
import {request, setKey} from "/page/api.js";
import {describeScores, showAlternatives} from "/page/alternatives.js";
import {showBeam} from "/page/beam.js";
import {byId, html} from "/page/elements.js";
import {showHeads} from "/page/heads.js";
import {startLanguage, useLanguageModel} from "/page/language.js";
import {showPositions} from "/page/positions.js";
import {startTranslating, useModel} from "/page/translate.js";
import {showWords} from "/page/words.js";

let models = [], limits = {};

function show(sentence) {
  showAlternatives(sentence, (translation) => showWords(sentence, translation));
  showHeads(sentence);
  showBeam(sentence);
}

const counted = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;
const ofDecoder = (size) => (size ? ` (decoder: ${size})` : "");
const sizes = ({architecture: a}) => [a.encoder_layers && counted(a.encoder_layers, "encoder layer"), counted(a.decoder_layers, "decoder layer"),
  counted(a.heads, "head") + ofDecoder(a.decoder_heads), `d_model ${a.d_model}`, `d_ff ${a.d_ff}${ofDecoder(a.decoder_d_ff)}`, `vocabulary of ${counted(a.vocabulary, "token")}`]
  .filter((part) => part).join(", ");

// Links to the panels of the model. On a narrow screen only the first panel and the one in the address are open, because
// all panels together fill several screens.
const narrow = matchMedia("(max-width: 40rem)"), panels = [...document.querySelectorAll(".panel")];
const fold = () => panels.forEach((panel) => {
  panel.open = !narrow.matches || panel.classList.contains("first") || location.hash === `#${panel.id}`;
});
const isOffered = (panel) => !panel.closest("[hidden]");

function link(panel) {
  const anchor = html("a", {href: `#${panel.id}`}, panel.querySelector("h2").textContent);
  anchor.addEventListener("click", () => { panel.open = true; });
  return anchor;
}

async function chooseModel() {
  const model = models[byId("model").selectedIndex], translates = model.kind === "translation";
  byId("problem").textContent = "";
  byId("model-sizes").textContent = sizes(model);
  byId("translation-panels").hidden = !translates;
  byId("language-panels").hidden = model.kind !== "language model";
  byId("panel-links").replaceChildren(...panels.filter(isOffered).map(link));
  if (translates) {
    describeScores(model);
    useModel(model, limits);
  } else if (model.kind === "language model") {
    useLanguageModel(model, limits);
  }
  await showPositions(model);
}

async function start() {
  try {
    const answer = await (await request("/v1/models")).json();
    models = answer.data, limits = answer.limits;
    byId("key-label").hidden = !answer.key_needed;
    byId("model").replaceChildren(...models.map((model) => html("option", {value: model.id}, model.id)));
    await chooseModel();
  } catch (error) {
    byId("problem").textContent = error.message;
  }
}

const updateModel = () => chooseModel().catch((error) => { byId("problem").textContent = error.message; });
byId("model").addEventListener("change", updateModel);
byId("key").addEventListener("change", () => {
  const key = byId("key").value.trim();
  if (/^[\x21-\x7e]*$/.test(key)) {
    setKey(key);
    updateModel();
  } else {
    byId("problem").textContent = "The API key has characters that no key has; quotes may have been pasted with it.";
  }
});
narrow.addEventListener("change", fold);
fold();
startTranslating(show);
startLanguage();
start();
