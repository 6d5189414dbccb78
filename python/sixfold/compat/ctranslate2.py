"""CTranslate2's ``Translator`` over a model folder of Sixfold.

``sys.modules["ctranslate2"] = sixfold.compat.ctranslate2`` before a program is imported makes it translate with Sixfold.
Parameters, defaults and results are those of CTranslate2 4.8, and its search is followed step by step. What is not
supported raises an exception that names the parameter; docs/python.md lists it.
"""

from __future__ import annotations

import itertools
import logging
import math
import operator
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, List, Optional, Sequence, TypeVar, Union, cast

import numpy as np

from .ctranslate2_search import Model, ScoringResult, Search, Tokens, TranslationResult

__version__ = "4.8.5"  # of the interface: programs compare it

Result = TypeVar("Result")

_BLOCK = 16  # batches of a stream that are read at a time


def contains_model(path: str) -> bool:
    """Whether a folder has a model of Sixfold or of CTranslate2."""
    files = ("config.json", "model.safetensors")
    return all(os.path.isfile(os.path.join(path, name)) for name in files) or os.path.isfile(os.path.join(path, "model.bin"))


def get_cuda_device_count() -> int:
    return 0


def get_supported_compute_types(device: str, device_index: int = 0) -> set[str]:
    _require_cpu(device, device_index)
    return {"float32", "int8", "int8_float32"}


def set_random_seed(seed: int) -> None:
    """Changes nothing: tokens are not drawn."""
    _whole(seed=seed)


def get_log_level() -> int:
    """The level of the logger "sixfold"."""
    return logging.getLogger("sixfold").getEffectiveLevel()


def set_log_level(level: int) -> None:
    """Sets the level of the logger "sixfold"."""
    logging.getLogger("sixfold").setLevel(level)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"sixfold.compat.ctranslate2 has no {name!r}: of CTranslate2 it has the Translator")


def _refuse(name: str, advice: str) -> NotImplementedError:
    return NotImplementedError(f"sixfold.compat.ctranslate2: {name} is not supported; {advice}")


def _require_cpu(device: str, device_index: Union[int, List[int]]) -> None:
    if device not in ("cpu", "auto"):
        raise ValueError(f"sixfold.compat.ctranslate2: device is {device!r}, but models are computed by the processor; give 'cpu'")
    if device_index not in (0, [0]):
        raise ValueError(f"sixfold.compat.ctranslate2: device_index is {device_index}, but there is one device; give 0")


def _precision(compute_type: Union[str, Dict[str, str]]) -> str | None:
    """Sixfold's name for a type; None: as the model is stored."""
    name = compute_type.get("cpu", "default") if isinstance(compute_type, dict) else compute_type
    known = {"default": None, "auto": "int8", "int8": "int8", "int8_float32": "int8", "float32": "fp32"}
    if name not in known:
        raise ValueError(f"sixfold.compat.ctranslate2: compute_type {name!r} is not supported; give one of {', '.join(known)}")
    return known[name]


class _Async(Generic[Result]):
    """A result of a batch that is computed by another thread."""

    def __init__(self, batch: Future[list[Result]], place: int) -> None:
        self._batch, self._place = batch, place

    def result(self) -> Result:
        """Waits for the result, and returns it, or raises what was raised when it was computed."""
        return self._batch.result()[self._place]

    def done(self) -> bool:
        return self._batch.done()


class AsyncTranslationResult(_Async[TranslationResult]):
    pass


class AsyncScoringResult(_Async[ScoringResult]):
    pass


