#!/usr/bin/env python3
"""Writes classifier.safetensors: a classifier by PyTorch's own TransformerEncoder, in fp64.

The file holds three sentences, packed (`source`, `offsets`), their labels and the weights of their losses, the
weights of the model under our names, and for each way of pooling the logits, the weighted loss and its gradients
(`first/logits`, `first/loss`, `first/grad/<name>`). `sizes` are d_model, heads, d_ff, layers, vocabulary, classes.

    python make_classifier_golden.py     # PyTorch and safetensors must be installed
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

D_MODEL, HEADS, D_FF, LAYERS, VOCABULARY, CLASSES = 12, 3, 20, 2, 17, 4
LENGTHS = [5, 2, 7]


def positions(length):
    """Section 3.5: sines and cosines interleaved."""
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, D_MODEL, 2, dtype=torch.float64) / D_MODEL)
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(length, D_MODEL)


def random_encoder():
    """PyTorch's encoder with random weights."""
    layer = torch.nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, dropout=0.0, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return encoder


def our_names(encoder):
    """PyTorch's parameters under our names. Its queries, keys and values are one matrix."""
    names = {}
    for name, tensor in encoder.named_parameters():
        name = "encoder." + name
        name = name.replace("linear1", "fc1").replace("linear2", "fc2")
        name = name.replace("norm1", "self_attn_layer_norm").replace("norm2", "final_layer_norm")
        if "in_proj_" not in name:
            names[name] = tensor
            continue
        for part, rows in zip("qkv", tensor.chunk(3)):
            names[name.replace("in_proj_", f"{part}_proj.")] = rows
    return names


def pooled(kind, states, query):
    if kind == "first":
        return states[0]
    if kind == "mean":
        return states.mean(0)
    return (states @ query / math.sqrt(D_MODEL)).softmax(0) @ states


if __name__ == "__main__":
    torch.manual_seed(20170612)
    torch.set_default_dtype(torch.float64)
    encoder = random_encoder()
    embedding = torch.randn(VOCABULARY, D_MODEL, requires_grad=True)
    weight = torch.randn(CLASSES, D_MODEL, requires_grad=True)
    bias, query = torch.randn(CLASSES, requires_grad=True), torch.randn(D_MODEL, requires_grad=True)
    sentences = [torch.randint(VOCABULARY, (length,)) for length in LENGTHS]
    labels, row_weights = torch.tensor([3, 0, 1]), torch.tensor([0.5, 2.0, 1.25])

    goldens = {
        "sizes": torch.tensor([D_MODEL, HEADS, D_FF, LAYERS, VOCABULARY, CLASSES], dtype=torch.int32),
        "source": torch.cat(sentences).int(),
        "offsets": torch.tensor([0, *LENGTHS]).cumsum(0).int(),
        "labels": labels.int(),
        "label_weights": row_weights,
    }
    own = {"shared.weight": embedding, "classifier.weight": weight, "classifier.bias": bias, "pooling.query": query}
    goldens.update({name: tensor for name, tensor in {**our_names(encoder), **own}.items()})
    for kind in ("first", "mean", "attention"):
        for tensor in (*encoder.parameters(), *own.values()):
            tensor.grad = None
        states = [encoder((math.sqrt(D_MODEL) * embedding[ids] + positions(len(ids)))[None])[0] for ids in sentences]
        logits = torch.stack([pooled(kind, one, query) for one in states]) @ weight.T + bias
        loss = (row_weights * F.cross_entropy(logits, labels, reduction="none")).sum()
        loss.backward()
        goldens[f"{kind}/logits"], goldens[f"{kind}/loss"] = logits, loss.reshape(1)
        for name, tensor in own.items():
            if tensor.grad is not None:
                goldens[f"{kind}/grad/{name}"] = tensor.grad
    goldens = {name: tensor.detach().contiguous().clone() for name, tensor in goldens.items()}
    save_file(goldens, Path(__file__).with_name("classifier.safetensors"))
