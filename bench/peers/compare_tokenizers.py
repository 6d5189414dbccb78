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
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy
import sentencepiece
from safetensors.numpy import save_file
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|"
          r"\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")


def special(*texts, **keys):
    return [AddedToken(text, special=True, **keys) for text in texts]


# --- byte-level BPE

def byte_level(lines, pre_tokenizer, normalizer=None, begin=(), end=(), alphabet=True, size=1500):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet() if alphabet else []
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, initial_alphabet=letters, special_tokens=list(begin),
                                                             show_progress=False))
    tokenizer.add_special_tokens(list(end))
    return tokenizer


def gpt2(lines):
    return byte_level(lines, pre_tokenizers.ByteLevel(add_prefix_space=False), end=special("<|endoftext|>", normalized=True))


def roberta(lines):
    tokenizer = byte_level(lines, pre_tokenizers.ByteLevel(add_prefix_space=True), begin=special("<s>", "<pad>", "</s>", "<unk>"),
                           end=special("<mask>", lstrip=True))
    tokenizer.add_tokens([AddedToken("two words", single_word=True), AddedToken("dog", single_word=True, rstrip=True)])
    return tokenizer


def bart(lines):
    return byte_level(lines, pre_tokenizers.ByteLevel(add_prefix_space=False), begin=special("<s>", "<pad>", "</s>", "<unk>"),
                      end=special("<mask>", lstrip=True))


def llama3(lines):
    tokenizer = byte_level(lines, pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated"),
                                                           pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
                           end=special("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"))
    data = json.loads(tokenizer.to_str())
    data["model"]["ignore_merges"] = True
    return Tokenizer.from_str(json.dumps(data))


def qwen2(lines):
    tokenizer = byte_level(lines, pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), behavior="isolated"),
                                                           pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
                           normalizers.NFC(), end=special("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False),
                          AddedToken("caf\u00e9", normalized=True)])
    return tokenizer


def gpt_neox(lines):
    tokenizer = byte_level(lines, pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC(), begin=special("<|endoftext|>", "<|padding|>"))
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    return tokenizer


def smollm2(lines):
    """Some bytes have no token."""
    return byte_level(lines, pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                      pre_tokenizers.ByteLevel(add_prefix_space=False)]),
                      begin=special("<|endoftext|>", "<|im_start|>", "<|im_end|>"), alphabet=False)


# --- WordPiece

def bert(lines, **keys):
    lower = keys.get("lowercase", True)
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(**keys)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=lower)
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=2500, special_tokens=special("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), show_progress=False))
    return tokenizer


def bert_added(lines):
    tokenizer = bert(lines, lowercase=True)
    tokenizer.add_tokens([AddedToken("NASA", normalized=True), AddedToken("Zo\u00eb", normalized=False), AddedToken("dog", single_word=True)])
    return tokenizer


# --- SentencePiece, in the forms that transformers writes

def train_pieces(lines, **keys):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=keys.pop("vocab_size", 1500),
                                             minloglevel=2, hard_vocab_limit=False, **keys)
    return model.getvalue()


def converted(lines, class_name, file_name, **keys):
    """The tokenizer.json that transformers makes of a SentencePiece model."""
    import transformers
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, file_name).write_bytes(train_pieces(lines, **keys))
        tokenizer = getattr(transformers, class_name).from_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return Tokenizer.from_file(str(Path(folder, "tokenizer.json")))


def xlm_roberta(lines):
    return converted(lines, "XLMRobertaTokenizer", "sentencepiece.bpe.model", model_type="unigram")


def t5(lines):
    return converted(lines, "T5Tokenizer", "spiece.model", model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)


def mbart(lines):
    return converted(lines, "MBart50Tokenizer", "sentencepiece.bpe.model", model_type="unigram")


def nllb(lines):
    return converted(lines, "NllbTokenizer", "sentencepiece.bpe.model", model_type="bpe")


def charsmap(lines):
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(train_pieces(lines))
    return proto.normalizer_spec.precompiled_charsmap


def unigram(lines, normalizer, pre_tokenizer, byte_fallback=False):
    pieces = [(p, s) for p, s in json.loads(xlm_roberta(lines).to_str())["model"]["vocab"]]
    if byte_fallback:
        pieces += [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=byte_fallback))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.Metaspace()
    if byte_fallback:
        tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    tokenizer.add_special_tokens(special("<s>", "<pad>", "</s>", "<unk>"))
    tokenizer.add_special_tokens(special("<mask>", lstrip=True))
    return tokenizer


