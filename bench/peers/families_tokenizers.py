"""Small tokenizers in the forms that the model classes of transformers have, for families.py.

Each maker trains a tokenizer on CORPUS, writes its files into a folder and returns a Made: the tokenizer of transformers and the rows that the
model needs. The file tokenizer.json, where there is one, is what says how a text is read.
"""

import io
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (AutoTokenizer, BertTokenizer, GPT2Tokenizer, GPTNeoXTokenizer, M2M100Tokenizer, MarianTokenizer, MBart50Tokenizer, NllbTokenizer,
                          PreTrainedTokenizerFast, Qwen2Tokenizer, RobertaTokenizer, T5Tokenizer, XLMRobertaTokenizer)
from transformers.tokenization_utils_base import generate_merges

CORPUS = ["The old dog sees a cat, and the cat sees the dog.", "It's the dog's house; they'll sleep in it, we've seen 42 of them.",
          "Der alte Hund schläft im Haus, 1234 5678 Katzen und 90 Hündinnen.", "Two women read the old books. The man eats bread!",
          "Zwei Frauen lesen die alten Bücher (und der Mann isst Brot).", "Une femme voit l'été; le garçon a déjà mangé à Noël.",
          "The attention of two heads reads positions, norms and states.", "Where does the dog sleep? In the house, says the woman.",
          "What is a model? Weights, tokens & numbers: 3.14, 2.72 - and some more.", "the bank of the river is not the bank of the town"] * 4
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|"
          r"\s+")


@dataclass
class Made:
    folder: Path
    size: int  # ids that the tokenizer has
    bos: int | None
    eos: int | None
    pad: int | None
    extra: dict  # settings of generation_config.json that go with it

    def load(self, **arguments):
        return AutoTokenizer.from_pretrained(self.folder, **arguments)

    def decode(self):
        """A function from ids to text. Of tokenizer.model it is that of SentencePiece: bytes that are no text are decoded one by one."""
        path = self.folder / "tokenizer.model"
        if path.exists():
            pieces = sentencepiece.SentencePieceProcessor(str(path))
            rows = json.loads((self.folder / "config.json").read_text())["vocab_size"]
            if rows == pieces.get_piece_size() or not (self.folder / "tokenizer.json").exists():  # else tokens were added
                return lambda ids: pieces.decode([i for i in ids if i < pieces.get_piece_size()])
        return Tokenizer.from_file(str(self.folder / "tokenizer.json")).decode

    def encode(self, text, pair=None):
        """The ids as tokenizer.json says, or the class of transformers where there is none."""
        path = self.folder / "tokenizer.json"
        if path.exists():
            tokenizer = Tokenizer.from_file(str(path))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            return tokenizer.encode(text, pair).ids
        return self.load()(text, pair).input_ids


def made(folder, tokenizer, **extra):
    ids = [getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")]
    return Made(folder, max(len(tokenizer), max(tokenizer.get_vocab().values()) + 1), *ids, extra)


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def byte_level_vocabulary(size, specials=(), last=()):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False))
    trained = json.loads(tokenizer.to_str())["model"]
    pieces = [*specials, *sorted(trained["vocab"], key=trained["vocab"].get), *last]
    return {piece: i for i, piece in enumerate(pieces)}, [tuple(merge) for merge in trained["merges"]]


def gpt2(folder, r, size):
    vocabulary, merges = byte_level_vocabulary(size, last=["<|endoftext|>"])
    tokenizer = GPT2Tokenizer(vocab=vocabulary, merges=merges)
    tokenizer.save_pretrained(folder)
    tokenizer._tokenizer.model.save(str(folder))  # the files of older folders beside it
    return made(folder, tokenizer)


def roberta(folder, r, size):
    vocabulary, merges = byte_level_vocabulary(size, ["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"])
    tokenizer = RobertaTokenizer(vocab=vocabulary, merges=merges, add_prefix_space=r.random() < 0.3,
                                 mask_token=AddedToken("<mask>", lstrip=True, special=True))
    tokenizer.save_pretrained(folder)
    tokenizer._tokenizer.model.save(str(folder))
    return made(folder, tokenizer)


def gpt_neox(folder, r, size):
    vocabulary, merges = byte_level_vocabulary(size, ["<|endoftext|>", "<|padding|>"])
    tokenizer = GPTNeoXTokenizer(vocab=vocabulary, merges=merges)
    tokenizer.save_pretrained(folder)
    return made(folder, tokenizer)


