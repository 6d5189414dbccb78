#!/usr/bin/env python3
"""Compares searches by random generation settings with those of transformers.

    python generation_settings.py SOURCE.txt TARGET.txt [--sixfold PROGRAM] [--settings 27] [--seed 1]

Run it in the environment of the other programs (README.md). A small model is trained for a few updates on the two texts and exported. For each
of the random settings, generation_config.json is replaced, the folder is imported, and some lines are translated by both programs: the n-best
lists and, of beam search, their scores are compared.
"""

import argparse
import json
import random
import subprocess
import tempfile
import warnings
from pathlib import Path

import torch
import transformers

HERE = Path(__file__).resolve().parent
LINES = 10


def random_settings(r, base, vocab, few=20):
    beams = r.choice([1, 1, 2, 3, 5])
    settings = dict(base, num_beams=beams, length_penalty=r.choice([0.0, 0.6, 1.0, 2.0]),
                    early_stopping=r.choice([True, False, "never"]), max_length=r.choice([8, 20, 40]))
    if r.random() < 0.5:
        settings["no_repeat_ngram_size"] = r.choice([1, 2, 3])
    if r.random() < 0.5:
        settings["repetition_penalty"] = r.choice([0.8, 1.2, 3.0])
    if r.random() < 0.3:
        settings["min_length"] = r.choice([5, 12])
    if r.random() < 0.3:
        settings["forced_bos_token_id"] = r.randrange(5, vocab)
    if r.random() < 0.4:
        settings["begin_suppress_tokens"] = r.sample(range(3, vocab), few)
    if r.random() < 0.4:
        settings["suppress_tokens"] = r.sample(range(3, vocab), few // 2)
    if r.random() < 0.5:
        settings["bad_words_ids"] = base["bad_words_ids"] + [[r.randrange(3, vocab) for _ in range(r.choice([1, 2]))] for _ in range(3 * few)]
    if r.random() < 0.2 and "repetition_penalty" not in settings:
        settings["renormalize_logits"] = True
    forced = settings.get("forced_bos_token_id")  # transformers refuses to force what it suppresses
    for key in ("suppress_tokens", "begin_suppress_tokens"):
        if key in settings:
            settings[key] = [id for id in settings[key] if id != forced]
    settings["bad_words_ids"] = [word for word in settings["bad_words_ids"] if word != [forced]]
    if r.random() < 0.5:
        settings.pop("forced_eos_token_id", None)
    return {key: value for key, value in settings.items() if value is not None}


def theirs(folder, lines, beams):
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    results = []
    for line in lines:
        with torch.no_grad():
            out = model.generate(**tokenizer(line, return_tensors="pt"), num_return_sequences=beams, output_scores=True,
                                 return_dict_in_generate=True)
        scores = out.sequences_scores.tolist() if beams > 1 else [None]
        results.append([(tokenizer.decode(ids, skip_special_tokens=True), score) for ids, score in zip(out.sequences, scores)])
    return results


def ours(program, folder, lines, beams, work):
    (work / "input").write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run([program, "import", "hf", folder, "--output", work / "imported"], check=True, capture_output=True)
    text = subprocess.run([program, "translate", work / "imported", "--input", work / "input", "--n-best", str(beams), "--format", "jsonl"],
                          check=True, capture_output=True, text=True).stdout
    return [[(one["text"], one["score"]) for one in json.loads(line)["translations"]] for line in text.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--settings", type=int, default=27)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sixfold", default=str(HERE.parents[1] / "build/release/sixfold"))
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    warnings.filterwarnings("ignore")
    different = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        config = {"model": {"d_model": 32, "heads": 2, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0},
                  "tokenizer": {"vocab_size": 300}, "data": {"batch_tokens": 2000, "train": [options.source, options.target]},
                  "schedule": {"learning_rate": 0.005, "warmup": 20}, "train": {"updates": options.updates}}
        (work / "config.yaml").write_text(json.dumps(config))
        for arguments in (["train", work / "config.yaml", "--output", work / "run"],
                          ["export", "hf", work / "run/model", "--output", work / "exported"]):
            subprocess.run([options.sixfold, *map(str, arguments)], check=True, capture_output=True)
        path = work / "exported" / "generation_config.json"
        base, vocab = json.loads(path.read_text()), json.loads((work / "exported" / "config.json").read_text())["vocab_size"]
        lines = Path(options.source).read_text(encoding="utf-8").splitlines()[:LINES]
        for number in range(options.settings):
            settings = random_settings(random.Random(1000 * options.seed + number), base, vocab - 1)
            path.write_text(json.dumps(settings))
            beams = settings["num_beams"]
            subprocess.run(["rm", "-rf", work / "imported"], check=True)
            expected, found = theirs(work / "exported", lines, beams), ours(options.sixfold, work / "exported", lines, beams, work)
            bad = 0
            for one, other in zip(expected, found):
                same = [text for text, _ in one] == [text for text, _ in other]
                near = beams == 1 or all(abs(a - b) < 1e-3 for (_, a), (_, b) in zip(one, other))
                bad += not (same and near)
            different += bad > 0
            if bad:
                print(f"settings {number}: {bad} of {LINES} lines differ: {json.dumps(settings)[:600]}")
                print("  ", next((a, b) for a, b in zip(expected, found) if [t for t, _ in a] != [t for t, _ in b] or beams > 1 and any(abs(x[1] - y[1]) >= 1e-3 for x, y in zip(a, b))))
    print(f"{different} of {options.settings} settings give other translations or scores")


if __name__ == "__main__":
    main()
