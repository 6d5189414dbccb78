#!/usr/bin/env python3
"""Writes hugging_face/: small random MarianMTModels in the forms that people have them, and what transformers makes
of them.

A folder holds a model as save_pretrained or torch.save wrote it, its SentencePiece models and vocabulary, and
golden.json: texts with their ids, the logits after a given target, what `generate` puts out, greedily and with the
folder's own rules of search, and the text of token ids.

    python make_hugging_face_goldens.py [NAME ...]     # torch, transformers and sentencepiece must be installed
"""

import io
import json
import shutil
import sys
from pathlib import Path

import sentencepiece
import torch
from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

HERE = Path(__file__).resolve().parent / "hugging_face"
SENTENCES = {
    "source": ["the old dog sees a cat", "a cat sleeps in the house", "two women read the old books", "the man eats"],
    "target": ["der alte hund sieht eine katze", "eine katze schläft im haus", "zwei frauen lesen", "der mann isst"],
}
TEXTS = ["the old dog sleeps", "a woman sees two cats", "the", "zebra in the house house house"]

MODELS = {
    # What OPUS-MT models are like: everything tied, target languages named in the text.
    "tied": dict(
        end=4.0,
        config=dict(activation_function="swish", scale_embedding=True),
        generation=dict(length_penalty=1.0, forced_eos_token_id=0),
        languages=[">>deu<<", ">>fra<<"],
        save="safetensors",
    ),
    "separate": dict(
        end=3.0,
        config=dict(
            activation_function="relu",
            share_encoder_decoder_embeddings=False,
            tie_word_embeddings=False,
            scale_embedding=False,
        ),
        generation=dict(length_penalty=0.6, early_stopping=True, forced_eos_token_id=0),
        save="torch",
    ),
    "legacy": dict(
        end=5.0,
        config=dict(activation_function="gelu", scale_embedding=True, d_model=48, encoder_attention_heads=3,
                    decoder_attention_heads=3),
        generation=dict(length_penalty=1.2, early_stopping="never"),
        save="legacy",
    ),
    "sharded": dict(
        end=1.5,
        config=dict(activation_function="quick_gelu", scale_embedding=True, decoder_layers=1),
        generation=dict(length_penalty=0.0, forced_eos_token_id=0),
        save="sharded",
        dtype=torch.float16,
    ),
    "bfloat16": dict(
        end=2.5,
        config=dict(activation_function="silu", scale_embedding=True, encoder_layers=1),
        generation=dict(length_penalty=1.0, forced_eos_token_id=0),
        save="safetensors",
        dtype=torch.bfloat16,
    ),
    # Words that may not come leave their probability to the others. The end token among them is none of them.
    "renormalized": dict(
        end=5.0,
        config=dict(activation_function="swish", scale_embedding=True),
        generation=dict(length_penalty=1.0, forced_eos_token_id=0, renormalize_logits=True, min_length=4),
        bad_words=[[0]] + [[i] for i in range(4, 30, 2)],
        save="safetensors",
    ),
    # Lengths that are told in other ways, and suppressed tokens; what is cut has no end token.
    "lengths": dict(
        end=3.0,
        config=dict(activation_function="relu", scale_embedding=True),
        generation=dict(length_penalty=0.8, max_length=None, max_new_tokens=9, min_new_tokens=3,
                        suppress_tokens=[3, 8, 10, 20, 33]),
        save="safetensors",
    ),
    # Nothing is said of lengths.
    "defaults": dict(
        end=-3.0,
        config=dict(activation_function="gelu", scale_embedding=True),
        generation=dict(max_length=None, renormalize_logits=True),
        bad_words=[[i] for i in range(4, 20)],
        save="safetensors",
    ),
}


