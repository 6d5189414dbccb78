#!/usr/bin/env python3
"""Translates with argostranslate over Sixfold and over CTranslate2, checks the texts, and prints a table of times (Markdown).

    python3 compare_argostranslate.py MODEL INPUT [--lines 1000] [--rounds 3] [--threads 2] [--compute-type float32] [--sixfold PROGRAM]

MODEL is a Sixfold model folder with a joint SentencePiece model. Two packages of Argos Translate are made of it: one with the folder itself, over which
argostranslate runs unchanged but for the module that it imports as ctranslate2 (sixfold.compat.ctranslate2), and one with what `sixfold export ctranslate2`
makes of it. Each line is a text of one sentence, so that no sentences are split. Fails unless every text over Sixfold is that of `sixfold translate` with
the same settings. Run it in the environment of the other programs (README.md) with `argostranslate`, where PYTHONPATH names a folder with the package sixfold.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The settings of argostranslate.translate.apply_packaged_translation with --num-hypotheses 1, as options of `sixfold translate`.
SEARCH = ["--beam-size", "4", "--normalization", "length", "--length-penalty", "0.2", "--stopping-criterion", "beam_finished", "--length-factor", "0",
          "--length-offset", "256", "--min-length", "1", "--at-longest", "cut", "--allow-unk", "true", "--renormalize-logits", "true"]


def open_translation(engine, package):
    """argostranslate's translation by a package, over Sixfold or CTranslate2."""
    if engine == "sixfold":
        import sixfold.compat.ctranslate2

        sys.modules["ctranslate2"] = sixfold.compat.ctranslate2
    for splitter in "stanza", "minisbd":  # argostranslate imports both, and needs neither here
        if importlib.util.find_spec(splitter) is None:
            sys.modules[splitter] = types.SimpleNamespace(SBDetect=None, models=types.SimpleNamespace())
    from argostranslate import package as packages
    from argostranslate import sbd, translate

    class OneSentence(sbd.ISentenceBoundaryDetectionModel):
        def split_sentences(self, text):
            return [text]

    translation = translate.PackageTranslation(None, None, packages.Package(package))
    translation.sentencizer = OneSentence()
    return translation


def serve(options):
    """Translates all lines once for each line that is read, and answers with the seconds that it took."""
    lines = Path(options.input).read_text(encoding="utf-8").splitlines()[: options.lines]
    translation = open_translation(options.engine, options.model)
    texts = [translation.translate(line) for line in lines[:50]]
    print("ready", flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        texts = [translation.translate(line) for line in lines]
        print(time.perf_counter() - begun, flush=True)
    Path(options.output).write_text("".join(text + "\n" for text in texts), encoding="utf-8")


def make_package(folder, model, pieces):
    folder.mkdir()
    (folder / "metadata.json").write_text(json.dumps({"package_version": "1.0", "argos_version": "1.9", "from_code": "en", "from_name": "English",
                                                      "to_code": "de", "to_name": "German"}))
    (folder / "sentencepiece.model").symlink_to(pieces)
    (folder / "model").symlink_to(model)


def start(options, engine, package, output):
    settings = {"ARGOS_INTER_THREADS": "1", "ARGOS_INTRA_THREADS": str(options.threads), "ARGOS_COMPUTE_TYPE": options.compute_type}
    command = [sys.executable, __file__, package, options.input, "--lines", str(options.lines), "--engine", engine, "--output", output]
    process = subprocess.Popen(command, env={**os.environ, **settings}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n", f"argostranslate over {engine} does not start"
    return process


def time_by_turns(processes, rounds):
    times = {name: [] for name in processes}
    for _ in range(rounds):
        for name, process in processes.items():
            process.stdin.write("\n")
            process.stdin.flush()
            times[name].append(float(process.stdout.readline()))
    for process in processes.values():
        process.stdin.close()
        process.wait()
    return times


def compare(options):
    model = Path(options.model).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        subprocess.run([options.sixfold, "export", "ctranslate2", model, "--output", folder / "exported"], check=True, stderr=subprocess.DEVNULL)
        pieces = folder / "exported/source.spm"
        make_package(folder / "sixfold", model, pieces)
        make_package(folder / "ctranslate2", folder / "exported", pieces)
        outputs = {engine: folder / f"{engine}.txt" for engine in ("sixfold", "ctranslate2")}
        times = time_by_turns({engine: start(options, engine, folder / engine, outputs[engine]) for engine in outputs}, options.rounds)
        texts = {engine: output.read_text(encoding="utf-8").splitlines() for engine, output in outputs.items()}
        lines = Path(options.input).read_text(encoding="utf-8").splitlines(keepends=True)[: options.lines]
        precision = "fp32" if options.compute_type == "float32" else "int8"
        own = subprocess.run([options.sixfold, "translate", model, *SEARCH, "--precision", precision, "--keep-symbols", "false"], input="".join(lines), check=True,
                             stdout=subprocess.PIPE, text=True).stdout.splitlines()
    medians = {engine: statistics.median(seconds) for engine, seconds in times.items()}
    print("| argostranslate over | seconds (median) | rounds | it / Sixfold |\n|---|---:|---|---:|")
    for engine, seconds in medians.items():
        rounds = ", ".join(f"{one:.2f}" for one in times[engine])
        print(f"| {engine} | {seconds:.2f} | {rounds} | {seconds / medians['sixfold']:.2f} |")
    for name, others in ("sixfold translate", own), ("argostranslate over CTranslate2", texts["ctranslate2"]):
        different = [i + 1 for i, (text, other) in enumerate(zip(texts["sixfold"], others)) if text != other]
        print(f"{len(lines) - len(different)} of {len(lines)} texts are those of {name}" + (f"; others: lines {different[:20]}" if different else ""))
    if texts["sixfold"] != own:
        sys.exit("compare_argostranslate.py: texts of argostranslate over Sixfold are not those of sixfold translate")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("input")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compute-type", default="float32")
    parser.add_argument("--sixfold", default=HERE.parents[1] / "build/release/sixfold")
    parser.add_argument("--engine", choices=["sixfold", "ctranslate2"], help=argparse.SUPPRESS)
    parser.add_argument("--output", help=argparse.SUPPRESS)
    options = parser.parse_args()
    serve(options) if options.engine else compare(options)


if __name__ == "__main__":
    main()
