"""The predictors of tasks other than translation, and tokenizers."""
import json
import pickle

import numpy as np
import pytest

import sixfold
from conftest import command


def test_generator(models):
    generator = sixfold.Generator(models / "language_model")
    pieces: list[str] = []
    found = generator.generate("ab", max_tokens=8, seed=3, samples=2, likeliest=2)
    assert len(found.alternatives) == 1 and len(found.chosen[0].likeliest) == 2
    same = generator.generate("ab", max_tokens=8, seed=3, on_text=lambda prompt, sample, text: pieces.append(text))
    assert "".join(pieces) == same.text == found.text
    prompts = ["a", "b", "a"]
    wanted = [g.text for g in generator.generate(prompts, max_tokens=8)]
    assert [g.text for g in generator.generate(iter(prompts), max_tokens=8)] == wanted
    output = command("generate", models / "language_model", "--prompt", "a", "--max-tokens", 8, "--json")
    assert json.loads(output)["text"] == wanted[0]
    with pytest.raises(ZeroDivisionError):
        generator.generate("ab", max_tokens=8, on_text=lambda *_: 1 / 0)
    with pytest.raises(sixfold.Error):
        generator.chat([{"role": "user", "content": "hello"}])  # it has no chat format
    with pytest.raises(sixfold.Error, match='message 1: "name" is not supported'):
        generator.chat([{"role": "user", "content": "hello", "name": "me"}])
    with pytest.raises(sixfold.Error, match='message 1 has no "content"'):
        generator.chat([{"role": "user"}])


def test_generator_scores_a_file(models, tmp_path):
    (tmp_path / "text").write_text("to be or not\n")
    score = sixfold.Generator(models / "language_model").score(tmp_path / "text")
    assert score.bytes == 13 and score.perplexity == pytest.approx(np.exp(-score.log_probability / score.tokens))


def test_classifier_of_texts(models):
    classifier = sixfold.Classifier(models / "classification")
    good, bad = classifier.classify(["a good film", ""])
    assert good.label in classifier.labels and good.probabilities.sum() == pytest.approx(1)
    assert good.probabilities.shape == (len(classifier.labels),) and bad.error
    with pytest.raises(sixfold.Error):
        classifier.classify("")
    assert next(classifier.classify(iter(["a good film"]))).label == good.label


def test_images(models, tmp_path):
    classifier = sixfold.Classifier(models / "image_classification")
    image = np.zeros([classifier.config["image"][side] for side in ("height", "width", "channels")], np.uint8)
    wrong, good, again, missing = classifier.classify(
        [np.zeros((3, 5), np.uint8), image, pickle.loads(pickle.dumps(image)), tmp_path / "missing.png"])
    assert wrong.error and "3 x 5" in wrong.error and missing.error and "missing.png" in missing.error
    assert good.label in classifier.labels and again.label == good.label
    with pytest.raises(sixfold.Error, match="missing.png"):
        classifier.classify(tmp_path / "missing.png")
    with pytest.raises(sixfold.Error, match="array of uint8"):
        classifier.classify(np.zeros((3, 5), np.float32))
    captioner = sixfold.Captioner(models / "image_captioning")
    assert captioner.caption([np.zeros((3, 5), np.uint8), tmp_path / "missing.png"])[0].error


def test_mask_filler(models):
    filled = sixfold.MaskFiller(models / "masked_language_model").fill("a <mask> film", candidates=3)
    assert len(filled.masks) == 1 and len(filled.masks[0]) == 3
    assert filled.masks[0][0].probability >= filled.masks[0][1].probability


def test_question_answerer_counts_characters(models):
    answerer = sixfold.QuestionAnswerer(models / "question_answering")
    text = "Größe: Überall wächst das Gras, écrit Müller."
    answer = answerer.answer("Was wächst?", text)
    assert answer.text == text[answer.begin:answer.end]
    assert [a.text for a in answerer.answer(["Was wächst?"] * 2, text)] == [answer.text] * 2
    assert [a.text for a in answerer.answer(iter(["Was wächst?"]), text)] == [answer.text]
    assert answerer.answer(["Was wächst?"] * 2, ["", text])[0].error
    with pytest.raises(sixfold.Error, match="as many texts"):
        answerer.answer(["Was wächst?"], [text, text])


def test_embedder(models):
    embedder = sixfold.Embedder(models / "embedding")
    one = embedder.embed("a good film")
    rows = embedder.embed(["a good film", "another"])
    assert one.shape == (embedder.size,) and rows.shape == (2, embedder.size) and rows.dtype == np.float32
    assert np.array_equal(one, rows[0]) and np.array_equal(next(embedder.embed(iter(["a good film"]))), one)
    assert sixfold.cosine(one, one) == pytest.approx(1)


def test_tokenizer(models, tmp_path):
    tokenizer = sixfold.Tokenizer(models / "translation")
    ids = tokenizer.encode("a b c")
    assert tokenizer.decode(ids) == "a b c" and tokenizer.decode(np.array(ids)) == "a b c"
    assert len(tokenizer.tokens("a b c")) == len(ids) and tokenizer.encode(["a b c"]) == [ids]
    made = sixfold.Tokenizer.train(["a b", "b c"], kind="whitespace", vocab_size=0)
    made.save(tmp_path)
    assert sixfold.Tokenizer(tmp_path).encode("c a") == made.encode("c a")
    with pytest.raises(sixfold.Error, match="unknown key 'vocab'"):
        sixfold.Tokenizer.train(["a"], vocab=3)
    with pytest.raises(sixfold.Error):
        tokenizer.decode([1 << 30])
