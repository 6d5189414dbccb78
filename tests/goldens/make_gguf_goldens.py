#!/usr/bin/env python3
"""Makes tests/goldens/gguf: two small random models in GGUF with the logits of transformers, which reads the same files, and blocks of all
quantised types with the values that gguf decodes.

    python make_gguf_goldens.py

Needs torch, transformers, accelerate, gguf and safetensors (transformers 5.23.0, gguf 0.19.0).
"""

from pathlib import Path

import numpy
import torch
from gguf import GGMLQuantizationType as Type, GGUFWriter, quants
from safetensors.numpy import save_file
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM

OUT = Path(__file__).parent / "gguf"
WIDTH, INNER, LAYERS, HEADS, KV_HEADS = 32, 64, 2, 4, 2
IDS = [5, 70, 256, 99, 5, 258, 17, 33]


def write_tokens(writer):
    """Byte-level BPE with three merges and two special tokens."""
    tokens = sorted(pre_tokenizers.ByteLevel.alphabet()) + ["th", "the", "Ġthe", "<|begin|>", "<|end|>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * (len(tokens) - 2) + [3, 3])
    writer.add_token_merges(["t h", "th e", "Ġ the"])
    writer.add_bos_token_id(len(tokens) - 2)
    writer.add_eos_token_id(len(tokens) - 1)
    return len(tokens)


def write_model(name, random, tied):
    path = OUT / f"{name}.gguf"
    writer = GGUFWriter(path, name)
    size = write_tokens(writer)
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(5000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(size)

    def add(tensor, shape, kind):
        values = random.normal(1.0 if len(shape) == 1 and "bias" not in tensor else 0.0, 0.3, shape).astype(numpy.float32)
        writer.add_tensor(tensor, quants.quantize(values, kind), raw_dtype=kind)

    add("token_embd.weight", (size, WIDTH), Type.Q8_0)
    if not tied:
        add("output.weight", (size, WIDTH), Type.Q5_1)
    add("output_norm.weight", (WIDTH,), Type.F32)
    kv = WIDTH // HEADS * KV_HEADS
    for layer, kind in enumerate([Type.Q4_0, Type.Q4_1] if tied else [Type.F16, Type.BF16]):
        block = f"blk.{layer}."
        for part, rows in (("attn_q", WIDTH), ("attn_k", kv), ("attn_v", kv)):
            add(f"{block}{part}.weight", (rows, WIDTH), kind)
            if name == "qwen2":
                add(f"{block}{part}.bias", (rows,), Type.F32)
        add(block + "attn_output.weight", (WIDTH, WIDTH), kind)
        add(block + "ffn_gate.weight", (INNER, WIDTH), kind)
        add(block + "ffn_up.weight", (INNER, WIDTH), Type.Q5_0)
        add(block + "ffn_down.weight", (WIDTH, INNER), kind)
        for norm in ("attn_norm", "ffn_norm"):
            add(f"{block}{norm}.weight", (WIDTH,), Type.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    model = AutoModelForCausalLM.from_pretrained(OUT, gguf_file=path.name, dtype=torch.float32).eval()
    with torch.no_grad():
        return model(torch.tensor([IDS])).logits[0].numpy()


def blocks(random):
    tensors = {}
    for kind, size, halves in ((Type.Q4_0, 18, [0]), (Type.Q4_1, 20, [0, 2]), (Type.Q5_0, 22, [0]), (Type.Q5_1, 24, [0, 2]),
                               (Type.Q8_0, 34, [0]), (Type.Q4_K, 144, [0, 2]), (Type.Q5_K, 176, [0, 2]), (Type.Q6_K, 210, [208])):
        data = random.integers(0, 256, (3, size), dtype=numpy.uint8)
        for place in halves:
            data[:, place:place + 2] = random.normal(0, 0.1, 3).astype(numpy.float16).view(numpy.uint8).reshape(3, 2)
        tensors[f"{kind.name}.bytes"] = data.reshape(-1)
        tensors[f"{kind.name}.values"] = quants.dequantize(data, kind).astype(numpy.float32).reshape(-1)
    return tensors


def main():
    OUT.mkdir(exist_ok=True)
    random = numpy.random.default_rng(7)
    expected = {"ids": numpy.array(IDS, dtype=numpy.int32)}
    for name, tied in (("llama", True), ("qwen2", False)):
        expected[f"{name}.logits"] = write_model(name, random, tied)
    save_file(expected, OUT / "logits.safetensors")
    save_file(blocks(random), OUT / "blocks.safetensors")


if __name__ == "__main__":
    main()
