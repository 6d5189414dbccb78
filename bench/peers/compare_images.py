#!/usr/bin/env python3
"""Trains the vision transformer of recipes/fashion-mnist.yaml with Sixfold and with PyTorch, in alternating rounds, and prints a table (Markdown).

Both have the same sizes, images, augmentation, batches of 128 images and number of updates. The table has medians; a ratio is the median
of the rounds' ratios. PyTorch needs the environment whose activation script SIXFOLD_PEERS names (default ~/.cache/sixfold-peers/peers.sh).

    python3 compare_images.py [--data FOLDER] [--updates 60] [--rounds 3] [--threads 2]
                              [--peers eager,compile,autocast,compile+autocast] [--sixfold PROGRAM]
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
BATCH, PATCHES = 128, 25


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed with status {done.returncode}:\n{done.stderr}")
    return done


def run_peer(a, files, kind):
    activation = os.environ.get("SIXFOLD_PEERS", os.path.expanduser("~/.cache/sixfold-peers/peers.sh"))
    options = [*files, f"--batch={BATCH}", "--shift=1", f"--updates={a.updates}", f"--threads={a.threads}"]
    options += [f"--{part}" for part in kind.split("+") if part != "eager"]
    script = f". {shlex.quote(activation)}; exec python {shlex.quote(str(HERE / 'vit.py'))} "
    return json.loads(run(["bash", "-c", script + shlex.join(options)]).stdout.splitlines()[-1])


def run_sixfold(a, files):
    with tempfile.TemporaryDirectory() as folder:
        settings = {"data.train": f"[{files[0]}, {files[1]}]", "train.minutes": 0, "train.epochs": 0, "train.updates": a.updates,
                    "train.threads": a.threads, "log.every_updates": max(1, a.updates // 10), "checkpoint.every_updates": 0}
        command = ["/usr/bin/time", "-f", "%e %M", a.sixfold, "train", str(HERE.parents[1] / "recipes/fashion-mnist.yaml"),
                   "--output", folder + "/run", "--set", *(f"{key}={value}" for key, value in settings.items())]
        seconds, kilobytes = run(command).stderr.splitlines()[-1].split()
        lines = [json.loads(line) for line in open(folder + "/run/train.jsonl")]
        speeds = [line["tokens_per_second"] / PATCHES for line in lines if "tokens_per_second" in line]
        return {"images_per_second": statistics.median(speeds[1:]), "seconds": float(seconds), "peak_mb": int(kilobytes) / 1024,
                "baseline_mb": 0}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", default="eager,compile,autocast,compile+autocast")
    parser.add_argument("--sixfold", default=str(HERE.parents[1] / "build/release/sixfold"))
    a = parser.parse_args()
    files = [f"{a.data}/train-images-idx3-ubyte.gz", f"{a.data}/train-labels-idx1-ubyte.gz"]
    results = {"Sixfold": [], **{kind: [] for kind in a.peers.split(",")}}
    for _ in range(a.rounds):
        for name, own in results.items():
            own.append(run_sixfold(a, files) if name == "Sixfold" else run_peer(a, files, name))
    print("| program | images/s | ratio | seconds in all | peak MB | growth MB |\n|---|---:|---:|---:|---:|---:|")
    for name, own in results.items():
        def median(value):
            return statistics.median(value(r) for r in own)
        ratio = statistics.median(ours["images_per_second"] / r["images_per_second"] for ours, r in zip(results["Sixfold"], own))
        print(f"| {name if name == 'Sixfold' else 'PyTorch, ' + name} | {median(lambda r: r['images_per_second']):,.0f} | {ratio:.2f} | "
              f"{median(lambda r: r['seconds']):.1f} | {median(lambda r: r['peak_mb']):.0f} | "
              f"{median(lambda r: r['peak_mb'] - r['baseline_mb']):.0f} |")


main()
