#!/usr/bin/env python3
"""Makes tests/goldens/ctranslate2: two of the small MarianMTModels of tests/goldens/hugging_face as CTranslate2's own converter writes them,
and what CTranslate2 makes of some lines.

    python make_ctranslate2_goldens.py

Needs ctranslate2, transformers, torch and sentencepiece (ctranslate2 4.8.5, transformers 5.23.0).
"""

import json
import shutil
from pathlib import Path

import ctranslate2
import sentencepiece
from ctranslate2.converters import TransformersConverter

HERE = Path(__file__).parent
LINES = ["the old dog sees a cat", "a cat sleeps", "the man eats the house .", "xyz dog", "dog dog dog the the"]


def main():
    for name, quantization in (("tied", "int8"), ("bfloat16", "float16")):
        given, folder = HERE / "hugging_face" / name, HERE / "ctranslate2" / name
        TransformersConverter(str(given)).convert(str(folder), quantization=quantization, force=True)
        for file in ("source.spm", "target.spm"):
            shutil.copy(given / file, folder / file)
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(given / "source.spm"))
        translator = ctranslate2.Translator(str(folder), compute_type="float32")
        golden = []
        for line in LINES:
            for beam_size in (1, 3):
                # The config of the converter says that the end token is given by the caller.
                result = translator.translate_batch([pieces.encode(line, out_type=str) + ["</s>"]], beam_size=beam_size, max_decoding_length=12,
                                                    num_hypotheses=beam_size, return_scores=True)[0]
                golden.append({"line": line, "beam_size": beam_size, "hypotheses": result.hypotheses, "scores": result.scores})
        (folder / "golden.json").write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
