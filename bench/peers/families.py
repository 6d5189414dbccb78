#!/usr/bin/env python3
"""Compares small random models of Hugging Face's families in Sixfold and in transformers, after an import and after an export.

    python families.py [FAMILY ...] [--sixfold PROGRAM] [--models 25] [--seed 1] [--keep FOLDER]
    python families.py FAMILY --golden FOLDER
    python families.py [FAMILY ...] --without-sixfold

Run it in the environment of the other programs (README.md), with protobuf. families_models.py has the table of families. For each of the models
the script compares the log-probabilities of texts, greedy and beam-4 outputs, the fills of masks, the probabilities of labels, answers or
embeddings; then those that transformers gets from Sixfold's export. A line tells what differs, and the folder of --keep has the model. A model
that Sixfold refuses to import counts as refused, with the reason. The exit status is 1 if anything differs.
--without-sixfold makes the models and compares only the ids of tokenizer.json with those of the classes of transformers and of SentencePiece.
"""

import argparse
import collections
import dataclasses
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import sentencepiece
import torch
import transformers as hf
from tokenizers import Tokenizer

import families_models
from families_models import FAMILIES
from families_reference import ANSWER_TOKENS, BEAMS, NEW_TOKENS, REFERENCES, TARGETS, TEXTS

TOLERANCE = 1e-4
HERE = Path(__file__).resolve().parent


class Failure(Exception):
    """A command of Sixfold that did not succeed."""


class Sixfold:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def file(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run(self, *arguments):
        command = [self.program, *map(str, arguments)]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False, timeout=300)
        if run.returncode != 0:
            raise Failure(f"{arguments[0]}: exit status {run.returncode}: {run.stderr.strip()}")
        return run.stdout

    def lines(self, *arguments):
        return [json.loads(line) for line in self.run(*arguments, "--threads", 1).splitlines()]


def languages(made):
    """Options that tell Sixfold the languages of a translation: none, since the folder names its default pair."""
    return []


def mask_of_sixfold():
    return "<mask>"


# What Sixfold computes, compared with it. Each yields what differs, as text, and for numbers the difference.

def numbers(what, theirs, ours, terms=1):
    if len(theirs) != len(ours):
        yield f"{what}: {len(ours)} numbers and not {len(theirs)}", 0.0
        return
    worst = max((abs(a - b) for a, b in zip(theirs, ours)), default=0.0)
    yield (f"{what}: by {worst:.3g}" if not worst <= terms * TOLERANCE else None), worst / terms


def same_text(what, theirs, ours):
    """How many U+FFFD stand for bytes that are no text differs between the programs. Sixfold writes a translation as one line
    without white space at its ends."""
    plain = [re.sub(r"\s", " ", re.sub("\ufffd+", "\ufffd", text)).strip() for text in (theirs, ours)]
    if plain[0] != plain[1]:
        yield f"{what}: {ours!r} and not {theirs!r}", 0.0


def compare_language(sixfold, model, cases):
    for case in cases:
        path = sixfold.file("text.txt", case["text"])
        scores = [one["log_probability"] for one in sixfold.lines("score", model, "--input", path, "--token-scores", "--format", "jsonl")]
        yield from numbers(f"log-probabilities of {case['text']!r}", case["log_probabilities"], scores)
        for what, options in (("greedy", ["--temperature", 0]), ("beam", ["--beam-size", BEAMS])):
            [said] = sixfold.lines("generate", model, "--prompt-file", path, "--max-tokens", NEW_TOKENS, "--json", *options)
            yield from same_text(f"{what} text after {case['text']!r}", case[what], said["text"])
            if what == "greedy" and case["greedy_log_probability"] is not None:
                yield from numbers(f"log-probability of the greedy text after {case['text']!r}", [case["greedy_log_probability"]], [said["log_probability"]], 10)


