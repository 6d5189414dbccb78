#!/usr/bin/env python3
"""Makes tests/goldens/gguf: small random models in GGUF with the logits of transformers, which reads the same files, and blocks of all
quantised types with the values that gguf decodes. Transformers is told what it does not read there: the width of the heads of qwen3.gguf, and
the rope and the window of phi3.gguf.

    python make_gguf_goldens.py

Needs torch, transformers, accelerate, gguf and safetensors (transformers 5.23.0, gguf 0.19.0).
"""

from pathlib import Path

import numpy
import torch
from gguf import GGMLQuantizationType as Type, GGUFWriter, quants
from safetensors.numpy import save_file
from tokenizers import pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, Phi3Config
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

OUT = Path(__file__).parent / "gguf"
WIDTH, INNER, LAYERS, HEADS, KV_HEADS = 32, 64, 2, 4, 2
IDS = [5, 70, 256, 99, 5, 258, 17, 33]
SHORT, LONG, ATTENTION = [1.0, 1.5, 2.0, 3.5], [4.0, 5.0, 6.0, 7.0], 1.25


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
    if name == "qwen3":  # whose heads have 128 features otherwise
        writer.add_key_length(WIDTH // HEADS)
        writer.add_value_length(WIDTH // HEADS)
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
    fused = name == "phi3"
    if fused:
        writer.add_rope_dimension_count(WIDTH // HEADS)
        writer.add_rope_scaling_orig_ctx_len(64)
        writer.add_rope_scaling_attn_factors(ATTENTION)
        writer.add_sliding_window(4)
        for kind, factors in (("long", LONG), ("short", SHORT)):
            writer.add_tensor(f"rope_factors_{kind}.weight", numpy.array(factors, dtype=numpy.float32))
    for layer, kind in enumerate([Type.Q4_0, Type.Q4_1] if tied else [Type.F16, Type.BF16]):
        block = f"blk.{layer}."
        for part, rows in [("attn_qkv", WIDTH + 2 * kv)] if fused else [("attn_q", WIDTH), ("attn_k", kv), ("attn_v", kv)]:
            add(f"{block}{part}.weight", (rows, WIDTH), kind)
            if name == "qwen2":
                add(f"{block}{part}.bias", (rows,), Type.F32)
        if name == "qwen3":
            add(block + "attn_q_norm.weight", (WIDTH // HEADS,), Type.F32)
            add(block + "attn_k_norm.weight", (WIDTH // HEADS,), Type.F32)
        add(block + "attn_output.weight", (WIDTH, WIDTH), kind)
        if not fused:
            add(block + "ffn_gate.weight", (INNER, WIDTH), kind)
        add(block + "ffn_up.weight", ((2 if fused else 1) * INNER, WIDTH), Type.Q5_0)
        add(block + "ffn_down.weight", (WIDTH, INNER), kind)
        for norm in ("attn_norm", "ffn_norm"):
            add(f"{block}{norm}.weight", (WIDTH,), Type.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    config = AutoConfig.from_pretrained(OUT, gguf_file=path.name)
    if fused:
        rope = {"rope_type": "longrope", "rope_theta": 5000.0, "short_factor": SHORT, "long_factor": LONG, "attention_factor": ATTENTION}
        config = Phi3Config(**config.to_dict() | {"original_max_position_embeddings": 64, "sliding_window": 4, "rope_parameters": rope, "pad_token_id": 0})
    config.head_dim = WIDTH // HEADS
    model = AutoModelForCausalLM.from_config(config).eval()
    model.load_state_dict(load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"], strict=not tied)
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
    save_file(blocks(random), OUT / "blocks.safetensors")
    for name, tied in (("qwen3", True), ("phi3", False)):
        expected[f"{name}.logits"] = write_model(name, random, tied)
    save_file(expected, OUT / "logits.safetensors")


if __name__ == "__main__":
    main()
