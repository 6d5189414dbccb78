#!/usr/bin/env python3
"""Compares the tokenizers of a tokenizer.json in Sixfold and in Hugging Face's tokenizers: ids, decoded text, speed.

    python compare_tokenizers.py TEXT.txt [--sixfold PROGRAM] [--lines 20000] [--seed 1] [--only NAME] [--folder HF_FOLDER] [--speed FILE]

Run it in the environment of the other programs (README.md), with protobuf. TEXT.txt trains the tokenizers; its lines are compared as well. For each
form of a tokenizer the script makes a small random model with it, imports it, and gives both programs odd lines: random characters of all planes,
marks, scripts, emoji, control characters, runs of spaces, digits and punctuation, and added tokens inside the text. Each line is encoded with and
without special tokens, and the ids of random lines are decoded. Characters that Unicode 15.0 does not have are left out, since ICU 72 does not know
them. --folder adds the tokenizer.json of a folder; --speed encodes the lines of a file with one thread in both programs.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from tokenizer_forms import FORMS, TRAINED, trained

# --- odd lines

BLOCKS = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x780), (0x900, 0xD80), (0xE00, 0x1000), (0x1100, 0x1200),
          (0x1E00, 0x2000), (0x2000, 0x2070), (0x2070, 0x2C00), (0x3000, 0x3400), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0xE000, 0xE010),
          (0xF900, 0xFB50), (0xFB50, 0x10000), (0x10000, 0x11000), (0x11000, 0x12000), (0x1D100, 0x1D800), (0x1F000, 0x1FB00), (0x20000, 0x20100),
          (0x2F800, 0x2FA20), (0xE0000, 0xE01F0), (0xF0000, 0xF0010), (0x10FFF0, 0x110000), (0x80, 0xA0), (1, 32)]
CLUSTERS = ["e\u0301", "a\u0323\u0302", "\u1112\u1161\u11ab", "\U0001F468\u200d\U0001F469\u200d\U0001F467", "\U0001F1E9\U0001F1EA", "\u0e01\u0e33", "\u2460", "\ufb01",
            "\u00bd", "\uff21\uff22", "\u0130", "\u03a3\u03c2", "\u00df", "\ufeff", "\u200b", "\u00ad", "\u2028", "\u0600a", "don't", "I'LL", "'\u017f", "\u00a0", "\u3000",
            "\u0085", "``", "''", "\u2581", "<0x41>", "12345678901", "\u0663\u0664", "\u2167", "a.b", "x_y", "(word", "--", "...", "!!!", "\t", "\r", "\v", "\f"]


def known(character):
    return unicodedata.category(character) not in ("Cs", "Cn")


def odd_line(r, words, tokens):
    parts = []
    for _ in range(r.randint(1, 14)):
        kind = r.random()
        if kind < 0.3:
            parts.append(r.choice(words))
        elif kind < 0.5:
            begin, end = r.choice(BLOCKS)
            parts.append("".join(filter(known, (chr(r.randrange(begin, end)) for _ in range(r.randint(1, 8))))))
        elif kind < 0.55:
            parts.append("".join(filter(known, (chr(r.choice([c for c in [r.randrange(0x110000)] if not 0xD800 <= c < 0xE000] or [65]))
                                                for _ in range(6)))))
        elif kind < 0.75:
            parts.append(r.choice(CLUSTERS))
        elif kind < 0.85 and tokens:
            parts.append(r.choice(tokens))
        elif kind < 0.9:
            parts.append(r.choice(" .,!?1'\"-_a\t") * r.choice([2, 3, 7, 30]))
        parts.append(r.choice(["", " ", " ", "  "]))
    return "".join(parts).replace("\n", " ").replace("\x00", "")


def odd_lines(count, seed, text, tokens):
    r = random.Random(seed)
    words = sorted({word for line in text[:2000] for word in line.split()})
    lines = [odd_line(r, words, tokens) for _ in range(count)] + text[:2000]
    return [line.rstrip("\r") for line in lines]


# --- both programs

class Sixfold:
    def __init__(self, program, folder, tokenizer):
        """Imports a random model with the tokenizer."""
        self.program, self.model, source = program, str(folder / "model"), folder / "source"
        self.folder = folder
        source.mkdir()
        data = json.loads(tokenizer.to_str())
        ids = [token["id"] for token in data["added_tokens"]] + list(tokenizer.get_vocab(with_added_tokens=True).values())
        rows = max(ids) + 1
        eos = next(tokenizer.token_to_id(t) for t in ("</s>", "[SEP]", "<|endoftext|>", "<|end_of_text|>") if tokenizer.token_to_id(t) is not None)
        data["post_processor"] = None
        (source / "tokenizer.json").write_text(json.dumps(data), encoding="utf-8")
        config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": rows, "n_positions": 8, "n_embd": 4, "n_layer": 1,
                  "n_head": 1, "bos_token_id": eos, "eos_token_id": eos, "tie_word_embeddings": True, "layer_norm_epsilon": 1e-5,
                  "activation_function": "gelu_new"}
        (source / "config.json").write_text(json.dumps(config))
        shapes = {"wte.weight": (rows, 4), "wpe.weight": (8, 4), "ln_f.weight": (4,), "ln_f.bias": (4,)}
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"h.0.{norm}.weight": (4,), f"h.0.{norm}.bias": (4,)}
        for name, n, m in (("attn.c_attn", 4, 12), ("attn.c_proj", 4, 4), ("mlp.c_fc", 4, 16), ("mlp.c_proj", 16, 4)):
            shapes |= {f"h.0.{name}.weight": (n, m), f"h.0.{name}.bias": (m,)}
        save_file({f"transformer.{name}": numpy.zeros(shape, numpy.float32) for name, shape in shapes.items()}, source / "model.safetensors")
        self.run("import", "hf", source, "--output", self.model)

    def run(self, *arguments):
        run = subprocess.run([self.program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if run.returncode != 0:
            raise SystemExit(f"{arguments}: {run.stderr.decode()}")
        return run.stdout

    def tokenize(self, lines, *options):
        text = self.folder / "text.txt"
        text.write_bytes("".join(line + "\n" for line in lines).encode())
        return self.run("tokenize", self.model, "--input", text, "--ids", *options).decode(errors="replace").split("\n")[:-1]


def as_line(text):
    return text.replace("\n", " ").replace("\r", " ").replace("\0", "\ufffd")


def show(name, what, line, ours, theirs, tokenizer):
    print(f"{name}: {what} of {line!r}\n  sixfold    {ours!r}\n  tokenizers {theirs!r}")
    if isinstance(theirs, list):
        ids = [int(i) for i in ours.split()] if isinstance(ours, str) else ours
        at = next((i for i, (a, b) in enumerate(zip(ids, theirs)) if a != b), min(len(ids), len(theirs)))
        print("  from", at, [tokenizer.id_to_token(i) for i in ids[at - 1:at + 6]], [tokenizer.id_to_token(i) for i in theirs[at - 1:at + 6]])


def compare(name, tokenizer, program, text, arguments):
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    data = json.loads(tokenizer.to_str())
    added = [token["content"] for token in data["added_tokens"]]
    unk = data["model"].get("unk_id")
    controls = {token["content"]: token["id"] for token in data["added_tokens"] if token["special"] and token["id"] != unk}
    controls |= {data["model"]["vocab"][unk][0]: -1} if unk is not None else {}
    lines = odd_lines(arguments.lines, arguments.seed, text, added)
    differ = dict.fromkeys(("encode", "with special tokens", "decode"), 0)
    with tempfile.TemporaryDirectory() as folder:
        sixfold = Sixfold(program, Path(folder), tokenizer)
        for what, options, as_text in (("encode", [], True), ("with special tokens", ["--special-tokens"], False)):
            tokenizer.encode_special_tokens = as_text
            theirs = [encoding.ids for encoding in tokenizer.encode_batch(lines, add_special_tokens=False)]
            ours = sixfold.tokenize(lines, *options)
            assert len(ours) == len(lines), (len(ours), len(lines))
            for line, a, b in zip(lines, ours, theirs):
                ids = [int(i) for i in a.split()]
                if as_text and data["model"]["type"] == "Unigram" and any(token in line for token in controls):
                    equal = not set(controls.values()) & set(ids)  # there the vocabulary has them as well; here text never becomes one
                else:
                    equal = ids == b
                if not equal:
                    differ[what] += 1
                    if differ[what] <= arguments.show:
                        show(name, what, line, ids, b, tokenizer)
        r = random.Random(arguments.seed)
        size = max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1
        some = [ids for ids in theirs] + [[r.randrange(size) for _ in range(r.randint(1, 12))] for _ in range(arguments.lines)]
        # Sixfold leaves out the space that this stage puts before a text, so that a line is decoded as it was.
        stage = json.loads(tokenizer.to_str())["pre_tokenizer"] or {}
        adds_space = stage.get("type") == "ByteLevel" and stage["add_prefix_space"]
        ours = sixfold.tokenize([" ".join(map(str, ids)) for ids in some], "--decode")
        for ids, a in zip(some, ours):
            b = as_line(tokenizer.decode(ids, skip_special_tokens=True))
            b = b.removeprefix(" ") if adds_space else b
            if a != b:
                differ["decode"] += 1
                if differ["decode"] <= arguments.show:
                    show(name, "decode", ids, a, b, tokenizer)
        speed = ""
        if arguments.speed:
            speed = ", " + measure(sixfold, tokenizer, Path(arguments.speed).read_text(encoding="utf-8").split("\n")[:-1])
    print(f"{name}: {len(lines)} lines: {differ['encode']} ids differ, {differ['with special tokens']} with special tokens; of {len(some)} decoded "
          f"texts {differ['decode']} differ{speed}", flush=True)
    return sum(differ.values())


def measure(sixfold, tokenizer, lines):
    """Seconds that all lines take beyond an empty input, each the best of five; tokenizers one line after the other and in one batch."""
    def best(function):
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - start)
        return min(seconds)
    tokenizer.encode_special_tokens = False
    ours = best(lambda: sixfold.tokenize(lines)) - best(lambda: sixfold.tokenize([]))
    batch = best(lambda: tokenizer.encode_batch_fast(lines, add_special_tokens=False))
    return f"{len(lines)} lines in {ours:.3f} s, tokenizers {batch:.3f} s: {batch / ours:.2f} times as fast"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--sixfold", default="build/release/sixfold")
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3, help="differences to print of each kind")
    parser.add_argument("--only", action="append")
    parser.add_argument("--folder", action="append", default=[])
    parser.add_argument("--speed")
    arguments = parser.parse_args()
    text = Path(arguments.text).read_text(encoding="utf-8").split("\n")[:-1]
    faults = 0
    for name, make in FORMS.items():
        if not arguments.only or name in arguments.only:
            faults += compare(name, make(text), arguments.sixfold, text, arguments)
    for name, keys in TRAINED.items():
        if not arguments.only or name in arguments.only:
            faults += compare(name, trained(text, program=arguments.sixfold, **keys), arguments.sixfold, text, arguments)
    for folder in arguments.folder:
        tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        faults += compare(folder, tokenizer, arguments.sixfold, text, arguments)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
