#!/usr/bin/env python3
"""Trains on from random models of transformers: a small T5 and a small BART learn the demo's translation, started with `start.model`.

    python fine_tune.py [--families t5,bart] [--updates 5000] [--seed 1] [--threads 2] [--sixfold PROGRAM] [--keep FOLDER]

For each family: a model with two layers in each stack and the weights that transformers draws, its tokenizer learned from the demo's corpus, is
saved by transformers, imported, trained for the updates, and translates the 500 held-out sentences. What is trained is exported again, and
transformers translates the first 100 of the same sentences with it. Fails if fewer than 95% of the translations are exactly the reference, or if
transformers gives another translation.
"""

import argparse
import random
import subprocess
import tempfile
import time
from pathlib import Path

import torch
import transformers as hf

import families_tokenizers as tokenizers_of

CONFIG = """
start:
  model: {folder}/imported
data:
  train: [{corpus}/train.en, {corpus}/train.de]
  valid: [{corpus}/valid.en, {corpus}/valid.de]
  batch_tokens: 1700
train:
  updates: {updates}
  threads: {threads}
  label_smoothing: 0.05
  seed: {seed}
model:
  dropout: 0
schedule:
  kind: linear
  learning_rate: {rate}
  warmup: 200
"""


def t5(made):
    config = hf.T5Config(vocab_size=made.size, d_model=128, d_kv=32, d_ff=512, num_layers=2, num_decoder_layers=2, num_heads=4, pad_token_id=made.pad,
                         eos_token_id=made.eos, decoder_start_token_id=made.pad)
    return hf.T5ForConditionalGeneration(config)


def bart(made):
    config = hf.BartConfig(vocab_size=made.size, d_model=128, encoder_ffn_dim=512, decoder_ffn_dim=512, encoder_layers=2, decoder_layers=2,
                           encoder_attention_heads=4, decoder_attention_heads=4, max_position_embeddings=256, bos_token_id=made.bos,
                           eos_token_id=made.eos, pad_token_id=made.pad, decoder_start_token_id=made.eos, forced_eos_token_id=made.eos)
    return hf.BartForConditionalGeneration(config)


FAMILIES = {"t5": (tokenizers_of.t5, t5, 2e-3), "bart": (tokenizers_of.roberta, bart, 2e-3)}


def lines_of(path):
    return Path(path).read_text(encoding="utf-8").splitlines()


def fine_tune(family, corpus, folder, arguments):
    make_tokenizer, make_model, rate = FAMILIES[family]
    folder.mkdir()
    original, run = folder / "original", folder / "run"
    original.mkdir()
    made = make_tokenizer(original, random.Random(arguments.seed), 500)
    torch.manual_seed(arguments.seed)
    model = make_model(made)
    model.generation_config.max_length = 100
    model.save_pretrained(original)

    def sixfold(*words):
        subprocess.run([arguments.sixfold, *map(str, words)], check=True)

    sixfold("import", "hf", original, "--output", folder / "imported")
    config = folder / "config.yaml"
    config.write_text(CONFIG.format(folder=folder, corpus=corpus, updates=arguments.updates, threads=arguments.threads, rate=rate,
                                    seed=arguments.seed))
    begun = time.monotonic()
    sixfold("train", config, "--output", run)
    minutes = (time.monotonic() - begun) / 60
    sixfold("translate", run / "model", "--input", corpus / "test.en", "--output", folder / "test.hyp.de")
    translations, references = lines_of(folder / "test.hyp.de"), lines_of(corpus / "test.de")
    exact = 100 * sum(a == b for a, b in zip(translations, references, strict=True)) / len(references)

    sixfold("export", "hf", run / "model", "--output", folder / "exported")
    tokenizer = hf.AutoTokenizer.from_pretrained(folder / "exported")
    model = hf.AutoModelForSeq2SeqLM.from_pretrained(folder / "exported", dtype=torch.float32).eval()
    sources = lines_of(corpus / "test.en")[:100]
    peers = []
    for source in sources:
        ids = model.generate(**tokenizer(source, return_tensors="pt"))
        peers.append(tokenizer.decode(ids[0], skip_special_tokens=True).removeprefix(" "))  # which such a tokenizer puts before texts
    same = sum(a == b for a, b in zip(peers, translations))
    print(f"{family}: trained in {minutes:.1f} minutes; {exact:.1f}% of {len(references)} translations are exactly the reference; "
          f"transformers translates {same} of {len(sources)} the same", flush=True)
    return exact >= 95 and same == len(sources)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--updates", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sixfold", default="build/release/sixfold")
    parser.add_argument("--keep", type=Path, help="a new folder in which all files stay")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary) / "fine_tune"
        folder.mkdir(parents=True)
        corpus = folder / "corpus"
        subprocess.run([arguments.sixfold, "demo-corpus", "--output", str(corpus)], check=True)
        tokenizers_of.CORPUS = lines_of(corpus / "train.en") + lines_of(corpus / "train.de")
        results = [fine_tune(family, corpus, folder / family, arguments) for family in arguments.families.split(",")]
        raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
