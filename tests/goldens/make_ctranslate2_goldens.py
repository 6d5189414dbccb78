#!/usr/bin/env python3
"""Makes tests/goldens/ctranslate2: two of the small MarianMTModels of tests/goldens/hugging_face as CTranslate2's own converter writes them,
and what CTranslate2 makes of some lines; in search.json with its penalty of coverage and with words of the source in place of unknown tokens, by
all heads of the first layer of the decoder.

    python make_ctranslate2_goldens.py

Needs ctranslate2, transformers, torch and sentencepiece (ctranslate2 4.8.5, transformers 5.23.0).
"""

import json
import shutil
import tempfile
from pathlib import Path

import ctranslate2
import numpy
import sentencepiece
from ctranslate2.converters import TransformersConverter

HERE = Path(__file__).parent
ALLOWED = ["</s>", "<unk>", "▁"]
WORDS = ["cat eats", "eats cat", "cat cat eats eats", "eats eats eats cat cat", "cat eats cat"]  # each word is a token
LINES = ["the old dog sees a cat", "a cat sleeps", "the man eats the house .", "xyz dog", "dog dog dog the the"]


class AlignedConverter(TransformersConverter):
    """Converts a model whose words are aligned by all heads of the first layer of the decoder."""

    def _load(self):
        spec = super()._load()
        spec.decoder.alignment_layer = numpy.int16(0)
        spec.decoder.alignment_heads = numpy.int16(spec.decoder.num_heads)
        return spec


def golden_of_search(given, pieces, quantization):
    """Unknown tokens come where nearly all others are suppressed."""
    golden = []
    with tempfile.TemporaryDirectory() as folder:
        AlignedConverter(str(given)).convert(folder, quantization=quantization, force=True)
        vocabulary = json.loads((Path(folder) / "shared_vocabulary.json").read_text())
        translator = ctranslate2.Translator(folder, compute_type="float32")
        for line in LINES:
            source = pieces.encode(line, out_type=str) + ["</s>"]
            for penalty in (0.2, 1.0):
                for beam_size in (1, 3):
                    result = translator.translate_batch([source], beam_size=beam_size, num_hypotheses=beam_size, max_decoding_length=12,
                                                        coverage_penalty=penalty, return_scores=True,
                                                        return_attention=True)[0]  # greedy search crashes without
                    golden.append({"line": line, "beam_size": beam_size, "coverage_penalty": penalty, "hypotheses": result.hypotheses,
                                   "scores": result.scores})
        for line in WORDS:
            source = pieces.encode(line, out_type=str) + ["</s>"]
            result = translator.translate_batch([source], beam_size=2, max_decoding_length=8, min_decoding_length=4, replace_unknowns=True,
                                                suppress_sequences=[[one] for one in vocabulary if one not in ALLOWED])[0]
            golden.append({"line": line, "beam_size": 2, "replaced": result.hypotheses[0]})
    return golden


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
        (folder / "search.json").write_text(json.dumps(golden_of_search(given, pieces, quantization), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
