"""How sixfold.compat.ctranslate2 translates and scores tokens."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import warnings
import weakref
from dataclasses import dataclass
from typing import Any, Iterable, Sequence

import numpy as np

from .. import core
from ..errors import Error

Tokens = Sequence[str]
# The ids of a hypothesis, whether the end token follows, its score, and its attention, an array or None.
Found = tuple[list[int], bool, float, Any]


@dataclass(frozen=True)
class TranslationResult:
    """Hypotheses, best first. What was not asked for is an empty list."""

    hypotheses: list[list[str]]
    scores: list[float]
    attention: list[list[list[float]]]
    logits: list[list[Any]]

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __getitem__(self, i: int) -> dict[str, Any]:
        warnings.warn("reading a TranslationResult as a list of dictionaries is deprecated; use its attributes", DeprecationWarning, stacklevel=2)
        hypothesis: dict[str, Any] = {"tokens": self.hypotheses[i]}
        if self.scores:
            hypothesis["score"] = self.scores[i]
        if self.attention:
            hypothesis["attention"] = self.attention[i]
        return hypothesis


@dataclass(frozen=True)
class ScoringResult:
    """The tokens of a target, the end token included, and their log-probabilities."""

    tokens: list[str]
    log_probs: list[float]


class Vocabulary:
    """The tokens of a side, and their ids."""

    def __init__(self, folder: str, target: bool) -> None:
        tokenizer = core.open_tokenizer(folder, target)
        self.tokens = [tokenizer.token(id) for id in range(tokenizer.vocab_size)]
        self.ids: dict[str, int] = {}
        for id, token in enumerate(self.tokens):
            self.ids.setdefault(token, id)
        self.unk, self.eos = tokenizer.unk, tokenizer.eos
        self.end = self.tokens[self.eos]

    def to_ids(self, tokens: Tokens) -> list[int]:
        return [self.ids.get(token, self.unk) for token in tokens]

    def known_ids(self, tokens: Tokens) -> list[int]:
        """Throws ValueError for a token that is not in the vocabulary."""
        for token in tokens:
            if token not in self.ids:
                raise ValueError(f"token {token!r} is not in the vocabulary of the model")
        return self.to_ids(tokens)

    def to_tokens(self, ids: Iterable[int]) -> list[str]:
        return [self.tokens[id] for id in ids]

    def has_content(self, tokens: Tokens) -> bool:
        """Whether there is more than the tokens around a text; the code of a language may follow the end token."""
        around = {"<s>", self.end}
        if len(tokens) == 1:
            return tokens[0] not in around
        content = len(tokens) - (tokens[:1] == ["<s>"])
        if self.end in tokens[-2:]:
            content -= 1 if tokens[-1] == self.end else 2
        return content > 0

    def source(self, tokens: Tokens, most: int) -> tuple[list[int], bool]:
        """What the encoder reads, and whether the end token was added. The last tokens are kept in what is cut."""
        ids = self.to_ids(tokens)
        adds = self.end not in tokens[-2:]
        if adds:
            ids.append(self.eos)
        if 0 < most < len(ids):
            kept = 1 if ids[-1] == self.eos else 2
            ids = ids[: max(most - kept, 0)] + ids[-kept:][-most:]
        return ids, adds


def _import(folder: str, output: str) -> str:
    """Imports a folder of CTranslate2. Argos Translate's packages have the SentencePiece model beside it."""
    beside = os.path.join(os.path.dirname(os.path.abspath(folder)), "sentencepiece.model")
    has_own = all(os.path.isfile(os.path.join(folder, name)) for name in ("source.spm", "target.spm"))
    if not has_own and not os.path.isfile(beside):
        raise Error(f"{folder}: has no SentencePiece models; put them there as source.spm and target.spm, or one for both beside the folder as {beside}")
    core.import_ctranslate2(folder, [] if has_own else [beside], output)
    return output


def _remove(folder: str, process: int) -> None:
    """Removes a temporary folder, unless this is a process that its owner has forked."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


class Model:
    """A model that is open. A folder of CTranslate2 is imported first, which takes some time and room."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        if os.path.isfile(os.path.join(folder, "model.bin")) and not os.path.isfile(os.path.join(folder, "model.safetensors")):
            imported = tempfile.mkdtemp()  # a process that is forked opens it again
            weakref.finalize(self, _remove, imported, os.getpid())
            folder = _import(folder, os.path.join(imported, "model"))
        self.core = core.Translator(folder, options)
        self.source, self.target = Vocabulary(folder, target=False), Vocabulary(folder, target=True)
        self.has_shortlist = os.path.isfile(os.path.join(folder, "shortlist.safetensors"))

    def is_quantized(self) -> bool:
        return any(weights is None for weights in core.weights(self.core.runtime()).values())

    def score(self, batch: Sequence[Tokens], targets: Sequence[Tokens], most: int, offset: int) -> list[ScoringResult]:
        read = [self.source.source(tokens, most)[0] for tokens in batch]
        scored = [self.target.to_ids(tokens)[: most - 1 if most > 0 else None] for tokens in targets]
        return [
            ScoringResult(self.target.to_tokens([*ids, self.target.eos])[offset:], log_probs[offset:])
            for ids, log_probs in zip(scored, core.ctranslate2_score(self.core, read, scored))]


