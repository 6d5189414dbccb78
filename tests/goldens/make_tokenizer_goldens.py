#!/usr/bin/env python3
"""Makes tests/goldens/tokenizers: small tokenizers of Hugging Face's tokenizers, with ids and decoded texts of odd lines.

    python tests/goldens/make_tokenizer_goldens.py

Run it in the environment of the other programs (bench/peers/README.md). The forms are those of bench/peers/compare_tokenizers.py, which compares
larger ones on many lines.
"""

import base64
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers"))

import compare_tokenizers as forms
from tokenizers import Tokenizer

TEXT = ["A young man sees the girl's red bicycle.", "Two dogs run in the snow, and the dogs don't stop!", "The old dog saw the young girl in the red house.",
        "Zw\u00f6lf Hunde sehen das M\u00e4dchen.", "In 1987 we saw 123 dogs and 45 girls.", "I'll see the man; he's old."] * 2
LINES = ["the young dogs", "The  girl's dog\n\n  runs", "Zo\u00eb's caf\u00e9 \u00c4RGER e\u0301 \ufb01\u2460", "\u6771\u4eac \u1112\u1161\u11ab \u0e01\u0e33 \U0001F468\u200d\U0001F469\u200d\U0001F467!?",
         " leading and trailing ", "12345 1987\u00bd \u0663", "<s>the</s> [CLS] dog[SEP] <unk>", "see <mask>  the dog", "\t\u00a0\u2028\u3000x\u200b\u00ady\ufeff",
         "DON'T WE'LL '\u017f", "a\x01b\x7f\x85c\r\nd", "two words, twowords two wordsy", "\u2581\u2581 the \u2581 <0x41>", "x" * 120, "<|user|> hi<|end|>  </s>  the",
         "the<|eot_id|> dog<|im_start|> <|im_end|>"]
FORMS = ["bert_added", "bert_cased", "roberta", "llama3", "qwen2", "smollm2", "xlm_roberta_4", "unigram_bytes", "phi3", "mistral"]


def small_charsmap(_):
    """A map of a few rules in the place of that of all Unicode, which is large."""
    from sentencepiece import sentencepiece_model_pb2
    rules = {"\u00a0": " ", "\u3000": " ", "\t": " ", "\n": " ", "\ufb01": "fi", "\u2460": "1", "\u00bd": "1/2", "e\u0301": "\u00e9", "\u200b": " ", "\x01": "", "\x7f": "",
             "\u2028": " ", "\uff21": "A", "\u1112\u1161\u11ab": "\ud55c"}
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        for before, after in rules.items():
            file.write(" ".join(f"{ord(c):X}" for c in before) + "\t" + " ".join(f"{ord(c):X}" for c in after) + "\n")
        file.flush()
        proto = sentencepiece_model_pb2.ModelProto()
        proto.ParseFromString(forms.train_pieces(TEXT, model_type="unigram", normalization_rule_tsv=file.name))
    return proto.normalizer_spec.precompiled_charsmap


def main():
    forms.charsmap = small_charsmap
    folder = ROOT / "tests" / "goldens" / "tokenizers"
    folder.mkdir(exist_ok=True)
    for name in FORMS:
        tokenizer = Tokenizer.from_str(forms.FORMS[name](TEXT).to_str())
        data = json.loads(tokenizer.to_str())
        data["post_processor"] = None
        cases = []
        for line in LINES:
            case = {"text": line}
            for key, as_text in (("ids", True), ("special_ids", False)):
                tokenizer.encode_special_tokens = as_text
                case[key] = tokenizer.encode(line, add_special_tokens=False).ids
            case["decoded"] = tokenizer.decode(case["ids"])
            if data["model"]["type"] == "Unigram" and any(token["content"] in line for token in data["added_tokens"] if token["special"]):
                case["ids"] = None  # there the vocabulary has these texts as tokens; here text never becomes one
            if case["special_ids"] == case["ids"]:
                del case["special_ids"]
            cases.append(case)
        text = json.dumps({"tokenizer": data, "cases": cases}, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(name, len(text))


if __name__ == "__main__":
    main()
