#!/usr/bin/env python3
"""Trains with one process of two threads and with two processes of one thread, with Sixfold over MPI and with PyTorch's
DistributedDataParallel over gloo, in alternating rounds, and prints a table (Markdown). Medians; ratios are those of one
round.

    python3 compare_processes.py DATA_DIR BATCHES.jsonl [--presets tiny,small,base] [--rounds 3] [--peer eager|autocast]
                                 [--sixfold PROGRAM]

DATA_DIR has train.en and train.de, of which make_batches.py has made BATCHES.jsonl. Sixfold trains with `sixfold train` on
the text, with batches of as many tokens. PyTorch needs the environment whose activation script SIXFOLD_PEERS names.
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
UPDATES = {"tiny": 60, "small": 30, "base": 12}
MPI = ["mpirun", "-n", "2", "--bind-to", "none"]


def run(command):
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed with status {done.returncode}:\n{done.stderr}")
    return done.stdout


def sixfold_rate(options, preset, processes):
    """Tokens/s of the second half of a run."""
    updates = UPDATES[preset]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(f"model: {{preset: {preset}}}\ntokenizer: {{vocab_size: 8000}}\n")
        settings = {
            "data.train": f"{options.data}/train.en,{options.data}/train.de", "data.batch_tokens": 7600,
            "train.updates": updates, "train.threads": 2 // processes, "train.shards": processes,
            "validation.every_updates": 0, "checkpoint.every_updates": 0, "log.every_updates": updates // 2,
        }
        command = [str(options.sixfold), "train", str(config), "--output", f"{folder}/run", "--set"]
        command += [f"{key}={value}" for key, value in settings.items()]
        run((MPI if processes > 1 else []) + command)
        lines = [json.loads(line) for line in Path(folder, "run/train.jsonl").read_text().splitlines()]
    return lines[-1]["tokens_per_second"]


def pytorch_rate(options, activation, preset, processes):
    arguments = [str(HERE / "train_step.py"), options.batches, "--preset", preset, "--threads", str(2 // processes),
                 "--updates", str(UPDATES[preset] // 2)]
    if options.peer == "autocast":
        arguments.append("--autocast")
    launcher = "python" if processes == 1 else "torchrun --standalone --nproc-per-node 2"
    script = f". {shlex.quote(str(activation))}; exec {launcher} {shlex.join(arguments)}"
    return json.loads(run(["bash", "-c", script]).splitlines()[-1])["mean_tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("batches")
    parser.add_argument("--presets", default="tiny,small,base")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", choices=("eager", "autocast"), default="autocast")
    parser.add_argument("--sixfold", type=Path, default=HERE.parents[1] / "build/release/sixfold")
    options = parser.parse_args()
    activation = Path(os.environ.get("SIXFOLD_PEERS", "~/.cache/sixfold-peers/peers.sh")).expanduser()
    programs = {"Sixfold": lambda preset, processes: sixfold_rate(options, preset, processes)}
    if activation.exists():
        programs[f"PyTorch, {options.peer}"] = lambda preset, processes: pytorch_rate(options, activation, preset, processes)
    else:
        print(f"skipped: PyTorch (no {activation})")
    print("| preset | program | 1 process, 2 threads | 2 processes, 1 thread | ratio | Sixfold's / it, 2 processes |")
    print("|---|---|---:|---:|---:|---:|")
    for preset in options.presets.split(","):
        rates = {(name, processes): [] for name in programs for processes in (1, 2)}
        for _ in range(options.rounds):
            for (name, processes), found in rates.items():
                found.append(programs[name](preset, processes))
        ours = rates["Sixfold", 2]
        for name in programs:
            one, two = rates[name, 1], rates[name, 2]
            ratio = statistics.median(b / a for a, b in zip(one, two))
            against = statistics.median(a / b for a, b in zip(ours, two))
            print(f"| {preset} | {name} | {statistics.median(one):,.0f} | {statistics.median(two):,.0f} | {ratio:.2f} | {against:.2f} |",
                  flush=True)


if __name__ == "__main__":
    main()
