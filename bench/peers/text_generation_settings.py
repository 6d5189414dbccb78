#!/usr/bin/env python3
"""Compares texts that language models generate by random generation settings with those of transformers.

    python text_generation_settings.py [--sixfold PROGRAM] [--settings 25] [--seed 1]

Run it in the environment of the other programs (README.md). The models are the small ones of tests/goldens/causal. For each of the random
settings, generation_config.json of one of them is replaced, the folder is imported, and some prompts are continued by both programs as the file
says, without any option. Drawing is compared where one token is left to draw.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import torch
import transformers

HERE = Path(__file__).resolve().parent
GOLDENS = HERE.parents[1] / "tests/goldens/causal"
MODELS = ["gpt2", "gpt2_untied", "llama", "llama_tied"]
PROMPTS = ["the old dog", "a cat sees", "1 2 3", "he said that", "!"]


def random_settings(r, base, vocab):
    settings = dict(base, do_sample=False)
    if r.random() < 0.5:
        settings["max_new_tokens"] = r.choice([5, 20, 60])
    else:
        settings["max_length"] = r.choice([30, 60])
    if r.random() < 0.6:
        settings["eos_token_id"] = r.sample(range(vocab), r.choice([1, 5, 20]))
    if r.random() < 0.4:
        settings["repetition_penalty"] = r.choice([0.8, 1.2, 3.0])
    if r.random() < 0.4:
        settings["no_repeat_ngram_size"] = r.choice([2, 3])
    if r.random() < 0.4:
        settings["min_new_tokens"] = r.choice([2, 4])
    if r.random() < 0.4:
        settings["suppress_tokens"] = r.sample(range(vocab), 60)
    if r.random() < 0.4:
        settings["begin_suppress_tokens"] = r.sample(range(vocab), 100)
    if r.random() < 0.5:
        settings["bad_words_ids"] = [[r.randrange(vocab) for _ in range(r.choice([1, 2]))] for _ in range(100)]
    how = r.random()
    if how < 0.3:
        settings.update(num_beams=r.choice([2, 3, 5]), length_penalty=r.choice([0.0, 1.0, 2.0]), early_stopping=r.choice([True, False, "never"]))
    elif how < 0.5:
        settings.update(do_sample=True, temperature=r.choice([0.3, 1.5]), top_k=1)
    elif how < 0.6:
        settings.update(do_sample=True, temperature=0.7, top_p=1e-6)
    return settings


def plain(text):
    """Programs write bytes that are no text as one or several U+FFFD."""
    return re.sub("\ufffd+", "\ufffd", text)


def theirs(folder):
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    results = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        with torch.no_grad():
            out = model.generate(ids, attention_mask=torch.ones_like(ids))[0][ids.shape[1]:].tolist()
        ends = model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        while out and out[-1] in ends + [model.generation_config.pad_token_id]:
            out.pop()
        results.append((len(out), plain(tokenizer.decode(out, skip_special_tokens=True))))
    return results


def ours(program, folder, work):
    (work / "prompts").write_text("\n".join(PROMPTS) + "\n", encoding="utf-8")
    subprocess.run([program, "import", "hf", folder, "--output", work / "imported"], check=True, capture_output=True)
    text = subprocess.run([program, "generate", work / "imported", "--input", work / "prompts", "--json"], check=True, capture_output=True,
                          text=True).stdout
    return [(one["tokens"], plain(one["text"])) for one in map(json.loads, text.splitlines())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sixfold", default=str(HERE.parents[1] / "build/release/sixfold"))
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    warnings.filterwarnings("ignore")
    different = 0
    for number in range(options.settings):
        r = random.Random(1000 * options.seed + number)
        with tempfile.TemporaryDirectory() as temporary:
            work = Path(temporary)
            name = r.choice(MODELS)
            folder = work / "model"
            shutil.copytree(GOLDENS / name, folder)
            base = json.loads((folder / "generation_config.json").read_text())
            base = {key: base[key] for key in ("bos_token_id", "eos_token_id")}
            settings = random_settings(r, base, 340)
            (folder / "generation_config.json").write_text(json.dumps(settings))
            expected, found = theirs(folder), ours(options.sixfold, folder, work)
            if expected != found:
                different += 1
                print(f"settings {number}, {name}: {json.dumps(settings)[:700]}")
                print("  ", *next((a, b) for a, b in zip(expected, found) if a != b))
    print(f"{different} of {options.settings} settings give other texts")


if __name__ == "__main__":
    main()
