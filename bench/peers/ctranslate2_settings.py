#!/usr/bin/env python3
"""Compares sixfold.compat.ctranslate2 with CTranslate2 by one model, for many settings of translate_batch, and score_batch.

    PYTHONPATH=build/release/python python ctranslate2_settings.py MODEL SOURCE TARGET [--lines 200] [--beams 1,2,4,5] [--sixfold PROGRAM] [--goldens FILE]

MODEL is a Sixfold model folder with SentencePiece models, which is exported to CTranslate2 (`sixfold export ctranslate2`). Run the script in the
environment of the other programs (README.md). For each of the settings it prints how many results have the same hypotheses, and the largest difference of
their scores. --goldens writes CTranslate2's results into a file, for tests/python/test_ctranslate2.py.
"""

import argparse
import itertools
import json
import re
import subprocess
import tempfile
from pathlib import Path

import ctranslate2
import sentencepiece

import sixfold.compat.ctranslate2 as ours

HERE = Path(__file__).resolve().parent
# CTranslate2 4.8.5 returns attention of other sentences where it searches for several at once with a beam. With alternatives it reads a prefix of several
# tokens so that each of them sees those after it: its probabilities are not those of its score_batch. So prefixes of one token are compared there.
ALONE = {"max_batch_size": 1}


def all_settings(beams, prefix_of, pieces):
    """Keyword arguments. `prefix_of(length)`: first tokens of the targets. `pieces`: the most frequent ones."""
    alone = [
        {"return_end_token": True}, {"max_decoding_length": 6}, {"min_decoding_length": 14}, {"min_decoding_length": 0},
        {"repetition_penalty": 1.2}, {"repetition_penalty": 0.8, "max_decoding_length": 30}, {"no_repeat_ngram_size": 3}, {"no_repeat_ngram_size": 1}, {"disable_unk": True},
        {"suppress_sequences": [[piece] for piece in pieces[:3]] + [pieces[3:5]]}, {"max_input_length": 5}, {"max_input_length": 1},
        {"target_prefix": prefix_of(2)}, {"target_prefix": prefix_of(2), "min_decoding_length": 8, "no_repeat_ngram_size": 2},
        {"target_prefix": prefix_of(99)}, {"target_prefix": prefix_of(99), "max_decoding_length": 4}, {"target_prefix": [None] + prefix_of(1)[1:]},
        {"repetition_penalty": 1.2, "no_repeat_ngram_size": 2, "min_decoding_length": 9, "suppress_sequences": [[pieces[0]]]},
        {"replace_unknowns": True, **ALONE}, {"sampling_temperature": 0, "sampling_topk": 10}, {"return_attention": True, "return_end_token": True, **ALONE},
        {"return_attention": True, "target_prefix": prefix_of(2), **ALONE}, {"return_attention": True, "max_input_length": 5, **ALONE},
        {"max_batch_size": 16}, {"max_batch_size": 300, "batch_type": "tokens"},
    ]
    for beam, rest in itertools.product(beams, alone):
        yield {"beam_size": beam, "num_hypotheses": beam, **rest}
    for beam, penalty, count in itertools.product(beams, (0, 0.2, 0.6, 1, 1.7), (1, 2, 4)):
        if count <= beam:
            yield {"beam_size": beam, "length_penalty": penalty, "num_hypotheses": count}
    for beam, patience in itertools.product(beams, (0.5, 1.5, 2)):
        if beam > 1:
            yield {"beam_size": beam, "patience": patience, "num_hypotheses": int(beam * patience)}
    yield {"beam_size": 1, "num_hypotheses": 5, "return_alternatives": True, "return_attention": True, "target_prefix": prefix_of(1), **ALONE}
    for beam, rest in itertools.product((beams[0], beams[-1]), (
        {}, {"target_prefix": prefix_of(1)}, {"target_prefix": prefix_of(1), "repetition_penalty": 1.2, "no_repeat_ngram_size": 2},
        {"min_alternative_expansion_prob": 0.05}, {"max_decoding_length": 7, "min_decoding_length": 5}, {"max_decoding_length": 1},
        {"target_prefix": prefix_of(99), "max_decoding_length": 4},
    )):
        yield {"beam_size": beam, "num_hypotheses": 5, "return_alternatives": True, "length_penalty": 0.6, **rest}


def defaults_of(function):
    """The parameters that have defaults, and these, as its documentation shows them."""
    signature = function.__doc__.split(") -> ")[0].split("(self: ")[1]
    parameters = (parameter.partition(" = ") for parameter in re.split(r", (?=\w+: |\*)", signature))
    return {begin.split(":")[0]: default for begin, _, default in parameters if default}


