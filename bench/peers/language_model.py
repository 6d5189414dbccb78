#!/usr/bin/env python3
"""Trains a small GPT on the characters of a text, as a careful user of PyTorch would write it, timed on a CPU.

The model is nanoGPT's: learned positions, pre-norm, GELU, no biases, tied embeddings, one product for queries, keys and values,
scaled_dot_product_attention, fused AdamW, a cosine schedule. Blocks begin at random places of the text. Prints one line of JSON:
the median tokens/s (without the first updates), seconds in all, the validation loss of random blocks, and memory.

    python language_model.py TRAIN.txt VALID.txt [--layers 4] [--heads 4] [--width 128] [--block 64] [--batch 12]
                             [--micro-batches 1] [--updates 2000] [--dropout 0] [--threads 2] [--compile] [--autocast]
"""

import argparse
import json
import math
import resource
import statistics
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

UNTIMED_UPDATES = 5


class Block(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.heads, self.dropout = a.heads, a.dropout
        self.norm1, self.norm2 = nn.LayerNorm(a.width, bias=False), nn.LayerNorm(a.width, bias=False)
        self.qkv = nn.Linear(a.width, 3 * a.width, bias=False)
        self.out = nn.Linear(a.width, a.width, bias=False)
        self.fc1 = nn.Linear(a.width, 4 * a.width, bias=False)
        self.fc2 = nn.Linear(4 * a.width, a.width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (y.view(batch, length, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, -1))
        drop = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=drop, is_causal=True)
        x = x + F.dropout(self.out(y.transpose(1, 2).reshape(batch, length, width)), self.dropout, self.training)
        return x + F.dropout(self.fc2(F.gelu(self.fc1(self.norm2(x)))), self.dropout, self.training)


class Gpt(nn.Module):
    def __init__(self, a, vocabulary):
        super().__init__()
        self.dropout = a.dropout
        self.tokens, self.places = nn.Embedding(vocabulary, a.width), nn.Embedding(a.block, a.width)
        self.blocks = nn.ModuleList(Block(a) for _ in range(a.layers))
        self.norm = nn.LayerNorm(a.width, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                last = name.endswith(("out.weight", "fc2.weight"))
                nn.init.normal_(weight, 0, 0.02 / math.sqrt(2 * a.layers) if last else 0.02)

    def forward(self, ids, labels):
        x = self.tokens(ids) + self.places.weight[: ids.shape[1]]
        x = F.dropout(x, self.dropout, self.training)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(F.linear(self.norm(x), self.tokens.weight).flatten(0, 1), labels.flatten())


def blocks_of(ids, a, generator):
    begins = torch.randint(len(ids) - a.block, (a.batch,), generator=generator)
    pairs = torch.stack([ids[i : i + a.block + 1] for i in begins])
    return pairs[:, :-1], pairs[:, 1:]


def rate(update, a):
    warmup, peak, least = 100, 1e-3, 1e-4
    if update < warmup:
        return peak * (update + 1) / (warmup + 1)
    done = (update - warmup) / max(1, a.updates - warmup)
    return least + 0.5 * (1 + math.cos(math.pi * done)) * (peak - least)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("train", type=Path)
    parser.add_argument("valid", type=Path)
    for name, value in dict(layers=4, heads=4, width=128, block=64, batch=12, updates=2000, threads=2, micro_batches=1).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--autocast", action="store_true")
    a = parser.parse_args()

    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    text, valid = a.train.read_text(), a.valid.read_text()
    number = {c: i for i, c in enumerate(sorted(set(text + valid)))}
    ids, valid_ids = (torch.tensor([number[c] for c in t]) for t in (text, valid))
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    model = Gpt(a, len(number))
    decayed = [w for w in model.parameters() if w.dim() == 2]
    others = [w for w in model.parameters() if w.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)
    step = torch.compile(model) if a.compile else model
    cast = torch.autocast("cpu", dtype=torch.bfloat16) if a.autocast else nullcontext()
    generator = torch.Generator().manual_seed(1)
    speeds, begun = [], time.perf_counter()
    for update in range(a.updates):
        start = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate(update, a)
        for part in zip(*(x.chunk(a.micro_batches) for x in blocks_of(ids, a, generator))):
            with cast:
                loss = step(*part) / a.micro_batches
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        speeds.append(a.batch * a.block / (time.perf_counter() - start))
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    model.eval()
    with torch.no_grad():
        losses = [model(*blocks_of(valid_ids, a, generator)).item() for _ in range(200)]
    print(json.dumps({"tokens_per_second": statistics.median(speeds[UNTIMED_UPDATES:]), "seconds": seconds,
                      "valid_loss": statistics.mean(losses), "peak_mb": peak, "baseline_mb": baseline}))


main()
