#!/usr/bin/env python3
"""Generates from one GGUF file with Sixfold and llama.cpp, in alternating rounds, and prints a table (Markdown).

llama.cpp uses the file as it is; Sixfold imports it and quantizes the model to int8 and to 4 bits. Both continue as many tokens as asked,
each the most probable one, with the same number of threads. The speed is that of the generation alone: from the time of Sixfold's program
that of another is subtracted that generates one token of each text, and llama.cpp is warmed up. Guesses from repetitions
(--draft-tokens) are off. The table has medians; a ratio is the median of the rounds' ratios. Run it in the environment of the other
programs (README.md), where llama-cpp-python should be built for this processor. Other files of the same model, such as one of Q8_0, are for
llama.cpp alone.

    python compare_llama_cpp.py MODEL.gguf [OTHER.gguf ...] [--streams 1] [--tokens 128] [--threads 2] [--rounds 5] [--plain-weights]
                                [--sixfold PROGRAM]
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


def run(command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return done


def time_sixfold(a, folder, tokens):
    """Returns the seconds of the program and its peak memory in MB."""
    command = [a.sixfold, "generate", folder, "--prompt", "The", "--max-tokens", tokens, "--min-tokens", tokens, "--samples", a.streams,
               "--threads", a.threads, "--seed", 1, "--temperature", 0 if a.streams == 1 else 1, "--top-k", 50, "--draft-tokens", 0]
    begin = time.perf_counter()
    done = run(["/usr/bin/time", "-f", "%M", *command])
    return time.perf_counter() - begin, int(done.stderr.strip().splitlines()[-1]) / 1000


def time_of_prompt(a, folder):
    """Returns the seconds that a prompt of some 512 tokens takes more than one of a token."""
    seconds = []
    for prompt in ("The", "The quick brown fox jumps over the lazy dog again. " * 47):
        begin = time.perf_counter()
        run([a.sixfold, "generate", folder, "--prompt", prompt, "--max-tokens", 1, "--threads", a.threads])
        seconds.append(time.perf_counter() - begin)
    return seconds[1] - seconds[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plain-weights", action="store_true", help="for llama.cpp: see llama_cpp_generate.py")
    parser.add_argument("--sixfold", default="sixfold")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full"
        run([a.sixfold, "import", "gguf", a.models[0], "--output", full])
        for precision in ("int8", "int4"):
            run([a.sixfold, "quantize", full, "--precision", precision, "--output", Path(folder) / precision])
        peers = {f"llama.cpp, {Path(model).name}": model for model in a.models}
        rows = {name: [] for name in ("Sixfold, int8", "Sixfold, int4", *peers)}
        for _ in range(a.rounds):
            for precision in ("int8", "int4"):
                model = Path(folder) / precision
                short, _ = time_sixfold(a, model, 1)
                long, memory = time_sixfold(a, model, a.tokens)
                speed = a.streams * (a.tokens - 1) / (long - short)
                rows[f"Sixfold, {precision}"].append((speed, time_of_prompt(a, model), memory))
            for name, model in peers.items():
                command = [sys.executable, HERE / "llama_cpp_generate.py", model, "--streams", a.streams, "--tokens", a.tokens, "--threads",
                           a.threads, "--rounds", 3] + ["--plain-weights"] * a.plain_weights
                peer = json.loads(run(command).stdout.splitlines()[-1])
                rows[name].append((peer["tokens_per_second"], peer["prompt_seconds"], peer["memory_mb"]))
    print(f"| {a.streams} texts, {a.threads} threads | tokens/s | int8, int4: times this | prompt of 512 tokens, s | memory, MB |")
    print("|---|---:|---:|---:|---:|")
    for name, values in rows.items():
        median = [statistics.median(column) for column in zip(*values)]
        ratios = [statistics.median(own[0] / value[0] for value, own in zip(values, rows[f"Sixfold, {precision}"])) for precision in ("int8", "int4")]
        print(f"| {name} | {median[0]:.1f} | {ratios[0]:.2f}, {ratios[1]:.2f} | {median[1]:.3f} | {median[2]:.0f} |")


if __name__ == "__main__":
    main()