def plain(result):
    return {"hypotheses": result.hypotheses, "scores": result.scores, "attention": result.attention}


def rounded(value):
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return round(value, 5) if isinstance(value, float) else value


def distance(ours, theirs):
    """The largest difference of numbers in lists of lists, infinite where they have other lengths."""
    if not isinstance(ours, list):
        return abs(ours - theirs)
    if len(ours) != len(theirs):
        return float("inf")
    return max((distance(a, b) for a, b in zip(ours, theirs)), default=0)


def name_of(settings):
    shown = {name: f"{len(value)} lists" if isinstance(value, list) and len(value) > 9 else value for name, value in settings.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def compare(our, their, sources, settings):
    mine = [plain(result) for result in our.translate_batch(sources, return_scores=True, **settings)]
    peer = [plain(result) for result in their.translate_batch(sources, return_scores=True, **settings)]
    same = [i for i in range(len(sources)) if mine[i]["hypotheses"] == peer[i]["hypotheses"]]
    scores = max((distance(mine[i]["scores"], peer[i]["scores"]) for i in same), default=0)
    attention = max((distance(mine[i]["attention"], peer[i]["attention"]) for i in same), default=0)
    return len(same), scores, attention, peer, [i for i in range(len(sources)) if i not in same]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--beams", type=lambda text: [int(one) for one in text.split(",")], default="1,2,4,5")
    parser.add_argument("--sixfold", default=HERE.parents[1] / "build/release/sixfold")
    parser.add_argument("--goldens")
    return parser.parse_args()


def main():
    options = parse_options()
    read = [Path(path).read_text(encoding="utf-8").splitlines()[: options.lines] for path in (options.source, options.target)]
    with tempfile.TemporaryDirectory() as folder:
        exported = f"{folder}/ct2"
        subprocess.run([options.sixfold, "export", "ctranslate2", options.model, "--output", exported], check=True, stderr=subprocess.DEVNULL)
        sides = [sentencepiece.SentencePieceProcessor(model_file=f"{exported}/{side}.spm") for side in ("source", "target")]
        sources, targets = (side.encode(lines, out_type=str) for side, lines in zip(sides, read))
        sources[2:2] = [[], ["</s>"], ["no such piece"] + sources[0]]
        targets[2:2] = [targets[0], [], ["no such piece"] + targets[0]]
        our = ours.Translator(options.model, compute_type="float32", intra_threads=1)
        their = ctranslate2.Translator(exported, compute_type="float32", intra_threads=1)
    print(f"CTranslate2 {ctranslate2.__version__}, {len(sources)} sources")
    goldens, total, worst, differing = [], 0, 0.0, 0
    pieces = sorted({piece for target in targets for piece in target}, key=lambda piece: -sum(target.count(piece) for target in targets))
    for settings in all_settings(options.beams, lambda length: [target[:length] for target in targets], pieces):
        same, scores, attention, peer, others = compare(our, their, sources, settings)
        print(f"{same:4} of {len(sources)} same, scores within {scores:.1e}, attention within {attention:.1e}: {name_of(settings)}"
              + (f"; lines {others[:8]}" if others else ""), flush=True)
        total, worst, differing = total + len(sources), max(worst, scores, attention), differing + len(others)
        goldens.append({"settings": settings, "results": rounded(peer)})
    scored = []
    # An end token that the caller gives is the only one here; CTranslate2 adds one more if the model's config says so.
    pairs = [pair for pair in zip(sources, targets) if pair[0] != ["</s>"]]
    for settings in {}, {"max_input_length": 4}, {"max_input_length": 1}, {"offset": 2}:
        mine, peer = (program.score_batch(*map(list, zip(*pairs)), **settings) for program in (our, their))
        same = sum(a.tokens == b.tokens for a, b in zip(mine, peer))
        error = max(distance(a.log_probs, b.log_probs) for a, b in zip(mine, peer))
        print(f"{same:4} of {len(pairs)} same, log-probabilities within {error:.1e}: score_batch {settings}")
        scored.append({"settings": settings, "results": [{"tokens": one.tokens, "log_probs": rounded(one.log_probs)} for one in peer]})
    print(f"{total - differing} of {total} results have the same hypotheses; scores and attention of these within {worst:.1e}")
    if options.goldens:
        defaults = {name: defaults_of(getattr(ctranslate2.Translator, name)) for name in ("__init__", "translate_batch", "score_batch")}
        everything = {"ctranslate2": ctranslate2.__version__, "defaults": defaults, "sources": sources, "pairs": pairs, "translated": goldens, "scored": scored}
        Path(options.goldens).write_text(json.dumps(everything, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
