#!/usr/bin/env python3
"""Writes marian/: small models that Marian trained for a few updates, each of another kind, and what it makes of some
lines.

A folder holds model.npz, its vocabularies, decoder.yml, source.txt (divided into symbols where the vocabularies are
YAML) and nbest.txt: Marian's n-best lists with scores.

    python make_marian_goldens.py [NAME]...     # pymarian and sentencepiece must be installed; all without a name
"""

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import sentencepiece

HERE = Path(__file__).resolve().parent / "marian"
SOURCE = ["the old dog sees a cat", "a cat sleeps in the house", "two women read the old books", "the man eats"]
TARGET = ["der alte hund sieht eine katze", "eine katze schläft im haus", "zwei frauen lesen bücher", "der mann isst"]
LINES = SOURCE + ["the zebra sleeps", "a woman reads in the old house of two cats and a dog and a man and a book"]

MODELS = {
    "untied": dict(
        options="--transformer-ffn-activation swish --output-omit-bias true --enc-depth 2 --dec-depth 1 "
        "--transformer-postprocess-top an",
        normalize=1,
    ),
    "words": dict(
        options="--transformer-ffn-activation gelu --tied-embeddings true --enc-depth 1 --dec-depth 2 "
        "--transformer-disable-position-embeddings true",
        normalize=0.6,
        yaml=True,
    ),
    "norms": dict(
        options="--transformer-postprocess-emb nd --transformer-postprocess-top n --transformer-ffn-activation relu "
        "--tied-embeddings-src true --enc-depth 1 --dec-depth 1",
        normalize=0,
    ),
    "decoder_width": dict(
        options="--transformer-decoder-dim-ffn 40 --transformer-ffn-activation relu --tied-embeddings-all true "
        "--enc-depth 1 --dec-depth 2",
        normalize=1,
    ),
    # Its greedy decoder differs from what it trained: norms are left out of the history's keys and values.
    "pre_norm": dict(
        options="--transformer-preprocess n --transformer-postprocess da --transformer-postprocess-top n "
        "--transformer-ffn-activation swish --tied-embeddings-all true --enc-depth 2 --dec-depth 2",
        normalize=1,
        updates=120,
    ),
}


def train_sentencepiece(path):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter((SOURCE + TARGET) * 3),
        model_writer=model,
        vocab_size=60,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        minloglevel=2,
    )
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def write_yaml_vocabulary(path, sentences):
    words = sorted({word for sentence in sentences for word in sentence.split()})
    lines = [f'"{word}": {i}' for i, word in enumerate(["</s>", "<unk>"] + words)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def marian(code, *arguments):
    """In a process of its own: Marian keeps state."""
    subprocess.run([sys.executable, "-c", f"import pymarian, sys\n{code}", *arguments], check=True)


def make(name, spec, work):
    folder = HERE / name
    folder.mkdir(parents=True)
    if spec.get("yaml"):
        vocabularies = ["source.yml", "target.yml"]
        write_yaml_vocabulary(folder / "source.yml", SOURCE)
        write_yaml_vocabulary(folder / "target.yml", TARGET)
    else:
        vocabularies = ["joint.spm", "joint.spm"]
        train_sentencepiece(folder / "joint.spm")
    (work / "s").write_text("\n".join(SOURCE * 20) + "\n", encoding="utf-8")
    (work / "t").write_text("\n".join(TARGET * 20) + "\n", encoding="utf-8")
    vocabs = " ".join(str(folder / v) for v in vocabularies)
    marian(
        "pymarian.Trainer(sys.argv[1]).train()",
        f"--type transformer --train-sets {work}/s {work}/t --vocabs {vocabs} --model {folder}/model.npz --dim-emb 16 "
        f"--transformer-heads 2 --transformer-dim-ffn 24 --learn-rate 0.01 --mini-batch 16 "
        f"--after {spec.get('updates', 40)}u --seed 7 --cpu-threads 1 --workspace 200 --quiet --overwrite --clip-norm 1 {spec['options']}",
    )
    for file in folder.glob("model.npz*"):
        if file.name != "model.npz":
            file.unlink()
    decoder = f"relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - {vocabularies[0]}\n  - {vocabularies[1]}\n"
    (folder / "decoder.yml").write_text(decoder + f"beam-size: 3\nnormalize: {spec['normalize']}\n")
    (folder / "source.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    marian(
        "t = pymarian.Translator(sys.argv[1])\n"
        "lines = open(sys.argv[2], encoding='utf-8').read().splitlines()\n"
        "out = [t.translate(line) for line in lines]\n"
        "open(sys.argv[3], 'w', encoding='utf-8').write(''.join(o.rstrip() + '\\n' for o in out))",
        f"--config {folder}/decoder.yml --cpu-threads 1 --n-best --mini-batch 1 --maxi-batch 1 --quiet "
        f"--quiet-translation",
        str(folder / "source.txt"),
        str(folder / "nbest.txt"),
    )


def main():
    for name in sys.argv[1:] or MODELS:
        shutil.rmtree(HERE / name, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work:
            make(name, MODELS[name], Path(work))


if __name__ == "__main__":
    main()
