#!/usr/bin/env python3
"""Measures time and memory of translating a text with CTranslate2 or Marian, as bench_translate does with Sixfold.

    python translate.py ctranslate2 MODEL INPUT --tokenizer FILE.spm [--precision int8] [--workers 2] [--threads 1] ...
    python translate.py marian DECODER.yml INPUT [--marian-options "..."] ...

Both programs translate from text to text. Prints one line of JSON.
"""

import argparse
import json
import os
import resource
import statistics
import time


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class CTranslate2:
    def __init__(self, options):
        import ctranslate2
        import sentencepiece

        self.name = f"CTranslate2 {ctranslate2.__version__}"
        self.options = options
        self.tokenizer = sentencepiece.SentencePieceProcessor(model_file=options.tokenizer)
        self.make = lambda: ctranslate2.Translator(
            options.model,
            compute_type=options.precision,
            inter_threads=options.workers,
            intra_threads=options.threads,
        )

    def load(self):
        self.translator = self.make()

    def translate(self, lines):
        pieces = [line + ["</s>"] for line in self.tokenizer.encode(lines, out_type=str)]
        results = self.translator.translate_batch(
            pieces,
            beam_size=self.options.beam_size,
            max_batch_size=self.options.batch,
            batch_type=self.options.batch_type,
            length_penalty=self.options.length_penalty,
            max_decoding_length=120,
            use_vmap=self.options.vocabulary_map,
        )
        return self.tokenizer.decode([result.hypotheses[0] for result in results])


class Marian:
    def __init__(self, options):
        import pymarian

        self.name = f"Marian {pymarian.__version__}"
        self.make = lambda: pymarian.Translator(
            f"-c {options.model} --beam-size {options.beam_size} --cpu-threads {options.workers} --mini-batch {options.batch}"
            f" --maxi-batch 100 --maxi-batch-sort src --quiet {options.marian_options}"
        )

    def load(self):
        self.translator = self.make()

    def translate(self, lines):
        return self.translator.translate(lines)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=["ctranslate2", "marian"])
    parser.add_argument("model")
    parser.add_argument("input")
    parser.add_argument("--tokenizer")
    parser.add_argument("--beam-size", type=int, default=1)
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--workers", type=int, default=2, help="texts are split among them")
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--batch-type", default="examples")
    parser.add_argument("--length-penalty", type=float, default=0.6)
    parser.add_argument("--vocabulary-map", action="store_true", help="CTranslate2: use the model's vmap.txt")
    parser.add_argument("--marian-options", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one-at-a-time", action="store_true")
    parser.add_argument("--output")
    return parser.parse_args()


def main():
    options = parse_options()
    with open(options.input, encoding="utf-8") as file:
        lines = file.read().splitlines()
    program = (CTranslate2 if options.program == "ctranslate2" else Marian)(options)
    result = {"program": program.name, "baseline_mb": peak_mb()}
    begun = time.perf_counter()
    program.load()
    result["load_seconds"] = time.perf_counter() - begun
    output = program.translate(lines[:100])
    times = []
    if options.one_at_a_time:
        output = []
        for line in lines:
            begun = time.perf_counter()
            output += program.translate([line])
            times.append(1e3 * (time.perf_counter() - begun))
        times.sort()
        result["p50_ms"], result["p99_ms"] = times[len(times) // 2], times[int(0.99 * len(times))]
    else:
        for _ in range(options.rounds):
            begun = time.perf_counter()
            output = program.translate(lines)
            times.append(time.perf_counter() - begun)
        result["seconds"] = statistics.median(times)
    result["peak_mb"] = peak_mb()
    print(json.dumps(result), flush=True)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in output))
    os._exit(0)  # Marian's threads don't always end


if __name__ == "__main__":
    main()
