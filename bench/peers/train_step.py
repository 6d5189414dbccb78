#!/usr/bin/env python3
"""The training step of the paper's model as a careful user of PyTorch would write it, timed on a CPU.

Reads batches made by make_batches.py, pads each side to its longest sentence, and runs forward, backward and
Adam. It uses what was measured to be fastest in PyTorch: one product for the queries, keys and values of self-attention;
attention by plain products (for such short sentences `tiny` is 8% faster than with scaled_dot_product_attention, and
`small` as fast); masks only in batches with padding; output projection and loss as one op over the real tokens, in
chunks; fused Adam; subnormal numbers flushed to zero. Prints one line of JSON.

    python train_step.py BATCHES.jsonl --preset tiny|small|base [--mixer attention|lstm] [--threads 2] [--updates 20]
                         [--onednn | --compile] [--autocast]

Under torchrun several processes share each batch (DistributedDataParallel over gloo); tokens/s are those of all.
"""

import argparse
import json
import math
import os
import statistics
import time
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import nn

BOS, EOS, PAD = 1, 2, -1
RANK, PROCESSES = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))  # under torchrun
WARMUP_UPDATES = 3


@dataclass
class Sizes:
    layers: int  # of the encoder, and of the decoder
    d_model: int
    d_ff: int
    heads: int
    vocabulary: int = 8000
    dropout: float = 0.1
    mixer: str = "attention"


PRESETS = {
    "tiny": Sizes(layers=4, d_model=128, d_ff=256, heads=4),
    "small": Sizes(layers=3, d_model=256, d_ff=1024, heads=4),
    "base": Sizes(layers=6, d_model=512, d_ff=2048, heads=8),
}


def onednn_product(x, weight, bias=None):
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class OneDnnLinear(torch.autograd.Function):
    """F.linear by oneDNN. PyTorch takes MKL for fp32, which keeps to AVX2 on processors not Intel's."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return onednn_product(x, weight, bias)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return onednn_product(grad, weight.T), onednn_product(grad.T, x.T), grad.sum(0)


class OneDnnLoss(torch.autograd.Function):
    """smoothed_loss by oneDNN: logits and gradients of a few rows at a time, all of it in the forward pass."""

    @staticmethod
    def forward(ctx, states, weight, targets, smoothing, chunk=512):
        grad_states, grad_weight, loss = torch.empty_like(states), torch.zeros_like(weight), 0.0
        for x, y, grad_x in zip(states.split(chunk), targets[:, None].split(chunk), grad_states.split(chunk)):
            logits = onednn_product(x, weight)
            normalizer = logits.logsumexp(1, keepdim=True)
            expected = (1 - smoothing) * logits.gather(1, y) + smoothing * logits.mean(1, keepdim=True)
            loss += (normalizer - expected).sum() / len(targets)
            grad = logits.sub_(normalizer).exp_().sub_(smoothing / len(weight))
            grad.scatter_add_(1, y, grad.new_full(y.shape, smoothing - 1)).div_(len(targets))
            grad_x.copy_(onednn_product(grad, weight.T))
            grad_weight += onednn_product(grad.T, x.T)
        ctx.save_for_backward(grad_states, grad_weight)
        return loss

    @staticmethod
    def backward(ctx, grad):
        grad_states, grad_weight = ctx.saved_tensors
        return grad_states.mul_(grad), grad_weight.mul_(grad), None, None


class Linear(nn.Linear):
    by_onednn = False

    def forward(self, x):
        if not self.by_onednn:
            return F.linear(x, self.weight, self.bias)
        y = OneDnnLinear.apply(x.flatten(0, 1), self.weight, self.bias)
        return y.unflatten(0, x.shape[:2])


class Attention(nn.Module):
    def __init__(self, sizes, of_self):
        super().__init__()
        self.heads = sizes.heads
        self.scale = (sizes.d_model // sizes.heads) ** -0.5
        projections = [3] if of_self else [1, 2]
        self.in_proj = nn.ModuleList(Linear(sizes.d_model, n * sizes.d_model) for n in projections)
        self.out_proj = Linear(sizes.d_model, sizes.d_model)

    def forward(self, x, memory, bias):
        """`bias` is added to the scores: -inf where a query may not look. None where it may look anywhere."""
        projected = [project(y) for project, y in zip(self.in_proj, (x, memory))]
        packed = [y.chunk(y.shape[-1] // x.shape[-1], dim=-1) for y in projected]
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for chunks in packed for y in chunks)
        scores = (q * self.scale) @ k.transpose(-1, -2)  # [pairs, heads, target, source]
        if bias is not None:
            scores = scores + bias
        return self.out_proj((scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))


class Lstm(nn.Module):
    """PyTorch's LSTM instead of self-attention: in the encoder in both directions, each half as wide."""

    padded = False  # an option: let it run over the padding, which is faster, though not the same at the ends

    def __init__(self, sizes, cross):
        super().__init__()
        width = sizes.d_model if cross else sizes.d_model // 2
        self.lstm = nn.LSTM(sizes.d_model, width, batch_first=True, bidirectional=not cross)

    def forward(self, x, lengths):
        if self.padded or not self.lstm.bidirectional:
            return self.lstm(x)[0]
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]


