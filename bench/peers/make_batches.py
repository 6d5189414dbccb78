#!/usr/bin/env python3
"""Makes the batches of the training benchmark from real text, so that all programs train on the same sentences.

Trains a joint SentencePiece unigram model on DATA_DIR/train.en and train.de, sorts the pairs by length, so that there is
as little padding as in a careful PyTorch program, and makes batches whose number of pairs times longest side (pieces and
one start or end token) is at most the budget. The batches are in a fixed shuffled order. Each line of OUT.jsonl is one
batch, {"source": [[ids]...], "target": [[ids]...]}. Sources end with the end token (id 2). Targets have neither start nor
end token; the trainer adds start (id 1) and end.

    python make_batches.py DATA_DIR OUT.jsonl [--pieces 8000] [--budget 4096] [--batches 40]
"""

import argparse
import io
import json
import random
from pathlib import Path

import sentencepiece

EOS = 2


def train_tokenizer(lines, pieces):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type="unigram",
        vocab_size=pieces,
        character_coverage=1.0,
        num_threads=1,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def width(pair):
    """What a pair costs in a padded batch: its longer side, each with one symbol beside its pieces."""
    source, target = pair
    return max(len(source), len(target) + 1)


def cut_batches(pairs, budget):
    """`pairs` are sorted by width, so the newest is the widest. The last, which fill no batch, stay out."""
    batch = []
    for pair in pairs:
        if batch and (len(batch) + 1) * width(pair) > budget:
            yield batch
            batch = []
        batch.append(pair)


def real_tokens(batch):
    return sum(len(source) + len(target) + 1 for source, target in batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with train.en and train.de")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pieces", type=int, default=8000)
    parser.add_argument("--budget", type=int, default=4096, help="pairs x longest side of a batch, at most")
    parser.add_argument("--batches", type=int, default=40)
    options = parser.parse_args()

    sides = [
        (options.data / f"train.{language}").read_text("utf-8").split("\n")[:-1] for language in ("en", "de")
    ]
    tokenizer = train_tokenizer(sides[0] + sides[1], options.pieces)
    sources, targets = (tokenizer.encode(side) for side in sides)
    pairs = [(source + [EOS], target) for source, target in zip(sources, targets, strict=True)]
    # Among equal widths by the other side's length, which is padded as well.
    pairs.sort(key=lambda pair: (width(pair), len(pair[0]) + len(pair[1])))
    batches = list(cut_batches(pairs, options.budget))
    random.Random(1).shuffle(batches)
    kept = batches[: options.batches]

    with options.out.open("w") as out:
        for batch in kept:
            source, target = (list(side) for side in zip(*batch))
            print(json.dumps({"source": source, "target": target}), file=out)
    real = sum(map(real_tokens, kept))
    print(f"{len(kept)} of {len(batches)} batches, {sum(map(len, kept))} pairs,", end=" ")
    print(f"{real / len(kept):.0f} real source+target tokens per batch")


if __name__ == "__main__":
    main()
