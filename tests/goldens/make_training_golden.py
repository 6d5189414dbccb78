#!/usr/bin/env python3
"""Writes training*.safetensors and training*.json: short training runs of the paper's Transformer in PyTorch.

The model is written out plainly in fp64, one sentence at a time, so that nothing in it depends on padding, masks
or the division of a batch into parts. What surrounds the model in training is written here once more from its
description: the order of the samples and their division into batches (src/data/batcher.h, epoch_order.h), the
random bits of dropout (philox_dropout.py), clipping, the learning rates (`ScheduleKind` in src/train/config.h) and
the moving average of the weights. Label smoothing and Adam are PyTorch's.

A .safetensors file holds the samples, packed (`source` with its end tokens, `source_offsets`, `target`,
`target_offsets`), the initial weights under our names (fp32 numbers, so that a run in fp32 starts at exactly the
same point), what the model computes of all samples with the initial weights and without dropout (`encoder_output`,
`decoder_states`, `logits`), the gradients of the first update before clipping (`grad/<name>`), and the weights and
their moving average at the end (`final/<name>`, `average/<name>`). The JSON beside it holds the model's config and
the options of training under our names, and what was measured of each update.

    python make_training_golden.py     # PyTorch and safetensors must be installed

The script takes some ten seconds. Run again it gives the same bytes; another version of PyTorch or another processor
may change the last bits of fp64.
"""

import itertools
import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from philox_dropout import Dropout, philox
from safetensors.torch import save_file

BOS, EOS, FIRST_PIECE = 1, 2, 3
ZERO_START = -1  # the decoder begins with an embedding of zeros
SEED = 0x5_C0FFEE_42  # of more than 32 bits: the order of samples takes all of them, dropout the lower 32

# Numbers that our options hold in fp32 are ones that fp32 holds exactly, but for dropout rates, which are rounded
# to a multiple of 2^-16 anyway. A short warm-up at the paper's full rate is chaotic: rounding grows in each update.
# The rates here are such that a run in fp32 ends within 1e-5 of one in fp64. About half of the updates are clipped.
RUNS = {
    "training": dict(
        model=dict(
            d_model=12,
            heads=2,
            d_k=6,
            d_v=6,
            d_ff=28,
            encoder_layers=2,
            decoder_layers=2,
            source_vocab=23,
            target_vocab=23,
            tied_embeddings="all",
            dropout=0.1,
            attention_dropout=0.2,
            activation_dropout=0.15,
            decoder_start_token=BOS,
        ),
        training=dict(
            data=dict(batch_tokens=28, micro_batch_tokens=20, shuffle=True),
            train=dict(
                updates=10, seed=SEED, label_smoothing=0.125, clip_norm=1.25, accumulate=2, ema_decay=0.375
            ),
            optimizer=dict(beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0),
            schedule=dict(kind="noam", warmup=4, factor=0.25),
        ),
    ),
    "training_untied": dict(
        model=dict(
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
            dropout=0.2,
            attention_dropout=0.1,
            activation_dropout=0,  # takes no number of a module
            decoder_start_token=ZERO_START,
        ),
        training=dict(
            data=dict(batch_tokens=40, micro_batch_tokens=0, shuffle=False),
            train=dict(
                updates=10, seed=SEED, label_smoothing=0.0625, clip_norm=1.5, accumulate=1, ema_decay=0.25
            ),
            optimizer=dict(beta1=0.8, beta2=0.95, epsilon=1e-8, weight_decay=0.5),
            schedule=dict(kind="cosine", warmup=3, learning_rate=0.01),
        ),
    ),
    "training_two_ways": dict(
        model=dict(
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
            dropout=0.25,
            attention_dropout=0,
            activation_dropout=0.1,
            decoder_start_token=BOS,
        ),
        training=dict(
            data=dict(batch_tokens=24, micro_batch_tokens=12, shuffle=True),
            train=dict(
                updates=10, seed=SEED + 1, label_smoothing=0.125, clip_norm=1, accumulate=3, ema_decay=0.5
            ),
            optimizer=dict(beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0),
            schedule=dict(kind="inverse_sqrt", warmup=2, learning_rate=0.015625),
        ),
    ),
}
# Pieces in the source and target of each pair, without start and end. Attention weights of the longest take two
# blocks of random bits; it is more than a batch may hold.
LENGTHS = [(4, 5), (1, 0), (7, 3), (2, 8), (5, 5), (17, 12), (3, 3), (6, 9), (1, 4), (9, 2), (4, 1)]


