#!/usr/bin/env python3
"""Translates with models of the shapes of T5-small and NLLB-600M by Sixfold, CTranslate2 and transformers, in alternating rounds.

    python compare_shapes.py INPUT [--shapes t5-small,nllb-600m] [--beams 1,4] [--lines 100] [--tokens 32] [--rounds 3] [--threads 2]

The weights are random, so each translation is made to have the same number of tokens. INPUT has a text on each line. Each program translates from
text to text in a process of its own; reading the model is not counted. Prints a table (Markdown) of medians: seconds and peak memory, and the
ratios of another program's to those of Sixfold in int8. CTranslate2's models are made by its own converter.
"""

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build/release"
SHAPES = {  # rows of embeddings, width, feed-forward width, heads, layers of each stack
    "t5-small": (32128, 512, 2048, 8, 6),
    "nllb-600m": (256206, 1024, 4096, 16, 12),
}


def padded(pieces, size):
    """Pieces that no text has, so that the vocabulary has its size."""
    return pieces + [(f"{i:07d}x", -100.0) for i in range(size - len(pieces))]


def make_t5(folder, shape, tokens):
    import transformers as hf

    import families_tokenizers as tokenizers_of

    rows, width, inner, heads, layers = shape
    _, pieces, charsmap = tokenizers_of.train_sentencepiece(340, "unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    sentinels = [(f"<extra_id_{i}>", 0.0) for i in reversed(range(100))]
    tokenizer = hf.T5Tokenizer(vocab=padded(pieces, rows - 128) + sentinels, _spm_precompiled_charsmap=charsmap, extra_ids=100)
    tokenizer.save_pretrained(folder)
    config = hf.T5Config(vocab_size=rows, d_model=width, d_kv=64, d_ff=inner, num_heads=heads, num_layers=layers, pad_token_id=0, eos_token_id=1,
                         decoder_start_token_id=0)
    return hf.T5ForConditionalGeneration(config), {}


def make_nllb(folder, shape, tokens):
    import transformers as hf

    import families_tokenizers as tokenizers_of

    rows, width, inner, heads, layers = shape
    _, pieces, charsmap = tokenizers_of.train_sentencepiece(340, "bpe")
    codes = ["deu_Latn", "eng_Latn"]
    merges = tokenizers_of.generate_merges({piece: i for i, (piece, _) in enumerate(pieces)})
    vocabulary = padded(tokenizers_of.fairseq(pieces), rows - 3) + [(code, 0.0) for code in codes] + [("<mask>", 0.0)]
    tokenizer = hf.NllbTokenizer(vocab={piece: i for i, (piece, _) in enumerate(vocabulary)}, merges=merges, extra_special_tokens=codes,
                                 src_lang="eng_Latn", tgt_lang="deu_Latn", _spm_precompiled_charsmap=charsmap)
    tokenizer.save_pretrained(folder)
    config = hf.M2M100Config(vocab_size=rows, d_model=width, encoder_ffn_dim=inner, decoder_ffn_dim=inner, encoder_attention_heads=heads,
                             decoder_attention_heads=heads, encoder_layers=layers, decoder_layers=layers, activation_function="relu",
                             scale_embedding=True, max_position_embeddings=1024, bos_token_id=0, pad_token_id=1, eos_token_id=2,
                             decoder_start_token_id=2)
    return hf.M2M100ForConditionalGeneration(config), {"forced_bos_token_id": rows - 3, "suppress_tokens": [1]}


def make(shape, folder, tokens):
    """A folder of transformers, one of CTranslate2 and models of Sixfold in fp32 and int8."""
    import ctranslate2
    import torch

    torch.manual_seed(1)
    (folder / "hf").mkdir(parents=True)
    model, more = (make_t5 if shape.startswith("t5") else make_nllb)(folder / "hf", SHAPES[shape], tokens)
    model.save_pretrained(folder / "hf")
    del model
    gc.collect()
    path = folder / "hf/generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_new_tokens": tokens, "min_new_tokens": tokens} | more))
    ctranslate2.converters.TransformersConverter(str(folder / "hf")).convert(str(folder / "ct2"), quantization="int8")
    for words in (["import", "hf", folder / "hf", "--output", folder / "fp32"], ["quantize", folder / "fp32", "--output", folder / "int8"]):
        subprocess.run([BUILD / "sixfold", *words], check=True)


