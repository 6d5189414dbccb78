#!/usr/bin/env python3
"""Writes training*.safetensors and training*.json: short training runs of the paper's Transformer in PyTorch.

The model is written out plainly in fp64, one sentence at a time, so that nothing in it depends on padding or
masks. A file holds the batch, packed (`source`, `source_offsets`, `target_input`, `target_output`,
`target_offsets`), the initial weights under our names (fp32 numbers, so that a run in fp32 starts at exactly
the same point), what the first update saw (`encoder_output`, `decoder_states`, `logits`, `grad/<name>`) and the
weights at the end (`final/<name>`). The JSON beside it holds the model's sizes, learning rates and losses.

    python make_training_golden.py     # PyTorch and safetensors must be installed
"""

import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

BOS, EOS, FIRST_PIECE = 1, 2, 3
UPDATES = 10
LABEL_SMOOTHING = 0.1
# At its full rate so short a warm-up is chaotic: after ten updates fp32 is off by 1e-4; at a quarter, by 1e-6.
WARMUP, RATE_SCALE = 4, 0.25

RUNS = {
    "training": dict(
        d_model=16,
        heads=2,
        d_k=8,
        d_v=8,
        d_ff=32,
        encoder_layers=2,
        decoder_layers=2,
        source_vocab=23,
        target_vocab=23,
        tied_embeddings="all",
    ),
    "training_untied": dict(
        d_model=16,
        heads=2,
        d_k=6,
        d_v=5,
        d_ff=24,
        encoder_layers=1,
        decoder_layers=2,
        source_vocab=19,
        target_vocab=23,
        tied_embeddings="none",
    ),
    "training_two_ways": dict(
        d_model=12,
        heads=3,
        d_k=4,
        d_v=4,
        d_ff=20,
        encoder_layers=2,
        decoder_layers=1,
        source_vocab=23,
        target_vocab=19,
        tied_embeddings="decoder",
    ),
}
# Pieces in the source and target of each pair, without bos and eos.
LENGTHS = [(4, 5), (1, 0), (7, 3), (2, 8), (5, 5)]


class Model:
    """Sections 3.1 to 3.5, one sentence at a time: [length, d_model]. `weights` maps our names to tensors."""

    def __init__(self, sizes, weights):
        self.sizes = sizes
        self.weights = weights

    def linear(self, name, x):
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def add_and_norm(self, name, x, sublayer_output):
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return F.layer_norm(x + sublayer_output, weight.shape, weight, bias, eps=1e-5)

    def attention(self, name, x, memory, causal=False):
        """Equation 1 and section 3.2.2: heads are contiguous blocks of columns."""
        heads = self.sizes["heads"]
        q = self.linear(f"{name}.q_proj", x).unflatten(1, (heads, -1)).transpose(0, 1)
        k = self.linear(f"{name}.k_proj", memory).unflatten(1, (heads, -1)).transpose(0, 1)
        v = self.linear(f"{name}.v_proj", memory).unflatten(1, (heads, -1)).transpose(0, 1)
        scores = q @ k.transpose(1, 2) / math.sqrt(self.sizes["d_k"])
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape).triu(1).bool(), -math.inf)
        return self.linear(f"{name}.out_proj", (scores.softmax(dim=-1) @ v).transpose(0, 1).flatten(1))

    def feed_forward(self, name, x):
        return self.linear(f"{name}.fc2", self.linear(f"{name}.fc1", x).relu())

    def embed(self, side, ids):
        d_model = self.sizes["d_model"]
        embedded = self.weights[embedding_names(self.sizes)[side]][ids] * math.sqrt(d_model)
        position = torch.arange(len(ids), dtype=embedded.dtype)[:, None]
        angles = position / 10000 ** (torch.arange(0, d_model, 2, dtype=embedded.dtype) / d_model)
        return embedded + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)

    def encode(self, source):
        x = self.embed("source", source)
        for i in range(self.sizes["encoder_layers"]):
            layer = f"encoder.layers.{i}"
            x = self.add_and_norm(
                f"{layer}.self_attn_layer_norm", x, self.attention(f"{layer}.self_attn", x, x)
            )
            x = self.add_and_norm(f"{layer}.final_layer_norm", x, self.feed_forward(layer, x))
        return x

    def decode(self, target_input, memory):
        x = self.embed("target", target_input)
        for i in range(self.sizes["decoder_layers"]):
            layer = f"decoder.layers.{i}"
            y = self.attention(f"{layer}.self_attn", x, x, causal=True)
            x = self.add_and_norm(f"{layer}.self_attn_layer_norm", x, y)
            y = self.attention(f"{layer}.encoder_attn", x, memory)
            x = self.add_and_norm(f"{layer}.encoder_attn_layer_norm", x, y)
            x = self.add_and_norm(f"{layer}.final_layer_norm", x, self.feed_forward(layer, x))
        return x

    def logits(self, states):
        return states @ self.weights[embedding_names(self.sizes)["output"]].T


def embedding_names(sizes):
    """Which matrix embeds the source, embeds the target and projects to the vocabulary (section 3.4)."""
    if sizes["tied_embeddings"] == "all":
        return dict.fromkeys(("source", "target", "output"), "shared.weight")
    target = "decoder.embed_tokens.weight"
    output = target if sizes["tied_embeddings"] == "decoder" else "output_projection.weight"
    return {"source": "encoder.embed_tokens.weight", "target": target, "output": output}


