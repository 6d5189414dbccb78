#!/usr/bin/env python3
"""Translates a text with Sixfold, CTranslate2 and Marian, in alternating rounds, and prints a table (Markdown).

    python3 compare_translate.py MODEL INPUT REFERENCE --tokenizer FILE.spm
        [--ctranslate2 int8=DIR,float32=DIR] [--marian DECODER.yml] [--beams 1,4] [--rounds 3] [--threads 2]
        [--shortlist FILE]

MODEL is a Sixfold model folder in fp32. CTranslate2's models are converted from it (`sixfold export hf`, then its own
converter) unless they are given. Each program translates from text to text in its own process, `rounds` times. The table has medians, and
ratios of another program's median to that of Sixfold in int8. BLEU is that of `sixfold evaluate`. Programs that are not installed are
skipped with a message. With --shortlist, a file of `sixfold shortlist`, Sixfold and CTranslate2 use the same lists.
"""

import argparse
import json
import os
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build/release"


def activation():
    return Path(os.environ.get("SIXFOLD_PEERS", "~/.cache/sixfold-peers/peers.sh")).expanduser()


def in_environment(arguments):
    return ["bash", "-c", f". {shlex.quote(str(activation()))}; exec {shlex.join(map(str, arguments))}"]


def run(command, **options):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def measure(command):
    return json.loads(run(command).splitlines()[-1])


def converted(options, folder):
    """CTranslate2's models, made of ours where they are not given."""
    if options.ctranslate2:
        return dict(pair.split("=") for pair in options.ctranslate2.split(","))
    run([BUILD / "sixfold", "export", "hf", options.model, "--output", f"{folder}/hf"])
    models = {}
    for kind in "int8", "float32":
        models[kind] = f"{folder}/ct2-{kind}"
        run(in_environment(["ct2-transformers-converter", "--model", f"{folder}/hf", "--output_dir", models[kind],
                            "--quantization", kind]))
    return models


