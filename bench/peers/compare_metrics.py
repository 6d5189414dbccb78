#!/usr/bin/env python3
"""Compares the metrics of `sixfold evaluate` with sacreBLEU's: for each setting, the printed lines of 1,000 random lines
(--sentence-level) and of all of them together, with 6 digits and with signatures, whose version alone may differ.

    pip install sacrebleu mecab-python3 ipadic sentencepiece
    python3 bench/peers/compare_metrics.py --sixfold build/release/sixfold [--spm-model FILE] [--only ter] [--seconds]

Prints how many are equal, and the first that is not. `--seconds` adds the times that both take for all lines together.
Debian's IPADIC has one word more than the one of pip, which sacreBLEU asks for; no line here has it.
"""

import argparse
import logging
import random
import re
import subprocess
import sys
import tempfile
import time

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.tokenizers.tokenizer_spm import TokenizerSPM

LINES, WIDTH = 1000, 6

WORDS = "the a cat dog house sees runs red old to in , . it's X-ray 3.5 1,000 (so) \"yes\" &amp; U.S. Ünïcode ΣΑΣ don't's".split()
ASIAN = list("今天的天气很好。我们去公园、「你好」!?(东京)日本語のテキストです。カタカナ・ひらがなー〇㈱㌔㐀⺀ｱｲ､９Ａ") + [" ", " ", "the", "3.5", "1,000"]
SOUP = list("aabZ019") + [" "] * 8 + list(".,.,-'\"!?;:()[]{}<>/\\|@#$%^&*+=_`~äßΣסع中文。，「न€😀²\t\xa0\u3000\u2009\u200b") + ["&quot;", "<skipped>", "U.S.", "'s "]
KANA = ["今日", "は", "いい", "天気", "です", "ね", "。", "東京", "に", "行き", "ました", "か", "学生", "の", "本", "を", "読む", "彼", "女", "食べ",
        "コンピュータ", "ニューラル", "翻訳", "、", "「", "」", "１２３", "abc", " ", "３月", "すもも", "も", "もも", "うち", "走っ", "た", "ない"]


def pairs(rng, words, separator, longest):
    """A reference, and what a careless translator makes of it: words moved, dropped, doubled and replaced."""
    reference = rng.choices(words, k=rng.randint(0, longest))
    output = list(reference)
    for _ in range(rng.choice([0, 1, 2, 4, 8])):
        begin, length = rng.randint(0, len(output)), rng.randint(1, 6)
        block = output[begin : begin + length]
        kind = rng.random()
        if kind < 0.5:
            del output[begin : begin + length]
            place = rng.randint(0, len(output))
            output[place:place] = block
        elif kind < 0.7:
            output[begin : begin + length] = []
        elif kind < 0.85:
            output[begin:begin] = block
        else:
            output[begin : begin + 1] = [rng.choice(words)]
    return separator.join(output), separator.join(reference)


def lines(seed, words, separator, references, longest=30):
    rng = random.Random(seed)
    found = []
    for i in range(LINES):
        output, first = pairs(rng, words, separator, longest * (5 if i % 50 == 0 else 1))
        others = [pairs(rng, words, separator, longest)[1] if rng.random() < 0.3 else pairs(rng, first.split() or words, " ", longest)[1] for _ in range(references - 1)]
        found.append([one.replace("\n", " ").rstrip() for one in [output, first, *others]])
    return [list(stream) for stream in zip(*found)]


class GivenSpm(TokenizerSPM):
    """sacreBLEU's tokenizer with a given model."""

    def __init__(self, path):
        import sentencepiece

        self.name = "SPM"
        self.sp = sentencepiece.SentencePieceProcessor(model_file=path)


def spm(path):
    metric = BLEU(effective_order=True)
    metric.tokenizer = GivenSpm(path)
    metric.tokenizer_signature = "SPM"
    return metric


