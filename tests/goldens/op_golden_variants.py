"""Cases of the alternatives to the parts of the paper (docs/variants.md)."""

import math

import torch
import torch.nn.functional as F

from op_golden_tools import attention_weights, case, heads_of, ids, normal, number, offsets_of, sequences


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


def gather_rows_case():
    chosen = torch.tensor([6, 3, 0])
    case("gather_rows", lambda x: x[chosen], {"x": normal(8, 6)})


def pooling_cases():
    offsets = offsets_of(3, 1, 4)

    def attend(x, query):
        pooled = [(one @ query / math.sqrt(len(query))).softmax(0) @ one for one in sequences(x, offsets)]
        return torch.stack(pooled)

    def mean(x):
        return torch.stack([one.mean(0) for one in sequences(x, offsets)])

    case("pooling_first", lambda x: x[offsets[:-1].long()], {"x": normal(8, 6)}, offsets=offsets)
    case("pooling_mean", mean, {"x": normal(8, 6)}, offsets=offsets)
    case("pooling_attention", attend, {"x": normal(8, 6), "query": normal(6)}, offsets=offsets)


def weighted_cross_entropy_case():
    """PyTorch weights classes; here each row has the weight of its class."""
    by_class = 0.5 + 0.25 * torch.arange(5, dtype=torch.float64)
    targets = ids(7, 5)

    def loss(x, weight):
        return F.cross_entropy(x @ weight.T, targets.long(), weight=by_class, reduction="sum")

    case("cross_entropy_weighted", loss, {"x": normal(7, 4), "weight": normal(5, 4)}, targets=targets)


def span_loss_cases():
    """A start and an end among the rows of each sequence but its first."""
    for suffix, smoothing in {"": 0.0, "_smoothed": 0.1}.items():
        offsets, targets = offsets_of(5, 2, 8), ids(15, 7)
        spans = list(zip(offsets[:-1].tolist(), offsets[1:].tolist()))

        def loss(x, weight):
            total = 0
            for begin, end in spans:
                scores = x[begin + 1 : end] @ weight.T  # [rows, 2]
                wanted = targets[begin : begin + 2].long() % len(scores)
                total = total + F.cross_entropy(scores.T, wanted, label_smoothing=smoothing, reduction="sum")
            return total

        operands = {"x": normal(15, 6), "weight": normal(2, 6)}
        case(f"span_loss{suffix}", loss, operands, offsets=offsets, targets=targets)


def later_cases():
    """Those that came after all others, whose values would change otherwise."""
    operands = {"x": normal(7, 5), "weight1": normal(6, 5), "bias1": normal(6), "weight2": normal(5, 6), "bias2": normal(5)}
    case("feed_forward_tanh", lambda x, w1, b1, w2, b2: F.linear(F.linear(x, w1, b1).tanh(), w2, b2), operands)
    q, weight = normal(7, 3 * 4) * 3 + 1, 1 + 0.3 * normal(4)
    case(
        "rms_norm_of_heads",
        lambda q, w: F.rms_norm(q.unflatten(1, (3, 4)), w.shape, w, eps=1e-5).flatten(1),
        {"states": q, "head_weight": weight},
    )
    case("scale", lambda x: x * 0.125, {"x": normal(7, 5)})
    r_drop_case()
    link_loss_case()
    operands = {"x": normal(7, 5), "weight": normal(6, 5), "bias": normal(6), "down": normal(3, 5), "up": normal(6, 3)}
    case("linear_adapted", lambda x, w, b, down, up: F.linear(x, w, b) + 0.75 * F.linear(F.linear(x, down), up), operands)
    distillation_cases()


def distillation_cases():
    """Hinton et al. (2015): the squared temperature times KL(teacher || student), 0.75 of it, beside the loss."""
    targets = ids(7, 13)
    states = torch.tensor([[0.5 * (int(i) * (j + 3) % 7) - 1.5 for j in range(3)] for i in targets], dtype=torch.float64)
    rows = torch.tensor([[0.5 * (i * (2 * j + 1) % 5) - 1 for j in range(3)] for i in range(13)], dtype=torch.float64)
    teacher = states @ rows.T

    def divergence(logits, temperature):
        p = F.softmax(teacher / temperature, dim=-1)
        return 0.75 * temperature**2 * F.kl_div(F.log_softmax(logits / temperature, dim=-1), p, reduction="sum")

    def one_pass(x, weight):
        logits = x @ weight.T
        return F.cross_entropy(logits, targets.long(), reduction="sum", label_smoothing=0.1) + divergence(logits, 2)

    def two_passes(x, y, weight):
        p, q = (F.log_softmax(states @ weight.T, dim=-1) for states in (x, y))
        between = F.kl_div(p, q.exp(), reduction="sum") + F.kl_div(q, p.exp(), reduction="sum")
        losses = [
            F.cross_entropy(states @ weight.T, targets.long(), reduction="sum") + divergence(states @ weight.T, 1)
            for states in (x, y)
        ]
        return sum(losses) + 5 * between / 2

    case("distillation", one_pass, {"x": normal(7, 5), "weight": normal(13, 5)}, targets=targets)
    operands = {"x": normal(7, 5), "y": normal(7, 5), "weight": normal(13, 5)}
    case("distillation_of_two_passes", two_passes, operands, targets=targets)


def r_drop_case():
    """The loss of the published code of R-Drop (fairseq's reg_label_smoothed_cross_entropy), alpha = 5."""
    targets = ids(7, 13)

    def loss(x, y, weight):
        p, q = (F.log_softmax(states @ weight.T, dim=-1) for states in (x, y))
        divergence = F.kl_div(p, q.exp(), reduction="sum") + F.kl_div(q, p.exp(), reduction="sum")
        losses = [
            F.cross_entropy(states @ weight.T, targets.long(), reduction="sum", label_smoothing=0.1)
            for states in (x, y)
        ]
        return sum(losses) + 5 * divergence / 2

    case("r_drop", loss, {"x": normal(7, 5), "y": normal(7, 5), "weight": normal(13, 5)}, targets=targets)


def links_of(targets, lengths, keys):
    """Which keys each query should attend to: two that its number chooses, or one if they are the same."""
    wanted, row = torch.zeros(len(targets), max(keys), dtype=torch.float64), 0
    for length, count in zip(lengths, keys):
        for _ in range(length):
            chosen = {int(targets[row]) % count, int(targets[row]) // 2 % count}
            for key in chosen:
                wanted[row, key] = 1 / len(chosen)
            row += 1
    return wanted


def link_loss_case():
    """Guided alignment: the cross entropy of the mean attention of the heads."""
    lengths, keys, heads = (3, 1, 4), (2, 5, 3), 2
    q_offsets, k_offsets, targets = offsets_of(*lengths), offsets_of(*keys), ids(8, 13)
    wanted = links_of(targets, lengths, keys)

    def loss(q, k):
        total, row = 0, 0
        for queries, one in zip(sequences(q, q_offsets), sequences(k, k_offsets)):
            weights = [attention_weights(a, b, False) for a, b in zip(heads_of(queries, heads), heads_of(one, heads))]
            mean = sum(weights) / heads
            total -= (wanted[row : row + len(queries), : len(one)] * mean.log()).sum()
            row += len(queries)
        return total

    operands = {"q": normal(8, heads * 3), "k": normal(10, heads * 3)}
    case("link_loss", loss, operands, q_offsets=q_offsets, k_offsets=k_offsets, heads=number(heads), targets=targets)