class Search:
    """A call of ``translate_batch``. ``settings``: of the search."""

    def __init__(self, model: Model, settings: dict[str, Any], max_input_length: int, returns: set[str], replaces: bool) -> None:
        self.model, self.settings, self.returns, self.replaces = model, settings, returns, replaces
        self.max_input_length = max_input_length
        self.wanted: dict[str, Any] = {"attention": "attention" in returns, "attention_of_unknown": replaces}

    def find(self, sources: list[list[int]], contexts: list[list[int]], prefixes: list[list[int]], **changes: Any) -> Sequence[Sequence[Found]]:
        options = {**self.settings, **self.wanted, **changes}
        return core.ctranslate2_search(self.model.core, sources, contexts, prefixes, options)

    def translate(self, batch: Sequence[Tokens], prefixes: Sequence[Tokens], alternatives: float | None) -> list[TranslationResult]:
        most = self.settings["max_decoding_length"]
        starts = [self.model.target.to_ids(prefix)[:most] for prefix in prefixes]
        read = [self.model.source.source(tokens, self.max_input_length) for tokens in batch]
        results: list[TranslationResult | None] = [
            None if self.model.source.has_content(tokens) else self.empty(tokens, start) for tokens, start in zip(batch, starts)]
        for full in True, False:  # prefixes that are whole outputs, and others
            places = [i for i, start in enumerate(starts) if results[i] is None and (len(start) == most) == full]
            if not places:
                continue
            some = [read[i][0] for i in places], [starts[i] for i in places]
            if full:
                found = self.prefixes_alone(*some, alternatives is not None)
            elif alternatives is None:
                found = self.find(some[0], [[] for _ in places], some[1])
            else:
                found = self.alternatives(*some, alternatives)
            for place, hypotheses in zip(places, found):
                results[place] = self.result(batch[place], read[place][1], hypotheses)
        return results  # type: ignore[return-value]

    def prefixes_alone(self, sources: list[list[int]], starts: list[list[int]], alike: bool) -> Sequence[Sequence[Found]]:
        """Prefixes as long as outputs may be: the first hypothesis of a beam is certain, and the others are worthless."""
        found = self.find(sources, starts, [[] for _ in starts], max_decoding_length=1, min_decoding_length=0, num_hypotheses=1)
        worst = 0 if alike else -1e10 / self.settings["max_decoding_length"] ** self.settings["length_penalty"]
        return [
            [(start, False, 0 if i == 0 else worst, None if one[3] is None else one[3][: len(start)])
             for i in range(self.settings["num_hypotheses"])]
            for start, (one, *_) in zip(starts, found)]

    def alternatives(self, sources: list[list[int]], starts: list[list[int]], least: float) -> Sequence[Sequence[Found]]:
        """The likeliest tokens after each prefix, and how each of them goes on by itself."""
        count, most = self.settings["num_hypotheses"], self.settings["max_decoding_length"]
        first = self.find(sources, starts, [[] for _ in starts], beam_size=count, most_finished=count, length_penalty=1,
                          max_decoding_length=1, min_decoding_length=1)
        results: list[list[Found]] = []
        for place, (start, tokens) in enumerate(zip(starts, first)):
            expanded = list(itertools.takewhile(lambda one: np.exp(one[2]) >= least, tokens))
            length = len(start) + 1
            alone = [(start + ids, False, score, attention) for ids, _, score, attention in expanded]
            if length == most or not alone:
                results.append(alone)
                continue
            rest = self.find([sources[place]] * len(alone), [ids for ids, *_ in alone], [[] for _ in alone], num_hypotheses=1,
                             max_decoding_length=most - length, min_decoding_length=max(self.settings["min_decoding_length"] - length, 0))
            results.append([(begun[0] + ids, ended, begun[2] + score, attention)
                            for begun, ((ids, ended, score, attention), *_) in zip(alone, rest)])
        return results

    def empty(self, tokens: Tokens, start: list[int]) -> TranslationResult:
        """The result for a source without content: the prefix."""
        count = self.settings["num_hypotheses"]
        return TranslationResult(
            [self.model.target.to_tokens(start) for _ in range(count)],
            [0.0] * count if "scores" in self.returns else [],
            [[[0.0] * len(tokens) for _ in start] for _ in range(count)] if "attention" in self.returns else [], [])

    def result(self, source: Tokens, adds_end: bool, found: Sequence[Any]) -> TranslationResult:
        target = self.model.target
        hypotheses: list[list[str]] = []
        attention: list[list[list[float]]] = []
        for ids, ended, _, weights in found:
            tokens = target.to_tokens(ids) + [target.end] * ended
            while tokens and tokens[-1] == target.end and "end_token" not in self.returns:
                tokens.pop()
            if weights is not None:
                seen = weights[: len(tokens), : weights.shape[1] - adds_end]
                seen = np.pad(seen, ((0, 0), (0, max(len(source) - seen.shape[1], 0))))
                if self.replaces:
                    tokens = [source[int(row.argmax())] if token == target.tokens[target.unk] else token
                              for token, row in zip(tokens, seen)]
                attention.append(seen.tolist())
            hypotheses.append(tokens)
        return TranslationResult(hypotheses, [score for _, _, score, _ in found] if "scores" in self.returns else [],
                                 attention if "attention" in self.returns else [], [])
