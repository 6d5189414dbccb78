#!/usr/bin/env python3
"""Writes ops.safetensors: what PyTorch computes, in fp64, for each of our ops.

For a case `linear` the file holds its inputs (`linear/x`, `linear/weight`, ...), its result (`linear/output`),
an upstream gradient (`linear/grad_output`) and the gradients that follow from it (`linear/grad_x`, ...).
Batches are packed: a row is a token, and sequence i owns the rows [offsets[i], offsets[i + 1]). Numbers that a
case depends on (heads, smoothing, ...) are tensors of one element.

    python make_op_goldens.py          # PyTorch and safetensors must be installed
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from op_golden_tools import attention_weights, case, goldens, heads_of, ids, normal, number, offsets_of, sequences
from op_golden_variants import (
    attention_variant_cases,
    batch_norm_cases,
    biased_attention_cases,
    convolution_cases,
    feed_forward_cases,
    gate_cases,
    gather_rows_case,
    later_cases,
    linear_recurrence_cases,
    pooling_cases,
    position_feature_cases,
    recurrent_cases,
    rms_norm_cases,
    rotate_case,
    span_loss_cases,
    weighted_cross_entropy_case,
)
from safetensors.torch import save_file


def positions(length, d_model):
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same."""
    angles = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (
        torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    )
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def attention(q, k, v, q_offsets, k_offsets, heads, causal):
    packed = []
    for one_q, one_k, one_v in zip(sequences(q, q_offsets), sequences(k, k_offsets), sequences(v, k_offsets)):
        of_heads = zip(*(heads_of(x, heads) for x in (one_q, one_k, one_v)))
        packed.append(torch.cat([attention_weights(a, b, causal) @ c for a, b, c in of_heads], dim=1))
    return torch.cat(packed)


def linear_cases():
    for name, (tokens, inputs, outputs) in {"": (7, 5, 3), "_large": (37, 70, 53)}.items():
        operands = {"x": normal(tokens, inputs), "weight": normal(outputs, inputs), "bias": normal(outputs)}
        case(f"linear{name}", F.linear, operands)
    operands = {"x": normal(7, 5), "weight": normal(6, 5), "bias": normal(6)}
    case("linear_relu", lambda x, w, b: F.linear(x, w, b).relu(), operands)


def embedding_cases():
    offsets = offsets_of(3, 1, 4)
    table = normal(11, 6)
    tokens = ids(8, 11)
    tokens[5] = tokens[0]  # its gradient is a sum

    def embed(table):
        embedded = table[tokens] * math.sqrt(table.shape[1])
        return torch.cat([x + positions(*x.shape) for x in sequences(embedded, offsets)])

    case("embed", embed, {"table": table}, ids=tokens, offsets=offsets)
    goldens["positions/output"] = positions(50, 16)


def norm_cases():
    def norm(x, weight, bias):
        return F.layer_norm(x, weight.shape, weight, bias, eps=1e-5)

    for name, (tokens, features) in {"": (7, 5), "_large": (9, 70)}.items():
        parameters = {"weight": 1 + 0.3 * normal(features), "bias": normal(features)}
        x, y = normal(tokens, features) * 3 + 1, normal(tokens, features)
        case(f"layer_norm{name}", norm, {"x": x, **parameters})
        case(f"residual_norm{name}", lambda x, y, w, b: norm(x + y, w, b), {"x": x, "y": y, **parameters})


def attention_case(name, lengths, heads, d_k, d_v, causal=False):
    """`lengths`: of the sequences of the queries and of the keys."""
    q_offsets, k_offsets = (offsets_of(*side) for side in lengths)
    q = normal(q_offsets[-1], heads * d_k)
    k = normal(k_offsets[-1], heads * d_k)
    v = normal(k_offsets[-1], heads * d_v)
    case(
        name,
        lambda q, k, v: attention(q, k, v, q_offsets, k_offsets, heads, causal),
        {"q": q, "k": k, "v": v},
        q_offsets=q_offsets,
        k_offsets=k_offsets,
        heads=number(heads),
        causal=number(int(causal)),
    )
    return q, k, q_offsets, k_offsets


