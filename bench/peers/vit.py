#!/usr/bin/env python3
"""Trains a vision transformer on images in IDX files, as a careful user of PyTorch would write it, timed on a CPU.

The model is that of recipes/fashion-mnist.yaml: patches by one convolution, learned positions, pre-norm layers, GELU, the mean state
to the labels; scaled_dot_product_attention, one product for queries, keys and values, fused AdamW. The images are in memory as fp32
before the clock starts, each batch is flipped and shifted as a whole, which is the fastest way. Prints one line of JSON: the median images/s
(without the first updates) and memory; with --test also the accuracy on those images, in percent.

    python vit.py IMAGES LABELS [--test IMAGES LABELS] [--updates 60] [--batch 128] [--threads 2] [--compile] [--autocast]
"""

import argparse
import gzip
import json
import math
import resource
import statistics
import time
from contextlib import nullcontext

import numpy
import torch
import torch.nn.functional as F
from torch import nn

UNTIMED_UPDATES = 5


def idx(path):
    """The array of an IDX file of bytes."""
    data = gzip.open(path).read()
    sizes = numpy.frombuffer(data, ">i4", data[3], 4)
    return torch.from_numpy(numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(sizes).copy())


class Block(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.heads, self.dropout = a.heads, a.dropout
        self.norm1, self.norm2 = nn.LayerNorm(a.width), nn.LayerNorm(a.width)
        self.qkv, self.out = nn.Linear(a.width, 3 * a.width), nn.Linear(a.width, a.width)
        self.fc1, self.fc2 = nn.Linear(a.width, 4 * a.width), nn.Linear(4 * a.width, a.width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (y.view(batch, length, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + F.dropout(self.out(y.transpose(1, 2).reshape(batch, length, width)), self.dropout, self.training)
        y = self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))
        return x + F.dropout(y, self.dropout, self.training)


class Vit(nn.Module):
    def __init__(self, a, size):
        super().__init__()
        self.dropout = a.dropout
        self.patches = nn.Conv2d(1, a.width, a.patch, a.stride)
        self.places = nn.Parameter(torch.randn(((size - a.patch) // a.stride + 1) ** 2, a.width) * 0.02)
        self.blocks = nn.ModuleList(Block(a) for _ in range(a.layers))
        self.norm, self.head = nn.LayerNorm(a.width), nn.Linear(a.width, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2) + self.places
        x = F.dropout(x, self.dropout, self.training)
        for block in self.blocks:
            x = block(x)
        return self.head(F.dropout(self.norm(x).mean(1), self.dropout, self.training))


def augmented(images, most, generator):
    """Flips half of the images, and shifts them by up to `most` pixels in each direction."""
    flips = torch.rand(len(images), 1, 1, 1, generator=generator) < 0.5
    images = torch.where(flips, images.flip(3), images)
    size = images.shape[2]
    padded = F.pad(images, (most,) * 4, value=-1.0)
    y, x = torch.randint(2 * most + 1, (2, len(images)), generator=generator)
    rows, columns = y[:, None] + torch.arange(size), x[:, None] + torch.arange(size)
    return padded[torch.arange(len(images))[:, None, None], 0, rows[:, :, None], columns[:, None, :]][:, None]


def rate(update, a):
    if update < a.warmup:
        return 1e-3 * (update + 1) / a.warmup
    return 0.5e-3 * (1 + math.cos(math.pi * (update - a.warmup) / max(1, a.updates - a.warmup)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("images")
    parser.add_argument("labels")
    parser.add_argument("--test", nargs=2)
    options = dict(layers=6, heads=4, width=128, patch=8, stride=5, batch=128, shift=0, updates=60, warmup=400, threads=2)
    for name, value in options.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--autocast", action="store_true")
    a = parser.parse_args()

    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    images, labels = idx(a.images)[:, None].float() / 127.5 - 1, idx(a.labels).long()
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    model = Vit(a, images.shape[2])
    decayed = [w for w in model.parameters() if w.dim() >= 2]
    others = [w for w in model.parameters() if w.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)
    step = torch.compile(model) if a.compile else model
    generator = torch.Generator().manual_seed(1)
    speeds, order, begun = [], torch.empty(0, dtype=torch.long), time.perf_counter()
    for update in range(a.updates):
        start = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate(update, a)
        if len(order) < a.batch:
            order = torch.randperm(len(images), generator=generator)
        own, order = order[: a.batch], order[a.batch :]
        batch = augmented(images[own], a.shift, generator)
        with torch.autocast("cpu", dtype=torch.bfloat16) if a.autocast else nullcontext():
            loss = F.cross_entropy(step(batch), labels[own])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        speeds.append(a.batch / (time.perf_counter() - start))
    result = {"images_per_second": statistics.median(speeds[UNTIMED_UPDATES:]), "seconds": time.perf_counter() - begun,
              "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "baseline_mb": baseline}
    if a.test:
        model.eval()
        with torch.no_grad():
            found = torch.cat([model(x / 127.5 - 1).argmax(1) for x in idx(a.test[0])[:, None].float().split(1000)])
        result["accuracy"] = 100 * (found == idx(a.test[1])).float().mean().item()
    print(json.dumps(result))


main()
