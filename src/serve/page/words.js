// The panel with the words of a sentence and of its translation. Pointing at a word shows its attention and alignment.
import {byId, html} from "/page/elements.js";
import {percent} from "/page/matrix.js";

const wordsOf = (text) => text.split(/\s+/u).filter((word) => word);

// The attention weights between words: averaged over heads and over the tokens of a target word, and summed over the
// tokens of a source word. A row adds up to less than 1, because the end token of the source has the rest.
function wordWeights({heads, source_words: sources, target_words: targets, weights}, sourceCount, targetCount) {
  const table = Array.from({length: targetCount}, () => new Array(sourceCount).fill(0));
  const tokens = new Array(targetCount).fill(0);
  for (const word of targets) if (word >= 0) ++tokens[word];
  for (let head = 0; head < heads; ++head)
    targets.forEach((target, row) => sources.forEach((source, column) => {
      if (target >= 0 && source >= 0)
        table[target][source] += weights[(head * targets.length + row) * sources.length + column] / (heads * tokens[target]);
    }));
  return table;
}

function chip(word) {
  const bar = html("span", {class: "bar", "aria-hidden": "true"});
  return {bar, share: html("span", {class: "share"}, "\u00a0"), word, button: html("button", {type: "button", class: "chip"})};
}

function mark(chips, shares, aligned, from) {
  chips.forEach((one, i) => {
    const share = shares ? shares[i] : 0;
    one.bar.style.setProperty("--share", share);
    one.share.textContent = shares ? percent(share) : "\u00a0";
    one.button.classList.toggle("aligned", aligned.includes(i));
    one.button.classList.toggle("from", i === from);
  });
}

function read(word, chips, shares, aligned, direction) {
  const order = shares.map((share, i) => [share, i]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([share]) => share >= 0.005);
  const list = order.map(([share, i]) => `“${chips[i].word}” ${percent(share)}`).join(", ");
  const names = aligned.filter((i) => chips[i]).map((i) => `“${chips[i].word}”`).join(" and ");
  byId("words-reading").textContent = `“${word}” ${direction} ${list || "no word with more than half a percent"}. ` +
    (names ? `Aligned with ${names}.` : "Aligned with no word.");
}

// Shows the attention of a word of either side when it is pointed at. `shares`: its row or column of the table.
function follow(one, sameSide, otherSide, index, {shares, aligned, direction}) {
  const show = () => {
    mark(sameSide, null, [], index);
    mark(otherSide, shares, aligned, -1);
    read(one.word, otherSide, shares, aligned, direction);
  };
  one.button.append(html("span", {}, one.word), one.share, one.bar);
  // pointermove and not pointerenter, which also occurs when the page scrolls below a pointer that does not move.
  for (const event of ["pointermove", "focus", "click"]) one.button.addEventListener(event, show);
}

export function showWords(sentence, translation) {
  const sources = sentence && translation ? wordsOf(sentence.source).map(chip) : [];
  const targets = sources.length ? wordsOf(translation.text).map(chip) : [];
  byId("source-words").replaceChildren(...sources.map((one) => one.button));
  byId("target-words").replaceChildren(...targets.map((one) => one.button));
  const attention = translation?.attention;
  byId("words-layer").textContent = attention ? attention.layer + 1 : "–";
  byId("words-reading").textContent = sources.length && !attention ? "There is no cross-attention to show: the model has none, or the text is too long." : "";
  if (!attention) return;
  const table = wordWeights(attention, sources.length, targets.length), pairs = translation.alignment ?? [];
  targets.forEach((one, i) => follow(one, targets, sources, i, {shares: table[i], direction: "attends to",
    aligned: pairs.filter((pair) => pair[1] === i).map((pair) => pair[0])}));
  sources.forEach((one, i) => follow(one, sources, targets, i, {shares: table.map((row) => row[i]),
    direction: "is attended to by", aligned: pairs.filter((pair) => pair[0] === i).map((pair) => pair[1])}));
}
