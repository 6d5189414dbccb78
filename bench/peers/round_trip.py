#!/usr/bin/env python3
"""Exports a Sixfold model and compares its greedy output with that of transformers and CTranslate2.

    python round_trip.py MODEL SOURCE.txt [--sixfold PROGRAM] [--lines 1000]

Run it in the environment of the other programs (README.md). transformers reads the exported folder; CTranslate2 converts it with its own
converter. For each, the script prints how many lines are equal, and the lines that differ. Each program has its own maximum length (Sixfold:
source + 50 tokens). Lines that reach it are counted separately if they are equal up to there.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import ctranslate2
import torch
import transformers

HERE = Path(__file__).resolve().parent


def sixfold_output(program, model, lines):
    command = [program, "translate", model, "--beam-size", "1"]
    run = subprocess.run(command, input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.splitlines()


def transformers_output(folder, tokenizer, lines, batch=32):
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    output = []
    for begin in range(0, len(lines), batch):
        inputs = tokenizer(lines[begin : begin + batch], return_tensors="pt", padding=True)
        with torch.no_grad():
            ids = model.generate(**inputs, num_beams=1, do_sample=False)
        output += [row.tolist() for row in ids]
    special = {tokenizer.pad_token_id, tokenizer.eos_token_id}
    return [[i for i in row if i not in special] for row in output]


def ctranslate2_output(folder, converted, tokenizer, lines):
    converter = Path(sys.executable).parent / "ct2-transformers-converter"
    subprocess.run([converter, "--model", folder, "--output_dir", converted], check=True, stdout=subprocess.DEVNULL)
    translator = ctranslate2.Translator(str(converted), compute_type="float32")
    tokens = [tokenizer.convert_ids_to_tokens(tokenizer(line).input_ids) for line in lines]
    results = translator.translate_batch(tokens, beam_size=1, max_batch_size=32)
    return [tokenizer.convert_tokens_to_ids(result.hypotheses[0]) for result in results]


def report(name, ours, theirs):
    different = [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
    endless = [i for i in different if theirs[i].startswith(ours[i])]
    print(f"{name}: {len(ours) - len(different)} of {len(ours)} lines equal; {len(endless)} that find no end were cut later")
    different = [i for i in different if i not in endless]
    for i in different[:5]:
        print(f"  line {i + 1}\n    Sixfold  {ours[i]}\n    {name}  {theirs[i]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("source", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--sixfold", default=str(HERE.parents[1] / "build/release/sixfold"))
    options = parser.parse_args()
    lines = options.source.read_text(encoding="utf-8").splitlines()[: options.lines]
    ours = sixfold_output(options.sixfold, options.model, lines)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "exported"
        subprocess.run([options.sixfold, "export", "hf", options.model, "--output", folder], check=True)
        tokenizer = transformers.MarianTokenizer.from_pretrained(folder)

        def text(rows):
            pieces = tokenizer.spm_target
            return [pieces.decode_pieces([tokenizer.decoder[i] for i in row]) for row in rows]

        report(f"transformers {transformers.__version__}", ours, text(transformers_output(folder, tokenizer, lines)))
        converted = Path(temporary) / "ct2"
        theirs = text(ctranslate2_output(folder, converted, tokenizer, lines))
        report(f"CTranslate2 {ctranslate2.__version__}", ours, theirs)


if __name__ == "__main__":
    main()
