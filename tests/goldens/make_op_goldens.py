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
from safetensors.torch import save_file

random = torch.Generator().manual_seed(20170612)
goldens = {}


def normal(*shape):
    return torch.randn(*shape, generator=random, dtype=torch.float64)


def ids(count, vocabulary):
    return torch.randint(vocabulary, (count,), generator=random, dtype=torch.int32)


def offsets_of(*lengths):
    return torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32)


def sequences(x, offsets):
    """The rows of each sequence of a packed batch."""
    return x.split(offsets.diff().tolist())


def number(value):
    dtype = torch.float64 if isinstance(value, float) else torch.int32
    return torch.tensor([value], dtype=dtype)


def case(name, function, inputs, **constants):
    """Records an op. `inputs` are differentiated and passed to `function` in order; the rest is only stored."""
    leaves = [x.clone().requires_grad_() for x in inputs.values()]
    output = function(*leaves)
    grad_output = normal(*output.shape) if output.dim() else torch.ones_like(output)
    gradients = torch.autograd.grad(output, leaves, grad_output)
    record = {**inputs, **constants, "output": output, "grad_output": grad_output}
    record.update({f"grad_{key}": grad for key, grad in zip(inputs, gradients)})
    for key, tensor in record.items():
        goldens[f"{name}/{key}"] = tensor.detach().reshape(tensor.shape or (1,)).contiguous().clone()


def positions(length, d_model):
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same."""
    angles = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (
        torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    )
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def attention_weights(q, k, causal):
    """Equation 1 for one head of one sequence: [target, source]."""
    scores = q @ k.T / math.sqrt(q.shape[1])
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape).triu(1).bool(), -math.inf)
    return scores.softmax(dim=-1)


def heads_of(x, heads):
    """Heads are contiguous blocks of columns."""
    return x.chunk(heads, dim=1)


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


def rms_norm_cases():
    for name, (tokens, features) in {"": (7, 5), "_large": (9, 70)}.items():
        x, weight = normal(tokens, features) * 3 + 1, 1 + 0.3 * normal(features)
        case(f"rms_norm{name}", lambda x, w: F.rms_norm(x, w.shape, w, eps=1e-5), {"x": x, "weight": weight})


def rotate_case():
    """Complex numbers, as in the paper of rotary positions: pair i at position p is multiplied by exp(i p theta_i)."""
    offsets, heads, d = offsets_of(3, 1, 4), 2, 6
    positions_of_rows = torch.cat([torch.arange(end - begin) for begin, end in zip(offsets, offsets[1:])])
    theta = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    factors = torch.polar(torch.ones(len(positions_of_rows), d // 2, dtype=torch.float64),
                          positions_of_rows[:, None] * theta)

    def rotate(x):
        pairs = torch.view_as_complex(x.reshape(len(x), heads, d // 2, 2))
        return torch.view_as_real(pairs * factors[:, None]).reshape(x.shape)

    case("rotate", rotate, {"x": normal(8, heads * d)}, offsets=offsets, heads=number(heads))


def feed_forward_cases():
    activations = {
        "relu": F.relu,
        "swish": F.silu,
        "gelu": F.gelu,
        "sigmoid_gelu": lambda x: x * torch.sigmoid(1.702 * x),
        "tanh_gelu": lambda x: F.gelu(x, approximate="tanh"),
        "sigmoid": torch.sigmoid,
    }
    names = ("x", "weight1", "bias1", "weight2", "bias2")
    shapes = ((7, 5), (6, 5), (6,), (5, 6), (5,))

    def feed_forward(activation):
        return lambda x, w1, b1, w2, b2: F.linear(activation(F.linear(x, w1, b1)), w2, b2)

    def gated(activation):
        return lambda x, w1, b1, w2, b2, gate, gate_bias: F.linear(
            activation(F.linear(x, gate, gate_bias)) * F.linear(x, w1, b1), w2, b2
        )

    for name, activation in activations.items():
        operands = {operand: normal(*shape) for operand, shape in zip(names, shapes)}
        case(f"feed_forward_{name}", feed_forward(activation), operands)
    for name, activation in {"glu": "sigmoid", "geglu": "gelu", "swiglu": "swish"}.items():
        operands = {operand: normal(*shape) for operand, shape in zip(names, shapes)}
        operands |= {"gate_weight": normal(6, 5), "gate_bias": normal(6)}
        case(f"feed_forward_{name}", gated(activations[activation]), operands)


def attention_variant_case(name, kv_heads=2, window=None, scaled=True, additive=False, biased=False, causal=False):
    """Attention of two heads over three sequences, with everything that can be different from the paper's."""
    offsets, heads, d_k, d_v, n = offsets_of(7, 1, 4), 2, 4, 3, 7
    operands = {
        "q": normal(offsets[-1], heads * d_k),
        "k": normal(offsets[-1], kv_heads * d_k),
        "v": normal(offsets[-1], kv_heads * d_v),
    }
    if additive:
        operands["score_weight"] = normal(heads * d_k)
    if biased:
        operands["bias"] = normal(2 * n - 1, heads)

    def attend(q, k, v, *rest):
        rest = dict(zip(list(operands)[3:], rest))
        packed = []
        for one_q, one_k, one_v in zip(*(sequences(x, offsets) for x in (q, k, v))):
            place = torch.arange(len(one_q))
            distance = place[None, :] - place[:, None]  # of the key (column) from the query (row)
            hidden = distance > 0 if causal else torch.zeros_like(distance).bool()
            if window:
                hidden = hidden | (distance.abs() > window)
            outputs = []
            for head, a in enumerate(heads_of(one_q, heads)):
                shared = head * kv_heads // heads
                b, c = heads_of(one_k, kv_heads)[shared], heads_of(one_v, kv_heads)[shared]
                if additive:
                    scores = (a[:, None] + b[None]).tanh() @ rest["score_weight"][head * d_k : (head + 1) * d_k]
                else:
                    scores = a @ b.T / (math.sqrt(d_k) if scaled else 1)
                if biased:
                    scores = scores + rest["bias"][n - 1 + distance, head]
                outputs.append(scores.masked_fill(hidden, -math.inf).softmax(dim=-1) @ c)
            packed.append(torch.cat(outputs, dim=1))
        return torch.cat(packed)

    case(name, attend, operands, q_offsets=offsets, k_offsets=offsets, heads=number(heads))


