#!/usr/bin/env python3
"""Trains a preset in Marian (pymarian) for some updates and prints one line of JSON: real source and target tokens a second.

    python marian_train.py DATA_DIR --preset tiny|small|base [--threads 2] [--updates 30] [--mini-batch-words 4096]

DATA_DIR has train.en and train.de. The joint vocabulary of 8,000 pieces is that of make_batches.py. Marian makes its own batches of
sentences sorted by length. Marian's log counts target words; this script counts the real tokens of both sides of the sentences that the
log reports. The first third of the updates is not counted.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import sentencepiece

SIZES = {  # layers, d_model, d_ff, heads: as src/model/config.cc has them
    "tiny": (4, 128, 256, 4),
    "small": (3, 256, 1024, 4),
    "base": (6, 512, 2048, 8),
}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", choices=SIZES, default="tiny")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--mini-batch-words", type=int, default=4096)
    return parser.parse_args()


def settings(options, folder):
    layers, d_model, d_ff, heads = SIZES[options.preset]
    return {
        "type": "transformer", "model": f"{folder}/model.npz",
        "train-sets": [str(options.data / "train.en"), str(options.data / "train.de")],
        "vocabs": [f"{folder}/joint.spm", f"{folder}/joint.spm"], "tied-embeddings-all": True,
        "enc-depth": layers, "dec-depth": layers, "dim-emb": d_model, "transformer-dim-ffn": d_ff,
        "transformer-heads": heads, "transformer-dropout": 0.1, "label-smoothing": 0.1,
        "cpu-threads": options.threads, "workspace": 2000, "mini-batch": 1000, "mini-batch-words": options.mini_batch_words,
        "maxi-batch": 1000, "after-batches": options.updates, "disp-freq": 1, "save-freq": 100000, "overwrite": True,
        "learn-rate": 0.0003, "optimizer-params": [0.9, 0.98, 1e-9], "cost-type": "ce-mean-words", "seed": 1,
    }


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory() as folder:
        lines = [(options.data / f"train.{side}").read_text().splitlines() for side in ("en", "de")]
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines[0] + lines[1]), model_prefix=f"{folder}/joint", vocab_size=8000,
            minloglevel=2, eos_id=0, unk_id=1, bos_id=-1)
        Path(f"{folder}/joint.model").rename(f"{folder}/joint.spm")
        pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/joint.spm")
        tokens = sum(len(ids) + 1 for side in lines for ids in pieces.encode(side)) / len(lines[0])  # a pair's
        Path(f"{folder}/config.json").write_text(json.dumps(settings(options, folder)))
        code = (f"import json, pymarian; pymarian.Trainer(**json.load(open('{folder}/config.json'))).train()")
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        steps = [(int(sentences.replace(",", "")), float(seconds)) for sentences, seconds in
                 re.findall(r"Sen\. ([\d,]+) .*?Time ([\d.]+)s", done.stdout)]
        if len(steps) < 6:
            sys.exit(f"Marian did not train:\n{done.stdout[-2000:]}")
        first = len(steps) // 3
        sentences = steps[-1][0] - steps[first - 1][0]
        seconds = sum(seconds for _, seconds in steps[first:])
        baseline = subprocess.run([sys.executable, "-c", "import pymarian, resource; "
                                   "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"],
                                  stdout=subprocess.PIPE, text=True)
        print(json.dumps({
            "program": "Marian", "baseline_mb": float(baseline.stdout), "version": "Marian " + re.search(r"Marian (v[\d.]+)", done.stdout).group(1),
            "tokens_per_second": sentences * tokens / seconds,
            "peak_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