def qwen2(folder, r, size):
    vocabulary, merges = byte_level_vocabulary(size)
    tokenizer = Qwen2Tokenizer(vocab=vocabulary, merges=merges, extra_special_tokens=["<|im_start|>", "<|im_end|>"])
    tokenizer.save_pretrained(folder)
    return made(folder, tokenizer)


def llama3(folder, r, size):
    vocabulary, merges = byte_level_vocabulary(size)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    split = pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    template = processors.TemplateProcessing(single=f"{names[0]} $A", pair=f"{names[0]} $A {names[0]}:1 $B:1",
                                             special_tokens=[(names[0], len(vocabulary))])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=names[0], eos_token=names[1], clean_up_tokenization_spaces=False)
    fast.save_pretrained(folder)
    return made(folder, fast)


def wordpiece(folder, r, size):
    cased = r.random() < 0.4
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # Words of common letters only, so that some letters are unknown.
    trained.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=size, limit_alphabet=52, special_tokens=specials, show_progress=False))
    tokenizer = BertTokenizer(vocab=trained.get_vocab(), do_lower_case=not cased, strip_accents=r.choice([None, None, True, False]),
                              tokenize_chinese_chars=r.random() < 0.8)
    tokenizer.save_pretrained(folder)
    vocabulary = trained.get_vocab()
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)) + "\n", encoding="utf-8")
    return made(folder, tokenizer)


def train_sentencepiece(size, kind, normalization="nmt_nfkc", **more):
    """A model as bytes, its pieces with scores, and the table of its normalizer. A normalization of "rules" is a small table of its own."""
    model = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        if normalization == "rules":  # from hexadecimal code points to others
            pairs = [("9", "20"), ("A", "20"), ("A0", "20"), ("3000", "20"), ("AD", ""), ("FB01", "66 69"), ("65 301", "E9"), ("2026", "2E 2E 2E"), ("BD", "31 2F 32")]
            rules.write("".join(f"{a}\t{b}\n" for a, b in pairs))
            rules.flush()
            more["normalization_rule_tsv"] = rules.name
        else:
            more["normalization_rule_name"] = normalization
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=model, vocab_size=size, model_type=kind, num_threads=1,
                                                 hard_vocab_limit=False, minloglevel=5, **more)
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    return model.getvalue(), [(piece.piece, piece.score) for piece in proto.pieces], proto.normalizer_spec.precompiled_charsmap or None


def drawn_normalization(r):
    return r.choice(["nmt_nfkc", "rules"])


def without_json(folder, r, share):
    """Older folders have the SentencePiece model alone."""
    if r.random() < share:
        (folder / "tokenizer.json").unlink()


