"""BLEU, chrF and TER by the names of sacreBLEU 2, with its scores to the last printed digit.

``references[k][i]`` is the k-th reference of hypothesis i. A setting that sacreBLEU has and sixfold has not is an error.
"""

from __future__ import annotations

import json
from typing import Any, Sequence

from . import core
from .errors import Error

Lines = Sequence[str]
_SEED = 12345  # of sacreBLEU's bootstrap


class Signature:
    """The settings of a score: ``nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:sixfold-0.3.0``."""

    def __init__(self, text: str) -> None:
        self._text = text

    def format(self, short: bool = False) -> str:
        """The signature. ``short`` has no effect."""
        return self._text

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


class Score:
    """A score, from 0 to 100; TER can be above. With a bootstrap, ``_mean`` and ``_ci`` are the mean and half the width of its interval."""

    def __init__(self, name: str, score: float, details: str = "", mean: float = -1.0, interval: float = -1.0) -> None:
        self.name, self.score = name, score
        self._details, self._mean, self._ci = details, mean, interval

    def format(self, width: int = 2, score_only: bool = False, signature: str = "", is_json: bool = False) -> str:
        """The score as text: ``BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ...)``; or as JSON, with each setting of the signature."""
        number, mean, half = (f"{value:.{width}f}" for value in (self.score, self._mean, self._ci))
        interval = f"μ = {mean} ± {half}" if self._mean >= 0 else ""
        text = f"{number} ({interval})" if interval else number
        if score_only:
            return text
        if not is_json:
            name = f"{self.name}|{signature}" if signature else self.name
            return f"{name} = {text}{' ' + self._details if self._details else ''}"
        values: dict[str, Any] = {"name": self.name, "score": float(number), "signature": signature}
        if interval:
            values.update(confidence_mean=float(mean), confidence_var=float(half), confidence=interval)
        if self._details:
            values["verbose_score"] = self._details
        for setting in filter(None, signature.split("|")):
            key, _, value = setting.partition(":")
            values[key] = value
        return json.dumps(values, indent=1, ensure_ascii=False)

    def __str__(self) -> str:
        return self.format()

    __repr__ = __str__


class BLEUScore(Score):
    """``counts``, ``totals``, ``precisions`` (percent): by order; ``bp``: the brevity penalty; lengths in words, and their ``ratio``."""

    def __init__(self, sums: Sequence[float], parts: tuple[list[float], float], *score: Any) -> None:
        super().__init__("BLEU", *score)
        numbers = [int(one) for one in sums]
        self.sys_len, self.ref_len = numbers[:2]
        self.ratio = self.sys_len / self.ref_len if self.ref_len else 0.0
        self.precisions, self.bp = parts
        end = 2 + len(self.precisions)
        self.counts, self.totals = numbers[2:end], numbers[end:]


class CHRFScore(Score):
    """``char_order``, ``word_order``, ``beta``: the settings of the score."""

    def __init__(self, char_order: int, word_order: int, beta: int, *score: Any) -> None:
        super().__init__(f"chrF{beta}" + "+" * word_order, *score)
        self.char_order, self.word_order, self.beta = char_order, word_order, beta


class TERScore(Score):
    """``num_edits``, ``ref_length``: the edits, and the words of references, of which several count by their mean."""

    def __init__(self, sums: Sequence[float], *score: Any) -> None:
        super().__init__("TER", *score)
        self.num_edits, self.ref_length = int(sums[0]), sums[1]


def _streams(references: Lines) -> list[list[str]]:
    if isinstance(references, str):
        raise Error("expected a list of references for the sentence, found a str")
    return [[one] for one in references]


class _Metric:
    _core: core.Metric
    _references: Sequence[Lines] | None = None
    _nrefs = 1
    _samples = 1

    def _scored(self, hypotheses: Lines, references: Sequence[Lines] | None, samples: int = 1) -> tuple[Any, ...]:
        right = self._references if references is None else references
        if right is None or isinstance(hypotheses, str) or any(isinstance(stream, str) for stream in right):
            raise Error("expected a list of hypotheses and a list of lists of references: references[k][i]")
        if not 1 <= samples <= 1_000_000:
            raise Error(f"n_bootstrap is {samples}; it is 1 (none) or the number of samples, at most 1000000")
        self._nrefs, self._samples = len(right), samples
        score, sums, details, mean, interval = self._core.score(list(hypotheses), [list(s) for s in right], samples, _SEED)
        return (sums, score, details, *((mean, interval) if samples > 1 else ()))

    def get_signature(self) -> Signature:
        """The signature of the last score."""
        return Signature(self._core.signature(self._nrefs, self._samples, _SEED))


class BLEU(_Metric):
    """BLEU (Papineni et al. 2002). ``tokenize``: 13a, none, char, intl, zh, ja-mecab or spm, which needs the file
    ``spm_model``; by default 13a, and zh or ja-mecab if ``trg_lang`` is zh or ja. ``smooth_method``: exp, floor, add-k or none."""

    def __init__(
        self, lowercase: bool = False, force: bool = False, tokenize: str | None = None, smooth_method: str = "exp",
        smooth_value: float | None = None, max_ngram_order: int = 4, effective_order: bool = False, trg_lang: str = "",
        references: Sequence[Lines] | None = None, spm_model: str = "",
    ) -> None:
        if tokenize is None:
            tokenize = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}.get(trg_lang, "13a")
        self._references = references
        self._core = core.metric("bleu", {"lowercase": lowercase, "bleu": {
            "tokenize": tokenize, "spm_model": spm_model, "smooth_method": smooth_method, "smooth_value": smooth_value,
            "max_ngram_order": max_ngram_order, "effective_order": effective_order}})

    def corpus_score(self, hypotheses: Lines, references: Sequence[Lines] | None, n_bootstrap: int = 1) -> BLEUScore:
        """The score of a corpus."""
        sums, *score = self._scored(hypotheses, references, n_bootstrap)
        assert isinstance(self._core, core.Bleu)
        return BLEUScore(sums, self._core.parts(sums), *score)

    def sentence_score(self, hypothesis: str, references: Lines) -> BLEUScore:
        """The score of one sentence."""
        return self.corpus_score([hypothesis], _streams(references))


