#!/usr/bin/env python3
"""Writes masked.safetensors: a masked language model by PyTorch's own TransformerEncoder, in fp64.

The file holds three blocks, packed (`source`, `offsets`), the tokens that are to be predicted (`labels`) and their rows (`label_rows`), the weights of
the model under our names, the logits of these rows by the embedding, which projects the output too, their loss, and the gradients (`grad/<name>`).
`sizes` are as in make_classifier_golden.py.

    python make_masked_golden.py     # PyTorch and safetensors must be installed
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from make_classifier_golden import D_FF, D_MODEL, HEADS, LAYERS, LENGTHS, VOCABULARY, our_names, positions, random_encoder
from safetensors.torch import save_file

ROWS = [[1, 3], [0], [2, 5, 6]]  # of each block

if __name__ == "__main__":
    torch.manual_seed(20181011)
    torch.set_default_dtype(torch.float64)
    encoder = random_encoder()
    embedding = torch.randn(VOCABULARY, D_MODEL, requires_grad=True)
    blocks = [torch.randint(VOCABULARY, (length,)) for length in LENGTHS]
    labels = torch.randint(VOCABULARY, (sum(map(len, ROWS)),))
    states = [encoder((math.sqrt(D_MODEL) * embedding[ids] + positions(len(ids)))[None])[0][rows] for ids, rows in zip(blocks, ROWS)]
    logits = torch.cat(states) @ embedding.T
    loss = F.cross_entropy(logits, labels, reduction="sum")
    loss.backward()

    offsets = torch.tensor([0, *LENGTHS]).cumsum(0)
    goldens = {
        "sizes": torch.tensor([D_MODEL, HEADS, D_FF, LAYERS, VOCABULARY], dtype=torch.int32),
        "source": torch.cat(blocks).int(),
        "offsets": offsets.int(),
        "labels": labels.int(),
        "label_rows": torch.tensor([int(begin) + row for begin, rows in zip(offsets, ROWS) for row in rows], dtype=torch.int32),
        "logits": logits,
        "loss": loss.reshape(1),
    }
    for name, tensor in {**our_names(encoder), "shared.weight": embedding}.items():
        goldens[name] = tensor
    gradients = {name: tensor.grad for name, tensor in encoder.named_parameters()}
    goldens["grad/shared.weight"] = embedding.grad
    goldens["grad/encoder.layers.0.fc1.weight"] = gradients["layers.0.linear1.weight"]
    goldens = {name: tensor.detach().contiguous().clone() for name, tensor in goldens.items()}
    save_file(goldens, Path(__file__).with_name("masked.safetensors"))