def cases(spm_model):
    """The name, sacreBLEU's metric, our options, the texts: words, what separates them, references."""
    mixed, asian, soup, japanese = (WORDS, " ", 1), (ASIAN, "", 1), (SOUP, "", 1), (KANA, "", 1)
    two, three = (WORDS, " ", 2), (WORDS, " ", 3)
    few = ("a b c d".split(), " ", 1)
    for tokenizer, texts in [("13a", mixed), ("13a", soup), ("intl", soup), ("char", asian), ("none", mixed), ("zh", asian), ("zh", soup), ("zh", mixed), ("ja-mecab", japanese), ("ja-mecab", asian), ("ja-mecab", soup)]:
        yield "bleu", BLEU(tokenize=tokenizer, effective_order=True), f"--tokenize {tokenizer}", texts
    for order in (1, 2, 3, 6, 10):
        yield "bleu", BLEU(max_ngram_order=order, effective_order=True), f"--bleu-max-ngram-order {order}", two
    yield "bleu", BLEU(smooth_method="floor", smooth_value=0.3, max_ngram_order=5, lowercase=True, effective_order=True), "--smooth floor --smooth-value 0.3 --bleu-max-ngram-order 5 --lowercase", three
    yield "bleu", BLEU(smooth_method="add-k", smooth_value=2, effective_order=True), "--smooth add-k --smooth-value 2", mixed
    if spm_model:
        yield "bleu", spm(spm_model), f"--tokenize spm --spm-model {spm_model}", mixed
        yield "bleu", spm(spm_model), f"--tokenize spm --spm-model {spm_model}", soup
    for settings, options in [
        ({}, ""), ({"char_order": 3}, "--chrf-char-order 3"), ({"word_order": 1}, "--chrf-word-order 1"), ({"word_order": 3, "beta": 1}, "--chrf-word-order 3 --chrf-beta 1"),
        ({"beta": 3, "lowercase": True}, "--chrf-beta 3 --lowercase"), ({"beta": 0}, "--chrf-beta 0"), ({"whitespace": True}, "--chrf-whitespace"), ({"eps_smoothing": True}, "--chrf-eps-smoothing"),
        ({"eps_smoothing": True, "whitespace": True, "char_order": 8, "word_order": 2}, "--chrf-eps-smoothing --chrf-whitespace --chrf-char-order 8 --chrf-word-order 2"),
    ]:
        for texts in (mixed, soup, three):
            yield "chrf", CHRF(**settings), options, texts
    for bits in range(16):
        names = [name for i, name in enumerate(["normalized", "no_punct", "asian_support", "case_sensitive"]) if bits >> i & 1]
        if "asian_support" in names and len(set(names) & {"normalized", "no_punct"}) == 0:
            continue  # refused, since it has no effect
        options = " ".join("--ter-" + name.replace("_", "-") for name in names)
        for texts in (mixed, asian, soup):
            yield "ter", TER(**dict.fromkeys(names, True)), options, texts
    for texts in (two, three, few):
        yield "ter", TER(), "", texts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sixfold", required=True)
    parser.add_argument("--spm-model")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", action="store_true")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    same = re.compile(r"version:[^ ]*|tok:spm-[0-9a-f]*|tok:SPM")
    wrong = 0
    for seed, (name, metric, options, texts) in enumerate(cases(arguments.spm_model)):
        if arguments.only not in name:
            continue
        output, *references = lines(seed, *texts)
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for i, stream in enumerate([output, *references]):
                files.append(f"{folder}/{i}")
                with open(files[-1], "w", encoding="utf-8") as file:
                    file.write("".join(line + "\n" for line in stream))
            command = [arguments.sixfold, "evaluate", "--metric", name, "-w", str(WIDTH), *options.split(), "--hypothesis", files[0], "-r", *files[1:]]
            ours = subprocess.run(command + ["--sentence-level"], capture_output=True, text=True, check=True).stdout.splitlines()
            began = time.monotonic()
            whole = subprocess.run(command + (["--bleu-effective-order"] if name == "bleu" else []), capture_output=True, text=True, check=True).stdout.splitlines()
            took = time.monotonic() - began
        expected = []
        for i in range(LINES):
            score = metric.sentence_score(output[i], [stream[i] for stream in references])
            expected.append(score.format(WIDTH, False, str(metric.get_signature())))
        began = time.monotonic()
        score = metric.corpus_score(output, references)
        theirs = time.monotonic() - began
        expected.append(score.format(WIDTH, False, str(metric.get_signature())))
        different = [(a, b, i) for i, (a, b) in enumerate(zip(ours + whole, expected, strict=True)) if same.sub("", a) != same.sub("", b)]
        times = f"; all lines: {took:.2f} s, sacreBLEU {theirs:.2f} s" if arguments.seconds else ""
        print(f"{name} {options or 'by default'}: {len(expected) - len(different)} of {len(expected)} equal{times}", flush=True)
        for a, b, i in different[:1]:
            print(f"  line {i + 1}: sixfold {a}\n  sacreBLEU {b}")
            if i < LINES:
                print(f"  {output[i]!r} {[stream[i] for stream in references]!r}")
        wrong += len(different)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
