#!/usr/bin/env python3
"""Writes span.safetensors: a model that answers questions by PyTorch's own TransformerEncoder, in fp64.

The file holds three sequences, packed (`source`, `offsets`), the rows of each among which its answer lies
(`choices`: begin and end in the packed rows), where it starts and ends there (`labels`), the weights of the model
under our names, the logits of all rows, the loss with label smoothing 0.1 and its gradients (`grad/<name>`).
`sizes` are d_model, heads, d_ff, layers, vocabulary.

    python make_span_golden.py     # PyTorch and safetensors must be installed
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from make_classifier_golden import D_FF, D_MODEL, HEADS, LAYERS, VOCABULARY, our_names, positions, random_encoder
from safetensors.torch import save_file

LENGTHS = [6, 3, 9]
CHOICES = [(2, 5), (1, 2), (4, 8)]  # rows of each sequence
LABELS = [(0, 2), (0, 0), (1, 3)]  # of the start and of the end, counted from the first of them

if __name__ == "__main__":
    torch.manual_seed(20190611)
    torch.set_default_dtype(torch.float64)
    encoder = random_encoder()
    embedding = torch.randn(VOCABULARY, D_MODEL, requires_grad=True)
    weight = torch.randn(2, D_MODEL, requires_grad=True)
    sequences = [torch.randint(VOCABULARY, (length,)) for length in LENGTHS]

    states = [encoder((math.sqrt(D_MODEL) * embedding[ids] + positions(len(ids)))[None])[0] for ids in sequences]
    scores = [one @ weight.T for one in states]
    loss = sum(
        F.cross_entropy(one[begin:end].T, torch.tensor(labels), label_smoothing=0.1, reduction="sum")
        for one, (begin, end), labels in zip(scores, CHOICES, LABELS)
    )
    loss.backward()

    offsets = torch.tensor([0, *LENGTHS]).cumsum(0)
    own = {**our_names(encoder), "shared.weight": embedding, "qa_outputs.weight": weight}
    goldens = {
        "sizes": torch.tensor([D_MODEL, HEADS, D_FF, LAYERS, VOCABULARY], dtype=torch.int32),
        "source": torch.cat(sequences).int(),
        "offsets": offsets.int(),
        "choices": (torch.tensor(CHOICES) + offsets[:-1, None]).int(),
        "labels": torch.tensor(LABELS).flatten().int(),
        "logits": torch.cat(scores),
        "loss": loss.reshape(1),
        "grad/shared.weight": embedding.grad,
        "grad/qa_outputs.weight": weight.grad,
    }
    goldens.update(own)
    goldens = {name: tensor.detach().contiguous().clone() for name, tensor in goldens.items()}
    save_file(goldens, Path(__file__).with_name("span.safetensors"))
