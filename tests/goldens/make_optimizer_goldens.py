#!/usr/bin/env python3
"""Writes optimizers.safetensors and schedules.json: steps of SGD and Adafactor, and learning rates.

SGD is PyTorch's, in fp64. Adafactor is that of transformers, which is fairseq's, in fp64 too. A case `sgd` holds its
weights before (`sgd/weight0`, ...), the gradients of each step (`sgd/gradient0`, one step after the other), the
weights after each step (`sgd/after0`), the learning rates (`sgd/rates`), and our options (`sgd/momentum`, ...).
A weight of one row is a vector.

schedules.json holds our options of each schedule and its rates at some updates, counted from 1. Those of `plateau`
also have the losses of validations, one after each tenth update.

    python make_optimizer_goldens.py   # PyTorch, transformers and safetensors must be installed
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.optim.lr_scheduler import ConstantLR, LinearLR, ReduceLROnPlateau, SequentialLR
from transformers.optimization import (
    Adafactor,
    get_cosine_with_min_lr_schedule_with_warmup,
    get_polynomial_decay_schedule_with_warmup,
    get_wsd_schedule,
)

RATES = [0.03, 0.1, 0.02, 0.05]
# (70, 3) has more rows than blocks of rows; its sums are added block by block.
SHAPES = [(5, 7), (6,), (70, 3), (3, 20)]

goldens = {}
schedules = []


def optimizer_case(name, make, **ours):
    random = torch.Generator().manual_seed(len(goldens))
    normal = lambda *shape: torch.randn(*shape, dtype=torch.float64, generator=random)
    weights = [normal(*shape) * 0.3 for shape in SHAPES]
    goldens[f"{name}/rates"] = torch.tensor(RATES, dtype=torch.float64)
    goldens.update({f"{name}/{key}": torch.tensor([float(value)], dtype=torch.float64) for key, value in ours.items()})
    for i, weight in enumerate(weights):
        goldens[f"{name}/weight{i}"] = weight.clone().reshape(-1, weight.shape[-1])
    parameters = [weight.requires_grad_() for weight in weights]
    optimizer = make(parameters)
    gradients, after = [], []
    for rate in RATES:
        optimizer.param_groups[0]["lr"] = rate
        for parameter in parameters:
            parameter.grad = normal(*parameter.shape)
            parameter.grad[1] = 0  # the embedding of a token that no batch has
        optimizer.step()
        gradients.append([parameter.grad.clone() for parameter in parameters])
        after.append([parameter.detach().clone() for parameter in parameters])
    for what, steps in ("gradient", gradients), ("after", after):
        for i, values in enumerate(zip(*steps)):
            goldens[f"{name}/{what}{i}"] = torch.stack([value.flatten() for value in values])


def sgd_case(name, **settings):
    optimizer_case(name, lambda weights: torch.optim.SGD(weights, lr=1, **settings), **settings)


def adafactor_case(name, beta1=None, decay_rate=0.8, scale_parameter=False, **settings):
    optimizer_case(
        name,
        lambda weights: Adafactor(
            weights,
            lr=1,
            relative_step=False,
            beta1=beta1,
            decay_rate=-decay_rate,
            scale_parameter=scale_parameter,
            **settings,
        ),
        momentum=beta1 or 0,
        decay_rate=decay_rate,
        scale_parameter=scale_parameter,
        **settings,
    )


def schedule_case(ours, last, rate_of, updates=None):
    updates = updates or range(1, last + 1)
    schedules.append({"options": ours, "last": last, "rates": {str(n): rate_of(n) for n in updates}})


def of_torch(peak, make, last):
    """The rates that a scheduler gives after n steps, which are those of our update n."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=peak)
    scheduler = make(optimizer)
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(last):
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return lambda n: rates[n]