def no_dropout(x, _use="dropout"):
    return x


class Model:
    """Sections 3.1 to 3.5, one sentence at a time: [length, d_model]. `weights` maps our names to tensors. Each
    sentence of a training run has a `Dropout` of its own."""

    def __init__(self, sizes, weights, dropout=no_dropout):
        self.sizes = sizes
        self.weights = weights
        self.dropout = dropout

    def linear(self, name, x):
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def add_and_norm(self, name, x, sublayer_output):
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return F.layer_norm(x + self.dropout(sublayer_output), weight.shape, weight, bias, eps=1e-5)

    def attention(self, name, x, memory, causal=False):
        """Equation 1 and section 3.2.2: heads are contiguous blocks of columns."""
        heads = self.sizes["heads"]
        q = self.linear(f"{name}.q_proj", x).unflatten(1, (heads, -1)).transpose(0, 1)
        k = self.linear(f"{name}.k_proj", memory).unflatten(1, (heads, -1)).transpose(0, 1)
        v = self.linear(f"{name}.v_proj", memory).unflatten(1, (heads, -1)).transpose(0, 1)
        scores = q @ k.transpose(1, 2) / math.sqrt(self.sizes["d_k"])
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape).triu(1).bool(), -math.inf)
        shares = self.dropout(scores.softmax(dim=-1), "attention_dropout")
        return self.linear(f"{name}.out_proj", (shares @ v).transpose(0, 1).flatten(1))

    def feed_forward(self, name, x):
        hidden = self.linear(f"{name}.fc1", x).relu()
        return self.linear(f"{name}.fc2", self.dropout(hidden, "activation_dropout"))

    def embed(self, side, ids):
        d_model = self.sizes["d_model"]
        table = self.weights[embedding_names(self.sizes)[side]]
        embedded = table[ids.clamp(min=0)] * (ids >= 0)[:, None] * math.sqrt(d_model)
        position = torch.arange(len(ids), dtype=embedded.dtype)[:, None]
        angles = position / 10000 ** (torch.arange(0, d_model, 2, dtype=embedded.dtype) / d_model)
        return self.dropout(embedded + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1))

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


def make_samples(sizes, random):
    """Pairs of a source that ends in EOS and a target without start and end."""

    def pieces(length, vocabulary):
        return torch.randint(FIRST_PIECE, vocabulary, (length,), generator=random).tolist()

    return [
        (pieces(source, sizes["source_vocab"]) + [EOS], pieces(target, sizes["target_vocab"]))
        for source, target in LENGTHS
    ]


def shuffled(size, seed, stream):
    """A permutation of range(size): a Feistel network of six rounds over the next power of four, applied again while
    the result is not below `size`."""
    half_bits = 1
    while 4**half_bits < size:
        half_bits += 1
    low, stream_words = 2**half_bits - 1, (stream & 0xFFFFFFFF, stream >> 32)

    def image(value):
        left, right = value >> half_bits, value & low
        for i in range(6):
            mixed = philox((right, i, *stream_words), (seed & 0xFFFFFFFF, seed >> 32))[0] & low
            left, right = right, left ^ mixed
        value = left << half_bits | right
        return value if value < size else image(value)

    return [image(place) for place in range(size)]


def batches(samples, options, seed):
    """The numbers of the samples of each batch, epoch after epoch: as many in a row as `batch_tokens` allows, one at
    least. The tokens of a sample are the rows of its source and target, a start or end token among them."""
    for epoch in itertools.count():
        order = shuffled(len(samples), seed, 2 * epoch) if options["shuffle"] else range(len(samples))
        batch, tokens = [], 0
        for i in order:
            source, target = samples[i]
            more = len(source) + len(target) + 1
            if batch and tokens + more > options["batch_tokens"]:
                yield batch
                batch, tokens = [], 0
            batch.append(i)
            tokens += more
        yield batch


def forward(sizes, weights, sample, dropout=no_dropout):
    """Encoder output, decoder states, logits and labels of a sample."""
    model = Model(sizes, weights, dropout)
    source, target = sample
    encoder_output = model.encode(torch.tensor(source))
    states = model.decode(torch.tensor([sizes["decoder_start_token"]] + target), encoder_output)
    return encoder_output, states, model.logits(states), torch.tensor(target + [EOS])


