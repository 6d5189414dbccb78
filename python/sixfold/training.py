"""Training from Python."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Mapping

from . import core
from .results import TrainResult

Entry = dict[str, Any]
Callback = Callable[[Entry], object]


def train(
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    output: str | os.PathLike[str],
    resume: bool = False,
    other_processor: bool = False,
    fit: bool = False,
    on_progress: Callback | None = None,
    on_validation: Callback | None = None,
    on_samples: Callable[[list[Entry]], object] | None = None,
    **keys: Any,
) -> TrainResult:
    """Trains a model, as ``sixfold train`` does.

    ``config``: a dict, or the path of a YAML or JSON file; keyword arguments are groups and keys of the config, and go
    over it: ``train={"minutes": 5}``. ``default_config`` has all of them. ``output``: the folder of the run, with the
    model in its subfolder ``model``. ``resume``, ``other_processor``, ``fit``: as the options of the command.

    Callbacks get the entries of train.jsonl: ``on_progress`` "update", "loss", "tokens_per_second" and so on;
    ``on_validation`` "update" and "validation", a dict of scores; ``on_samples`` the validation sentences that are shown:
    "input", "output" and "reference". They run on the thread that called. If one raises an exception, or with Ctrl-C,
    the run is saved after the current update, so that ``resume=True`` goes on with it, and the exception is raised.
    ``sixfold check`` looks at data and settings before a run; this function does not.
    """

    def tell(entry: str) -> None:
        found: Entry = json.loads(entry)
        if "loss" in found and on_progress:
            on_progress(found)
        if "validation" in found and on_validation:
            on_validation(found)
        if found.get("samples") and on_samples:
            on_samples(found["samples"])

    given = dict(config) if isinstance(config, Mapping) else config and os.fspath(config)
    return core.train(given, keys, output, resume, other_processor, fit, tell)


def default_config(task: str = "translation") -> dict[str, Any]:
    """Every key of the training config of a task with its default; ``sixfold train --options`` explains them."""
    config: dict[str, Any] = json.loads(core.default_config(task))
    return config