def xlm_roberta_4(lines):
    """As transformers 4 wrote it, with the character map of the original and the old form of Metaspace."""
    data = json.loads(unigram(lines, normalizers.Sequence([normalizers.Precompiled(charsmap(lines)), normalizers.Replace(Regex(" {2,}"), " ")]),
                              pre_tokenizers.Metaspace()).to_str())
    data["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True, "str_rep": "\u2581"}]}
    return Tokenizer.from_str(json.dumps(data))


def t5_4(lines):
    return unigram(lines, normalizers.Precompiled(charsmap(lines)),
                   pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))


def unigram_bytes(lines):
    return unigram(lines, normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "),
                                                normalizers.Strip(), normalizers.Lowercase()]),
                   pre_tokenizers.Metaspace(prepend_scheme="first"), byte_fallback=True)


def albert(lines):
    return unigram(lines, normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
                                                normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Precompiled(charsmap(lines)),
                                                normalizers.Replace(Regex(" {2,}"), " ")]), pre_tokenizers.Metaspace())


def llama2(lines, legacy=True):
    """`legacy`: as transformers 4 wrote it."""
    tokenizer = converted(lines, "LlamaTokenizer", "tokenizer.model", model_type="bpe", byte_fallback=True, normalization_rule_name="identity",
                          remove_extra_whitespaces=False, split_digits=True, vocab_size=1800)
    data = json.loads(tokenizer.to_str())
    if legacy:
        data["normalizer"] = {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
        data["pre_tokenizer"] = None
    return Tokenizer.from_str(json.dumps(data))


def mistral(lines):
    tokenizer = llama2(lines, legacy=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return tokenizer


def phi3(lines):
    tokenizer = llama2(lines)
    tokenizer.add_special_tokens(special("<|assistant|>", "<|user|>", "<|end|>", rstrip=True))
    tokenizer.add_tokens([AddedToken("</s>", rstrip=True, normalized=False)])
    return tokenizer


def gemma(lines):
    tokenizer = llama2(lines, legacy=False)
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


FORMS = {"bert_uncased": lambda t: bert(t, lowercase=True), "bert_cased": lambda t: bert(t, lowercase=False),
         "bert_accents": lambda t: bert(t, lowercase=True, strip_accents=False, handle_chinese_chars=False), "bert_added": bert_added,
         "gpt2": gpt2, "roberta": roberta, "bart": bart, "llama3": llama3, "qwen2": qwen2, "gpt_neox": gpt_neox, "smollm2": smollm2,
         "xlm_roberta": xlm_roberta, "xlm_roberta_4": xlm_roberta_4, "t5": t5, "t5_4": t5_4, "mbart": mbart, "albert": albert,
         "unigram_bytes": unigram_bytes, "nllb": nllb, "llama2": llama2, "mistral": mistral, "phi3": phi3, "gemma": gemma}


# --- trained here

def trained(lines, kind, program, **keys):
    """The tokenizer.json of a translation model that was trained for one update."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text")
        text.write_text("".join(line + "\n" for line in lines if line.strip()), encoding="utf-8")
        settings = {"tokenizer.kind": kind, "data.train": f"{text},{text}", "train.updates": 1, "model.d_model": 8, "model.d_ff": 8, "model.heads": 1,
                    "model.encoder_layers": 1, "model.decoder_layers": 1, **{f"tokenizer.{key}": value for key, value in keys.items()}}
        config = Path(folder, "config.yaml")
        groups = {}
        for key, value in settings.items():
            group, name = key.split(".")
            groups.setdefault(group, []).append(f"  {name}: {f'[{value}]' if name == 'train' else value}")
        config.write_text("".join(f"{group}:\n" + "".join(line + "\n" for line in body) for group, body in groups.items()))
        subprocess.run([program, "train", str(config), "--output", str(Path(folder, "run"))], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return Tokenizer.from_file(str(Path(folder, "run", "model", "tokenizer.json")))


TRAINED = {"trained_byte_pairs": {"kind": "byte_pairs", "vocab_size": 2000}, "trained_wordpiece": {"kind": "wordpiece", "vocab_size": 3000},
           "trained_wordpiece_lower": {"kind": "wordpiece", "vocab_size": 3000, "lower_case": "true"}}


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
        ours = sixfold.tokenize([" ".join(map(str, ids)) for ids in some], "--decode")
        for ids, a in zip(some, ours):
            b = as_line(tokenizer.decode(ids, skip_special_tokens=True))
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