def attention_variant_cases():
    variants = {
        "multi_query": {"kv_heads": 1},
        "restricted": {"window": 2},
        "unscaled": {"scaled": False},
        "additive": {"additive": True},
        "additive_and_more": {"kv_heads": 1, "window": 3, "additive": True, "biased": True},
        "grouped_and_more": {"kv_heads": 1, "window": 9, "scaled": False, "biased": True},
    }
    for name, settings in variants.items():
        for causal in (False, True):
            attention_variant_case(f"attention_{name}{'_causal' if causal else ''}", causal=causal, **settings)


def recurrent_cases():
    """The cells of PyTorch over the sequences of a batch, forward and from the last token to the first."""
    offsets, width, d = offsets_of(3, 1, 4), 5, 6
    cells = {"recurrent": (1, torch.rnn_tanh_cell), "lstm": (4, torch.lstm_cell), "gru": (3, torch.gru_cell)}
    for name, (gates, cell) in cells.items():
        operands = {
            "x": normal(8, width),
            "w_ih": normal(gates * d, width),
            "b_ih": normal(gates * d),
            "w_hh": normal(gates * d, d),
        }
        if name == "gru":
            operands["b_hh"] = normal(gates * d)
        for reverse in (False, True):

            def run(x, w_ih, b_ih, w_hh, b_hh=None):
                b_hh = torch.zeros_like(b_ih) if b_hh is None else b_hh
                packed = []
                for one in sequences(x, offsets):
                    states, state = [], torch.zeros(1, d, dtype=torch.float64)
                    memory = state
                    for token in one.flip(0) if reverse else one:
                        before = (state, memory) if name == "lstm" else state
                        after = cell(token[None], before, w_ih, w_hh, b_ih, b_hh)
                        state, memory = after if name == "lstm" else (after, None)
                        states.append(state)
                    packed += states[::-1] if reverse else states
                return torch.cat(packed)

            case(f"{name}{'_reverse' if reverse else ''}", run, operands, offsets=offsets)


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


def biased_attention_case(name, lengths, heads, d_k, d_v, causal):
    """A number for the distance and the head is added to each score; row n - 1 + d of `bias` is for keys d later."""
    offsets, n = offsets_of(*lengths), max(lengths)
    operands = {width: normal(offsets[-1], heads * d) for width, d in (("q", d_k), ("k", d_k), ("v", d_v))}
    operands["bias"] = normal(2 * n - 1, heads)

    def biased_attention(q, k, v, bias):
        packed = []
        for one_q, one_k, one_v in zip(*(sequences(x, offsets) for x in (q, k, v))):
            place = torch.arange(len(one_q))
            distance = place[None, :] - place[:, None]  # of the key (column) from the query (row)
            outputs = []
            for head, (a, b, c) in enumerate(zip(*(heads_of(x, heads) for x in (one_q, one_k, one_v)))):
                scores = a @ b.T / math.sqrt(d_k) + bias[n - 1 + distance, head]
                if causal:
                    scores = scores.masked_fill(distance > 0, -math.inf)
                outputs.append(scores.softmax(dim=-1) @ c)
            packed.append(torch.cat(outputs, dim=1))
        return torch.cat(packed)

    constants = {"q_offsets": offsets, "k_offsets": offsets, "heads": number(heads), "causal": number(int(causal))}
    case(name, biased_attention, operands, **constants)


