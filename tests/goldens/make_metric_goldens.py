#!/usr/bin/env python3
"""Writes metrics.json: what sacreBLEU makes of sentences of our own. Needs
`pip install sacrebleu mecab-python3 ipadic sentencepiece`.

    python3 tests/goldens/make_metric_goldens.py > tests/goldens/metrics.json

tokenized:  [sentence, {tokenizer: tokens joined by spaces}] for random sentences of a soup of awkward characters.
mecab, spm: [sentence, tokens joined by spaces] by ja-mecab, and by a SentencePiece model of tests/compatibility.
bleu, chrf, ter: the settings, each with its signature for two references and version V.
edits:      [translation, reference, the edits of TER] for random words with many shifts.
corpora:    hypotheses, streams of references, and what the metrics print: a full line with the first setting, then the
            score with six digits (and BLEU's details) with each.
drawn:      [seed, below, [the numbers that NumPy's default_rng(seed).choice(below) gives]], which the bootstrap draws.
coins:      [seed, [what default_rng(seed).integers(2, dtype=bool) gives]], which randomization tests throw.
paired:     two systems of short sentences, their reference, and for each metric: its signature, and of each system the
            mean and the interval's half of its bootstrap, of the second the p-value too; and the p-values of approximate
            randomization: sacreBLEU's, and what it would be if trials with the same difference counted.
"""

import json
import logging
import os
import random

import numpy
import sacrebleu
from sacrebleu import significance
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.bleu import _get_tokenizer
from sacrebleu.metrics.lib_ter import translation_edit_rate
from sacrebleu.significance import PairedTest

TRIALS = 2000  # of randomization tests

TOKENIZERS = ["13a", "none", "char", "intl", "zh"]
SPM_MODEL = os.path.join(os.path.dirname(__file__), "../compatibility/0.2.0/models/translation/tokenizer.spm")

# Characters that the tokenizers treat in ways of their own. All are in Unicode since 12 or longer, so that a
# younger or older table of properties changes nothing.
SOUP = (
    list("aabZ019") + [" "] * 8 + list(".,.,-'\"!?;:()[]{}<>/\\|@#$%^&*+=_`~") + ["&quot;", "&amp;", "&lt;", "&gt;", "&amp;lt;"]
    + ["<skipped>", "1,000.50", "3.", ".5", "-7", "x-ray", "U.S.", "...", "--"]
    + list("äßÉσΣжДשםعر中文。、「」अन्नไทย") + list("«»„“”‚‘’–—…¿¡§¶†•°©®™€£¥¢±×÷≤∑√∞←½²٣Ⅷ①") + ["e\u0301", "o\u0308", "\u0327"]
    + ["😀", "👩‍🚀", "🇩🇪", "✈\ufe0f", "🎸"] + list("\t\xa0\u2009\u3000\u202f\u1680\u2028\x1c\x85\u200b\ufeff\xad\x07\x7f")
)