class CHRF(_Metric):
    """chrF (Popović 2015); with ``word_order=2`` it is chrF++."""

    def __init__(
        self, char_order: int = 6, word_order: int = 0, beta: int = 2, lowercase: bool = False, whitespace: bool = False,
        eps_smoothing: bool = False, references: Sequence[Lines] | None = None,
    ) -> None:
        self._references, self._orders = references, (char_order, word_order, beta)
        self._core = core.metric("chrf", {"lowercase": lowercase, "chrf": {
            "char_order": char_order, "word_order": word_order, "beta": beta, "whitespace": whitespace, "eps_smoothing": eps_smoothing}})

    def corpus_score(self, hypotheses: Lines, references: Sequence[Lines] | None, n_bootstrap: int = 1) -> CHRFScore:
        """The score of a corpus."""
        _, *score = self._scored(hypotheses, references, n_bootstrap)
        return CHRFScore(*self._orders, *score)

    def sentence_score(self, hypothesis: str, references: Lines) -> CHRFScore:
        """The score of one sentence."""
        return self.corpus_score([hypothesis], _streams(references))


class TER(_Metric):
    """TER (Snover et al. 2006): edits for each 100 words of the references; less is better."""

    def __init__(
        self, normalized: bool = False, no_punct: bool = False, asian_support: bool = False, case_sensitive: bool = False,
        references: Sequence[Lines] | None = None,
    ) -> None:
        self._references = references
        self._core = core.metric("ter", {"ter": {
            "normalized": normalized, "no_punct": no_punct, "asian_support": asian_support, "case_sensitive": case_sensitive}})

    def corpus_score(self, hypotheses: Lines, references: Sequence[Lines] | None, n_bootstrap: int = 1) -> TERScore:
        """The score of a corpus."""
        return TERScore(*self._scored(hypotheses, references, n_bootstrap))

    def sentence_score(self, hypothesis: str, references: Lines) -> TERScore:
        """The score of one sentence."""
        return self.corpus_score([hypothesis], [[one] for one in references])


def corpus_bleu(
    hypotheses: Lines, references: Sequence[Lines], smooth_method: str = "exp", smooth_value: float | None = None,
    force: bool = False, lowercase: bool = False, tokenize: str = "13a", use_effective_order: bool = False,
) -> BLEUScore:
    """The BLEU of a corpus."""
    metric = BLEU(lowercase, force, tokenize, smooth_method, smooth_value, effective_order=use_effective_order)
    return metric.corpus_score(hypotheses, references)


def raw_corpus_bleu(hypotheses: Lines, references: Sequence[Lines], smooth_value: float | None = 0.1) -> BLEUScore:
    """The BLEU of a corpus that is split into words already."""
    return corpus_bleu(hypotheses, references, "floor", smooth_value, True, False, "none", True)


def sentence_bleu(
    hypothesis: str, references: Lines, smooth_method: str = "exp", smooth_value: float | None = None,
    lowercase: bool = False, tokenize: str = "13a", use_effective_order: bool = True,
) -> BLEUScore:
    """The BLEU of one sentence."""
    metric = BLEU(lowercase, False, tokenize, smooth_method, smooth_value, effective_order=use_effective_order)
    return metric.sentence_score(hypothesis, references)


def corpus_chrf(
    hypotheses: Lines, references: Sequence[Lines], char_order: int = 6, word_order: int = 0, beta: int = 2,
    remove_whitespace: bool = True, eps_smoothing: bool = False,
) -> CHRFScore:
    """The chrF of a corpus."""
    return CHRF(char_order, word_order, beta, whitespace=not remove_whitespace, eps_smoothing=eps_smoothing).corpus_score(hypotheses, references)


def sentence_chrf(
    hypothesis: str, references: Lines, char_order: int = 6, word_order: int = 0, beta: int = 2,
    remove_whitespace: bool = True, eps_smoothing: bool = False,
) -> CHRFScore:
    """The chrF of one sentence."""
    return CHRF(char_order, word_order, beta, whitespace=not remove_whitespace, eps_smoothing=eps_smoothing).sentence_score(hypothesis, references)


def corpus_ter(
    hypotheses: Lines, references: Sequence[Lines], normalized: bool = False, no_punct: bool = False,
    asian_support: bool = False, case_sensitive: bool = False,
) -> TERScore:
    """The TER of a corpus."""
    return TER(normalized, no_punct, asian_support, case_sensitive).corpus_score(hypotheses, references)


def sentence_ter(
    hypothesis: str, references: Lines, normalized: bool = False, no_punct: bool = False,
    asian_support: bool = False, case_sensitive: bool = False,
) -> TERScore:
    """The TER of one sentence."""
    return TER(normalized, no_punct, asian_support, case_sensitive).sentence_score(hypothesis, references)