class Translator:
    """Translates and scores tokens. Safe to share between threads."""

    def __init__(
        self,
        model_path: str,
        device: str = "cpu",
        *,
        device_index: Union[int, List[int]] = 0,
        compute_type: Union[str, Dict[str, str]] = "default",
        inter_threads: int = 1,
        intra_threads: int = 0,
        max_queued_batches: int = 0,
        flash_attention: bool = False,
        tensor_parallel: bool = False,
        files: object = None,
    ) -> None:
        _require_cpu(device, device_index)
        inter_threads, intra_threads, max_queued_batches = _whole(
            inter_threads=inter_threads, intra_threads=intra_threads, max_queued_batches=max_queued_batches)
        if inter_threads < 1 or intra_threads < 0:
            raise ValueError(f"inter_threads is {inter_threads}, and intra_threads {intra_threads}; give at least 1 and 0")
        if max_queued_batches > 0:
            raise _refuse("max_queued_batches", "the queue of calls has no limit; leave it out")
        if flash_attention or tensor_parallel:
            raise _refuse("flash_attention" if flash_attention else "tensor_parallel", "models are computed by one processor; leave it out")
        if files is not None:
            raise _refuse("files", "write the files into a folder, and give its path")
        self._folder = os.fspath(model_path)
        self._precision = _precision(compute_type)
        threads = inter_threads * intra_threads  # 0: all that there are
        self._options = {"threads": threads, "precision": self._precision}
        self._threads = inter_threads
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._process = os.getpid()  # whose batches are counted
        self._active = self._queued = 0
        self._model: Model | None = Model(self._folder, self._options)

    device = "cpu"
    device_index = [0]
    tensor_parallel = False

    @property
    def compute_type(self) -> str:
        return "int8_float32" if self._loaded().is_quantized() else "float32"

    @property
    def num_translators(self) -> int:
        return self._threads

    @property
    def num_active_batches(self) -> int:
        """The batches that are computed or wait; each call is one."""
        return self._active

    @property
    def num_queued_batches(self) -> int:
        """The batches that wait."""
        return self._queued

    @property
    def model_is_loaded(self) -> bool:
        return self._model is not None

    def unload_model(self, to_cpu: bool = False) -> None:
        """Frees the memory of the model; with ``to_cpu`` it is there already, and stays."""
        if not to_cpu:
            self._model = None

    def load_model(self, keep_cache: bool = False) -> None:
        """Opens the model again."""
        with self._lock:
            if self._model is None:
                self._model = Model(self._folder, self._options)

    def translate_batch(
        self,
        source: List[List[str]],
        target_prefix: Optional[List[Optional[List[str]]]] = None,
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        asynchronous: bool = False,
        beam_size: int = 2,
        patience: float = 1,
        num_hypotheses: int = 1,
        length_penalty: float = 1,
        coverage_penalty: float = 0,
        repetition_penalty: float = 1,
        no_repeat_ngram_size: int = 0,
        disable_unk: bool = False,
        suppress_sequences: Optional[List[List[str]]] = None,
        end_token: Optional[Union[str, List[str], List[int]]] = None,
        return_end_token: bool = False,
        prefix_bias_beta: float = 0,
        max_input_length: int = 1024,
        max_decoding_length: int = 256,
        min_decoding_length: int = 1,
        use_vmap: bool = False,
        return_scores: bool = False,
        return_logits_vocab: bool = False,
        return_attention: bool = False,
        return_alternatives: bool = False,
        min_alternative_expansion_prob: float = 0,
        sampling_topk: int = 1,
        sampling_topp: float = 1,
        sampling_temperature: float = 1,
        replace_unknowns: bool = False,
        callback: Optional[Callable[[Any], bool]] = None,
    ) -> Any:
        """Translates sources. The batches are Sixfold's own: a translation does not depend on them."""
        model = self._loaded()
        _require_batches(batch_type, max_batch_size=max_batch_size, max_input_length=max_input_length)
        beam_size, num_hypotheses, no_repeat_ngram_size, max_decoding_length, min_decoding_length, sampling_topk = _whole(
            beam_size=beam_size, num_hypotheses=num_hypotheses, no_repeat_ngram_size=no_repeat_ngram_size,
            max_decoding_length=max_decoding_length, min_decoding_length=min_decoding_length, sampling_topk=sampling_topk)
        patience, length_penalty, repetition_penalty, min_alternative_expansion_prob, sampling_topp, sampling_temperature = _real(
            patience=patience, length_penalty=length_penalty, repetition_penalty=repetition_penalty,
            min_alternative_expansion_prob=min_alternative_expansion_prob, sampling_topp=sampling_topp,
            sampling_temperature=sampling_temperature)
        for name, value, default in (
            ("coverage_penalty", coverage_penalty, 0), ("prefix_bias_beta", prefix_bias_beta, 0), ("callback", callback, None),
            ("return_logits_vocab", return_logits_vocab, False),
        ):
            if value != default:
                raise _refuse(name, f"leave it out, or give {default}")
        if sampling_topk != 1 and sampling_temperature != 0:
            raise _refuse("sampling_topk", "tokens are not drawn; leave it out, or give 1")
        if not 0 < sampling_topp <= 1:
            raise ValueError("The sampling_topp parameter must be between 0 and 1")
        if end_token not in (None, "", model.target.end, [model.target.end], [model.target.eos]):
            raise _refuse("end_token", f"outputs end with the model's {model.target.end}; leave it out")
        if use_vmap and model.has_shortlist:
            raise _refuse("use_vmap", "leave it out, or translate with sixfold.Translator, which obeys the shortlist of the model")
        finished = int(beam_size * patience + 0.5) if beam_size > 1 else 1
        for valid, message in (
            (beam_size > 0, "The beam size must be > 0"),
            (patience > 0, "The patience factor must be > 0"),
            (num_hypotheses > 0, "The number of hypotheses must be > 0"),
            (num_hypotheses <= finished or return_alternatives, "The number of hypotheses cannot be greater than beam_size * patience"),
            (min_decoding_length <= max_decoding_length, "The minimum decoding length is greater than the maximum decoding length"),
            (max_decoding_length > 0, "The maximum decoding length must be > 0"),
            (repetition_penalty > 0, "The repetition penalty must be > 0"),
            (not return_alternatives or 0 <= min_alternative_expansion_prob <= 1,
             "The minimum alternative expansion probability must be between 0 and 1"),
        ):
            if not valid:
                raise ValueError(message)
        rows = [] if suppress_sequences is None else _rows("suppress_sequences", suppress_sequences)
        suppressed = [model.target.known_ids(tokens) for row in rows if (tokens := _tokens("suppress_sequences", row))]
        settings = {
            "beam_size": beam_size, "most_finished": max(finished, 1), "num_hypotheses": num_hypotheses, "length_penalty": length_penalty,
            "repetition_penalty": repetition_penalty, "no_repeat_ngram_size": no_repeat_ngram_size,
            "suppress_sequences": suppressed + [[model.target.unk]] * bool(disable_unk),
            "max_decoding_length": max_decoding_length, "min_decoding_length": min_decoding_length,
        }
        asked = {"scores": return_scores, "attention": return_attention, "end_token": return_end_token}
        search = Search(model, settings, max_input_length, {name for name, wanted in asked.items() if wanted}, bool(replace_unknowns))
        batch = _rows("source", source)
        prefixes_given = [] if target_prefix is None else _rows("target_prefix", target_prefix)
        prefixes_given = prefixes_given or [None] * len(batch)
        sources, prefixes = _pairs(batch, [[] if prefix is None else prefix for prefix in prefixes_given], "target prefixes")
        least = min_alternative_expansion_prob if return_alternatives else None
        return self._results(lambda: search.translate(sources, prefixes, least), len(sources), AsyncTranslationResult if asynchronous else None)

    def score_batch(
        self,
        source: List[List[str]],
        target: List[List[str]],
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
        asynchronous: bool = False,
    ) -> Any:
        """Scores targets. ``offset``: the first tokens that are left out of the results."""
        model = self._loaded()
        _require_batches(batch_type, max_batch_size=max_batch_size, max_input_length=max_input_length, offset=offset)
        sources, targets = _pairs(_rows("source", source), _rows("target", target), "targets")
        return self._results(lambda: model.score(sources, targets, max_input_length, offset), len(sources), AsyncScoringResult if asynchronous else None)

    def translate_iterable(
        self,
        source: Iterable[List[str]],
        target_prefix: Optional[Iterable[List[str]]] = None,
        max_batch_size: int = 32,
        batch_type: str = "examples",
        **kwargs: Any,
    ) -> Iterator[TranslationResult]:
        """Translates a stream of any length, with the keyword arguments of ``translate_batch``."""
        streams = [source] if target_prefix is None else [source, target_prefix]
        return _stream(self.translate_batch, streams, max_batch_size, batch_type, kwargs)

    def score_iterable(
        self,
        source: Iterable[List[str]],
        target: Iterable[List[str]],
        max_batch_size: int = 64,
        batch_type: str = "examples",
        **kwargs: Any,
    ) -> Iterator[ScoringResult]:
        """Scores a stream of any length, with the keyword arguments of ``score_batch``."""
        return _stream(self.score_batch, [source, target], max_batch_size, batch_type, kwargs)

    def translate_file(self, *arguments: Any, **keywords: Any) -> Any:
        raise _refuse("translate_file", "read the file, and use translate_iterable")

    def score_file(self, *arguments: Any, **keywords: Any) -> Any:
        raise _refuse("score_file", "read the files, and use score_iterable")

    def generate_tokens(self, *arguments: Any, **keywords: Any) -> Any:
        raise _refuse("generate_tokens", "use translate_batch")

    def _loaded(self) -> Model:
        model = self._model
        if model is None:
            raise RuntimeError("The model for this translator was unloaded")
        return model

    def _results(self, work: Callable[[], list[Any]], count: int, wrapper: Any) -> list[Any]:
        """What the work returns, or objects that wait for it."""
        def counted() -> list[Any]:
            with self._lock:
                self._queued -= 1
            try:
                return work()
            finally:
                with self._lock:
                    self._active -= 1

        with self._lock:
            if self._process != os.getpid():  # which was forked, and has no threads and batches of its parent
                self._process, self._executor, self._active, self._queued = os.getpid(), None, 0, 0
            self._active += 1
            self._queued += 1
            if wrapper is not None:
                if self._executor is None:
                    self._executor = ThreadPoolExecutor(self._threads)
                batch = self._executor.submit(counted)
                return [wrapper(batch, place) for place in range(count)]
        return counted()