class CTranslate2:
    def __init__(self, folder, options):
        import ctranslate2
        import tokenizers

        self.name, self.options = f"CTranslate2 {ctranslate2.__version__}", options
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "hf/tokenizer.json"))  # transformers would count as its memory
        self.translator = ctranslate2.Translator(str(folder / "ct2"), compute_type="int8", inter_threads=options.workers,
                                                 intra_threads=options.threads // options.workers)
        self.prefix = ["deu_Latn"] if self.tokenizer.token_to_id("deu_Latn") else None

    def translate(self, lines):
        sources = [encoding.tokens for encoding in self.tokenizer.encode_batch(lines)]
        prefix = [self.prefix] * len(sources) if self.prefix else None
        results = self.translator.translate_batch(
            sources, target_prefix=prefix, beam_size=self.options.beam, max_batch_size=self.options.batch, batch_type="examples",
            min_decoding_length=self.options.tokens, max_decoding_length=self.options.tokens)
        return self.tokenizer.decode_batch([[self.tokenizer.token_to_id(token) for token in r.hypotheses[0]] for r in results])


class Transformers:
    def __init__(self, folder, options):
        import torch
        import transformers

        torch.set_num_threads(options.threads)
        self.name, self.options, self.torch = f"transformers {transformers.__version__}", options, torch
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "hf")
        self.model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder / "hf", dtype=getattr(torch, options.dtype)).eval()

    def translate(self, lines):
        order = sorted(range(len(lines)), key=lambda i: -len(lines[i]))
        outputs = [None] * len(lines)
        with self.torch.inference_mode():
            for begin in range(0, len(order), self.options.batch):
                chosen = order[begin:begin + self.options.batch]
                inputs = self.tokenizer([lines[i] for i in chosen], return_tensors="pt", padding=True)
                ids = self.model.generate(**inputs, num_beams=self.options.beam)
                for i, text in zip(chosen, self.tokenizer.batch_decode(ids, skip_special_tokens=True)):
                    outputs[i] = text
        return outputs


def peer(options):
    lines = Path(options.input).read_text(encoding="utf-8").splitlines()
    program = {"ctranslate2": CTranslate2, "transformers": Transformers}[options.peer](Path(options.folder), options)
    program.translate(lines[:8])
    begun = time.perf_counter()
    program.translate(lines)
    seconds = time.perf_counter() - begun
    print(json.dumps({"program": program.name, "seconds": seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def measure(command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(shape, options, folder):
    # In a process of its own: a process that has once been large counts as large in those that it starts.
    subprocess.run([sys.executable, __file__, options.input, "--make", shape, "--folder", str(folder), "--tokens", str(options.tokens)], check=True)
    text = folder / "input.txt"
    lines = Path(options.input).read_text(encoding="utf-8").splitlines()[:options.lines]
    text.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    own = [sys.executable, __file__, text, "--folder", folder, "--tokens", options.tokens, "--threads", options.threads, "--batch", options.batch]
    for beam in map(int, options.beams.split(",")):
        programs = {
            "Sixfold, int8": [BUILD / "bench/bench_translate", folder / "int8", text, "--threads", options.threads, "--beam-size", beam, "--rounds", 1],
            "CTranslate2, int8, a worker for each thread": [*own, "--peer", "ctranslate2", "--beam", beam, "--workers", options.threads],
            "CTranslate2, int8, one worker": [*own, "--peer", "ctranslate2", "--beam", beam],
            "transformers, fp32": [*own, "--peer", "transformers", "--beam", beam],
            "transformers, bf16": [*own, "--peer", "transformers", "--beam", beam, "--dtype", "bfloat16"],
        }
        rounds = {name: [] for name in programs}
        for _ in range(options.rounds):
            for name, command in programs.items():
                rounds[name].append(measure(command))
        medians = {name: {key: statistics.median(row[key] for row in rows) for key in ("seconds", "peak_mb")} for name, rows in rounds.items()}
        ours = medians["Sixfold, int8"]
        for name, row in medians.items():
            print(f"| {shape} | {beam} | {name} | {row['seconds']:.2f} | {row['seconds'] / ours['seconds']:.2f} | {row['peak_mb']:.0f} |"
                  f" {ours['peak_mb'] / row['peak_mb']:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="sentences of a batch of the peers")
    # What this script starts itself with:
    parser.add_argument("--make", help=argparse.SUPPRESS)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--beam", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--dtype", default="float32", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        return make(options.make, Path(options.folder), options.tokens)
    if options.peer:
        return peer(options)
    print(f"{options.lines} texts, {options.tokens} tokens each; load before: {os.getloadavg()[0]:.1f}")
    print("\n| shape | beam | program | seconds | it / Sixfold int8 | peak memory, MB | Sixfold int8 / it |\n|---|---:|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for shape in options.shapes.split(","):
            compare(shape, options, Path(folder) / shape)


if __name__ == "__main__":
    main()
