import pytest

import sixfold
from sixfold import metrics

# The scores of sacreBLEU 2.3.1 for the texts of its README.
SYSTEM = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."]
REFERENCES = [["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
              ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."]]


def test_scores_are_those_of_sacrebleu():
    bleu = metrics.corpus_bleu(SYSTEM, REFERENCES)
    assert str(bleu) == "BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)"
    assert (bleu.counts, bleu.totals, bleu.sys_len, bleu.ref_len) == ([14, 7, 5, 3], [17, 14, 11, 8], 17, 18)
    assert bleu.precisions == pytest.approx([100 * c / t for c, t in zip(bleu.counts, bleu.totals)])
    assert bleu.bp == pytest.approx(0.9428731438548749)
    assert metrics.corpus_chrf(SYSTEM, REFERENCES).format(score_only=True) == "59.73"


def test_signatures_are_those_of_sacrebleu():
    bleu = metrics.BLEU()
    bleu.corpus_score(SYSTEM, REFERENCES)
    assert str(bleu.get_signature()).startswith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:sixfold-")
    bleu.corpus_score(SYSTEM, REFERENCES, n_bootstrap=50)
    assert str(bleu.get_signature()).startswith("nrefs:2|bs:50|seed:12345|")


def test_sentences_and_settings():
    assert metrics.sentence_bleu("a b c d", ["a b c d"]).score == pytest.approx(100)
    assert metrics.sentence_chrf("a b", ["a b"]).score == pytest.approx(100)
    assert metrics.BLEU(lowercase=True, effective_order=True).sentence_score("A B", ["a b"]).score == pytest.approx(100)
    assert "±" in str(metrics.CHRF(word_order=2).corpus_score(SYSTEM, REFERENCES, n_bootstrap=20))


def test_what_is_not_supported_is_said():
    with pytest.raises(sixfold.Error, match="char_order"):
        metrics.CHRF(char_order=4)
    with pytest.raises(sixfold.Error, match="expected one of 13a"):
        metrics.BLEU(tokenize="zh")
    with pytest.raises(sixfold.Error):
        metrics.corpus_bleu(SYSTEM, [["one"]])
    with pytest.raises(sixfold.Error, match="references"):
        metrics.corpus_bleu(SYSTEM, SYSTEM)
    for score in (metrics.sentence_bleu, metrics.sentence_chrf, metrics.BLEU().sentence_score):
        with pytest.raises(sixfold.Error, match="found a str"):
            score("the cat", "the cat")
    with pytest.raises(sixfold.Error, match="n_bootstrap"):
        metrics.BLEU().corpus_score(SYSTEM, REFERENCES, n_bootstrap=10**10)
    with pytest.raises(sixfold.Error):
        metrics.corpus_bleu([], [[]])