class Layer(nn.Module):
    """A layer of the encoder, or with `cross` of the decoder: post-norm, dropout on each sub-layer's output."""

    def __init__(self, sizes, cross):
        super().__init__()
        self.lstm = Lstm(sizes, cross) if sizes.mixer == "lstm" else None
        self.self_attention = None if self.lstm else Attention(sizes, of_self=True)
        self.self_norm = nn.LayerNorm(sizes.d_model)
        if cross:
            self.cross_attention = Attention(sizes, of_self=False)
            self.cross_norm = nn.LayerNorm(sizes.d_model)
        self.fc1 = Linear(sizes.d_model, sizes.d_ff)
        self.fc2 = Linear(sizes.d_ff, sizes.d_model)
        self.feed_forward_norm = nn.LayerNorm(sizes.d_model)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x, self_bias, lengths, memory=None, memory_bias=None):
        mixed = self.lstm(x, lengths) if self.lstm else self.self_attention(x, x, self_bias)
        x = self.self_norm(x + self.dropout(mixed))
        if memory is not None:
            x = self.cross_norm(x + self.dropout(self.cross_attention(x, memory, memory_bias)))
        return self.feed_forward_norm(x + self.dropout(self.fc2(F.relu(self.fc1(x)))))


class Transformer(nn.Module):
    """Embeddings tied three ways."""

    def __init__(self, sizes):
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.d_model)
        self.encoder = nn.ModuleList(Layer(sizes, cross=False) for _ in range(sizes.layers))
        self.decoder = nn.ModuleList(Layer(sizes, cross=True) for _ in range(sizes.layers))
        self.dropout = nn.Dropout(sizes.dropout)
        self.register_buffer("positions", positions(1024, sizes.d_model))
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        nn.init.normal_(self.embedding.weight, std=sizes.d_model**-0.5)

    def embed(self, ids):
        d_model = self.embedding.embedding_dim
        return self.dropout(self.embedding(ids) * math.sqrt(d_model) + self.positions[: ids.shape[1]])

    def forward(self, source, target_input, source_bias, causal_bias, lengths):
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory, source_bias, lengths)
        x = self.embed(target_input)
        for layer in self.decoder:
            x = layer(x, causal_bias, None, memory, source_bias)
        return x


def positions(length, d_model):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


@dataclass
class Batch:
    source: torch.Tensor  # [pairs, longest source]
    target_input: torch.Tensor  # [pairs, longest target]
    target_output: torch.Tensor
    source_bias: torch.Tensor | None  # -inf at padding; None where there is none
    causal_bias: torch.Tensor  # -inf above the diagonal
    lengths: torch.Tensor  # of the source sentences
    real_target: torch.Tensor  # which of the padded target tokens are real
    tokens: int  # real ones of both sides


