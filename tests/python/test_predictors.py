import collections
import itertools
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import sixfold
from conftest import command

LINES = ["a b c d", "c d e f", "", "b a", "x y z"]


def test_translations_are_those_of_the_command_line(translator, models):
    text = "".join(line + "\n" for line in LINES)
    wanted = command("translate", models / "translation", "--threads", 1, text=text).splitlines()
    assert [str(t) for t in translator.translate(LINES)] == wanted
    assert [str(translator.translate(line)) for line in LINES] == wanted


def test_options_are_those_of_the_command_line(translator, models):
    options = {"n_best": 3, "length_penalty": 1.0, "max_new_tokens": 7}
    output = command("translate", models / "translation", "--n-best", 3, "--length-penalty", 1, "--max-length", 7,
                     "--format", "jsonl", "--token-scores", "--alignments", text="a b c d\n")
    wanted = json.loads(output)["translations"]
    found = translator.translate("a b c d", tokens=True, alignment=True, **options)
    every = [found, *found.alternatives]
    assert [t.text for t in every] == [w["text"] for w in wanted]
    # With sanitizers the module has other vectors than the program, and other last digits.
    assert [t.score for t in every] == pytest.approx([w["score"] for w in wanted], rel=1e-5)
    assert [t.text for t in found.tokens] == [w["piece"] for w in wanted[0]["tokens"]]
    assert " ".join(f"{s}-{t}" for s, t in found.alignment) == wanted[0]["alignment"]


def test_faulty_translations_are_made_again(translator):
    looping = {"beam_size": 1, "min_new_tokens": 25, "max_new_tokens": 25}
    plain = translator.translate("Her father asks.", **looping)
    assert plain.loops and not plain.retried and not plain.copies and not plain.too_long
    again = translator.translate("Her father asks.", retry={"min_new_tokens": 0}, **looping)
    assert again.retried and not again.loops
    assert again.text == translator.translate("Her father asks.", beam_size=1, max_new_tokens=25).text
    assert not translator.translate("Her father asks.", retry={"no_repeat_ngram": 1}).retried
    with pytest.raises(sixfold.Error, match="retry"):
        translator.translate("a b c", retry={"beam": 1})
    with pytest.raises(sixfold.Error, match="retry"):
        translator.translate("a b c", retry=3)
    assert translator.translate("Her father asks.", retry=collections.UserDict(min_new_tokens=0), **looping) == again


def test_lists_give_lists_and_iterators_iterators(translator):
    assert isinstance(translator.translate(LINES), list)
    assert translator.translate([]) == []
    stream = translator.translate(iter(LINES))
    assert not isinstance(stream, list)
    assert [t.text for t in stream] == [t.text for t in translator.translate(tuple(LINES))]


def test_a_stream_without_end_is_read_as_far_as_it_is_used(translator):
    read = 0

    def lines():
        nonlocal read
        for read in itertools.count(1):
            yield "a b"

    assert len(list(itertools.islice(translator.translate(lines()), 10))) == 10
    assert read <= 4096


def test_a_slow_stream_is_answered_line_by_line(translator):
    asked, answered = [], []

    def lines():
        for number in range(3):
            if number:
                threading.Event().wait(0.1)
                assert len(answered) == number  # all that came before
            asked.append(number)
            yield "a b"

    for translation in translator.translate(lines()):
        answered.append(translation)
    assert len(answered) == 3


def test_an_error_of_the_stream_is_raised(translator):
    def lines():
        yield "a b"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(translator.translate(lines()))


def test_errors_name_the_nearest_option(translator, models):
    with pytest.raises(sixfold.Error, match="unknown key 'beam_sise' .*beam_size") as raised:
        translator.translate(iter([]), beam_sise=3)  # before the first line is asked for
    assert raised.value.fault == "input"
    assert translator.translate("a", beam_size=None, n_best=None) == translator.translate("a")
    with pytest.raises(sixfold.Error, match="expected a whole number from 1 to 1000, found '0'"):
        translator.translate("a", n_best=0)
    with pytest.raises(sixfold.Error, match="beam_size: expected a whole number, found a list"):
        translator.translate("a", beam_size=[2])
    with pytest.raises(sixfold.Error, match="beam_size: a value of type object"):
        translator.translate("a", beam_size=object())
    with pytest.raises(sixfold.Error, match="nowhere: there is no file or folder"):
        sixfold.Translator("nowhere")
    with pytest.raises(sixfold.Error, match="unknown key 'thread'"):
        sixfold.Translator(models / "translation", thread=1)
    with pytest.raises(sixfold.Error):
        sixfold.Generator(models / "translation")
    for wrong in (5, None, b"a"):
        with pytest.raises(TypeError):
            translator.translate([wrong])
    with pytest.raises(TypeError):
        translator.score("ab", "cd")
    with pytest.raises(TypeError):
        sixfold.Tokenizer.train("a b")
    with pytest.raises(sixfold.Error, match="glossary: expected a dict"):
        translator.translate("a", glossary=["b"])
    with pytest.raises(TypeError):
        translator.translate("a", glossary={"b": 3})
    with pytest.raises(UnicodeEncodeError):
        translator.translate("\ud800")
    assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args


