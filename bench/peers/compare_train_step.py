#!/usr/bin/env python3
"""Trains on the same batches with Sixfold and other programs, in alternating rounds, and prints a table (Markdown).

Each program runs `rounds` times. The table has medians; a ratio is the median of the rounds' ratios. "Of the fp32 rate"
counts 6 operations for each weight and token, relative to the rate of a large fp32 product in the same process. Growth is
the increase of a run's peak memory over what it used before it built the model. PyTorch needs the environment whose
activation script SIXFOLD_PEERS names (default ~/.cache/sixfold-peers/peers.sh). Programs that are not installed are
skipped with a message.

    python3 compare_train_step.py BATCHES.jsonl [--presets tiny,small,base] [--threads 2] [--updates N]
                                  [--rounds 3] [--peers eager,onednn,compile,autocast,marian] [--sixfold PROGRAM]
                                  [--data DIR]

Marian needs --data, the folder of train.en and train.de. It makes its own batches, with as many words, sorted by length.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = {
    "eager": ("PyTorch", []),
    "onednn": ("PyTorch, oneDNN products", ["--onednn"]),
    "compile": ("PyTorch, compiled", ["--compile"]),
    "autocast": ("PyTorch, bf16", ["--autocast"]),
}
MARIAN = "marian"  # among the peers: Marian, on the text itself (marian_train.py)
UPDATES = {"tiny": 20, "small": 20, "base": 8}


def peer_command(activation, arguments, program="train_step.py"):
    script = f". {shlex.quote(str(activation))}; exec python {shlex.quote(str(HERE / program))} "
    return ["bash", "-c", script + shlex.join(arguments)]


def measure(command):
    """The program's last line of output."""
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed with status {run.returncode}:\n{run.stderr}")
    result = json.loads(run.stdout.splitlines()[-1])
    result["growth_mb"] = result["peak_mb"] - result["baseline_mb"]
    return result


def run_rounds(commands, rounds):
    """For each program its results, taken by turns so that all of them see the same machine."""
    results = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            results[name].append(measure(command))
    return results


def row(preset, name, results, all_results):
    cells = [preset, name]
    for key in "tokens_per_second", "growth_mb":
        cells.append(f"{statistics.median(result[key] for result in results):,.0f}")
        for ours in (all_results.get(f"Sixfold, {precision}") for precision in ("bf16", "fp32")):
            ratio = statistics.median(a[key] / b[key] for a, b in zip(ours, results)) if ours else None
            cells.append("" if ratio is None else f"{ratio:.2f}")
    part = [result.get("part_of_fp32_product_rate") for result in results]
    cells.append(f"{statistics.median(part):.0%}" if part[0] else "")
    return "| " + " | ".join(cells) + " |"


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{name}, {os.cpu_count()} processors; load before: {os.getloadavg()[0]:.1f}"


def has_bf16_products():
    return any(flag in Path("/proc/cpuinfo").read_text().split() for flag in ("avx512_bf16", "amx_bf16"))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batches")
    parser.add_argument("--presets", default="tiny,small,base")
    parser.add_argument("--peers", default="eager,onednn")
    parser.add_argument("--data", help="for Marian: a folder with train.en and train.de")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--updates", help="for every preset; default: " + str(UPDATES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--sixfold", type=Path, default=HERE.parents[1] / "build/release/bench/bench_train_step"
    )
    return parser.parse_args()


def main():
    options = parse_options()
    activation = Path(os.environ.get("SIXFOLD_PEERS", "~/.cache/sixfold-peers/peers.sh")).expanduser()
    peers = options.peers.split(",")
    for path, what in (options.sixfold, "Sixfold"), (activation, "PyTorch"):
        if not path.exists():
            print(f"skipped: {what} (no {path})")
    print(processor())
    versions = set()
    print("\n| preset | program | tokens/s | Sixfold bf16 / it | fp32 / it | growth, MB | bf16 / it | fp32 / it | of the fp32 rate |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for preset in options.presets.split(","):
        updates = options.updates or str(UPDATES[preset])
        common = [options.batches, "--preset", preset, "--threads", options.threads, "--updates", updates]
        commands = {}
        if options.sixfold.exists():
            for precision in ("fp32", "bf16") if has_bf16_products() else ("fp32",):
                commands[f"Sixfold, {precision}"] = [str(options.sixfold), *common, "--precision", precision]
        if activation.exists():
            commands |= {PEERS[peer][0]: peer_command(activation, common + PEERS[peer][1])
                         for peer in peers if peer != MARIAN}
            if MARIAN in peers:
                commands["Marian"] = peer_command(
                    activation, [options.data, "--preset", preset, "--threads", options.threads, "--updates", updates],
                    "marian_train.py")
        results = run_rounds(commands, options.rounds)
        for name, of_rounds in results.items():
            print(row(preset, name, of_rounds, results), flush=True)
            versions.add(of_rounds[0].get("version", name))
    print("\nVersions: " + ", ".join(sorted(versions)))


if __name__ == "__main__":
    main()
