#!/usr/bin/env python3
"""Writes causal/: small random GPT-2 and Llama models as transformers saves them, with tokenizers of byte-level BPE as
tokenizers saves them, or of SentencePiece, and what both make of texts (golden.json): ids, logits, greedy texts.

    python make_causal_goldens.py     # torch, transformers, tokenizers and sentencepiece must be installed
"""

import io
import json
import shutil
from pathlib import Path

import sentencepiece
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).resolve().parent / "causal"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|"
          r"\s+")
CORPUS = ["the old dog sees a cat, and the cat sees the dog.", "It's the dog's house; they'll sleep in it, we've seen",
          "der alte Hund schläft im Haus 1234 5678", "two women read the old books\n\nthe man eats"] * 4
TEXTS = ["the old dog", "It's  the\n\n\ncat's   house, WE'LL see", "Hündin 12345 \t x\n", " ", "日本語 and 🙂!?", "a\u00a0b\u0085c\x0bd",
         "<|end|>", "the the the old old cat sees", "x" * 300 + "\n" + "ab " * 20, ""]
# Settings of both are such that every part counts.
MODELS = {
    "gpt2": (GPT2LMHeadModel, GPT2Config(n_embd=24, n_head=3, n_layer=2, n_positions=512, initializer_range=0.3)),
    "gpt2_untied": (GPT2LMHeadModel, GPT2Config(n_embd=16, n_head=2, n_layer=1, n_positions=512, n_inner=40,
                                                activation_function="relu", layer_norm_epsilon=1e-4,
                                                tie_word_embeddings=False, initializer_range=0.3)),
    "llama": (LlamaForCausalLM, LlamaConfig(hidden_size=24, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                                            intermediate_size=40, num_hidden_layers=2, max_position_embeddings=512,
                                            initializer_range=0.3)),
    "llama_tied": (LlamaForCausalLM, LlamaConfig(hidden_size=16, num_attention_heads=2, intermediate_size=24,
                                                 num_hidden_layers=1, max_position_embeddings=512, attention_bias=True,
                                                 mlp_bias=True, tie_word_embeddings=True, rms_norm_eps=1e-5,
                                                 initializer_range=0.3)),
    # A feed-forward layer of one feature: its weights are matrices of one row.
    "llama_sentencepiece": (LlamaForCausalLM, LlamaConfig(hidden_size=16, num_attention_heads=2, intermediate_size=1,
                                                          num_hidden_layers=1, max_position_embeddings=512,
                                                          initializer_range=0.3)),
}


def train_tokenizer(llama):
    tokenizer = Tokenizer(models.BPE(ignore_merges=llama))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not llama)
    split = pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level]) if llama else byte_level
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=340, initial_alphabet=alphabet, show_progress=False, special_tokens=[])
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens([AddedToken("<|begin|>", special=True), AddedToken("<|end|>", special=True)])
    if llama:  # as Llama 3 has it
        begin = ("<|begin|>", tokenizer.token_to_id("<|begin|>"))
        template = processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1",
                                                 special_tokens=[begin])
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer


class ByteLevel:
    """A tokenizer of tokenizers, and its texts without special tokens."""

    def __init__(self, llama):
        self.tokenizer = train_tokenizer(llama)
        self.begin, self.end = (self.tokenizer.token_to_id(token) for token in ("<|begin|>", "<|end|>"))
        self.size = self.tokenizer.get_vocab_size() + 3  # rows that no token has

    def save(self, folder):
        self.tokenizer.save(str(folder / "tokenizer.json"))

    def encode(self, text):
        # Text never becomes a special token here.
        return None if "<|end|>" in text else self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids):
        return self.tokenizer.decode(ids)


class SentencePiece:
    """A tokenizer.model as Llama 2 has it: it reads several lines as one text."""

    def __init__(self):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS), model_writer=model, vocab_size=340, model_type="bpe", byte_fallback=True,
            normalization_rule_name="identity", remove_extra_whitespaces=False, num_threads=1, minloglevel=2)
        self.bytes = model.getvalue()
        self.model = sentencepiece.SentencePieceProcessor(model_proto=self.bytes)
        self.begin, self.end, self.size = self.model.bos_id(), self.model.eos_id(), self.model.get_piece_size()

    def save(self, folder):
        (folder / "tokenizer.model").write_bytes(self.bytes)
        config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "bos_token": "<s>", "eos_token": "</s>"}
        (folder / "tokenizer_config.json").write_text(json.dumps(config) + "\n")

    def encode(self, text):
        return self.model.encode(text)

    def decode(self, ids):
        return self.model.decode(ids)


def continued(model, ids, count):
    ids = list(ids)
    with torch.no_grad():
        for _ in range(count):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    for seed, (name, (kind, config)) in enumerate(MODELS.items()):
        torch.manual_seed(20170612 + seed)
        folder = HERE / name
        llama = kind is LlamaForCausalLM
        tokenizer = SentencePiece() if name == "llama_sentencepiece" else ByteLevel(llama)
        begin, end = tokenizer.begin, tokenizer.end
        config.vocab_size = tokenizer.size
        config.eos_token_id, config.bos_token_id = end, begin if llama else end
        config.rope_theta = 5000.0
        if llama:
            config.rope_parameters = {"rope_type": "default", "rope_theta": 5000.0}
        model = kind(config).eval()
        for parameter in model.parameters():
            if parameter.dim() == 1:
                torch.nn.init.normal_(parameter, mean=1.0 if llama else 0.0, std=0.3)
        shards = {"max_shard_size": "20KB"} if name == "llama" else {}
        model.save_pretrained(folder, **shards)
        tokenizer.save(folder)
        ids = [tokenizer.encode(text) for text in TEXTS]
        prompt = ids[0]
        first = [begin] if llama else []
        given = first + ids[1]
        with torch.no_grad():
            logits = model(torch.tensor([given])).logits[0]
        golden = {"texts": TEXTS, "ids": ids, "given": given, "logits": [[round(x, 6) for x in row] for row in logits.tolist()],
                  "prompt": TEXTS[0], "first": first,
                  "greedy": continued(model, first + prompt, 12)[len(first) + len(prompt):],
                  "decoded": [None if one is None else tokenizer.decode(one) for one in ids]}
        (folder / "golden.json").write_text(json.dumps(golden) + "\n")