def attention_cases():
    same = ((3, 1, 4), (3, 1, 4))
    attention_case("attention_causal", same, heads=2, d_k=3, d_v=3, causal=True)
    attention_case("attention_full", same, heads=3, d_k=4, d_v=4)
    attention_case("attention_large", ((5, 19, 10), (23, 3, 17)), heads=2, d_k=6, d_v=6)
    q, k, q_offsets, k_offsets = attention_case(
        "attention_cross", ((3, 1, 4), (2, 5, 1)), heads=2, d_k=4, d_v=3
    )
    for i, (one_q, one_k) in enumerate(zip(sequences(q, q_offsets), sequences(k, k_offsets))):
        of_heads = zip(heads_of(one_q, 2), heads_of(one_k, 2))
        weights = torch.stack([attention_weights(a, b, False) for a, b in of_heads])
        goldens[f"attention_cross/weights.{i}"] = weights  # [heads, target, source]


def cross_entropy_case(name, tokens, d_model, vocabulary, smoothing):
    x, weight, targets = normal(tokens, d_model), normal(vocabulary, d_model), ids(tokens, vocabulary)

    def loss(x, weight, reduction="sum", smoothing=smoothing):
        logits = x @ weight.T
        return F.cross_entropy(logits, targets.long(), reduction=reduction, label_smoothing=smoothing)

    log_probabilities = -loss(x, weight, reduction="none", smoothing=0.0)
    constants = {"targets": targets, "smoothing": number(smoothing), "log_probabilities": log_probabilities}
    case(name, loss, {"x": x, "weight": weight}, **constants)


def cross_entropy_cases():
    cross_entropy_case("cross_entropy", 7, 5, 13, smoothing=0.1)
    cross_entropy_case("cross_entropy_plain", 7, 5, 13, smoothing=0.0)
    cross_entropy_case("cross_entropy_large", 19, 17, 71, smoothing=0.1)


def adam_cases():
    betas, epsilon = (0.9, 0.98), 1e-9
    gradients, rates = normal(3, 7), torch.tensor([0.03, 0.01, 0.002], dtype=torch.float64)
    gradients[:, 2] = 0  # an embedding that no batch has used
    initial = normal(7)
    for name, kind, decay in ("adam", torch.optim.Adam, 0.0), ("adamw", torch.optim.AdamW, 0.01):
        parameter = initial.clone().requires_grad_()
        optimizer = kind([parameter], betas=betas, eps=epsilon, weight_decay=decay)
        after = []
        for gradient, rate in zip(gradients, rates.tolist()):
            optimizer.param_groups[0]["lr"] = rate
            parameter.grad = gradient.clone()
            optimizer.step()
            after.append(parameter.detach().clone())
        record = {
            "parameter": initial,
            "gradients": gradients,
            "learning_rates": rates,
            "after": torch.stack(after),
        }
        record |= {"beta1": number(betas[0]), "beta2": number(betas[1])}
        record |= {"epsilon": number(epsilon), "weight_decay": number(decay)}
        goldens.update({f"{name}/{key}": tensor.clone() for key, tensor in record.items()})


def worked_example():
    """The one that teaching texts use: a query picks the values of the keys that it points at."""
    queries, keys, values = (
        torch.tensor(rows, dtype=torch.float64)
        for rows in (
            [[0, 10, 0], [0, 0, 10], [10, 10, 0]],
            [[10, 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 10]],
            [[1, 0, 1], [10, 0, 2], [100, 5, 0], [1000, 6, 0]],
        )
    )
    output = attention_weights(queries, keys, causal=False) @ values
    printed = torch.tensor([[10, 0, 2], [550, 5.5, 0], [5.5, 0, 1.5]], dtype=torch.float64)
    assert torch.allclose(output, printed, atol=1e-9)
    for key, tensor in {"q": queries, "k": keys, "v": values, "output": output}.items():
        goldens[f"worked_example/{key}"] = tensor


if __name__ == "__main__":
    linear_cases()
    embedding_cases()
    norm_cases()
    attention_cases()
    cross_entropy_cases()
    adam_cases()
    worked_example()
    rms_norm_cases()
    rotate_case()
    feed_forward_cases()
    biased_attention_cases()
    position_feature_cases()
    gate_cases()
    convolution_cases()
    linear_recurrence_cases()
    batch_norm_cases()
    attention_variant_cases()
    recurrent_cases()
    gather_rows_case()
    pooling_cases()
    weighted_cross_entropy_case()
    span_loss_cases()
    later_cases()
    save_file(goldens, Path(__file__).with_name("ops.safetensors"))