def compare_translation(sixfold, model, cases, options):
    source = sixfold.file("source", "".join(case["source"] + "\n" for case in cases))
    target = sixfold.file("target", "".join(case["target"] + "\n" for case in cases))
    scored = sixfold.lines("score", model, "--source", source, "--target", target, "--token-scores", "--format", "jsonl", *options)
    common = ["translate", model, "--input", source, "--format", "jsonl", *options]
    greedy, beam = sixfold.lines(*common, "--beam-size", 1), sixfold.lines(*common, "--beam-size", BEAMS, "--n-best", BEAMS)
    for case, score, one, many in zip(cases, scored, greedy, beam, strict=True):
        ours, theirs = [token["log_probability"] for token in score["tokens"]], case["log_probabilities"]
        if ours[:1] == [0]:  # the probability of a token that is forced is 1
            theirs = [0] + theirs[1:]
        yield from numbers(f"log-probabilities of {case['target']!r} after {case['source']!r}", theirs, ours)
        translations = one.get("translations") or [one]
        yield from same_text(f"greedy translation of {case['source']!r}", case["greedy"], translations[0]["text"])
        best = many["translations"]
        for i, (text, found) in enumerate(zip(case["beam"], best)):
            yield from same_text(f"beam translation {i} of {case['source']!r}", text, found["text"])
        yield from numbers(f"beam scores of {case['source']!r}", case["beam_scores"], [found["score"] for found in best])


def compare_masked(sixfold, model, cases):
    path = sixfold.file("masked", "".join(case["text"].replace("<mask>", mask_of_sixfold()) + "\n" for case in cases))
    for case, said in zip(cases, sixfold.lines("fill", model, "--input", path, "--json", "--candidates", 5), strict=True):
        if len(said["masks"]) != len(case["masks"]):
            yield f"masks of {case['text']!r}: {len(said['masks'])} and not {len(case['masks'])}", 0.0
            continue
        for theirs, ours in zip(case["masks"], said["masks"]):
            yield from numbers(f"probabilities of a mask of {case['text']!r}", [one["probability"] for one in theirs], [one["probability"] for one in ours])
            if theirs[0]["probability"] - theirs[1]["probability"] > TOLERANCE:
                yield from same_text(f"likeliest fill of {case['text']!r}", theirs[0]["text"].strip().removeprefix("##"), ours[0]["text"].strip().removeprefix("##"))


def compare_labels(what, theirs, ours):
    ours = {one["label"]: one["probability"] for one in ours} if isinstance(ours, list) else ours
    if set(theirs) != set(ours):
        yield f"labels of {what}: {sorted(ours)} and not {sorted(theirs)}", 0.0
    else:
        yield from numbers(f"probabilities of {what}", list(theirs.values()), [ours[label] for label in theirs])


def compare_classes(sixfold, model, cases):
    path = sixfold.file("classes", "".join(case["text"] + "\n" for case in cases))
    for case, said in zip(cases, sixfold.lines("classify", model, "--input", path, "--json"), strict=True):
        yield from compare_labels(repr(case["text"]), case["probabilities"], said["probabilities"])


def compare_images(sixfold, model, cases):
    names = []
    for number, case in enumerate(cases):
        rows, columns, channels = len(case["pixels"]), len(case["pixels"][0]), len(case["pixels"][0][0])
        head = f"P{6 if channels == 3 else 5}\n{columns} {rows}\n255\n".encode()
        values = bytes(value for row in case["pixels"] for pixel in row for value in pixel)
        names.append(sixfold.file(f"{number}.{'ppm' if channels == 3 else 'pgm'}", head + values))
    path = sixfold.file("images", "".join(f"{name}\n" for name in names))
    for number, (case, said) in enumerate(zip(cases, sixfold.lines("classify", model, "--input", path, "--json"), strict=True)):
        yield from compare_labels(f"image {number}", case["probabilities"], said["probabilities"])


def compare_spans(sixfold, model, cases):
    path = sixfold.file("questions", "".join(f"{case['text']}\t{case['question']}\n" for case in cases))
    said = sixfold.lines("answer", model, "--input", path, "--json", "--max-answer-tokens", ANSWER_TOKENS)
    for case, one in zip(cases, said, strict=True):
        known = one["answer"] if one["answer"] in case["spans"] else case["answer"]
        yield from same_text(f"answer to {case['question']!r}", known, one["answer"])
        yield from numbers(f"probability of the answer to {case['question']!r}", [case["spans"][known]], [one["probability"]])


def compare_embeddings(sixfold, model, cases):
    import numpy
    path, out = sixfold.file("sentences", "".join(case["text"] + "\n" for case in cases)), sixfold.folder / "embeddings.npy"
    sixfold.run("embed", model, "--input", path, "--output", out)
    for case, ours in zip(cases, numpy.load(out).tolist(), strict=True):
        yield from numbers(f"embedding of {case['text']!r}", case["embedding"], ours)