def padded(sequences):
    return nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in sequences], True, PAD)


def read_batch(line):
    pairs = {side: sequences[RANK::PROCESSES] for side, sequences in json.loads(line).items()}
    source = padded(pairs["source"])
    target_input = padded([[BOS, *ids] for ids in pairs["target"]])
    target_output = padded([[*ids, EOS] for ids in pairs["target"]])
    real_source, real_target = source != PAD, target_output != PAD
    source_bias = torch.zeros(source.shape).masked_fill(~real_source, -math.inf)[:, None, None, :]
    return Batch(
        source.clamp_(min=0),
        target_input.clamp_(min=0),
        target_output,
        source_bias=None if real_source.all() else source_bias,
        causal_bias=torch.full((target_input.shape[1],) * 2, -math.inf).triu(1),
        lengths=real_source.sum(1),
        real_target=real_target.flatten().nonzero()[:, 0],
        tokens=int(real_source.sum() + real_target.sum()),
    )


def smoothed_loss(states, weight, targets, smoothing=0.1):
    """linear_cross_entropy in chunks takes no smoothing; that is a term linear in the logits, added here."""
    loss = F.linear_cross_entropy(states, weight, targets, options=nn.LinearCrossEntropyOptions())
    return loss + smoothing * (states * (F.embedding(targets, weight) - weight.mean(0))).sum(1).mean()


def embedding(model):
    return model.module.embedding if PROCESSES > 1 else model.embedding


def update(model, optimizer, batch, options):
    with torch.autocast("cpu", torch.bfloat16, enabled=options.autocast):
        states = model(batch.source, batch.target_input, batch.source_bias, batch.causal_bias, batch.lengths)
        states = states.flatten(0, 1)
        states, targets = states[batch.real_target], batch.target_output.flatten()[batch.real_target]
        if options.onednn:
            loss = OneDnnLoss.apply(states, embedding(model).weight, targets, 0.1)
        else:
            loss = smoothed_loss(states, embedding(model).weight, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def memory_mb(kind):
    """VmRSS: what is resident now. VmHWM: the most that ever was."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(kind))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batches")
    parser.add_argument("--preset", choices=PRESETS, default="small")
    parser.add_argument("--mixer", choices=("attention", "lstm"), default="attention")
    parser.add_argument("--padded", action="store_true", help="let LSTMs of the encoder run over the padding")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=20)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--onednn", action="store_true", help="products by oneDNN instead of MKL (a private op)")
    how.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--autocast", action="store_true", help="matrix products in bf16")
    options = parser.parse_args()

    Linear.by_onednn = options.onednn
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    with open(options.batches) as lines:
        batches = [read_batch(line) for line in lines]
    baseline_mb = memory_mb("VmRSS")
    Lstm.padded = options.padded
    model = Transformer(replace(PRESETS[options.preset], mixer=options.mixer))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    if PROCESSES > 1:  # under torchrun: each process has every n-th pair of a batch
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    if options.compile:
        model.compile(dynamic=True)

    seconds, tokens = [], []
    for i in range(WARMUP_UPDATES + options.updates):
        batch = batches[i % len(batches)]
        start = time.perf_counter()
        loss = update(model, optimizer, batch, options)
        seconds.append(time.perf_counter() - start)
        tokens.append(batch.tokens * PROCESSES)
    seconds, tokens = seconds[WARMUP_UPDATES:], tokens[WARMUP_UPDATES:]
    result = {
        "preset": options.preset,
        "mixer": options.mixer,
        "tokens_per_second": round(statistics.median(t / s for t, s in zip(tokens, seconds)), 1),
        "mean_tokens_per_second": round(sum(tokens) / sum(seconds), 1),
        "peak_mb": round(memory_mb("VmHWM"), 1),
        "baseline_mb": round(baseline_mb, 1),
        "loss": round(loss, 4),
        "version": f"PyTorch {torch.__version__}",
    }
    if RANK == 0:
        print(json.dumps(result))
    if PROCESSES > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