CORPORA = {
    "plain": (
        ["The old captain counted 1,234.50 coins.", "Nobody, not even Ada, saw the well-known comet -- twice!", "A fox sleeps."],
        [["The old captain counted 1,234.50 coins today.", "Nobody, not even Ada, saw that well-known comet twice!", "The fox is asleep."]],
    ),
    "identical": (["Rain fell on 3.5 million roofs (again).", "So be it."], [["Rain fell on 3.5 million roofs (again).", "So be it."]]),
    "entities": (
        ["She said &quot;tea &amp; cake&quot; &lt;loudly&gt;.", "It&apos;s 5&#37; of &amp;amp; <skipped> nothing"],
        [['She said "tea & cake" <loudly>.', "It's 5% of &amp; nothing"]],
    ),
    "scripts": (
        ["Der Kapitän grüßt die Möwen – „sofort“!", "今天的天气很好。", "ΟΔΥΣΣΕΥΣ ήρθε σήμερα.", "Поезд №5 ушёл в 7:45.", "مرحبا، كيف الحال؟", "नमस्ते, दुनिया।"],
        [["Der Kapitän grüßte die Möwen – „sofort“!", "今天天气很好。", "Οδυσσεύς ήρθε σήμερα.", "Поезд № 5 ушёл в 7.45.", "مرحبا كيف الحال؟", "नमस्ते दुनिया।"]],
    ),
    "emoji and marks": (
        ["Cafe\u0301 😀👩‍🚀 costs €3.50™", "na\u00efve co\u00f6peration 🇩🇪", "İstanbul ISSIZ ẞ"],
        [["Café 😀 👩‍🚀 costs € 3.50", "nai\u0308ve cooperation 🇩🇪!", "istanbul ıssız ß"]],
    ),
    "empty hypotheses": (["", "a small boat on the lake", "   "], [["the moon", "a small boat on a lake", "stars"]]),
    "all hypotheses empty": (["", ""], [["one two", "three"]]),
    "empty references": (["something here", "a b c d e"], [["", "a b c d e"]]),
    "all references empty": (["something"], [[""]]),
    "nothing at all": ([""], [[""]]),
    "short": (["yes", "no way", "go"], [["yes", "no", "went"]]),
    "one word": (["yes"], [["yes"]]),
    "two words": (["red house"], [["red houses stand there"]]),
    "no match": (["alpha beta gamma delta"], [["uno dos tres cuatro"]]),
    "unigrams only": (["d c b a and some more words"], [["a b c d"]]),
    "references": (
        ["the cat sat on on the mat", "two dogs (barking) ran away", "x"],
        [
            ["the cat is on the mat", "two barking dogs ran off", "x y"],
            ["there is a cat on the mat today", "a pair of dogs, barking, ran", ""],
            ["on the mat sat the cat", "two dogs (barking) went away", "z"],
        ],
    ),
    "case": (["THE Quick brown FOX", "Straße ΣΑΣ"], [["the quick Brown fox jumps", "STRASSE σας"]]),
    "spaces": (["  two\xa0spaces\u3000here . ", "tab\there\x1cand there"], [["two spaces here.", "tab here and there "]]),
    "ends in a number": (["It was in 1999.", "See § 5, no. 7."], [["It was in 1999 .", "See §5, no. 7"]]),
    "punctuation of words": (["(hi) 'tis ... \"so!\" ) (a b)", "-x- , 1-2"], [["( hi ) tis... so! ) (a b)", "x , -1-2-"]]),
    "repeats": (["the the the the the the", "a a a b b"], [["the cat the cat", "a b a b a b"]]),
    "halves": (["a b c d e f g h i j k l m n o p"], [["a b x c d x e f x g x h x x x x x x"]]),
}

BLEU_SETTINGS = (
    [{"tokenize": t, "lowercase": lower} for t in TOKENIZERS for lower in (False, True)]
    + [{"smooth_method": m} for m in ("floor", "add-k", "none")]
    + [{"smooth_method": "floor", "smooth_value": 0.5}, {"smooth_method": "add-k", "smooth_value": 2.5}, {"effective_order": True}]
    + [{"max_ngram_order": n} for n in (1, 2, 6)] + [{"max_ngram_order": 6, "effective_order": True, "smooth_method": "floor"}]
)
CHRF_SETTINGS = [{"word_order": w, "lowercase": lower} for w in (0, 1, 2) for lower in (False, True)] + [
    {"char_order": 3}, {"char_order": 8, "word_order": 3}, {"beta": 1}, {"beta": 3}, {"beta": 0}, {"whitespace": True},
    {"eps_smoothing": True}, {"eps_smoothing": True, "whitespace": True, "word_order": 2, "beta": 1},
]
TER_OPTIONS = ("normalized", "no_punct", "asian_support", "case_sensitive")
TER_SETTINGS = [{}] + [dict.fromkeys(names, True) for names in (
    TER_OPTIONS[:1], TER_OPTIONS[1:2], TER_OPTIONS[3:], TER_OPTIONS[:2], TER_OPTIONS[:3], TER_OPTIONS[1:3], TER_OPTIONS)]

JAPANESE = ["今日", "は", "いい", "天気", "です", "ね", "。", "東京", "に", "行きました", "か", "学生", "の", "本", "を", "読む", "彼女", "食べた", "コンピュータ",
            "翻訳", "、", "「", "」", "１２３", "abc", " ", "　", "３月", "すもも", "もも", "うち", "走った", "ない", "中文", "€", "😀"]


