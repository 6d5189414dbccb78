"""Training from Python."""

from __future__ import annotations

import difflib
import json
import os
from typing import Any, Callable, Mapping

from . import core
from .results import TrainResult

_ARGUMENTS = ("output", "resume", "other_processor", "fit", "on_progress", "on_validation", "on_samples")

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

    for name, value in keys.items():
        near = difflib.get_close_matches(name, _ARGUMENTS, 1, 0.8)
        if near or callable(value):
            raise TypeError(f"train() has no argument {name!r}{f'; did you mean {near[0]!r}?' if near else ''}")
    what: Any = config
    if config is not None and not isinstance(what, (str, os.PathLike, Mapping)):
        raise TypeError(f"config is a {type(what).__name__}; give a dict, or the path of a file")

    def tell(entry: str) -> None:
        found: Entry = json.loads(entry)
        if "loss" in found and on_progress:
            on_progress(found)
        if "validation" in found and on_validation:
            on_validation(found)
        if found.get("samples") and on_samples:
            on_samples(found["samples"])

    given = dict(config) if isinstance(config, Mapping) else None if config is None else os.fspath(config)
    return core.train(given, keys, os.fspath(output), resume, other_processor, fit, tell)


def default_config(task: str = "translation") -> dict[str, Any]:
    """Every key of the training config of a task with its default; ``sixfold train --options`` explains them."""
    config: dict[str, Any] = json.loads(core.default_config(task))
    return config
