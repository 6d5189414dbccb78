#!/usr/bin/env python3
"""Compares small random language models in Sixfold and in transformers, after an import and after an export.

    python round_trip_language_models.py TEXT.txt [--sixfold PROGRAM] [--models 10] [--seed 1]

Run it in the environment of the other programs (README.md), with protobuf. TEXT.txt trains the tokenizers and the models that are exported. For
each model and each of some texts the script compares how the text begins, the loss per token, and the greedy continuation, and prints how many
of them differ. Token ids that differ change the loss.
"""

import argparse
import io
import json
import random
import re
import subprocess
import tempfile
from pathlib import Path

import sentencepiece
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MistralConfig,
                          MistralForCausalLM)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|"
          r"\s+")
TEXTS = ["the old dog", "It's  the\n\n\ncat's   house, WE'LL see", "Hündin 12345 \t x", "日本語 and 🙂!?", "a\u00a0b c", "x" * 40, "العربية عليكم",
         "  lead\n  two lines\nend ", "\n\nx", "² ½ ٣٤٥ Ⅷ", "the model reads `config.json`", "The attention of\ntwo  heads"]
NEW_TOKENS = 10


class Sixfold:
    def __init__(self, program, folder):
        self.program, self.text = program, folder / "text.txt"

    def run(self, *arguments):
        command = [self.program, *map(str, arguments)]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if run.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {run.stderr}")
        return run.stdout

    def loss(self, model, text):
        self.text.write_bytes(text.encode())
        said = self.run("score", model, "--input", self.text, "--summary", "--threads", 1)
        return float(re.search(r"loss per token: ([\d.]+)", said)[1])

    def greedy(self, model, text):
        self.text.write_bytes(text.encode())
        said = self.run("generate", model, "--prompt-file", self.text, "--temperature", 0, "--max-tokens", NEW_TOKENS, "--json", "--threads", 1)
        return json.loads(said)["text"]


def train_byte_level(text, kind, post):
    tokenizer = Tokenizer(models.BPE(ignore_merges=kind != "gpt2"))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=kind == "gpt2")
    split = pre_tokenizers.Split(Regex(LLAMA3 if kind == "llama3" else LLAMA3.replace("{1,3}", "")), behavior="isolated")
    tokenizer.pre_tokenizer = byte_level if kind == "gpt2" else pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False))
    tokenizer.add_special_tokens([AddedToken("<|begin|>", special=True), AddedToken("<|end|>", special=True)])
    begin = [("<|begin|>", tokenizer.token_to_id("<|begin|>"))]
    template = processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A $B", special_tokens=begin)
    steps = {"none": None, "bytes": processors.ByteLevel(), "template": template,
             "text": processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[]),
             "sequence": processors.Sequence([processors.ByteLevel(trim_offsets=False), template])}
    if steps[post]:
        tokenizer.post_processor = steps[post]
    return tokenizer


def write_tokenizer(folder, text, r):
    """Writes a random tokenizer. Returns its size, its tokens of begin and end, and what encodes and decodes."""
    kind = r.choice(["gpt2", "llama3", "qwen2", "sentencepiece"])
    if kind == "sentencepiece":
        model, begins = io.BytesIO(), r.random() < 0.5
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text), model_writer=model, vocab_size=420, model_type=r.choice(["bpe", "unigram"]), byte_fallback=True,
            normalization_rule_name=r.choice(["identity", "nmt_nfkc"]), remove_extra_whitespaces=False, num_threads=1, minloglevel=5)
        (folder / "tokenizer.model").write_bytes(model.getvalue())
        config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": begins, "bos_token": "<s>"}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        return pieces.get_piece_size(), 1, 2, lambda x: [1] * begins + pieces.encode(x), pieces.decode
    tokenizer = train_byte_level(text, kind, r.choice(["none", "bytes", "template", "text", "sequence"]))
    tokenizer.save(str(folder / "tokenizer.json"))
    begin, end = (tokenizer.token_to_id(token) for token in ("<|begin|>", "<|end|>"))
    return tokenizer.get_vocab_size() + r.choice([0, 3]), begin, end, lambda x: tokenizer.encode(x).ids, tokenizer.decode