def soup_sentences(rng, count):
    return ["".join(rng.choices(SOUP, k=rng.randint(1, 24))) for _ in range(count)]


def degraded(sentence, rng):
    """The sentence with some characters gone or doubled, so that a part of it still matches."""
    return "".join(c * rng.choices([0, 1, 2], [1, 8, 1])[0] for c in sentence)


def metric_scores(hypotheses, references, kind, settings):
    metrics = [kind(**setting) for setting in settings]
    scores = [metric.corpus_score(hypotheses, references) for metric in metrics]
    # The line of the first setting as printed, then of all with more digits.
    first = scores[0].format(width=1, signature=signature(metrics[0]))
    return [first] + [score.format(width=6).split(" = ", 1)[1] for score in scores]


def signature(metric):
    return str(metric.get_signature()).rsplit("|version:", 1)[0] + "|version:V"


def with_signatures(kind, settings):
    """Each setting and its signature for two references."""
    metrics = [kind(**setting) for setting in settings]
    for metric in metrics:
        metric.corpus_score(["a"], [["a"], ["b"]])
    return [[setting, signature(metric)] for setting, metric in zip(settings, metrics)]


def corpus(name, hypotheses, references):
    return {
        "name": name,
        "hypotheses": hypotheses,
        "references": references,
        "bleu": metric_scores(hypotheses, references, BLEU, BLEU_SETTINGS),
        "chrf": metric_scores(hypotheses, references, CHRF, CHRF_SETTINGS),
        "ter": metric_scores(hypotheses, references, TER, TER_SETTINGS),
    }


def edits(rng, words, longest):
    """Random words with what is left of them after blocks have moved and words have changed."""
    reference = rng.choices("abcdefghijklmnopqrstuvwxyz"[:words], k=rng.randint(1, longest))
    output = list(reference)
    for _ in range(rng.choice([0, 1, 2, 4, 8])):
        begin, length = rng.randint(0, len(output)), rng.randint(1, 12)
        block, output[begin : begin + length] = output[begin : begin + length], []
        if rng.random() < 0.8:
            place = rng.randint(0, len(output))
            output[place:place] = block
        if output and rng.random() < 0.5:
            output[rng.randrange(len(output))] = rng.choice("abcxyz")
    return [" ".join(output), " ".join(reference), translation_edit_rate(output, reference)[0]]


def spm_pieces(sentences):
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=SPM_MODEL)
    return [[s, " ".join(" ".join(processor.encode(s.rstrip(), out_type=str)).split())] for s in sentences]


def edit_cases():
    rng = random.Random(9)
    cases = [edits(rng, words, longest) for words in (2, 5, 26) for longest in (4, 12, 40) for _ in range(12)]
    cases += [edits(rng, words, 200) for words in (4, 26) for _ in range(4)]
    # More attempts than are made, lengths far apart, and blocks that are too far away or too long.
    cases += [["a b " * 60, "b a " * 60], ["a", "b c d " * 50], ["b c d " * 50, "a b"], ["z y " + "x " * 70, "w " * 70 + "z y"], ["a b c d e f g h i j k l m n o", "o m n a b c d e f g h i j k l"], ["", "a b"]]
    return [[*case[:2], *(case[2:] or translation_edit_rate(case[0].split(), case[1].split())[:1])] for case in cases]


def japanese():
    rng = random.Random(10)
    tokenizer = _get_tokenizer("ja-mecab")()
    sentences = ["".join(rng.choices(JAPANESE, k=rng.randint(1, 14))) for _ in range(60)]
    return [[s, " ".join(tokenizer(s.rstrip()).split())] for s in sentences]


