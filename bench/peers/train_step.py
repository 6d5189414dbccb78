#!/usr/bin/env python3
"""The training step of the paper's model as a careful user of PyTorch would write it, timed on a CPU.

Reads batches made by make_batches.py, pads each side to its longest sentence, and runs forward, backward and Adam.
What was measured to be fastest in PyTorch is used: one product for the queries, keys and values of self attention,
scaled_dot_product_attention (its masks only where a batch has padding), the output projection and its loss as one
op over real tokens only, fused Adam, denormals flushed. Prints one line of JSON.

    python train_step.py BATCHES.jsonl --preset tiny|small|base [--threads 2] [--updates 20] [--compile] [--autocast]
"""

import argparse
import json
import math
import statistics
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

BOS, EOS, PAD, NO_LOSS = 1, 2, 0, -100
WARMUP_UPDATES = 3


@dataclass
class Sizes:
    layers: int  # of the encoder, and of the decoder
    d_model: int
    d_ff: int
    heads: int
    vocabulary: int = 8000
    dropout: float = 0.1


PRESETS = {
    "tiny": Sizes(layers=4, d_model=128, d_ff=256, heads=4),
    "small": Sizes(layers=3, d_model=256, d_ff=1024, heads=4),
    "base": Sizes(layers=6, d_model=512, d_ff=2048, heads=8),
}


class Attention(nn.Module):
    def __init__(self, sizes, of_self):
        super().__init__()
        self.heads = sizes.heads
        self.of_self = of_self
        self.qkv_proj = nn.Linear(sizes.d_model, 3 * sizes.d_model)
        self.out_proj = nn.Linear(sizes.d_model, sizes.d_model)

    def project(self, x, begin, end):
        """Queries (0), keys (1) and values (2) from `begin` to `end` by one product, each [batch, heads, length, d_k]."""
        d_model = x.shape[-1]
        rows = slice(begin * d_model, end * d_model)
        y = F.linear(x, self.qkv_proj.weight[rows], self.qkv_proj.bias[rows])
        return y.view(*x.shape[:2], end - begin, self.heads, -1).permute(2, 0, 3, 1, 4)

    def forward(self, x, memory=None, mask=None, causal=False):
        if self.of_self:
            q, k, v = self.project(x, 0, 3)
        else:
            (q,), (k, v) = self.project(x, 0, 1), self.project(memory, 1, 3)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.out_proj(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A layer of the encoder, or with `cross` of the decoder: post-norm, dropout on each sub-layer's output."""

    def __init__(self, sizes, cross):
        super().__init__()
        self.self_attention = Attention(sizes, of_self=True)
        self.self_norm = nn.LayerNorm(sizes.d_model)
        if cross:
            self.cross_attention = Attention(sizes, of_self=False)
            self.cross_norm = nn.LayerNorm(sizes.d_model)
        self.fc1 = nn.Linear(sizes.d_model, sizes.d_ff)
        self.fc2 = nn.Linear(sizes.d_ff, sizes.d_model)
        self.feed_forward_norm = nn.LayerNorm(sizes.d_model)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x, memory=None, mask=None):
        causal = memory is not None
        y = self.self_attention(x, mask=None if causal else mask, causal=causal)
        x = self.self_norm(x + self.dropout(y))
        if memory is not None:
            x = self.cross_norm(x + self.dropout(self.cross_attention(x, memory, mask)))
        return self.feed_forward_norm(x + self.dropout(self.fc2(F.relu(self.fc1(x), inplace=True))))


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

    def forward(self, source, target_input, mask):
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory, mask=mask)
        x = self.embed(target_input)
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return x


def positions(length, d_model):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


@dataclass
class Batch:
    source: torch.Tensor  # [pairs, longest source]
    target_input: torch.Tensor  # [pairs, longest target]
    target_output: torch.Tensor
    mask: torch.Tensor | None  # where the source is real; None where all of it is
    real_target: torch.Tensor  # which of the padded target tokens are real
    tokens: int  # real ones of both sides


def padded(sequences, filler):
    return nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in sequences], True, filler)


def read_batch(line):
    pairs = json.loads(line)
    source = padded(pairs["source"], PAD)
    target_input = padded([[BOS, *ids] for ids in pairs["target"]], PAD)
    target_output = padded([[*ids, EOS] for ids in pairs["target"]], NO_LOSS)
    real_source, real_target = source != PAD, target_output != NO_LOSS
    mask = None if real_source.all() else real_source[:, None, None, :]
    tokens = int(real_source.sum() + real_target.sum())
    return Batch(source, target_input, target_output, mask, real_target.flatten().nonzero()[:, 0], tokens)


def smoothed_loss(states, weight, targets, smoothing=0.1):
    import os
    k=os.environ.get('LOSS','ref')
    if k=='ref':
        return F.cross_entropy(F.linear(states, weight), targets, label_smoothing=smoothing)
    c=dict(max_memory_gb=float(k)) if 0 else {}
    loss = F.linear_cross_entropy(states, weight, targets, options=nn.LinearCrossEntropyOptions(**c))
    towards = (states * (F.embedding(targets, weight) - weight.mean(dim=0))).sum(dim=1).mean()
    return loss + smoothing * towards


def update(model, optimizer, batch, autocast):
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        states = model(batch.source, batch.target_input, batch.mask).flatten(0, 1)
        states, targets = states[batch.real_target], batch.target_output.flatten()[batch.real_target]
        loss = smoothed_loss(states, model.embedding.weight, targets)
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
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--autocast", action="store_true", help="matrix products in bf16")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    with open(options.batches) as lines:
        batches = [read_batch(line) for line in lines]
    baseline_mb = memory_mb("VmRSS")
    model = Transformer(PRESETS[options.preset])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    if options.compile:
        model.compile(dynamic=True)

    seconds, tokens = [], []
    for i in range(WARMUP_UPDATES + options.updates):
        batch = batches[i % len(batches)]
        start = time.perf_counter()
        loss = update(model, optimizer, batch, options.autocast)
        seconds.append(time.perf_counter() - start)
        tokens.append(batch.tokens)
    seconds, tokens = seconds[WARMUP_UPDATES:], tokens[WARMUP_UPDATES:]
    result = {
        "preset": options.preset,
        "tokens_per_second": round(statistics.median(t / s for t, s in zip(tokens, seconds)), 1),
        "mean_tokens_per_second": round(sum(tokens) / sum(seconds), 1),
        "peak_mb": round(memory_mb("VmHWM"), 1),
        "baseline_mb": round(baseline_mb, 1),
        "loss": round(loss, 4),
        "version": f"PyTorch {torch.__version__}",
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