def biased_attention_cases():
    biased_attention_case("attention_biased", (3, 1, 4), heads=2, d_k=4, d_v=3, causal=False)
    biased_attention_case("attention_biased_causal", (3, 1, 4), heads=2, d_k=4, d_v=3, causal=True)
    biased_attention_case("attention_biased_large", (19, 5, 33), heads=3, d_k=6, d_v=5, causal=False)


def position_feature_cases():
    offsets = offsets_of(3, 1, 4)
    for name, relative in {"": False, "_relative": True}.items():

        def position_feature(x):
            changed = []
            for one in sequences(x, offsets):
                index = torch.arange(1, len(one) + 1, dtype=torch.float64)
                changed.append(torch.cat([one[:, :-1], (index / len(one) if relative else index)[:, None]], dim=1))
            return torch.cat(changed)

        case(f"position_feature{name}", position_feature, {"x": normal(8, 6)}, offsets=offsets)


def gate_cases():
    x, y = normal(8, 5), normal(8, 5)
    case("activate", F.relu, {"x": x})
    case("concatenate", lambda x, y: torch.cat([x, y], dim=1), {"x": x, "y": normal(8, 7)})
    case("glu", F.glu, {"x": normal(8, 10)})

    def gated_sum(gates, x, y):
        of_x, of_y = gates.sigmoid().chunk(2, dim=1)
        return of_x * x + of_y * y

    case("gated_sum", gated_sum, {"gates": normal(8, 10), "x": x, "y": y})


def convolution_cases():
    """Convolutions over each sequence of a batch, padded with zeros. PyTorch's rows are features."""
    offsets = offsets_of(3, 1, 4)

    def padded(x, size, left):
        return F.pad(x.T, (left, size - 1 - left))

    for name, (size, left) in {"": (3, 1), "_causal": (4, 3), "_wide": (9, 3)}.items():

        def unfold(x):
            windows = [padded(one, size, left).unfold(1, size, 1) for one in sequences(x, offsets)]
            return torch.cat([window.permute(1, 2, 0).flatten(1) for window in windows])

        def depthwise(x, weight, bias):
            filters = weight.T[:, None]
            outputs = [
                F.conv1d(padded(one, size, left)[None], filters, bias, groups=len(filters))[0].T
                for one in sequences(x, offsets)
            ]
            return torch.cat(outputs)

        case(f"unfold{name}", unfold, {"x": normal(8, 6)}, offsets=offsets)
        operands = {"x": normal(8, 6), "weight": normal(size, 6), "bias": normal(6)}
        case(f"depthwise{name}", depthwise, operands, offsets=offsets)


def linear_recurrence_cases():
    offsets = offsets_of(3, 1, 4)

    def recurrence(value, gate):
        states = []
        for values, shares in zip(sequences(value, offsets), sequences(gate.sigmoid(), offsets)):
            state = torch.zeros_like(values[0])
            for one, share in zip(values, shares):
                state = share * state + (1 - share) * one
                states.append(state)
        return torch.stack(states)

    def average(value):
        return torch.cat(
            [one.cumsum(0) / torch.arange(1, len(one) + 1)[:, None] for one in sequences(value, offsets)]
        )

    operands = {"value": normal(8, 6), "gate": normal(8, 6)}
    case("linear_recurrence", recurrence, operands, offsets=offsets)
    case("cumulative_average", average, {"value": normal(8, 6)}, offsets=offsets)


def batch_norm_cases():
    for name, (tokens, features) in {"": (7, 5), "_large": (41, 70)}.items():
        parameters = {"weight": 1 + 0.3 * normal(features), "bias": normal(features)}
        x = normal(tokens, features) * 3 + 1
        case(
            f"batch_norm{name}",
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True, eps=1e-5),
            {"x": x, **parameters},
        )
    index = torch.arange(6, dtype=torch.float64)
    mean, variance = index / 8 - 0.25, index / 4 + 0.5
    case(
        "batch_norm_running",
        lambda x, w, b: F.batch_norm(x, mean, variance, w, b, training=False, eps=1e-5),
        {"x": normal(7, 6), "weight": 1 + 0.3 * normal(6), "bias": normal(6)},
    )


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
    save_file(goldens, Path(__file__).with_name("ops.safetensors"))