def main():
    logging.disable(logging.WARNING)
    rng = random.Random(6)
    sentences = soup_sentences(rng, 200)
    tokenizers = {name: _get_tokenizer(name)() for name in TOKENIZERS if name != "none"}
    tokenized = [
        # `char` is the sentence itself with spaces between, so short sentences are enough for it.
        [s, {name: " ".join(t(s.rstrip()).split()) for name, t in tokenizers.items() if name != "char" or len(s) < 12}]
        for s in sentences
    ]
    corpora = [corpus(name, *texts) for name, texts in CORPORA.items()]
    # Pairs of the soup in corpora of four.
    references = sentences[:32]
    hypotheses = [degraded(s, rng) for s in references]
    for i in range(0, 32, 4):
        corpora.append(corpus(f"soup {i}", hypotheses[i : i + 4], [references[i : i + 4]]))
    parts = {
        "sacrebleu": sacrebleu.__version__,
        "bleu": with_signatures(BLEU, BLEU_SETTINGS),
        "chrf": with_signatures(CHRF, CHRF_SETTINGS),
        "ter": with_signatures(TER, TER_SETTINGS),
        "edits": edit_cases(),
        "mecab": japanese(),
        "mecab_signature": _get_tokenizer("ja-mecab")().signature(),
        "spm": spm_pieces(sentences[:40]),
        "tokenized": tokenized,
        "corpora": corpora,
        "drawn": drawn(),
        "coins": [[seed, numpy.random.default_rng(seed).integers(2, size=100, dtype=bool).tolist()] for seed in (0, 12345)],
        "paired": paired_corpora(),
    }
    print("{" + ",\n".join(f"{json.dumps(name)}: {layout(part)}" for name, part in parts.items()) + "}")


def drawn():
    """Small ranges, and large ones of which many draws are refused."""
    cases = [(12345, 1), (12345, 2), (12345, 60), (0, 1000), (7, 2**31 + 1), (2**40 + 3, 3 * 2**30), (2**64 - 1, 2**32 - 1)]
    return [[seed, below, numpy.random.default_rng(seed).choice(below, size=12).tolist()] for seed, below in cases]


def paired(name, rng, words, sentences, first_errors, second_errors):
    """Sentences of so many words, of which the systems get so many wrong."""
    reference = [" ".join(rng.choices("the a cat dog house sees runs red old to in .".split(), k=words)) for _ in range(sentences)]

    def system(errors):
        return [" ".join("odd" if rng.random() < errors else word for word in line.split()) for line in reference]

    systems = [("first", system(first_errors)), ("second", system(second_errors))]
    metrics = {"bleu": BLEU(), "chrf": CHRF(), "chrf++": CHRF(word_order=2), "ter": TER()}
    signatures, results = PairedTest(systems, dict(metrics), [reference], test_type="bs")()
    _, strict = PairedTest(systems, dict(metrics), [reference], test_type="ar", n_samples=TRIALS)()
    original = significance._compute_p_value
    significance._compute_p_value = lambda differences, found: (int((differences >= found * (1 - 1e-9)).sum()) + 1) / (len(differences) + 1)
    _, with_equal = PairedTest(systems, dict(metrics), [reference], test_type="ar", n_samples=TRIALS)()
    significance._compute_p_value = original
    scores = {}
    for metric, (label, signature_) in zip(metrics, signatures.items()):
        first, second = results[label]
        scores[metric] = {
            "signature": str(signature_).rsplit("|version:", 1)[0] + "|version:V",
            "first": [first.mean, first.ci],
            "second": [float(second.mean), float(second.ci)],
            "p": second.p_value,
            "randomization": [strict[label][1].p_value, with_equal[label][1].p_value],
        }
        scores[metric]["first"] = [float(value) for value in scores[metric]["first"]]
    return {"name": name, "reference": reference, "first": systems[0][1], "second": systems[1][1], "scores": scores}


def paired_corpora():
    rng = random.Random(8)
    return [
        paired("alike", rng, 8, 30, 0.2, 0.2),
        paired("second worse", rng, 8, 40, 0.1, 0.2),
        paired("second better", rng, 12, 30, 0.3, 0.25),
        paired("one sentence", rng, 8, 1, 0.2, 0.3),
        paired("identical", rng, 8, 10, 0, 0),
        paired("few", rng, 6, 7, 0.3, 0.3),
        paired("near", rng, 10, 60, 0.15, 0.17),
    ]


def layout(part):
    """JSON with one line for each element of a list."""
    if not isinstance(part, list):
        return json.dumps(part)
    return "[\n" + ",\n".join(json.dumps(item) for item in part) + "\n]"


if __name__ == "__main__":
    main()