COMPARISONS = {"language": compare_language, "translation": compare_translation, "masked": compare_masked, "classes": compare_classes,
               "spans": compare_spans, "embeddings": compare_embeddings, "images": compare_images}
MEASURED = ("log_probabilities", "beam_scores", "embedding", "probability")  # of the cases, beside the texts
SAID = ("greedy", "answer", "beam")


def measured(case):
    for key in MEASURED:
        if key in case:
            yield key, case[key] if isinstance(case[key], list) else [case[key]]
    if "probabilities" in case:
        yield "probabilities", [case["probabilities"][label] for label in sorted(case["probabilities"])]
    for i, mask in enumerate(case.get("masks", [])):
        yield f"mask {i}", [one["probability"] for one in mask]


def compare_exported(cases, exported):
    """What transformers computes from the model as it was, and from the export, which may give tokens other ids."""
    for case, other in zip(cases, exported, strict=True):
        where = repr(case.get("source", case.get("text", "")))[:60]
        for (key, theirs), (_, ours) in zip(measured(case), measured(other), strict=True):
            yield from numbers(f"export, {key} of {where}", theirs, ours)
        for key in SAID[:2] if "greedy_log_probability" in case else SAID:  # a language model is exported without settings of beams
            for theirs, ours in zip(*([one[key]] if isinstance(one.get(key), str) else one.get(key, []) for one in (case, other))):
                yield from same_text(f"export, {key} of {where}", theirs, ours)


def ids_of_exported(folder, made):
    found = {}
    for name in ("config.json", "generation_config.json"):
        if (folder / name).exists():
            found |= json.loads((folder / name).read_text())
    first = lambda value: value[0] if isinstance(value, list) else value
    return dataclasses.replace(made, folder=folder, bos=first(found.get("bos_token_id")), eos=first(found.get("eos_token_id")))


class Result:
    def __init__(self):
        self.different, self.refused, self.export_refused, self.worst = [], None, None, 0.0

    def add(self, found):
        for text, difference in found:
            self.worst = max(self.worst, difference)
            if text:
                self.different.append(text)


def compare_model(family, folder, work, made, more, program):
    task, result = FAMILIES[family][0], Result()
    cases = REFERENCES[task](folder, made, more)
    sixfold = Sixfold(program, work)
    ours, again = work / "ours", work / "exported"
    try:
        sixfold.run("import", "hf", folder, "--output", ours)
    except Failure as failure:
        if "status -" in str(failure):  # a signal
            result.different.append(str(failure))
        result.refused = str(failure)
        return result
    options = [languages(made)] if task == "translation" else []
    try:
        result.add(COMPARISONS[task](sixfold, ours, cases, *options))
    except (Failure, subprocess.TimeoutExpired, KeyError, ValueError) as failure:
        result.different.append(f"{type(failure).__name__}: {failure}")
    try:
        sixfold.run("export", "hf", ours, "--output", again)
    except Failure as failure:
        result.export_refused = str(failure)
        if "status -" in str(failure):
            result.different.append(str(failure))
        return result
    try:
        exported = REFERENCES[task](again, ids_of_exported(again, made) if made else None, more)
        result.add(compare_exported(cases, exported))
    except Exception as error:  # whatever transformers says of a folder that it cannot open
        result.different.append(f"export: {type(error).__name__}: {error}")
    return result


# Tokenizers: what does not need Sixfold.

