#!/usr/bin/env python3
"""Generates from the same GPT-2 with Sixfold, transformers and CTranslate2, in alternating rounds, and prints a table (Markdown).

The model is random; all have its weights and draw from the whole distribution, one token after the other, as many as asked.
The speed is that of the generation alone: from the time of Sixfold's program that of another is subtracted that generates one token
of each text; the others are warmed up. The table has medians; a ratio is the median of the rounds' ratios. Run it in the environment of
the other programs (README.md).

    python compare_generate.py TEXT.txt [--streams 1] [--layers 6] [--heads 6] [--width 384] [--context 256] [--rounds 5] [--sixfold PROGRAM]

TEXT.txt trains the tokenizer.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {"transformers": ["float32", "bfloat16", "compile"], "ctranslate2": ["float32", "int8", "float32+2", "int8+2"]}


def run(command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return done


def make_model(a, folder):
    """A random GPT-2 with a byte-level tokenizer, as Hugging Face, Sixfold and CTranslate2 have it."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train([a.text], trainers.BpeTrainer(vocab_size=a.vocabulary, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                  special_tokens=["<|endoftext|>"], show_progress=False))
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=tokenizer.get_vocab_size(), n_positions=a.context, n_embd=a.width, n_layer=a.layers, n_head=a.heads,
                        bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)
    model.save_pretrained(folder)
    ends = dict(bos_token="<|endoftext|>", eos_token="<|endoftext|>", unk_token="<|endoftext|>")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends).save_pretrained(folder)
    run(["ct2-transformers-converter", "--model", folder, "--output_dir", str(folder) + ".ctranslate2"])
    run([a.sixfold, "import", "hf", folder, "--output", str(folder) + ".sixfold"])
    return tokenizer.token_to_id("a")


def time_sixfold(a, folder, precision, tokens):
    """Returns the seconds of the program and its peak memory in MB."""
    command = [a.sixfold, "generate", str(folder) + ".sixfold", "--prompt", "a", "--max-tokens", tokens, "--min-tokens", tokens,
               "--samples", a.streams, "--threads", a.threads, "--seed", 1, "--json", "--precision", precision]
    begin = time.perf_counter()
    done = run(["/usr/bin/time", "-f", "%M", *command])
    seconds = time.perf_counter() - begin
    assert all(json.loads(line)["tokens"] == tokens for line in done.stdout.splitlines())
    return seconds, int(done.stderr.splitlines()[-1]) / 1024


def run_sixfold(a, folder, precision):
    start, _ = time_sixfold(a, folder, precision, 1)
    seconds, peak = time_sixfold(a, folder, precision, a.tokens)
    return {"tokens_per_second": a.streams * (a.tokens - 1) / (seconds - start), "peak_mb": peak}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("text")
    for name, value in dict(streams=1, layers=6, heads=6, width=384, context=256, vocabulary=320, tokens=240, threads=2, rounds=5).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--sixfold", default=str(HERE.parents[1] / "build/release/sixfold"))
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        prompt = make_model(a, folder)
        results = {("Sixfold", "fp32"): [], ("Sixfold", "int8"): []}
        results |= {(program, kind): [] for program, kinds in KINDS.items() for kind in kinds if a.streams > 1 or "+" not in kind}
        for _ in range(a.rounds):
            for (program, kind), own in results.items():
                if program == "Sixfold":
                    own.append(run_sixfold(a, folder, kind))
                    continue
                options = dict(program=program, kind=kind, streams=a.streams, tokens=a.tokens, threads=a.threads, prompt=prompt, rounds=3)
                said = run([sys.executable, HERE / "generate.py", folder, *(f"--{name}={value}" for name, value in options.items())])
                own.append(json.loads(said.stdout.splitlines()[-1]))
    print(f"{a.streams} streams of {a.tokens} tokens, {a.threads} threads\n")
    print("| program | tokens/s | ratio | peak MB |\n|---|---:|---:|---:|")
    for (program, kind), own in results.items():
        base = results["Sixfold", "int8" if kind.startswith("int8") else "fp32"]
        ratio = statistics.median(one["tokens_per_second"] / other["tokens_per_second"] for one, other in zip(base, own))
        speed, peak = (statistics.median(one[name] for one in own) for name in ("tokens_per_second", "peak_mb"))
        print(f"| {program}, {kind} | {speed:,.0f} | {ratio:.2f} | {peak:.0f} |")


main()
