"""sixfold.compat.ctranslate2, beside what CTranslate2 itself makes of the same model (bench/peers/ctranslate2_settings.py --goldens)."""

import inspect
import json
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import sixfold
import sixfold.compat.ctranslate2 as ctranslate2

GOLDENS = Path(__file__).parents[1] / "goldens"
GOLDEN = json.loads((GOLDENS / "python/ctranslate2.json").read_text(encoding="utf-8"))
SOURCES = GOLDEN["sources"]


@pytest.fixture(scope="module")
def peer(models) -> ctranslate2.Translator:
    return ctranslate2.Translator(str(models / "translation"), compute_type="float32", intra_threads=1)


def name_of(golden: dict) -> str:
    return "-".join(f"{name}={value}"[:30] for name, value in golden["settings"].items()) or "default"


@pytest.mark.parametrize("golden", GOLDEN["translated"], ids=name_of)
def test_translates_as_ctranslate2(peer, golden):
    results = peer.translate_batch(SOURCES, return_scores=True, **golden["settings"])
    assert len(results) == len(golden["results"]) == len(SOURCES)
    for ours, theirs in zip(results, golden["results"]):
        assert ours.hypotheses == theirs["hypotheses"]
        assert ours.scores == pytest.approx(theirs["scores"], abs=1e-4)
        assert len(ours.attention) == len(theirs["attention"])
        for our_weights, their_weights in zip(ours.attention, theirs["attention"]):
            np.testing.assert_allclose(our_weights, their_weights, atol=1e-4)


@pytest.mark.parametrize("golden", GOLDEN["scored"], ids=name_of)
def test_scores_as_ctranslate2(peer, golden):
    sources, targets = (list(side) for side in zip(*GOLDEN["pairs"]))
    results = peer.score_batch(sources, targets, **golden["settings"])
    assert [one.tokens for one in results] == [one["tokens"] for one in golden["results"]]
    for ours, theirs in zip(results, golden["results"]):
        assert ours.log_probs == pytest.approx(theirs["log_probs"], abs=1e-4)


@pytest.mark.parametrize("name", GOLDEN["defaults"])
def test_parameters_and_defaults_are_those_of_ctranslate2(name):
    parameters = inspect.signature(getattr(ctranslate2.Translator, name)).parameters.values()
    ours = {one.name: repr(one.default) for one in parameters if one.default is not inspect.Parameter.empty}
    assert ours == GOLDEN["defaults"][name]


def test_texts_are_those_of_sixfold(translator, peer):
    lines = ["a b c d", "The old house.", "xyz"]
    tokenizer = sixfold.Tokenizer(translator.folder)
    found = peer.translate_batch([tokenizer.tokens(line) for line in lines], beam_size=4, length_penalty=0.2)
    rules = {"normalization": "length", "length_penalty": 0.2, "stopping_criterion": "beam_finished", "length_factor": 0, "length_offset": 256,
             "min_new_tokens": 1, "at_longest": "cut", "allow_unk": True, "renormalize_logits": True, "beam_size": 4}
    ids = {tokenizer._core.token(id): id for id in range(len(tokenizer))}
    assert [tokenizer.decode([ids[token] for token in one.hypotheses[0]]) for one in found] == [t.text for t in translator.translate(lines, **rules)]


def test_every_default_may_be_given(peer):
    defaults = {name: one.default for name, one in inspect.signature(peer.translate_batch).parameters.items() if name != "source"}
    assert peer.translate_batch(SOURCES, **defaults) == peer.translate_batch(SOURCES)


