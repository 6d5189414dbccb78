"""Cases of ops for golden files: inputs from one stream of random numbers, and what PyTorch computes from them."""

import math

import torch

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


def attention_weights(q, k, causal):
    """Equation 1 for one head of one sequence: [target, source]."""
    scores = q @ k.T / math.sqrt(q.shape[1])
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape).triu(1).bool(), -math.inf)
    return scores.softmax(dim=-1)


def heads_of(x, heads):
    """Heads are contiguous blocks of columns."""
    return x.chunk(heads, dim=1)