def _require_batches(batch_type: str, **counts: int) -> None:
    if batch_type not in ("examples", "tokens"):
        raise ValueError(f"Invalid batch type: {batch_type}")
    for name, count in zip(counts, _whole(**counts)):
        if count < 0:
            raise ValueError(f"{name} is {count}; it must be at least 0")


def _rows(name: str, value: Any) -> list[Any]:
    """The elements of a list, or of another sequence that can be read again."""
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)):
        raise TypeError(f"{name}: expected a list, found {value!r:.80}")
    return list(cast("Sequence[Any]", value))


def _tokens(name: str, value: Any) -> list[str]:
    tokens = _rows(name, value)
    if not all(isinstance(token, str) for token in tokens):
        raise TypeError(f"{name}: expected a list of tokens that are str, found {value!r:.80}")
    return tokens


def _whole(**numbers: Any) -> Iterator[int]:
    """Whole numbers, by the names of their parameters."""
    for name, value in numbers.items():
        try:
            yield operator.index(value)
        except TypeError:
            raise TypeError(f"{name}: expected a whole number, found {value!r:.80}") from None


def _real(**numbers: Any) -> Iterator[float]:
    for name, value in numbers.items():
        try:
            number = math.nan if isinstance(value, (str, bytes)) else float(value)
        except TypeError:
            number = math.nan
        if not math.isfinite(number):
            raise TypeError(f"{name}: expected a number, found {value!r:.80}")
        yield number