def plateau_case(ours, losses):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=ours["learning_rate"])
    scheduler = ReduceLROnPlateau(
        optimizer,
        factor=ours["plateau_factor"],
        patience=ours["plateau_patience"] - 1,  # PyTorch's is the number that makes no stall yet
        threshold=0,
        min_lr=ours["min_rate"],
        eps=0,
    )
    rates = []
    for loss in losses:
        scheduler.step(loss)
        rates.append(optimizer.param_groups[0]["lr"])
    schedules.append({"options": ours, "losses": losses, "rates_after": rates})


def relative_step(warmup_init):
    group = {"lr": None, "relative_step": True, "warmup_init": warmup_init, "scale_parameter": False}
    return lambda n: Adafactor._get_lr(group, {"step": n})


def schedule_cases():
    peak, low, warmup, last = 0.01, 0.001, 20, 100
    common = {"learning_rate": peak, "warmup": warmup}
    for power, end in (1.0, 0.0), (2.0, low), (0.5, low):
        schedule_case(
            {"kind": "polynomial", "power": power, "min_rate": end, **common},
            last,
            of_torch(
                peak,
                lambda o: get_polynomial_decay_schedule_with_warmup(o, warmup, last, lr_end=end, power=power),
                last,
            ),
        )
    for decay, end in (30, 0.0), (25, low):
        schedule_case(  # the warm-up of transformers begins at the lowest rate
            {"kind": "wsd", "decay": decay, "min_rate": end, "first_rate": end, **common},
            last,
            of_torch(
                peak,
                lambda o: get_wsd_schedule(
                    o, warmup, decay, num_training_steps=last, decay_type="linear", min_lr_ratio=end / peak
                ),
                last,
            ),
        )
    schedule_case(
        {"kind": "cosine", "min_rate": low, **common},
        last,
        of_torch(peak, lambda o: get_cosine_with_min_lr_schedule_with_warmup(o, warmup, last, min_lr=low), last),
    )
    schedule_case(
        {"kind": "constant", "first_rate": low, **common},
        last,
        of_torch(
            peak,
            lambda o: SequentialLR(
                o, [LinearLR(o, low / peak, total_iters=warmup), ConstantLR(o, 1.0)], milestones=[warmup]
            ),
            last,
        ),
    )
    some = [1, 2, 500, 9999, 10000, 10001, 20000, 400000]
    for warmup_init, first in (True, 0.0), (False, 0.01):
        ours = {"kind": "inverse_sqrt", "learning_rate": 0.01, "warmup": 10000, "first_rate": first}
        schedule_case(ours, 1000000, relative_step(warmup_init), some)
    losses = [3.0, 2.5, 2.5, 2.6, 2.4, 2.4, 2.4, 2.4, 2.5, 2.3, 2.3, 2.3, 2.3, 2.3, 2.3, 2.3, 2.2, 2.3, 2.3]
    for factor, patience, end in (0.5, 2, 0.0), (0.1, 3, low), (0.25, 1, 0.00005):
        plateau_case(
            {
                "kind": "plateau",
                "learning_rate": peak,
                "warmup": 1,
                "min_rate": end,
                "plateau_factor": factor,
                "plateau_patience": patience,
            },
            losses,
        )


def main():
    torch.set_num_threads(1)
    sgd_case("sgd_plain")
    sgd_case("sgd_momentum", momentum=0.9, weight_decay=0.01)
    sgd_case("sgd_nesterov", momentum=0.8, nesterov=True, weight_decay=0.1)
    adafactor_case("adafactor_plain")
    adafactor_case("adafactor_moment", beta1=0.9, weight_decay=0.1)
    adafactor_case("adafactor_scaled", scale_parameter=True, weight_decay=0.05)
    adafactor_case("adafactor_clipped", clip_threshold=0.5, decay_rate=0.6, beta1=0.5, scale_parameter=True)
    schedule_cases()
    folder = Path(__file__).parent
    save_file({name: tensor.contiguous() for name, tensor in goldens.items()}, folder / "optimizers.safetensors")
    (folder / "schedules.json").write_text(json.dumps(schedules, indent=1) + "\n")


if __name__ == "__main__":
    main()
