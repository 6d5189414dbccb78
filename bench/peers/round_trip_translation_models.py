#!/usr/bin/env python3
"""Exports small random models of translation and compares what they compute with what transformers computes.

    python round_trip_translation_models.py SOURCE.txt TARGET.txt [--sixfold PROGRAM] [--models 25] [--seed 1]

Run it in the environment of the other programs (README.md). Each model has random settings of all that can be exported, and is trained for a few
updates on the two texts. The script compares the log-probabilities of some pairs, within 0.001, and prints how many of them differ.
"""

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path

import torch
import transformers

HERE = Path(__file__).resolve().parent
PAIRS = 12


def settings(r):
    heads = r.choice([1, 2, 4])
    model = {
        "d_model": 8 * heads, "heads": heads, "d_ff": r.choice([1, 20, 33]), "encoder_layers": r.choice([1, 2, 3]),
        "decoder_layers": r.choice([1, 2, 3]), "activation": r.choice(["relu", "swish", "gelu", "sigmoid_gelu"]),
        "tied_embeddings": r.choice(["all", "decoder", "source", "none"]), "embedding_scale": r.random() < 0.5,
        "positions": r.choice(["sinusoidal", "sinusoidal_halves", "sinusoidal_marian", "learned", "none"]),
        "norm_epsilon": r.choice([1e-6, 1e-5, 1e-3]), "output_bias": r.random() < 0.5, "dropout": 0.1}
    if model["positions"] == "learned":
        model["max_positions"] = r.choice([4, 200])  # the last stands for those beyond
    return {"model": model, "tokenizer": {"vocab_size": r.choice([150, 300])},
            "data": {"batch_tokens": 500}, "schedule": {"learning_rate": 0.01, "warmup": 1},
            "train": {"updates": r.choice([2, 30]), "seed": r.randrange(1000)}}


def their_scores(folder, sources, targets):
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    scores = []
    for source, target in zip(sources, targets):
        labels = tokenizer(text_target=target, return_tensors="pt").input_ids
        with torch.no_grad():
            logits = model(**tokenizer(source, return_tensors="pt"), labels=labels).logits[0].double()
        scores.append(torch.log_softmax(logits, -1)[range(labels.shape[1]), labels[0]].sum().item())
    return scores


def differences(program, folder, files, r):
    chosen = settings(r)
    (folder / "config.yaml").write_text(json.dumps(chosen))  # JSON is YAML
    run = lambda *arguments: subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
    run("train", folder / "config.yaml", "--output", folder / "run", "--set", f"data.train={files[0]},{files[1]}")
    run("export", "hf", folder / "run/model", "--output", folder / "exported")
    lines = [Path(file).read_text(encoding="utf-8").splitlines()[:PAIRS] for file in files]
    for name, text in zip("st", lines):
        (folder / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    ours = [float(score) for score in run("score", folder / "run/model", "--source", folder / "s", "--target", folder / "t").split()]
    theirs = their_scores(folder / "exported", *lines)
    return chosen["model"], sum(abs(a - b) > 1e-3 for a, b in zip(ours, theirs)), max(abs(a - b) for a, b in zip(ours, theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--models", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sixfold", default=str(HERE.parents[1] / "build/release/sixfold"))
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    worst, different = 0.0, 0
    for number in range(options.models):
        with tempfile.TemporaryDirectory() as temporary:
            model, count, most = differences(options.sixfold, Path(temporary), (options.source, options.target),
                                             random.Random(1000 * options.seed + number))
        worst, different = max(worst, most), different + count
        if count:
            print(f"model {number}: {count} of {PAIRS} pairs differ, by {most:.4g}: {model}")
    print(f"{options.models} models, {options.models * PAIRS} pairs: {different} differ by more than 0.001; at most {worst:.2g}")


if __name__ == "__main__":
    main()