def test_numbers_of_numpy_are_options(translator):
    assert translator.translate("a b", n_best=np.int64(2), length_penalty=np.float32(1)).alternatives


def test_results_are_immutable_and_say_what_they_are(translator):
    found = translator.translate("a b", attention=True)
    assert repr(found).startswith("Translation(text='") and "weights=array[" in repr(found)
    with pytest.raises(AttributeError):
        found.text = "other"


def test_attention_is_an_array_of_its_own(translator):
    attention = translator.translate("a b c d", attention=True).attention
    assert attention.weights.shape[1:] == (len(attention.target), len(attention.source))
    assert np.allclose(attention.weights.sum(axis=-1), 1, atol=1e-5)
    assert attention.weights.base is not None and attention.weights.flags.c_contiguous
    layers = translator.translate("a b c d", all_attention=True).all_attention
    assert {layer.kind for layer in layers} == {"encoder", "decoder", "cross"}


def test_constraints_and_glossaries_are_met(translator):
    free = translator.translate("a b c d").text
    word = "a" if not free.startswith("a") else "b"
    assert translator.translate("a b c d", prefix=word).text.startswith(word)
    first = free.split()[0]
    assert first not in translator.translate("a b c d", banned_phrases=[first]).text.split()
    found = translator.translate(["a b c d", "x"], glossary={"a b": "d d d"})
    assert "d d d" in found[0].text or found[0].unmet
    assert not found[1].unmet and "d d d" not in found[1].text


def test_constraints_are_for_texts_that_are_translated_whole(translator):
    with pytest.raises(sixfold.Error, match="leave out split_sentences"):
        translator.translate("a b. c d.", phrases=["h"], split_sentences="en")
    assert translator.translate("a b. c d.", glossary={"a": "h"}, split_sentences="en")


def test_scores_are_those_of_translations(translator):
    lines = ["a b c d", "c d"]
    made = translator.translate(lines)
    scored = translator.score(lines, [t.text for t in made])
    assert [s.log_probability for s in scored] == pytest.approx([t.log_probability for t in made], abs=1e-4)


def test_scores_have_no_settings_of_translations(translator):
    for settings in ({"split_sentences": "en"}, {"keep_symbols": True}, {"seed": 2}, {"top_k": 2}):
        with pytest.raises(sixfold.Error, match="no effect on given translations"):
            translator.score(["a b c"], ["b"], **settings)


def test_warnings_go_to_logging(translator, caplog, capfd):
    with caplog.at_level(logging.INFO, logger="sixfold"):
        translator.translate("a b c d", max_source_length=2)
    assert any("cut" in record.message and record.levelno == logging.WARNING for record in caplog.records)
    assert capfd.readouterr().err == ""


def test_threads_get_what_one_gets(translator):
    lines = [f"{a} {b}" for a in "abcdef" for b in "abcdef"]
    wanted = [t.text for t in translator.translate(lines)]
    found: dict[int, list[str]] = {}

    def work(number):
        found[number] = [translator.translate(line).text for line in lines]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number] for number in range(4)] == [wanted] * 4


def test_the_interpreter_runs_while_a_call_works(models):
    generator = sixfold.Generator(models / "language_model", threads=1)
    ended = threading.Event()
    counted = 0

    def work():
        generator.generate(["a"] * 64, max_tokens=200, seed=1)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not ended.is_set():
        counted += 1
    thread.join()
    assert counted > 1000


def test_a_forked_process_can_translate(models):
    translator = sixfold.Translator(models / "translation", threads=2)
    wanted = [t.text for t in translator.translate(LINES * 20)]  # its threads have been started
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writes, b"same" if [t.text for t in translator.translate(LINES * 20)] == wanted else b"other")
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as answer:
        assert answer.read() == b"same"
    os.waitpid(child, 0)
    assert [t.text for t in translator.translate(LINES * 20)] == wanted