def write_vocabulary_map(shortlist, model):
    """Writes the lists as a CTranslate2 model's vmap.txt: the tokens of all lists, then those of each source token."""
    data = Path(shortlist).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8:8 + size])

    def numbers(name):
        begin, end = tensors[name]["data_offsets"]
        return struct.unpack(f"<{(end - begin) // 4}i", data[8 + size + begin:8 + size + end])

    tokens = json.loads((Path(model) / "shared_vocabulary.json").read_text(encoding="utf-8"))
    targets = iter(numbers("targets"))
    lines = ["\t" + " ".join(tokens[id] for id in numbers("common"))]
    for source, count in enumerate(numbers("counts")):
        lines.append(tokens[source] + "\t" + " ".join(tokens[next(targets)] for _ in range(count)))
    (Path(model) / "vmap.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def programs(options, folder):
    """Name -> the command but for what it translates and how."""
    ours = BUILD / "bench/bench_translate"
    found = {
        "Sixfold, int8": [ours, options.int8, "--threads", options.threads],
        "Sixfold, fp32": [ours, options.model, "--threads", options.threads],
    }
    if options.shortlist:
        found = {name: [*command, "--shortlist", options.shortlist] for name, command in found.items()}
    if not activation().exists():
        print(f"skipped: CTranslate2, Marian (no {activation()})")
        return found
    peer = ["python", HERE / "translate.py"]
    for kind, model in converted(options, folder).items():
        if options.shortlist:
            write_vocabulary_map(options.shortlist, model)
        found[f"CTranslate2, {kind}"] = [*peer, "ctranslate2", model, "--tokenizer", options.tokenizer, "--precision", kind,
                                         "--workers", options.threads, *(["--vocabulary-map"] if options.shortlist else [])]
    if options.marian:
        found["Marian, fp32"] = [*peer, "marian", options.marian, "--workers", options.threads]
        print("skipped: Marian in int8 (its Python package lacks the program that converts a model for it)")
    return found


def with_input(command, text, arguments):
    place = 2 if "bench_translate" in str(command[0]) else 4
    full = [*command[:place], text, *command[place:], *arguments]
    return full if place == 2 else in_environment(full)


def bleu(output, reference):
    text = run([BUILD / "sixfold", "evaluate", "--hypothesis", output, "--reference", reference, "--metric", "bleu"])
    return text.split(" = ")[1].split()[0]


def symbols(output, model):
    """Target tokens of a text, end symbols included."""
    text = run([BUILD / "sixfold", "tokenize", model, "--target", "--input", output])
    return len(text.split()) + len(text.splitlines())


def by_turns(commands, rounds):
    results = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            results[name].append(measure(command))
    return {name: {key: statistics.median(r[key] for r in rows) for key in rows[0] if key != "program"} | {"program": rows[0]["program"]}
            for name, rows in results.items()}


def throughput(options, found, folder):
    print("\n| beam | program | seconds | target tokens/s | it / Sixfold int8, seconds | peak memory, MB | it / Sixfold int8 | BLEU |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|")
    versions = set()
    for beam in options.beams.split(","):
        outputs = {name: f"{folder}/{i}.txt" for i, name in enumerate(found)}
        commands = {name: with_input(command, options.input, ["--beam-size", beam, "--output", outputs[name]])
                    for name, command in found.items()}
        results = by_turns(commands, options.rounds)
        ours = results["Sixfold, int8"]
        for name, r in results.items():
            versions.add(r["program"])
            rate = symbols(outputs[name], options.model) / r["seconds"]
            print(f"| {beam} | {name} | {r['seconds']:.2f} | {rate:,.0f} | {r['seconds'] / ours['seconds']:.2f} | {r['peak_mb']:.0f} |"
                  f" {r['peak_mb'] / ours['peak_mb']:.2f} | {bleu(outputs[name], options.reference)} |", flush=True)
    return versions


def latency(options, found, folder):
    some = f"{folder}/some.txt"
    lines = Path(options.input).read_text(encoding="utf-8").splitlines()[:300]
    Path(some).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    print("\n| beam | program | one sentence, ms (median) | it / Sixfold int8 | 99th percentile, ms |")
    print("|---:|---|---:|---:|---:|")
    for beam in options.beams.split(","):
        commands = {}
        for name, command in found.items():
            single = list(command)
            for option in "--workers", "--threads":  # one thread: what was fastest for each
                if option in single:
                    single[single.index(option) + 1] = 1
            commands[name] = with_input(single, some, ["--beam-size", beam, "--one-at-a-time"])
        results = by_turns(commands, options.rounds)
        ours = results["Sixfold, int8"]
        for name, r in results.items():
            print(f"| {beam} | {name} | {r['p50_ms']:.2f} | {r['p50_ms'] / ours['p50_ms']:.2f} | {r['p99_ms']:.2f} |", flush=True)


def start(options):
    """From the start of the process to the first translation, with a warm page cache."""
    line = Path(options.input).read_text(encoding="utf-8").splitlines()[0] + "\n"
    print("\n| program | start to first translation, s |\n|---|---:|")
    for name, model in ("int8", options.int8), ("fp32", options.model):
        times = []
        for _ in range(9):
            begun = time.perf_counter()
            run([BUILD / "sixfold", "translate", model], input=line)
            times.append(time.perf_counter() - begun)
        print(f"| Sixfold, {name} | {statistics.median(times):.3f} |")


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{name}, {os.cpu_count()} processors; load before: {os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("input")
    parser.add_argument("reference")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--ctranslate2")
    parser.add_argument("--marian")
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--shortlist")
    options = parser.parse_args()
    print(processor())
    with tempfile.TemporaryDirectory() as folder:
        options.int8 = f"{folder}/int8"
        run([BUILD / "sixfold", "quantize", options.model, "--output", options.int8])
        found = programs(options, folder)
        versions = throughput(options, found, folder)
        latency(options, found, folder)
        start(options)
    print("\nVersions: " + ", ".join(sorted(versions)))


if __name__ == "__main__":
    main()