@pytest.mark.parametrize(("name", "value"), [
    ("coverage_penalty", 0.2), ("prefix_bias_beta", 0.5), ("callback", lambda step: False), ("return_logits_vocab", True), ("sampling_topk", 0),
    ("sampling_topk", 10), ("end_token", "."), ("end_token", [".", "</s>"]),
])
def test_what_is_not_supported_is_refused_by_name(peer, name, value):
    with pytest.raises(NotImplementedError, match=name):
        peer.translate_batch(SOURCES, **{name: value})


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"beam_size": 0}, ValueError, "beam size"), ({"num_hypotheses": 3}, ValueError, "number of hypotheses"), ({"patience": 0}, ValueError, "patience"),
    ({"min_decoding_length": 300}, ValueError, "minimum decoding length"), ({"max_decoding_length": 0, "min_decoding_length": 0}, ValueError, "must be > 0"),
    ({"repetition_penalty": 0}, ValueError, "repetition penalty"), ({"sampling_topp": 2}, ValueError, "sampling_topp"),
    ({"batch_type": "lines"}, ValueError, "batch type"), ({"suppress_sequences": [["no such piece"]]}, ValueError, "no such piece"),
    ({"max_batch_size": -1}, ValueError, "max_batch_size"), ({"max_input_length": -1}, ValueError, "max_input_length"), ({"target_prefix": [[]]}, ValueError, "sources and 1 target prefixes"), ({"beams": 2}, TypeError, "beams"),
    ({"beam_size": 10**9, "num_hypotheses": 1}, sixfold.Error, "beam_size"),
])
def test_wrong_values_are_errors(peer, options, error, message):
    with pytest.raises(error, match=message):
        peer.translate_batch(SOURCES, **options)


@pytest.mark.parametrize(("options", "error"), [
    ({"device": "cuda"}, ValueError), ({"inter_threads": 0}, ValueError), ({"intra_threads": -1}, ValueError), ({"device_index": [0, 1]}, ValueError), ({"compute_type": "float16"}, ValueError),
    ({"max_queued_batches": 4}, NotImplementedError), ({"flash_attention": True}, NotImplementedError),
    ({"tensor_parallel": True}, NotImplementedError), ({"files": {}}, NotImplementedError),
])
def test_the_constructor_refuses_by_name(models, options, error):
    with pytest.raises(error, match=next(iter(options))):
        ctranslate2.Translator(str(models / "translation"), **options)


def test_other_parts_of_ctranslate2_are_named(peer):
    with pytest.raises(AttributeError, match="Generator"):
        ctranslate2.Generator  # noqa: B018
    for name in "translate_file", "score_file", "generate_tokens":
        with pytest.raises(NotImplementedError, match=name):
            getattr(peer, name)("source")


@pytest.mark.parametrize("wrong", ["a line", [1], [["nested"]], None])
def test_a_source_is_a_list_of_tokens(peer, wrong):
    with pytest.raises(TypeError):
        peer.translate_batch([wrong])
    with pytest.raises(TypeError):
        peer.score_batch([["a"]], [wrong])


def test_sources_may_be_tuples_and_there_may_be_none(peer):
    assert peer.translate_batch([tuple(tokens) for tokens in SOURCES]) == peer.translate_batch(SOURCES)
    assert peer.translate_batch([]) == [] and peer.score_batch([], []) == []
    assert peer.translate_batch(SOURCES, target_prefix=[]) == peer.translate_batch(SOURCES)


def test_the_log_has_a_level():
    before = ctranslate2.get_log_level()
    ctranslate2.set_log_level(10)
    assert ctranslate2.get_log_level() == 10
    ctranslate2.set_log_level(before)
    ctranslate2.set_random_seed(1)


def test_asynchronous_results_are_those_of_the_call(peer):
    waiting = peer.translate_batch(SOURCES, asynchronous=True, return_scores=True)
    assert 0 <= peer.num_queued_batches <= peer.num_active_batches <= 1
    assert [one.result() for one in waiting] == peer.translate_batch(SOURCES, return_scores=True)
    assert peer.num_active_batches == peer.num_queued_batches == 0
    assert all(one.done() for one in waiting) and all(isinstance(one, ctranslate2.AsyncTranslationResult) for one in waiting)
    sources, targets = (list(side) for side in zip(*GOLDEN["pairs"]))
    assert [one.result() for one in peer.score_batch(sources, targets, asynchronous=True)] == peer.score_batch(sources, targets)
    with pytest.raises(sixfold.Error, match="beam_size"):
        peer.translate_batch(SOURCES, beam_size=10**9, asynchronous=True)[0].result()


