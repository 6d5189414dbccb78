#!/usr/bin/env python3
"""Writes hugging_face/tied/settings.json: what `generate` of transformers puts out with the model of that folder under random settings of
generation_config.json (`random_settings` of bench/peers/generation_settings.py).

    python make_generation_goldens.py     # torch, transformers and sentencepiece must be installed
"""

import json
import random
import sys
from pathlib import Path

import torch
from transformers import GenerationConfig, MarianMTModel

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "bench/peers"))
from generation_settings import random_settings  # noqa: E402

FOLDER = HERE / "hugging_face/tied"


def main():
    model = MarianMTModel.from_pretrained(FOLDER).eval()
    base = json.loads((FOLDER / "generation_config.json").read_text())
    base.setdefault("bad_words_ids", [[model.config.vocab_size - 1]])
    sources = [case["source"] for case in json.loads((FOLDER / "golden.json").read_text())]
    cases = []
    for number in range(20):
        settings = random_settings(random.Random(number), base, model.config.vocab_size - 1, few=4)
        model.generation_config = GenerationConfig(**settings)  # if it were an argument, that of the folder would fill its gaps
        beams, rows = settings["num_beams"], []
        for source in sources:
            with torch.no_grad():
                out = model.generate(torch.tensor([source]), num_return_sequences=beams,
                                     output_scores=True, return_dict_in_generate=True)
            scores = [round(score, 6) for score in out.sequences_scores.tolist()] if beams > 1 else []
            rows.append({"source": source, "outputs": out.sequences.tolist(), "scores": scores})
        cases.append({"settings": settings, "rows": rows})
    (FOLDER / "settings.json").write_text(json.dumps(cases, separators=(",", ":")).replace('{"settings"', '\n{"settings"') + "\n")


if __name__ == "__main__":
    main()
