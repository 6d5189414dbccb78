import json

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
    assert bleu.bp == pytest.approx(0.9428731438548749) and bleu.ratio == 17 / 18
    assert metrics.corpus_chrf(SYSTEM, REFERENCES).format(score_only=True) == "59.73"


def test_signatures_are_those_of_sacrebleu():
    bleu = metrics.BLEU()
    bleu.corpus_score(SYSTEM, REFERENCES)
    assert str(bleu.get_signature()).startswith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:sixfold-")
    bleu.corpus_score(SYSTEM, REFERENCES, n_bootstrap=50)
    assert str(bleu.get_signature()).startswith("nrefs:2|bs:50|seed:12345|")


def test_a_score_as_json_is_that_of_sacrebleu():
    bleu = metrics.corpus_bleu(SYSTEM, REFERENCES).format(width=1, signature="nrefs:2|case:mixed", is_json=True)
    assert bleu == ('{\n "name": "BLEU",\n "score": 48.5,\n "signature": "nrefs:2|case:mixed",\n'
                    ' "verbose_score": "82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)",\n'
                    ' "nrefs": "2",\n "case": "mixed"\n}')
    chrf = metrics.CHRF().corpus_score(SYSTEM, REFERENCES, n_bootstrap=20)
    values = json.loads(chrf.format(is_json=True))
    assert chrf.format(score_only=True) == f"{values['score']:.2f} ({values['confidence']})"
    assert values["confidence"] == f"μ = {values['confidence_mean']:.2f} ± {values['confidence_var']:.2f}"


def test_sentences_and_settings():
    assert metrics.sentence_bleu("a b c d", ["a b c d"]).score == pytest.approx(100)
    assert metrics.sentence_chrf("a b", ["a b"]).score == pytest.approx(100)
    assert metrics.BLEU(lowercase=True, effective_order=True).sentence_score("A B", ["a b"]).score == pytest.approx(100)
    assert "±" in str(metrics.CHRF(word_order=2).corpus_score(SYSTEM, REFERENCES, n_bootstrap=20))


def test_what_is_not_supported_is_said():
    with pytest.raises(sixfold.Error, match="char_order"):
        metrics.CHRF(char_order=0)
    with pytest.raises(sixfold.Error, match="expected one of 13a"):
        metrics.BLEU(tokenize="ko-mecab")
    with pytest.raises(sixfold.Error, match="spm needs a model"):
        metrics.BLEU(tokenize="spm")
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


# The values of sacreBLEU 2.6.0.
def test_ter_is_that_of_sacrebleu():
    ter = metrics.TER()
    score = ter.corpus_score(SYSTEM, REFERENCES)
    assert str(score) == "TER = 40.00"
    assert (score.num_edits, score.ref_length) == (6, 15.0)
    assert str(ter.get_signature()).startswith("nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:sixfold-")
    assert "±" in str(ter.corpus_score(SYSTEM, REFERENCES, n_bootstrap=20))
    assert metrics.corpus_ter(SYSTEM, REFERENCES, normalized=True, case_sensitive=True).score == pytest.approx(100 / 3)
    assert metrics.sentence_ter("b a", ["a b"]).score == pytest.approx(50)


def test_orders_are_those_of_sacrebleu():
    bleu = metrics.BLEU(max_ngram_order=2, tokenize="zh").corpus_score(SYSTEM, REFERENCES)
    assert str(bleu) == "BLEU = 60.50 82.4/50.0 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)"
    assert len(bleu.counts) == len(bleu.totals) == 2
    assert metrics.BLEU(trg_lang="zh").sentence_score("今天好", ["今天很好"]).sys_len == 3
    chrf = metrics.CHRF(char_order=3, word_order=1, beta=3, whitespace=True, eps_smoothing=True)
    assert str(chrf.corpus_score(SYSTEM, REFERENCES)) == "chrF3+ = 72.64"
    assert str(chrf.get_signature()).startswith("nrefs:2|case:mixed|eff:no|nc:3|nw:1|space:yes|version:sixfold-")
