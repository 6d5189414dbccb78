#!/usr/bin/env python3
"""Compares small random models in GGUF, as llama.cpp's converter writes them, with transformers reading the folders that they were made of.

    python gguf_families.py LLAMA_CPP [FAMILY ...] [--sixfold PROGRAM] [--models 25] [--seed 1]

LLAMA_CPP is a folder of llama.cpp's sources, whose convert_hf_to_gguf.py is run. The models are those of families.py. The script compares the
log-probabilities of texts, and counts the models that the converter, or Sixfold, refuses. The exit status is 1 if anything differs. The
converter knows tokenizers by what they make of a text; those made here are told to it.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from families import Failure, Sixfold, make, numbers
from families_reference import REFERENCES

# The converter with the name of the pre-tokenizer given, which it otherwise finds in a list of published models.
CONVERTER = """
import runpy, sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/gguf-py"]
from conversion import base
base.TextModel.get_vocab_base_pre = lambda self, tokenizer, name=sys.argv[2]: name
sys.argv = ["convert_hf_to_gguf.py", *sys.argv[3:]]
runpy.run_path(sys.path[0] + "/convert_hf_to_gguf.py", run_name="__main__")
"""
FAMILIES = ["llama", "qwen2", "qwen3", "phi3"]


def pre_tokenizer(folder):
    text = (folder / "tokenizer.json").read_text() if (folder / "tokenizer.json").exists() else ""
    if '"ignore_merges": true' in text or '"ignore_merges":true' in text:
        return "llama-bpe"
    return "qwen2" if "Split" in text else "gpt-2"


def is_skipped(folder):
    """What is not in the file that the converter writes: other activations, a window of Qwen 2, biases of the other layers of a Llama, and
    some kinds of rope."""
    config = json.loads((folder / "config.json").read_text())
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type"))
    lost = kind == "llama3" and config["model_type"] != "llama" or kind == "yarn" and not {"mscale", "truncate"}.isdisjoint(rope)
    return lost or config["hidden_act"] != "silu" or config.get("use_sliding_window") or config.get("mlp_bias")


def convert(llama_cpp, folder, path):
    command = [sys.executable, "-c", CONVERTER, str(llama_cpp), pre_tokenizer(folder), str(folder), "--outfile", str(path), "--outtype", "f32"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stderr.strip().split("\n")[-1] if run.returncode else None


def compare(sixfold, model, cases):
    for case in cases:
        path = sixfold.file("text.txt", case["text"])
        scores = [one["log_probability"] for one in sixfold.lines("score", model, "--input", path, "--token-scores", "--format", "jsonl")]
        yield from numbers(f"log-probabilities of {case['text']!r}", case["log_probabilities"], scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("llama_cpp", type=Path)
    parser.add_argument("families", nargs="*", default=FAMILIES)
    parser.add_argument("--sixfold", default="build/release/sixfold")
    parser.add_argument("--models", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    for family in options.families:
        equal, worst, others = 0, 0.0, collections.Counter()
        for number in range(options.models):
            with tempfile.TemporaryDirectory() as name:
                work = Path(name)
                made, more = make(family, work / "theirs", options.seed, number)
                refused = "skipped" if is_skipped(work / "theirs") else convert(options.llama_cpp, work / "theirs", work / "model.gguf")
                if refused:
                    others[f"llama.cpp: {refused[:200]}"] += 1
                    continue
                sixfold = Sixfold(options.sixfold, work)
                try:
                    sixfold.run("import", "gguf", work / "model.gguf", "--output", work / "ours")
                    found = list(compare(sixfold, work / "ours", REFERENCES["language"](work / "theirs", made, more)))
                except Failure as failure:
                    others[str(failure).replace(name, "")[:300]] += 1
                    continue
                worst = max([worst, *(difference for _, difference in found)])
                texts = [text for text, _ in found if text]
                equal += not texts
                for text in texts[:3]:
                    print(f"{family} {number}: {text}", flush=True)
                failed |= bool(texts)
        for reason, count in others.items():
            print(f"{family}: {count} times {reason}")
        print(f"{family}: {equal} of {options.models - sum(others.values())} equal; at most {worst:.2g}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