def different_ids(made):
    """Texts of which tokenizer.json, the class of transformers and SentencePiece have other ids."""
    names = ["tokenizer.json", "transformers"]
    loaded = made.load()
    pieces = next((p for p in (made.folder / name for name in ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model")) if p.exists()), None)
    for text in TEXTS + TARGETS + ["  lead\n  two lines\nend ", "a\u00a0b\tc", "<mask> </s> [MASK]"]:
        ids = {names[1]: loaded(text).input_ids}
        plain = {names[1]: loaded(text, add_special_tokens=False).input_ids}
        if (made.folder / "tokenizer.json").exists():
            ids[names[0]] = made.encode(text)
            plain[names[0]] = Tokenizer.from_file(str(made.folder / names[0])).encode(text, add_special_tokens=False).ids
        if pieces:
            tokens = sentencepiece.SentencePieceProcessor(str(pieces)).encode(text, out_type=str)
            of_pieces = loaded.convert_tokens_to_ids(tokens)
            for name, one in plain.items():
                if one != of_pieces:
                    yield f"{name} and SentencePiece: {text!r}: {one} and {of_pieces}"
        if len(ids) > 1 and names[0] in ids and ids[names[0]] != ids[names[1]]:
            yield f"{names[0]} and {names[1]}: {text!r}: {ids[names[0]]} and {ids[names[1]]}"


def make(family, folder, seed, number, vocabulary=340):
    folder.mkdir(parents=True)
    torch.manual_seed(seed * 1000 + number)
    return families_models.make(family, folder, random.Random(f"{family} {seed} {number}"), vocabulary)


def without_sixfold(family, options):
    found, examples = collections.Counter(), {}
    for number in range(options.models):
        with tempfile.TemporaryDirectory() as name:
            made, more = make(family, Path(name) / "theirs", options.seed, number)
            cases = REFERENCES[FAMILIES[family][0]](Path(name) / "theirs", made, more)
            for case in cases:
                for key, values in measured(case):
                    if not all(value == value and abs(value) < 1e4 for value in values):
                        found[f"{key} are not finite"] += 1
            if made:
                for text in different_ids(made):
                    what, where, *shown = text.split(": ", 2)
                    found[f"other ids by {what}: {where}"] += 1
                    examples.setdefault(f"other ids by {what}: {where}", shown)
    for text, count in found.items():
        print(f"{family}: {count} times {text}", *examples.get(text, []))
    print(f"{family}: {options.models} models made", flush=True)
    return 0


def compare_family(family, options):
    equal, worst, refusals, exports = 0, 0.0, collections.Counter(), collections.Counter()
    for number in range(options.models):
        with tempfile.TemporaryDirectory() as name:
            work = Path(name)
            made, more = make(family, work / "theirs", options.seed, number)
            result = compare_model(family, work / "theirs", work, made, more, options.sixfold)
            shown = lambda text: re.sub(r"\s+", " ", text.replace(str(work) + "/", ""))[:400]
            worst = max(worst, result.worst)
            equal += not result.different and not result.refused
            if result.refused:
                refusals[shown(result.refused)] += 1
            elif result.export_refused:
                exports[shown(result.export_refused)] += 1
            for text in result.different[:5]:
                print(f"{family} {number} ({', '.join(more['form'])}): {shown(text)}")
            if result.different:
                print(f"{family} {number}: {len(result.different)} differences", flush=True)
            if result.different and options.keep:
                shutil.copytree(work / "theirs", options.keep / f"{family}-{options.seed}-{number}", dirs_exist_ok=True)
    for kind, reasons in (("refused", refusals), ("export refused", exports)):
        for reason, count in reasons.items():
            print(f"{family}: {kind} {count} times: {reason}")
    refused = sum(refusals.values())
    print(f"{family}: {equal} of {options.models - refused} equal" + (f", {refused} refused" if refused else "") +
          (f", {sum(exports.values())} not exported" if exports else "") + f"; at most {worst:.2g}", flush=True)
    return equal + refused != options.models


def rounded(value):
    if isinstance(value, float):
        return round(value, 7)
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def golden(family, options):
    """The first random model whose folder is small enough."""
    for number in range(200):
        target = options.golden / family
        shutil.rmtree(target, ignore_errors=True)
        made, more = make(family, target, options.seed, number, vocabulary=330)
        cases = REFERENCES[FAMILIES[family][0]](target, made, more)
        expected = {"task": FAMILIES[family][0], **{key: value for key, value in more.items() if key != "processor"}, "cases": cases}
        (target / "expected.json").write_text(json.dumps(rounded(expected), ensure_ascii=False) + "\n", encoding="utf-8")
        size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
        if size <= 100_000:
            print(f"{target}: model {number}, {size} bytes")
            return 0
    print(f"{family}: no model is small enough")
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--models", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the models that differ")
    parser.add_argument("--golden", type=Path, help="write a small model of each family and expected.json into folders here")
    parser.add_argument("--without-sixfold", action="store_true")
    parser.add_argument("--sixfold", default=str(HERE.parents[1] / "build/release/sixfold"))
    options = parser.parse_args()
    unknown = set(options.families) - set(FAMILIES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    hf.logging.set_verbosity_error()
    hf.logging.disable_progress_bar()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    act = golden if options.golden else without_sixfold if options.without_sixfold else compare_family
    failed = [family for family in options.families or FAMILIES if act(family, options)]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
