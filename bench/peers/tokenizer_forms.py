"""The forms of tokenizers that compare_tokenizers.py compares, each trained on the lines of a text.

FORMS has functions that return a tokenizer as a family of models has it; TRAINED has the settings of those that Sixfold trains (`trained`).
"""

import io
import json
import subprocess
import tempfile
from pathlib import Path

import sentencepiece
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|"
          r"\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")


def special(*texts, **keys):
    return [AddedToken(text, special=True, **keys) for text in texts]


# --- byte-level BPE

def byte_level(lines, pre_tokenizer, normalizer=None, begin=(), end=(), alphabet=True, size=1500):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet() if alphabet else []
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, initial_alphabet=letters, special_tokens=list(begin),
                                                             show_progress=False))
    tokenizer.add_special_tokens(list(end))
    return tokenizer


def gpt2(lines):
    return byte_level(lines, pre_tokenizers.ByteLevel(add_prefix_space=False), end=special("<|endoftext|>", normalized=True))


def roberta(lines):
    tokenizer = byte_level(lines, pre_tokenizers.ByteLevel(add_prefix_space=True), begin=special("<s>", "<pad>", "</s>", "<unk>"),
                           end=special("<mask>", lstrip=True))
    tokenizer.add_tokens([AddedToken("two words", single_word=True), AddedToken("dog", single_word=True, rstrip=True)])
    return tokenizer


def bart(lines):
    return byte_level(lines, pre_tokenizers.ByteLevel(add_prefix_space=False), begin=special("<s>", "<pad>", "</s>", "<unk>"),
                      end=special("<mask>", lstrip=True))


def llama3(lines):
    tokenizer = byte_level(lines, pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated"),
                                                           pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
                           end=special("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"))
    data = json.loads(tokenizer.to_str())
    data["model"]["ignore_merges"] = True
    return Tokenizer.from_str(json.dumps(data))


def qwen2(lines):
    tokenizer = byte_level(lines, pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), behavior="isolated"),
                                                           pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
                           normalizers.NFC(), end=special("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False),
                          AddedToken("caf\u00e9", normalized=True)])
    return tokenizer


def gpt_neox(lines):
    tokenizer = byte_level(lines, pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC(), begin=special("<|endoftext|>", "<|padding|>"))
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    return tokenizer


def smollm2(lines):
    """Some bytes have no token."""
    return byte_level(lines, pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                      pre_tokenizers.ByteLevel(add_prefix_space=False)]),
                      begin=special("<|endoftext|>", "<|im_start|>", "<|im_end|>"), alphabet=False)


# --- WordPiece

def bert(lines, **keys):
    lower = keys.get("lowercase", True)
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(**keys)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=lower)
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=2500, special_tokens=special("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), show_progress=False))
    return tokenizer


def bert_added(lines):
    tokenizer = bert(lines, lowercase=True)
    tokenizer.add_tokens([AddedToken("NASA", normalized=True), AddedToken("Zo\u00eb", normalized=False), AddedToken("dog", single_word=True)])
    return tokenizer


# --- SentencePiece, in the forms that transformers writes

def train_pieces(lines, **keys):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=keys.pop("vocab_size", 1500),
                                             minloglevel=2, hard_vocab_limit=False, **keys)
    return model.getvalue()


def converted(lines, class_name, file_name, **keys):
    """The tokenizer.json that transformers makes of a SentencePiece model."""
    import transformers
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, file_name).write_bytes(train_pieces(lines, **keys))
        tokenizer = getattr(transformers, class_name).from_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return Tokenizer.from_file(str(Path(folder, "tokenizer.json")))


def xlm_roberta(lines):
    return converted(lines, "XLMRobertaTokenizer", "sentencepiece.bpe.model", model_type="unigram")


def t5(lines):
    return converted(lines, "T5Tokenizer", "spiece.model", model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)


def mbart(lines):
    return converted(lines, "MBart50Tokenizer", "sentencepiece.bpe.model", model_type="unigram")


def nllb(lines):
    return converted(lines, "NllbTokenizer", "sentencepiece.bpe.model", model_type="bpe")


def charsmap(lines):
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(train_pieces(lines))
    return proto.normalizer_spec.precompiled_charsmap


def unigram(lines, normalizer, pre_tokenizer, byte_fallback=False):
    pieces = [(p, s) for p, s in json.loads(xlm_roberta(lines).to_str())["model"]["vocab"]]
    if byte_fallback:
        pieces += [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=byte_fallback))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.Metaspace()
    if byte_fallback:
        tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    tokenizer.add_special_tokens(special("<s>", "<pad>", "</s>", "<unk>"))
    tokenizer.add_special_tokens(special("<mask>", lstrip=True))
    return tokenizer