def random_model(r, size, begin, end):
    heads, tied = r.choice([2, 4]), r.random() < 0.5
    common = {"vocab_size": size, "bos_token_id": r.choice([begin, end]), "eos_token_id": end, "initializer_range": 0.3,
              "tie_word_embeddings": tied}
    kind = r.choice(["gpt2", "llama", "mistral"])
    if kind == "gpt2":
        model = GPT2LMHeadModel(GPT2Config(n_embd=8 * heads, n_head=heads, n_layer=r.choice([1, 2]), n_positions=256,
                                           n_inner=r.choice([None, 1, 33]), layer_norm_epsilon=r.choice([1e-5, 1e-3]),
                                           activation_function=r.choice(["gelu_new", "gelu", "relu", "silu", "quick_gelu"]), **common))
    else:
        more = {"sliding_window": r.choice([None, 256, 4096])} if kind == "mistral" else {"attention_bias": r.random() < 0.5,
                                                                                         "mlp_bias": r.random() < 0.5}
        config = (MistralConfig if kind == "mistral" else LlamaConfig)(
            hidden_size=8 * heads, num_attention_heads=heads, num_key_value_heads=r.choice([1, 2]), head_dim=r.choice([None, 6, 10]),
            intermediate_size=r.choice([1, 20]), num_hidden_layers=r.choice([1, 2]), max_position_embeddings=256,
            hidden_act=r.choice(["silu", "gelu", "gelu_pytorch_tanh"]), rms_norm_eps=r.choice([1e-6, 1e-4]),
            rope_parameters={"rope_type": "default", "rope_theta": r.choice([500.0, 10000.0])}, **common, **more)
        model = (MistralForCausalLM if kind == "mistral" else LlamaForCausalLM)(config)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.0 if kind == "gpt2" else 1.0, std=0.3)
    if r.random() < 0.5:
        model.generation_config.suppress_tokens = [r.randrange(size) for _ in range(40)]
    if r.random() < 0.3:
        model.generation_config.min_new_tokens = 4
    return kind, model.eval()


def differences(sixfold, model, encode, decode, scored, generated):
    """Compares a model of transformers with the folder `scored`, and `generated` for greedy texts, of Sixfold."""
    config = json.loads((scored / "config.json").read_text())
    start, before_text = config["decoder_start_token"], config["generation"]["start_before_text"]
    found = []
    for text in TEXTS:
        given = encode(text)
        if given[: before_text] != [start][: before_text]:
            found.append(("beginning", text))
            continue
        ids = given[before_text:]
        labels = torch.tensor(ids + [config["eos"]])
        with torch.no_grad():
            logits = model(torch.tensor([[start] + ids])).logits[0].double()
            mask = torch.ones(1, len(given), dtype=torch.long)
            output = model.generate(torch.tensor([given]), attention_mask=mask, do_sample=False, max_new_tokens=NEW_TOKENS, pad_token_id=0)
        loss = torch.nn.functional.cross_entropy(logits, labels).item()
        if abs(loss - sixfold.loss(scored, text)) > 3e-4:
            found.append(("loss", text))
        new = output[0, len(given):].tolist()
        theirs, ours = decode(ids + new)[len(decode(ids)):], sixfold.greedy(generated, text)
        if re.sub("\ufffd+", "\ufffd", theirs) != re.sub("\ufffd+", "\ufffd", ours):  # how many stand for bytes differs
            found.append((f"greedy text ({ours!r} and not {theirs!r})", text))
    return found


def compare_import(sixfold, folder, text, r):
    theirs, ours = folder / "theirs", folder / "ours"
    theirs.mkdir()
    size, begin, end, encode, decode = write_tokenizer(theirs, text, r)
    kind, model = random_model(r, size, begin, end)
    if (theirs / "tokenizer.model").exists():  # Sixfold never generates the unknown token
        model.generation_config.suppress_tokens = [0] + (model.generation_config.suppress_tokens or [])
    model.to(r.choice([torch.float32, torch.bfloat16, torch.float16])).save_pretrained(theirs, max_shard_size=r.choice(["10KB", "1GB"]))
    model = AutoModelForCausalLM.from_pretrained(theirs, dtype=torch.float32).eval()
    sixfold.run("import", "hf", theirs, "--output", ours)
    return kind, differences(sixfold, model, encode, decode, ours, ours)