def learning_rate(schedule, d_model, step, last_step):
    """Of update `step`, from 1. Section 5.3, equation 3, or a linear rise to a peak and what follows it."""
    warmup = schedule["warmup"]
    if schedule["kind"] == "noam":
        return schedule["factor"] * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    peak = schedule["learning_rate"]
    if step < warmup:
        return peak * step / warmup
    if schedule["kind"] == "inverse_sqrt":
        return peak * (warmup / step) ** 0.5
    assert schedule["kind"] == "cosine"
    return peak * (1 + math.cos(math.pi * (step - warmup) / (last_step - warmup))) / 2


def packed(samples):
    tensors = {}
    for i, side in enumerate(("source", "target")):
        tensors[side] = torch.tensor(sum((sample[i] for sample in samples), []), dtype=torch.int32)
        lengths = torch.tensor([0] + [len(sample[i]) for sample in samples])
        tensors[f"{side}_offsets"] = lengths.cumsum(0).int()
    return tensors


class Training:
    """A run: the model's config `sizes` and the options of training, both under our names."""

    def __init__(self, sizes, options, samples, initial, dtype):
        self.sizes, self.options, self.samples = sizes, options, samples
        self.weights = {name: weight.to(dtype).requires_grad_() for name, weight in initial.items()}
        self.averages = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self.batches = batches(samples, options["data"], options["train"]["seed"])
        adam = options["optimizer"]
        self.adam = torch.optim.AdamW(
            self.weights.values(),
            betas=(adam["beta1"], adam["beta2"]),
            eps=adam["epsilon"],
            weight_decay=adam["weight_decay"],
        )

    def loss_sum(self, numbers, update):
        """The label-smoothed cross entropy, summed over the labels of these samples, and their number."""
        train, loss, labels = self.options["train"], 0, 0
        for i in numbers:
            dropout = Dropout(self.sizes, train["seed"], update, i)
            _, _, logits, expected = forward(self.sizes, self.weights, self.samples[i], dropout)
            smoothing = train["label_smoothing"]
            loss = loss + F.cross_entropy(logits, expected, reduction="sum", label_smoothing=smoothing)
            labels += len(expected)
        return loss, labels

    def update(self, step):
        """The `step`-th, from 1. Returns what was measured of it, and the gradients before clipping."""
        train = self.options["train"]
        numbers = sum(itertools.islice(self.batches, train["accumulate"]), [])
        loss, labels = self.loss_sum(numbers, step - 1)
        self.adam.zero_grad()
        (loss / labels).backward()
        gradients = {name: weight.grad.clone() for name, weight in self.weights.items()}
        norm = math.sqrt(sum(gradient.square().sum().item() for gradient in gradients.values()))
        if norm > train["clip_norm"]:
            for weight in self.weights.values():
                weight.grad *= train["clip_norm"] / norm
        rate = learning_rate(self.options["schedule"], self.sizes["d_model"], step, train["updates"])
        self.adam.param_groups[0]["lr"] = rate
        self.adam.step()
        # Early on the average follows the weights closely.
        decay = min(train["ema_decay"], (1 + step) / (10 + step))
        for name, average in self.averages.items():
            average.lerp_(self.weights[name].detach(), 1 - decay)
        measured = dict(samples=numbers, learning_rate=rate, loss=loss.item() / labels, gradient_norm=norm)
        return measured, gradients


def train(sizes, options, seed, dtype=torch.float64):
    """What the run gives, and what was measured of each update."""
    random = torch.Generator().manual_seed(seed)
    initial = initial_weights(sizes, random)
    samples = make_samples(sizes, random)
    golden = {**packed(samples), **initial}
    run = Training(sizes, options, samples, initial, dtype)
    seen = zip(*(forward(sizes, run.weights, sample)[:3] for sample in samples))
    for name, tensors in zip(("encoder_output", "decoder_states", "logits"), seen):
        golden[name] = torch.cat(tensors)
    updates = []
    for step in range(1, options["train"]["updates"] + 1):
        measured, gradients = run.update(step)
        updates.append(measured)
        if step == 1:
            golden |= {f"grad/{name}": gradient for name, gradient in gradients.items()}
    golden |= {f"final/{name}": weight for name, weight in run.weights.items()}
    golden |= {f"average/{name}": average for name, average in run.averages.items()}
    return {name: tensor.detach().contiguous() for name, tensor in golden.items()}, updates


def main():
    torch.set_num_threads(1)
    folder = Path(__file__).parent
    for seed, (name, run) in enumerate(RUNS.items(), start=1):
        golden, updates = train(run["model"], run["training"], seed)
        save_file(golden, folder / f"{name}.safetensors")
        (folder / f"{name}.json").write_text(json.dumps({**run, "updates": updates}, indent=2) + "\n")


if __name__ == "__main__":
    main()