def train_sentencepiece(side, path):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES[side] * 3),
        model_writer=model,
        vocab_size=44,
        hard_vocab_limit=False,
        model_type="unigram" if side == "source" else "bpe",
        normalization_rule_name="identity",
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        minloglevel=2,
    )
    path.write_bytes(model.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def write_vocabularies(folder, languages, joint):
    """Some pieces are left out, so that text becomes unknown; ids are not SentencePiece's."""
    pieces = {side: train_sentencepiece(side, folder / f"{side}.spm") for side in SENTENCES}
    special = ["</s>", "<unk>"]
    if joint:
        both = sorted(set(pieces["source"][4:] + pieces["target"][4:]) - {"▁z", "z"})
        vocabularies = {"vocab.json": special + languages + both + ["<pad>"]}
    else:
        sizes = min(len(pieces["source"]), len(pieces["target"]))
        vocabularies = {
            name: special + sorted(pieces[side][2:])[: sizes - 2] + ["<pad>"]
            for side, name in (("source", "vocab.json"), ("target", "target_vocab.json"))
        }
    for name, vocabulary in vocabularies.items():
        text = json.dumps({piece: i for i, piece in enumerate(vocabulary)}, ensure_ascii=False)
        (folder / name).write_text(text, encoding="utf-8")
    return len(vocabularies["vocab.json"])


def make_model(spec, symbols):
    sizes = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4)
    config = MarianConfig(
        vocab_size=symbols,
        decoder_vocab_size=symbols,
        encoder_ffn_dim=40,
        decoder_ffn_dim=40,
        max_position_embeddings=64,
        pad_token_id=symbols - 1,
        eos_token_id=0,
        bos_token_id=None,
        decoder_start_token_id=symbols - 1,
        forced_eos_token_id=None,
        **(sizes | spec["config"]),
    )
    model = MarianMTModel(config).eval()
    # Sure of itself, so that some next symbols are far likelier than others.
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if "embed_positions" not in name:
                tensor.normal_(1.0 if "layer_norm.weight" in name else 0.0, 0.25)
        model.final_logits_bias.normal_(0, 0.5)
        model.final_logits_bias[0, 0] += spec["end"]
        if spec.get("dtype"):
            model = model.to(spec["dtype"]).float()
    settings = dict(
        num_beams=4,
        max_length=24,
        bad_words_ids=[[symbols - 1]] + spec.get("bad_words", []),
        pad_token_id=symbols - 1,
        eos_token_id=0,
        decoder_start_token_id=symbols - 1,
    )
    model.generation_config = GenerationConfig(**(settings | spec["generation"]))
    return model


def save(model, spec, folder):
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    if spec["save"] in ("torch", "legacy"):
        torch.save(
            model.state_dict(),
            folder / "pytorch_model.bin",
            _use_new_zipfile_serialization=spec["save"] == "torch",
        )
        return
    stored = model.to(spec.get("dtype", torch.float32))
    stored.save_pretrained(folder, max_shard_size="30KB" if spec["save"] == "sharded" else "1GB")


def golden(model, tokenizer, texts):
    cases = []
    for text in texts:
        ids = tokenizer([text], return_tensors="pt").input_ids
        target = torch.tensor([[model.config.decoder_start_token_id, 5, 9, 7, 11]])
        with torch.no_grad():
            logits = model(input_ids=ids, decoder_input_ids=target).logits[0]
            greedy = model.generate(ids, num_beams=1)[0].tolist()
            beam = model.generate(ids, num_return_sequences=4, return_dict_in_generate=True, output_scores=True)
        cases.append(
            dict(
                text=text,
                source=ids[0].tolist(),
                target=target[0].tolist(),
                logits=[[round(x, 5) for x in row] for row in logits.tolist()],
                greedy=greedy,
                beam=[[i for i in row] for row in beam.sequences.tolist()],
                scores=[round(x, 5) for x in beam.sequences_scores.tolist()],
            )
        )
    return cases


def texts_of_ids(tokenizer, symbols):
    """Sequences of any ids, special tokens among them, and what transformers makes of them."""
    generator = torch.Generator().manual_seed(symbols)
    rows = [torch.randint(0, symbols, (length,), generator=generator).tolist() for length in (1, 2, 5, 9, 14) * 4]
    return [dict(ids=row, text=tokenizer.decode(row, skip_special_tokens=True)) for row in rows]


def main():
    for number, (name, spec) in enumerate(MODELS.items()):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(number)
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        joint = spec["config"].get("share_encoder_decoder_embeddings", True)
        languages = spec.get("languages", [])
        symbols = write_vocabularies(folder, languages, joint)
        arguments = {} if joint else dict(target_vocab_file=str(folder / "target_vocab.json"), separate_vocabs=True)
        tokenizer = MarianTokenizer(
            str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"), **arguments
        )
        model = make_model(spec, symbols)
        texts = [f"{languages[0]} {text}" for text in TEXTS] if languages else TEXTS
        save(model, spec, folder)
        model = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        cases = golden(model, tokenizer, texts)
        cases[0]["decoded"] = texts_of_ids(tokenizer, symbols)
        (folder / "golden.json").write_text(json.dumps(cases, ensure_ascii=False) + "\n", encoding="utf-8")
        print(name, [len(case["greedy"]) for case in cases], [[len(b) for b in case["beam"]] for case in cases])


if __name__ == "__main__":
    main()