def decoder_of(tokenizer):
    """Bytes that are no text are decoded one by one, which tokenizers does not."""
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))

    def decode(ids):
        text = b""
        for token in (tokens[i] for i in ids if i > 2):
            part = bytes([int(token[3:5], 16)]) if re.fullmatch("<0x[0-9A-F]{2}>", token) else token.replace("\u2581", " ").encode()
            text += part[1:] if part.startswith(b" ") and (not text or text.endswith(b"\n")) else part
        return text.decode("utf8", "replace")
    return decode


def compare_export(sixfold, folder, path, r):
    heads, kind = r.choice([2, 4]), r.choice(["gpt2", "llama"])
    model = {"d_model": 8 * heads, "heads": heads, "d_ff": r.choice([1, 30]), "decoder_layers": r.choice([1, 2]), "embedding_scale": False,
             "preprocess": ["norm"], "postprocess": ["dropout", "add"], "postprocess_top": ["norm"],
             "tied_embeddings": r.choice(["decoder", "none"])}
    if kind == "gpt2":
        model |= {"positions": "learned", "max_positions": 256, "activation": r.choice(["gelu", "relu", "tanh_gelu", "sigmoid_gelu"])}
    else:
        model |= {"positions": "rotary", "norm": "rms", "feed_forward_gate": True, "feed_forward_bias": r.random() < 0.5,
                  "activation": r.choice(["swish", "gelu"]), "kv_heads": r.choice([0, 1, 2]), "rotary_base": r.choice([10000.0, 300.0])}
    normalization = r.choice(["identity", "nmt_nfkc"])
    config = {"task": "language_model", "model": model,
              "tokenizer": {"kind": "sentencepiece", "vocab_size": 600, "model": r.choice(["unigram", "bpe"]), "normalization": normalization,
                            "target_normalization": normalization},
              "data": {"train": [str(path)], "block_tokens": 256, "batch_tokens": 512,
                       "unit": r.choice(["stream", "line", "paragraph", "file"])},
              "generation": {"start_before_text": r.random() < 0.6, "min_new_tokens": r.choice([0, 0, 4])},
              "train": {"updates": r.choice([2, 30]), "threads": 1}, "schedule": {"learning_rate": 0.01, "warmup": 2}}
    (folder / "config.json").write_text(json.dumps(config))
    sixfold.run("train", folder / "config.json", "--output", folder / "run")
    ours, theirs, again = folder / "run/model", folder / "exported", folder / "again"
    sixfold.run("export", "hf", ours, "--output", theirs)
    sixfold.run("import", "hf", theirs, "--output", again)
    tokenizer = AutoTokenizer.from_pretrained(theirs)
    model = AutoModelForCausalLM.from_pretrained(theirs).eval()
    return kind, differences(sixfold, model, lambda x: tokenizer(x).input_ids, decoder_of(tokenizer), again, ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--sixfold", default="sixfold")
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    text = [line for line in arguments.text.read_text().splitlines() if line]
    torch.set_num_threads(1)
    for what in ("import", "export"):
        count = 0
        for i in range(arguments.models):
            r = random.Random(f"{what} {arguments.seed} {i}")
            torch.manual_seed(arguments.seed * 1000 + i)
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                sixfold = Sixfold(arguments.sixfold, folder)
                compare, given = (compare_import, text) if what == "import" else (compare_export, arguments.text)
                kind, found = compare(sixfold, folder, given, r)
            count += len(found)
            for difference, where in found:
                print(f"{what} {i} ({kind}): another {difference} for {where!r}")
        print(f"{what}: {arguments.models} models of {len(TEXTS)} texts, {count} differences", flush=True)


if __name__ == "__main__":
    main()
