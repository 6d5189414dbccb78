"""Models for tests: those of version 0.2.0 in the repository, and one that is trained here."""

import os
import subprocess
from pathlib import Path

import pytest

import sixfold

PROGRAM = os.environ["SIXFOLD_PROGRAM"]
MODELS = Path(__file__).parents[1] / "compatibility/0.2.0/models"
WORDS = "ab cd ef gh ij kl mn op".split()
LINES = [f"{WORDS[i % 8]} {WORDS[i * 3 % 8]} {WORDS[i * 5 % 7]}" for i in range(64)]
CONFIG = {
    "model": {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0},
    "tokenizer": {"kind": "whitespace", "vocab_size": 0},
    "data": {"batch_tokens": 200},
    "train": {"updates": 20, "threads": 1, "precision": "fp32"},
    "validation": {"every_updates": 10, "metrics": ["loss", "bleu"]},
    "log": {"every_updates": 5},
}


def command(*args: object, text: str = "") -> str:
    """What the program prints."""
    return subprocess.run([PROGRAM, *map(str, args)], input=text, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="session")
def models() -> Path:
    return MODELS


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Keys of `data`: a text, and the same as its translation."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text").write_text("".join(line + "\n" for line in LINES))
    return {"train": [str(folder / "text")] * 2, "valid": [str(folder / "text")] * 2}


@pytest.fixture(scope="session")
def trained(corpus: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> dict:
    """A run with what its callbacks got."""
    told: dict = {"progress": [], "validation": [], "samples": []}
    result = sixfold.train(
        CONFIG, output=tmp_path_factory.mktemp("trained") / "run", data=corpus, on_progress=told["progress"].append,
        on_validation=told["validation"].append, on_samples=told["samples"].append)
    return {"result": result, **told}


@pytest.fixture(scope="session")
def translator(models: Path) -> sixfold.Translator:
    return sixfold.Translator(models / "translation", threads=1)