def test_control_c_ends_a_call(models):
    program = ("import sixfold, sys\n"
               "generator = sixfold.Generator(sys.argv[1], threads=1)\n"
               "print('ready', flush=True)\n"
               "generator.generate([''] * 4096, max_tokens=100000, min_tokens=100000)\n")
    process = subprocess.Popen([sys.executable, "-c", program, str(models / "language_model")], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(2)
    _, errors = process.communicate(timeout=60)
    assert errors.strip().endswith("KeyboardInterrupt")


def test_models_translate_together(translator, models):
    same = sixfold.Translator(models / "translation", ensemble=[str(models / "translation")], threads=1)
    assert [t.text for t in same.translate(LINES)] == [t.text for t in translator.translate(LINES)]
    assert same.score(["a"], ["b"])[0].score == pytest.approx(translator.score(["a"], ["b"])[0].score, abs=1e-4)
    assert [t.text for t in same.translate("a", tokens=True).tokens] == [
        t.text for t in translator.translate("a", tokens=True).tokens
    ]
    with pytest.raises(sixfold.Error, match="language_model: an ensemble is of models that translate"):
        sixfold.Translator(models / "translation", ensemble=[str(models / "language_model")])
    with pytest.raises(sixfold.Error, match="an ensemble is of models that translate"):
        sixfold.Generator(models / "language_model", ensemble=[str(models / "language_model")])


def test_translations_are_drawn(translator, models):
    found = [t.text for t in translator.translate(LINES, sample=True, temperature=0.8, seed=3)]
    output = command("translate", models / "translation", "--sample", "--temperature", 0.8, "--seed", 3,
                     text="".join(line + "\n" for line in LINES))
    assert found == output.splitlines()
    assert translator.translate("a b", sample=True, mbr=4).text
    with pytest.raises(sixfold.Error, match="sample"):
        translator.score(["a"], ["b"], sample=True)
    with pytest.raises(sixfold.Error, match="sample draws translations, so that phrases"):
        translator.translate("a", sample=True, phrases=["y"])
    with pytest.raises(sixfold.Error, match="sample draws translations, so that a glossary"):
        translator.translate("a", sample=True, glossary={"zzz": "y"})
    with pytest.raises(sixfold.Error, match="whole_words has no effect"):
        translator.translate("a", whole_words=False)
    with pytest.raises(sixfold.Error, match="temperature has no effect"):
        translator.translate("a", temperature=0.5)


def test_signals_are_handled_while_texts_are_read(models):
    classifier = sixfold.Classifier(models / "classification", threads=1)
    before = signal.signal(signal.SIGALRM, lambda *_: 1 / 0)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(ZeroDivisionError):
            classifier.classify(["a good film with a long story, and a bad end " * 20] * 100_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert classifier.classify("a good film").label in classifier.labels


@pytest.mark.parametrize("on_text", [None, lambda *_: None])
def test_signals_are_handled_while_a_call_works(models, on_text):
    generator = sixfold.Generator(models / "language_model", threads=2)
    wanted = generator.generate("ab", max_tokens=8, seed=3).text
    made = []

    def handle(*_):
        if len(made) == 2:
            raise TimeoutError
        made.append(generator.generate("ab", max_tokens=8, seed=3).text)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(TimeoutError):
            generator.generate([""] * 4096, max_tokens=100000, min_tokens=100000, on_text=on_text)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert made == [wanted, wanted]
    assert generator.generate("ab", max_tokens=8, seed=3).text == wanted


def test_what_was_read_before_an_error_is_served(translator):
    def lines():
        yield from ["a b", "c d", "b a"]
        raise ZeroDivisionError

    served = []
    with pytest.raises(ZeroDivisionError):
        for translation in translator.translate(lines()):
            served.append(translation)
    assert served == translator.translate(["a b", "c d", "b a"])


def test_values_of_other_libraries(translator):
    plain = translator.translate("a b c", tokens=True, beam_size=2)
    assert translator.translate("a b c", tokens=np.bool_(True), beam_size=np.int64(2), glossary=None) == plain
    assert translator.translate("a", suppress_tokens=np.array([5])) == translator.translate("a", suppress_tokens=range(5, 6))
    with pytest.raises(sixfold.Error, match="translations that the model makes"):
        translator.score(["a"], ["b"], prefix="a")
    with pytest.raises(UnicodeEncodeError):
        translator.translate("a b c", prefix="\ud800")
    with pytest.raises(TypeError, match="NoneType at place 1"):
        translator.translate(["a", None])
    for wrong in (None, 3):
        with pytest.raises(TypeError):
            translator.score(wrong, ["a"])
    with pytest.raises(TypeError):
        translator.states(source=["a"], target=[1])


def test_a_daemon_thread_ends_with_the_process(models):
    program = ("import sixfold, sys, threading\n"
               "translator = sixfold.Translator(sys.argv[1], threads=1)\n"
               "started = threading.Event()\n"
               "def lines():\n"
               "    started.set()\n"
               "    while True: yield 'a b c d'\n"
               "def work():\n"
               "    for _ in translator.translate(lines()): pass\n"
               "threading.Thread(target=work, daemon=True).start()\n"
               "started.wait()\n")
    for _ in range(5):
        subprocess.run([sys.executable, "-c", program, str(models / "translation")], check=True, timeout=60)


def test_the_command_line_is_in_the_package():
    output = subprocess.run([sys.executable, "-m", "sixfold", "--version"], capture_output=True, text=True, check=True)
    assert output.stdout == command("--version")


def test_the_keyword_arguments_of_the_stubs_are_those_of_the_library():
    root = Path(__file__).parents[2]
    made = subprocess.run([sys.executable, root / "scripts/python-options"], capture_output=True, text=True, check=True).stdout
    assert (root / "python/sixfold/options.pyi").read_text() == made