def _pairs(source: Any, others: list[Any], what: str) -> tuple[list[Tokens], list[Tokens]]:
    sources, targets = [_tokens("source", tokens) for tokens in source], [_tokens(what, tokens) for tokens in others]
    if len(sources) != len(targets):
        raise ValueError(f"there are {len(sources)} sources and {len(targets)} {what}")
    return [*sources], [*targets]


def _stream(serve: Callable[..., Any], streams: list[Iterable[Any]], max_batch_size: int, batch_type: str, keywords: dict[str, Any]) -> Iterator[Any]:
    if max_batch_size < 1:
        raise ValueError("max_batch_size must be >= 1")
    most = _BLOCK * max_batch_size  # examples, or tokens
    rows = itertools.zip_longest(*streams)
    block: list[Any] = []
    size = 0
    for row in itertools.chain(rows, [None]):
        more = 0 if row is None else 1 if batch_type == "examples" else len(_rows("source", row[0] or ()))
        if block and (row is None or size + more > most):
            yield from serve(*map(list, zip(*block)), max_batch_size=max_batch_size, batch_type=batch_type, **keywords)
            block, size = [], 0
        if row is not None:
            if any(one is None for one in row):
                raise ValueError("Input iterables do not have the same length")
            block.append(row)
            size += more