def weight_shapes(sizes):
    """Our names and shapes, [out, in]."""
    d_model, q_width, v_width = sizes["d_model"], sizes["heads"] * sizes["d_k"], sizes["heads"] * sizes["d_v"]
    names = embedding_names(sizes)
    shapes = {names["source"]: [sizes["source_vocab"], d_model]}
    shapes |= {names[use]: [sizes["target_vocab"], d_model] for use in ("target", "output")}
    linears = {}
    for stack, attentions in ("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"]):
        for i in range(sizes[f"{stack}_layers"]):
            layer = f"{stack}.layers.{i}"
            for attention in attentions:
                linears[f"{layer}.{attention}.q_proj"] = [q_width, d_model]
                linears[f"{layer}.{attention}.k_proj"] = [q_width, d_model]
                linears[f"{layer}.{attention}.v_proj"] = [v_width, d_model]
                linears[f"{layer}.{attention}.out_proj"] = [d_model, v_width]
                shapes[f"{layer}.{attention}_layer_norm.weight"] = [d_model]
                shapes[f"{layer}.{attention}_layer_norm.bias"] = [d_model]
            linears[f"{layer}.fc1"] = [sizes["d_ff"], d_model]
            linears[f"{layer}.fc2"] = [d_model, sizes["d_ff"]]
            shapes[f"{layer}.final_layer_norm.weight"] = [d_model]
            shapes[f"{layer}.final_layer_norm.bias"] = [d_model]
    for name, shape in linears.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def initial_weights(sizes, random):
    """Xavier for matrices; biases and norms off zero and one, so that an error in them shows."""
    weights = {}
    for name, shape in weight_shapes(sizes).items():
        draw = torch.randn(*shape, generator=random)
        if len(shape) == 1:
            weights[name] = 0.1 * draw + float(name.endswith("layer_norm.weight"))
        elif name in embedding_names(sizes).values():
            weights[name] = draw * sizes["d_model"] ** -0.5
        else:
            weights[name] = draw * (2 / sum(shape)) ** 0.5
    return weights


def make_batch(sizes, random):
    def pieces(length, vocabulary):
        return torch.randint(FIRST_PIECE, vocabulary, (length,), generator=random).tolist()

    sources = [pieces(length, sizes["source_vocab"]) for length, _ in LENGTHS]
    targets = [pieces(length, sizes["target_vocab"]) for _, length in LENGTHS]
    return [
        tuple(torch.tensor(ids) for ids in (source + [EOS], [BOS] + target, target + [EOS]))
        for source, target in zip(sources, targets)
    ]


def forward(model, batch):
    """The loss of an update, and what it came from, packed."""
    encoder_output = [model.encode(source) for source, _, _ in batch]
    states = torch.cat([model.decode(pair[1], memory) for pair, memory in zip(batch, encoder_output)])
    logits = model.logits(states)
    target_output = torch.cat([output for _, _, output in batch])
    loss = F.cross_entropy(logits, target_output, reduction="sum", label_smoothing=LABEL_SMOOTHING)
    seen = {"encoder_output": torch.cat(encoder_output), "decoder_states": states, "logits": logits}
    return loss / len(target_output), seen


def learning_rate(d_model, step):
    """Section 5.3, equation 3, scaled."""
    return RATE_SCALE * d_model**-0.5 * min(step**-0.5, step * WARMUP**-1.5)


def packed_batch(batch):
    tensors = {}
    for i, side in enumerate(("source", "target_input", "target_output")):
        tensors[side] = torch.cat([pair[i] for pair in batch]).int()
    for i, side in enumerate(("source", "target")):
        lengths = torch.tensor([0] + [len(pair[i]) for pair in batch])
        tensors[f"{side}_offsets"] = lengths.cumsum(0).int()
    return tensors


def train(sizes, seed, dtype=torch.float64):
    random = torch.Generator().manual_seed(seed)
    initial = initial_weights(sizes, random)
    batch = make_batch(sizes, random)
    weights = {name: weight.to(dtype).requires_grad_() for name, weight in initial.items()}
    model = Model(sizes, weights)
    optimizer = torch.optim.Adam(weights.values(), betas=(0.9, 0.98), eps=1e-9)
    golden = {**packed_batch(batch), **initial}
    rates, losses = [learning_rate(sizes["d_model"], step) for step in range(1, UPDATES + 1)], []
    for step, rate in enumerate(rates):
        loss, seen = forward(model, batch)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            golden |= seen | {f"grad/{name}": weight.grad.clone() for name, weight in weights.items()}
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        losses.append(loss.item())
    golden |= {f"final/{name}": weight for name, weight in weights.items()}
    return {name: tensor.detach().contiguous() for name, tensor in golden.items()}, rates, losses


if __name__ == "__main__":
    folder = Path(__file__).parent
    for seed, (name, sizes) in enumerate(RUNS.items(), start=1):
        golden, rates, losses = train(sizes, seed)
        save_file(golden, folder / f"{name}.safetensors")
        facts = {
            **sizes,
            "label_smoothing": LABEL_SMOOTHING,
            "warmup": WARMUP,
            "learning_rate_scale": RATE_SCALE,
        }
        facts |= {"learning_rates": rates, "losses": losses}
        (folder / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n")
