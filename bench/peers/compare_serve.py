#!/usr/bin/env python3
"""Compares `sixfold serve` with a server of Flask and CTranslate2 (serve_flask.py) and with `sixfold translate`, and prints tables (Markdown).

    python compare_serve.py MODEL TEXT [--source en] [--target de] [--rounds 3] [--requests 3000] [--clients 64] [--only int8] [--sixfold PROGRAM]

MODEL is a Sixfold model of translation with a SentencePiece tokenizer, in fp32; the int8 one and CTranslate2's are made from it. Each server in
turn is asked by `bench_serve` with the same requests of the same lines, and each of its answers must be what the server gave for that line alone;
then at half of its own rate. The table has medians over the rounds; a ratio is the median of the rounds' ratios, of Sixfold in int8 for rows in
int8, else in fp32. Run it in the environment of the other programs (README.md), which needs `flask` and `waitress` too.
"""

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build/release"
PEERS = {"CTranslate2, float32": ["--compute-type", "float32"], "CTranslate2, int8": ["--compute-type", "int8"],
         "CTranslate2, float32, requests alone": ["--compute-type", "float32", "--alone"],
         "CTranslate2, int8, requests alone": ["--compute-type", "int8", "--alone"]}


def run(command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def post(port, q, a):
    body = json.dumps({"q": q, "source": a.source, "target": a.target}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/translate", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["translatedText"]


@contextmanager
def server(command, a):
    port = free_port()
    process = subprocess.Popen([str(part) for part in command] + ["--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            time.sleep(0.1)
            if process.poll() is not None:
                sys.exit(f"{command} ended with status {process.returncode}")
            try:
                post(port, "a", a)
                break
            except OSError:
                pass
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def expected(port, lines, folder, a):
    """What this server says of each line alone."""
    path = Path(folder) / "expected"
    path.write_text("".join(post(port, line, a).replace("\n", " ") + "\n" for line in lines))
    return path


def load(port, pid, lines, folder, a, requests, rate=0):
    text = Path(folder) / "lines"
    text.write_text("".join(line + "\n" for line in lines))
    path = expected(port, lines, folder, a)
    command = [a.bench, port, text, path, "--source", a.source, "--target", a.target, "--clients", a.clients, "--requests", requests,
               "--rate", rate, "--pid", pid]
    # CTranslate2's results may depend on the batch, so that it may differ from what it gave for a line alone.
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    result = json.loads(done.stdout)
    if result["lost"] or result["refused"]:
        sys.exit(f"requests were lost: {done.stdout}")
    result["all"] = result["answered"] + result["wrong"]
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("text")
    for name, value in dict(rounds=3, requests=3000, clients=64, threads=2, beam=4).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--only", default="", help="only rows with this in their names")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--sixfold", default=str(BUILD / "sixfold"))
    parser.add_argument("--bench", default=str(BUILD / "bench/bench_serve"))
    a = parser.parse_args()
    lines = [line for line in Path(a.text).read_text().splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        run([a.sixfold, "export", "hf", a.model, "--output", f"{folder}/hf"])
        run(["ct2-transformers-converter", "--model", f"{folder}/hf", "--output_dir", f"{folder}/ct2"])
        run([a.sixfold, "quantize", a.model, "--output", f"{folder}/int8"])
        models = {"fp32": a.model, "int8": f"{folder}/int8"}
        pair = f"{a.source}-{a.target}"
        commands = {f"Sixfold, {kind}": [a.sixfold, "serve", f"{pair}={model}", "--set", f"threads={a.threads}"] for kind, model in models.items()}
        for name, options in PEERS.items():
            commands[name] = [sys.executable, HERE / "serve_flask.py", f"{folder}/ct2", f"{a.model}/tokenizer.spm", "--beam", a.beam,
                              "--threads", a.threads, *options]
        commands = {name: command for name, command in commands.items() if a.only in name}
        models = {kind: model for kind, model in models.items() if any(kind in name for name in commands)}
        text = Path(folder) / "text"
        text.write_text("".join(line + "\n" for line in lines * (6000 // len(lines) + 1)))
        count = len(text.read_text().splitlines())
        rates = {name: [] for name in [*(f"sixfold translate, {kind}" for kind in models), *commands]}
        others = {name: [] for name in commands}
        for _ in range(a.rounds):
            for kind, model in models.items():
                begin = time.perf_counter()
                run([a.sixfold, "translate", model, "--input", text, "--output", f"{folder}/out", "--beam-size", a.beam, "--threads", a.threads])
                rates[f"sixfold translate, {kind}"].append(count / (time.perf_counter() - begin))
                Path(f"{folder}/out").unlink()
            for name, command in commands.items():
                with server(command, a) as (port, pid):
                    whole = load(port, pid, lines, folder, a, a.requests)
                    half = load(port, pid, lines, folder, a, a.requests, rate=whole["all"] / whole["seconds"] / 2)
                    lines_per_answer = whole["lines_per_second"] * whole["seconds"] / max(1, whole["answered"])
                    rates[name].append(whole["all"] * lines_per_answer / whole["seconds"])
                    others[name].append((half["p50_ms"], half["p99_ms"], whole["peak_mb"], whole["wrong"] / whole["all"]))
        print(f"{a.clients} clients, {a.requests} requests a round, {a.threads} threads, beam {a.beam}\n")
        print("| server | lines/s | ratio | p50, p99 at half load (ms) | peak MB | answers unlike those alone |")
        print("|---|---:|---:|---:|---:|---:|")
        for name, own in rates.items():
            ours = rates["Sixfold, int8" if "int8" in name else "Sixfold, fp32"]
            ratio = statistics.median(mine / one for mine, one in zip(ours, own))
            if name not in others:
                print(f"| {name} | {statistics.median(own):,.0f} | {ratio:.2f} | | | |")
                continue
            p50, p99, peak, wrong = (statistics.median(values) for values in zip(*others[name]))
            print(f"| {name} | {statistics.median(own):,.0f} | {ratio:.2f} | {p50:.0f}, {p99:.0f} | {peak:,.0f} | {wrong:.1%} |")


if __name__ == "__main__":
    main()
