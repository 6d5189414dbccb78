#!/usr/bin/env python3
"""Trains a language model of characters with Sixfold and with PyTorch, in alternating rounds, and prints a table (Markdown).

Both have the same sizes, text, batches of the same size, divided into as many micro-batches, and number of updates. The table has
medians; a ratio is the median of the rounds' ratios. PyTorch needs the environment whose activation script SIXFOLD_PEERS names
(default ~/.cache/sixfold-peers/peers.sh).

    python3 compare_language_model.py TRAIN.txt VALID.txt [--sizes nano|wide] [--micro-batches 1] [--updates N] [--rounds 3]
                                      [--threads 2] [--peers eager,compile,autocast,compile+autocast] [--sixfold PROGRAM]
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = {"nano": dict(layers=4, heads=4, width=128, block=64, batch=12, dropout=0.0, updates=2000),
         "wide": dict(layers=6, heads=6, width=384, block=256, batch=32, dropout=0.2, updates=30)}


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed with status {done.returncode}:\n{done.stderr}")
    return done


def run_peer(a, sizes, kind):
    activation = os.environ.get("SIXFOLD_PEERS", os.path.expanduser("~/.cache/sixfold-peers/peers.sh"))
    options = [f"--{name}={value}" for name, value in sizes.items()]
    options += [f"--threads={a.threads}", f"--micro-batches={a.micro_batches}"]
    options += [f"--{part}" for part in kind.split("+") if part != "eager"]
    script = f". {shlex.quote(activation)}; exec python {shlex.quote(str(HERE / 'language_model.py'))} "
    return json.loads(run(["bash", "-c", script + shlex.join([a.train, a.valid, *options])]).stdout.splitlines()[-1])


def run_sixfold(a, sizes):
    """The program itself, with its start, validation and files."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "data.train": a.train, "data.valid": a.valid, "data.block_tokens": sizes["block"],
            "data.batch_tokens": sizes["block"] * sizes["batch"],
            "data.micro_batch_tokens": sizes["block"] * sizes["batch"] // a.micro_batches,
            "model.decoder_layers": sizes["layers"], "model.heads": sizes["heads"], "model.d_model": sizes["width"],
            "model.d_ff": 4 * sizes["width"], "model.dropout": sizes["dropout"], "model.norm": "layer",
            "model.activation": "tanh_gelu", "model.feed_forward_gate": "false", "model.feed_forward_bias": "true",
            "train.updates": sizes["updates"], "train.threads": a.threads, "log.every_updates": max(1, sizes["updates"] // 10),
            "validation.every_updates": sizes["updates"], "checkpoint.every_updates": 0, "schedule.learning_rate": 1e-3,
            "schedule.warmup": 100 if sizes["updates"] > 200 else 5}
        command = ["/usr/bin/time", "-f", "%e %M", a.sixfold, "train", str(HERE.parents[1] / "recipes/shakespeare-characters.yaml"),
                   "--output", folder + "/run", "--set", *(f"{key}={value}" for key, value in settings.items())]
        seconds, kilobytes = run(command).stderr.splitlines()[-1].split()
        lines = [json.loads(line) for line in open(folder + "/run/train.jsonl")]
        speeds = [line["tokens_per_second"] for line in lines if "tokens_per_second" in line]
        losses = [line["validation"]["loss"] for line in lines if "validation" in line]
        return {"tokens_per_second": statistics.median(speeds[1:]), "seconds": float(seconds), "valid_loss": losses[-1],
                "peak_mb": int(kilobytes) / 1024, "baseline_mb": 0}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("train")
    parser.add_argument("valid")
    parser.add_argument("--sizes", choices=SIZES, default="nano")
    parser.add_argument("--micro-batches", type=int, default=1)
    parser.add_argument("--updates", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", default="eager,compile,autocast,compile+autocast")
    parser.add_argument("--sixfold", default=str(HERE.parents[1] / "build/release/sixfold"))
    a = parser.parse_args()
    sizes = SIZES[a.sizes] | ({"updates": a.updates} if a.updates else {})
    results = {"Sixfold": [], **{kind: [] for kind in a.peers.split(",")}}
    for _ in range(a.rounds):
        for name, own in results.items():
            own.append(run_sixfold(a, sizes) if name == "Sixfold" else run_peer(a, sizes, name))
    print("| program | tokens/s | ratio | seconds in all | validation loss | peak MB | growth MB |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, own in results.items():
        def median(value):
            return statistics.median(value(r) for r in own)
        ratio = statistics.median(ours["tokens_per_second"] / r["tokens_per_second"] for ours, r in zip(results["Sixfold"], own))
        print(f"| {name if name == 'Sixfold' else 'PyTorch, ' + name} | {median(lambda r: r['tokens_per_second']):,.0f} | {ratio:.2f} | "
              f"{median(lambda r: r['seconds']):.1f} | {median(lambda r: r['valid_loss']):.3f} | {median(lambda r: r['peak_mb']):.0f} | "
              f"{median(lambda r: r['peak_mb'] - r['baseline_mb']):.0f} |")


main()