def test_an_output_ends_where_no_token_may_follow(peer, models):
    tokenizer = sixfold.Tokenizer(models / "translation")
    tokens = [tokenizer._core.token(id) for id in range(len(tokenizer))]
    few = [[token] for token in tokens if token not in ("▁Ihr", "e")]
    results = peer.translate_batch(SOURCES[:1], suppress_sequences=[*few, ["e", "▁Ihr"], ["▁Ihr", "▁Ihr"], ["e", "e"]], beam_size=4, num_hypotheses=4)
    assert results[0].hypotheses == [["▁Ihr", "e"]]
    none = [[token] for token in tokens]
    assert peer.translate_batch(SOURCES[:1], suppress_sequences=none, return_scores=True)[0].hypotheses == [[]]


def test_a_forked_process_has_threads_of_its_own(peer):
    def translated():
        return [one.result().hypotheses for one in peer.translate_batch(SOURCES, asynchronous=True)]

    wanted = translated()
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writes, b"same" if translated() == wanted else b"other")
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as answer:
        assert answer.read() == b"same"
    os.waitpid(child, 0)


def test_threads_share_a_translator(peer):
    wanted, found = peer.translate_batch(SOURCES), []
    threads = [threading.Thread(target=lambda: found.append(peer.translate_batch(SOURCES))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 4


@pytest.mark.parametrize("batches", [{"max_batch_size": 1}, {}, {"max_batch_size": 20, "batch_type": "tokens"}])
def test_streams_give_what_lists_give(peer, batches):
    many = SOURCES * 8
    prefixes = [["▁Ihr"]] * len(many)
    assert list(peer.translate_iterable(iter(many), **batches)) == peer.translate_batch(many)
    assert list(peer.translate_iterable(iter(many), iter(prefixes), beam_size=1, **batches)) == peer.translate_batch(many, prefixes, beam_size=1)
    sources, targets = (list(side) * 8 for side in zip(*GOLDEN["pairs"]))
    assert list(peer.score_iterable(iter(sources), iter(targets), **batches)) == peer.score_batch(sources, targets)
    with pytest.raises(ValueError, match="same length"):
        list(peer.score_iterable(sources, targets[1:], **batches))


def test_a_stream_is_read_as_far_as_it_is_used(peer):
    read = 0

    def lines():
        nonlocal read
        while True:
            read += 1
            yield SOURCES[0]

    next(peer.translate_iterable(lines(), max_batch_size=1))
    assert read <= 17


def test_a_model_is_unloaded_and_loaded(models):
    translator = ctranslate2.Translator(str(models / "translation"))
    wanted = translator.translate_batch(SOURCES)
    translator.unload_model(to_cpu=True)
    assert translator.model_is_loaded
    translator.unload_model()
    assert not translator.model_is_loaded
    with pytest.raises(RuntimeError, match="unloaded"):
        translator.translate_batch(SOURCES)
    translator.load_model()
    assert translator.translate_batch(SOURCES) == wanted


def test_results_are_read_as_dictionaries_too(peer):
    result = peer.translate_batch(SOURCES[:1], return_scores=True, num_hypotheses=2)[0]
    assert len(result) == 2 and repr(result).startswith("TranslationResult(hypotheses=[[")
    with pytest.warns(DeprecationWarning):
        assert result[1] == {"tokens": result.hypotheses[1], "score": result.scores[1]}
    with pytest.raises(IndexError), pytest.warns(DeprecationWarning):
        result[2]


def test_a_folder_of_ctranslate2_is_opened(tmp_path):
    given = tmp_path / "package/model"
    shutil.copytree(GOLDENS / "ctranslate2/tied", given)
    assert ctranslate2.contains_model(str(given)) and not ctranslate2.contains_model(str(tmp_path))
    translator = ctranslate2.Translator(str(given))
    tokenizer = sixfold.Tokenizer(given / "source.spm")
    for golden in json.loads((given / "golden.json").read_text()):
        beams = golden["beam_size"]
        result = translator.translate_batch([tokenizer.tokens(golden["line"]) + ["</s>"]], beam_size=beams, num_hypotheses=beams, max_decoding_length=12,
                                            return_scores=True)[0]
        assert result.hypotheses == golden["hypotheses"] and result.scores == pytest.approx(golden["scores"], abs=1e-4)
    (given / "target.spm").unlink()
    with pytest.raises(sixfold.Error, match="has no SentencePiece models"):
        ctranslate2.Translator(str(given))
    (given / "source.spm").rename(given.parent / "sentencepiece.model")  # as in a package of Argos Translate
    assert ctranslate2.Translator(str(given)).model_is_loaded


def test_types_of_computation(models):
    assert ctranslate2.Translator(str(models / "translation")).compute_type == "float32"
    for compute_type in "int8", "auto", {"cpu": "int8_float32"}:
        quantized = ctranslate2.Translator(str(models / "translation"), compute_type=compute_type)
        assert quantized.compute_type == "int8_float32" and len(quantized.translate_batch(SOURCES)) == len(SOURCES)
    assert ctranslate2.get_supported_compute_types("cpu") >= {"float32", "int8"} and ctranslate2.get_cuda_device_count() == 0


def test_a_shortlist_is_not_obeyed(models, peer, tmp_path):
    assert peer.translate_batch(SOURCES, use_vmap=True) == peer.translate_batch(SOURCES)  # there is none
    shutil.copytree(models / "translation", tmp_path / "model")
    shutil.copy(models / "shortlist", tmp_path / "model/shortlist.safetensors")
    translator = ctranslate2.Translator(str(tmp_path / "model"))
    assert translator.translate_batch(SOURCES) == peer.translate_batch(SOURCES)
    with pytest.raises(NotImplementedError, match="use_vmap"):
        translator.translate_batch(SOURCES, use_vmap=True)


@pytest.mark.parametrize("call, name", [
    (lambda t: t.translate_batch([iter(["a"])]), "source"),
    (lambda t: t.translate_batch(iter([["a"]])), "source"),
    (lambda t: t.translate_batch([{"a"}]), "source"),
    (lambda t: t.translate_batch([["a"]], target_prefix=[iter(["b"])]), "target prefixes"),
    (lambda t: t.score_batch([["a"]], [iter(["b"])]), "targets"),
    (lambda t: list(t.translate_iterable(iter([iter(["a"])]), batch_type="tokens")), "source"),
    (lambda t: t.translate_batch([["a"]], suppress_sequences=["b"]), "suppress_sequences"),
    (lambda t: t.translate_batch([["a"]], suppress_sequences="b"), "suppress_sequences"),
    (lambda t: t.translate_batch([["a"]], beam_size="4"), "beam_size"),
    (lambda t: t.translate_batch([["a"]], num_hypotheses=None), "num_hypotheses"),
    (lambda t: t.translate_batch([["a"]], max_decoding_length=8.0), "max_decoding_length"),
    (lambda t: t.translate_batch([["a"]], max_input_length=float("nan")), "max_input_length"),
    (lambda t: t.translate_batch([["a"]], patience=float("nan")), "patience"),
    (lambda t: t.translate_batch([["a"]], length_penalty=None), "length_penalty"),
    (lambda t: t.score_batch([["a"]], [["b"]], offset=1.0), "offset"),
])
def test_wrong_types_are_named(peer, call, name):
    with pytest.raises(TypeError, match=f"^{name}: expected"):
        call(peer)


def test_flags_may_be_numbers(peer):
    plain = peer.translate_batch([["a", "b"]], disable_unk=True, replace_unknowns=True)
    assert peer.translate_batch([["a", "b"]], disable_unk=3_000_000_000, replace_unknowns=np.int64(1)) == plain
    assert peer.translate_batch([["a", "b"]], beam_size=np.int32(2), patience=np.float32(1))[0].hypotheses


def test_a_forked_process_leaves_the_imported_copy(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    translator = ctranslate2.Translator(str(GOLDENS / "ctranslate2/tied"))
    child = os.fork()
    if child == 0:
        try:
            ended = 0 if translator.translate_batch([["a"]]) else 1
            del translator
        finally:
            os._exit(ended)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(tmp_path.iterdir())) == 1
    del translator
    assert not list(tmp_path.iterdir())