def t5(folder, r, size, sentinels=None):
    sentinels = r.choice([3, 100]) if sentinels is None else sentinels
    stored, pieces, charsmap = train_sentencepiece(size, "unigram", drawn_normalization(r), pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (folder / "spiece.model").write_bytes(stored)
    rows = pieces + [(f"<extra_id_{i}>", 0.0) for i in reversed(range(sentinels))]
    tokenizer = T5Tokenizer(vocab=rows, _spm_precompiled_charsmap=charsmap, extra_ids=sentinels)
    tokenizer.save_pretrained(folder)
    without_json(folder, r, 0.3)
    return made(folder, tokenizer)


def mt5(folder, r, size):
    return t5(folder, r, size, sentinels=0)


def fairseq(pieces):
    return [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + pieces[3:]


def xlm_roberta(folder, r, size):
    stored, pieces, charsmap = train_sentencepiece(size, "unigram", drawn_normalization(r))
    (folder / "sentencepiece.bpe.model").write_bytes(stored)
    tokenizer = XLMRobertaTokenizer(vocab=fairseq(pieces) + [("<mask>", 0.0)], _spm_precompiled_charsmap=charsmap,
                                    mask_token=AddedToken("<mask>", lstrip=True, special=True))
    tokenizer.save_pretrained(folder)
    without_json(folder, r, 0.3)
    return made(folder, tokenizer)


# How a translation model is told its languages: its folder names a default pair. See also languages() in families.py.
def mbart50(folder, r, size):
    stored, pieces, charsmap = train_sentencepiece(size, "unigram", drawn_normalization(r))
    (folder / "sentencepiece.bpe.model").write_bytes(stored)
    source, target = r.sample(["en_XX", "de_DE", "fr_XX", "ro_RO", "sl_SI"], 2)
    tokenizer = MBart50Tokenizer(vocab=[list(piece) for piece in pieces], _spm_precompiled_charsmap=charsmap, src_lang=source, tgt_lang=target)
    tokenizer.save_pretrained(folder)
    return made(folder, tokenizer, forced_bos_token_id=tokenizer.convert_tokens_to_ids(target), suppress_tokens=[1])  # a padding token has no position


def nllb(folder, r, size):
    stored, pieces, charsmap = train_sentencepiece(size, "bpe", drawn_normalization(r))
    (folder / "sentencepiece.bpe.model").write_bytes(stored)
    merges = generate_merges({piece: i for i, (piece, _) in enumerate(pieces)})
    codes = ["ace_Arab", "deu_Latn", "eng_Latn", "fra_Latn", "zul_Latn"]
    vocabulary = {piece: i for i, (piece, _) in enumerate(fairseq(pieces) + [(code, 0.0) for code in codes] + [("<mask>", 0.0)])}
    source, target = r.sample(codes, 2)
    tokenizer = NllbTokenizer(vocab=vocabulary, merges=merges, extra_special_tokens=codes, src_lang=source, tgt_lang=target,
                              _spm_precompiled_charsmap=charsmap)
    tokenizer.save_pretrained(folder)
    return made(folder, tokenizer, forced_bos_token_id=tokenizer.convert_tokens_to_ids(target), suppress_tokens=[1])  # a padding token has no position


def m2m100(folder, r, size):
    stored, pieces, _ = train_sentencepiece(size, "bpe", drawn_normalization(r))
    (folder / "sentencepiece.bpe.model").write_bytes(stored)
    write_json(folder / "vocab.json", {piece: i for i, (piece, _) in enumerate(fairseq(pieces))})
    source, target = r.sample(["en", "de", "fr", "af", "zu"], 2)
    tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"), src_lang=source, tgt_lang=target)
    tokenizer.save_pretrained(folder)
    result = made(folder, tokenizer, forced_bos_token_id=tokenizer.get_lang_id(target), suppress_tokens=[1])
    result.size = max(tokenizer.lang_code_to_id.values()) + 1 + tokenizer.num_madeup_words  # languages are no entries of vocab.json
    return result


def marian(folder, r, size):
    stored, pieces, _ = train_sentencepiece(size, r.choice(["unigram", "bpe"]), drawn_normalization(r), eos_id=0, unk_id=1, bos_id=-1)
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(stored)
    names = ["</s>", "<unk>"] + sorted(piece for piece, _ in pieces[2:]) + ["<pad>"]
    write_json(folder / "vocab.json", {piece: i for i, piece in enumerate(names)})
    tokenizer = MarianTokenizer(str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"))
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de", "separate_vocabs": False})
    return made(folder, tokenizer, bad_words_ids=[[len(names) - 1]], forced_eos_token_id=0)


def llama2(folder, r, size, phi3=False):
    """tokenizer.model with tokenizer.json beside it, or alone. Phi-3 adds tokens after it, and no text begins with <s>."""
    stored, pieces, _ = train_sentencepiece(size, "bpe", "identity", byte_fallback=True, remove_extra_whitespaces=False)
    (folder / "tokenizer.model").write_bytes(stored)
    vocabulary = {piece: i for i, (piece, _) in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=generate_merges(vocabulary), unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in ("<unk>", "<s>", "</s>")])
    end = "</s>"
    if phi3:
        end = "<|endoftext|>"
        more = [end, "<|assistant|>", "<|placeholder1|>", "<|end|>", "<|user|>"]
        tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False, rstrip=name != end) for name in more])
        tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B:1", special_tokens=[])
    else:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json",
               {"tokenizer_class": "LlamaTokenizer", "add_bos_token": not phi3, "add_eos_token": False, "bos_token": "<s>", "eos_token": end,
                "unk_token": "<unk>", "pad_token": end if phi3 else None, "legacy": False, "clean_up_tokenization_spaces": False})
    return Made(folder, tokenizer.get_vocab_size(), 1, tokenizer.token_to_id(end), None, {"suppress_tokens": [0]})


def phi3(folder, r, size):
    return llama2(folder, r, size, phi3=True)