def xlm_roberta_4(lines):
    """As transformers 4 wrote it, with the character map of the original and the old form of Metaspace."""
    data = json.loads(unigram(lines, normalizers.Sequence([normalizers.Precompiled(charsmap(lines)), normalizers.Replace(Regex(" {2,}"), " ")]),
                              pre_tokenizers.Metaspace()).to_str())
    data["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True, "str_rep": "\u2581"}]}
    return Tokenizer.from_str(json.dumps(data))


def t5_4(lines):
    return unigram(lines, normalizers.Precompiled(charsmap(lines)),
                   pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))


def unigram_bytes(lines):
    return unigram(lines, normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "),
                                                normalizers.Strip(), normalizers.Lowercase()]),
                   pre_tokenizers.Metaspace(prepend_scheme="first"), byte_fallback=True)


def albert(lines):
    return unigram(lines, normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
                                                normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Precompiled(charsmap(lines)),
                                                normalizers.Replace(Regex(" {2,}"), " ")]), pre_tokenizers.Metaspace())


def llama2(lines, legacy=True):
    """`legacy`: as transformers 4 wrote it."""
    tokenizer = converted(lines, "LlamaTokenizer", "tokenizer.model", model_type="bpe", byte_fallback=True, normalization_rule_name="identity",
                          remove_extra_whitespaces=False, split_digits=True, vocab_size=1800)
    data = json.loads(tokenizer.to_str())
    if legacy:
        data["normalizer"] = {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
        data["pre_tokenizer"] = None
    return Tokenizer.from_str(json.dumps(data))


def mistral(lines):
    tokenizer = llama2(lines, legacy=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return tokenizer


def phi3(lines):
    tokenizer = llama2(lines)
    tokenizer.add_special_tokens(special("<|assistant|>", "<|user|>", "<|end|>", rstrip=True))
    tokenizer.add_tokens([AddedToken("</s>", rstrip=True, normalized=False)])
    return tokenizer


def gemma(lines):
    tokenizer = llama2(lines, legacy=False)
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


FORMS = {"bert_uncased": lambda t: bert(t, lowercase=True), "bert_cased": lambda t: bert(t, lowercase=False),
         "bert_accents": lambda t: bert(t, lowercase=True, strip_accents=False, handle_chinese_chars=False), "bert_added": bert_added,
         "gpt2": gpt2, "roberta": roberta, "bart": bart, "llama3": llama3, "qwen2": qwen2, "gpt_neox": gpt_neox, "smollm2": smollm2,
         "xlm_roberta": xlm_roberta, "xlm_roberta_4": xlm_roberta_4, "t5": t5, "t5_4": t5_4, "mbart": mbart, "albert": albert,
         "unigram_bytes": unigram_bytes, "nllb": nllb, "llama2": llama2, "mistral": mistral, "phi3": phi3, "gemma": gemma}


# --- trained here

def trained(lines, kind, program, **keys):
    """The tokenizer.json of a translation model that was trained for one update."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text")
        text.write_text("".join(line + "\n" for line in lines if line.strip()), encoding="utf-8")
        settings = {"tokenizer.kind": kind, "data.train": f"{text},{text}", "train.updates": 1, "model.d_model": 8, "model.d_ff": 8, "model.heads": 1,
                    "model.encoder_layers": 1, "model.decoder_layers": 1, **{f"tokenizer.{key}": value for key, value in keys.items()}}
        config = Path(folder, "config.yaml")
        groups = {}
        for key, value in settings.items():
            group, name = key.split(".")
            groups.setdefault(group, []).append(f"  {name}: {f'[{value}]' if name == 'train' else value}")
        config.write_text("".join(f"{group}:\n" + "".join(line + "\n" for line in body) for group, body in groups.items()))
        subprocess.run([program, "train", str(config), "--output", str(Path(folder, "run"))], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return Tokenizer.from_file(str(Path(folder, "run", "model", "tokenizer.json")))


TRAINED = {"trained_byte_pairs": {"kind": "byte_pairs", "vocab_size": 2000}, "trained_wordpiece": {"kind": "wordpiece", "vocab_size": 3000},
           "trained_wordpiece_lower": {"kind": "wordpiece", "vocab_size": 3000, "lower_case": "true"}}
