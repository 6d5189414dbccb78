"""The predictors: one class for each task.

A predictor may be used by any number of threads at once, and in processes that are forked. One input gives one result, a
list gives a list, and any other iterable gives an iterator, which reads at most 4,096 inputs ahead. What is wrong with
one input of a list is the ``error`` of its result; what is wrong with a single input, or with the call, is a
``sixfold.Error``.
"""

from __future__ import annotations

import itertools
import json
import operator
import os
import time
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Sequence, Union, cast, overload

import numpy as np

from . import core
from .errors import Error
from .results import LayerStates

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from . import options
    from .results import Answer, Caption, Classification, FilledText, FloatArray, Generation, ImageAttention, TextScore, Translation

    Path = Union[str, os.PathLike[str]]
    # An array [height, width] or [height, width, channels] of bytes, or the path of a PNG, JPEG, PPM or PGM file.
    Image = Union[str, os.PathLike[str], NDArray[np.uint8]]
    # A message of a conversation, with "role" and "content".
    Message = Mapping[str, str]
    # Serves some inputs, of which the first has this number.
    Batch = Callable[[list[Any], int], list[Any]]

_BLOCK = 4096
_PATIENCE = 0.05  # seconds


def _stream(inputs: Iterator[Any], serve: Batch) -> Iterator[Any]:
    """Serves inputs in blocks, which grow as long as inputs come at once."""
    first, most = 0, 1
    while True:
        end = time.monotonic() + _PATIENCE
        block: list[Any] = []
        try:
            for one in itertools.islice(inputs, most):
                block.append(one)
                if time.monotonic() > end:
                    most = 0
                    break
        except Exception:
            if block:
                yield from serve(block, first)
            raise
        if not block:
            return
        yield from serve(block, first)
        first, most = first + len(block), min(max(8 * most, 1), _BLOCK)


def _serve(inputs: Any, single: bool, serve: Batch) -> Any:
    if single:
        result = serve([inputs], 0)[0]
        if getattr(result, "error", None):
            raise Error(result.error)
        return result
    if isinstance(inputs, (list, tuple)):
        return serve(list(cast("list[Any]", inputs)), 0)
    iterator = iter(inputs)
    serve([], 0)  # raises what is wrong with the options
    return _stream(iterator, serve)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_image(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike, np.ndarray))


def _ids(ids: Any, vocab_size: int = 2**31, lowest: int = 0) -> list[int]:
    found = [operator.index(one) for one in ids]
    for one in found:
        if not lowest <= one < vocab_size:
            raise Error(f"{one} is not the id of a token")
    return found


class Predictor:
    """What all predictors have. ``model``: a model folder, as made by ``sixfold train``."""

    _core: Any

    def __init__(self, model: Path, **options: Unpack[options.RuntimeOptions]) -> None:
        self.folder = os.fspath(model)
        self._core = getattr(core, type(self).__name__)(model, options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.folder!r})"

    @property
    def config(self) -> dict[str, Any]:
        """The settings of the model, as in its config.json."""
        config: dict[str, Any] = json.loads(self._core.config())
        return config

    def weights(self) -> dict[str, FloatArray | None]:
        """The weights by their names in model.safetensors: [out, in] for matrices, [n] for biases and norms.

        They are the model's own memory, and can't be written. None: a matrix in int8.
        """
        return core.weights(self._core.runtime())

    def position_encodings(self, positions: int) -> FloatArray:
        """The encodings that the model adds to embeddings: [positions, d_model], or fewer if fewer were learned."""
        return core.positions_of(self._core.runtime(), positions)

    def states(self, source: Sequence[int] | None = None, target: Sequence[int] | None = None) -> LayerStates:
        """The states and the attention of all layers.

        ``source``, ``target``: ids as the encoder and the decoder read them, with the tokens around a text; None for a
        part that the model has not got. ``config["decoder_start_token"]`` begins a target; it is -1 where the decoder
        begins with zeros.
        """
        lowest = min(0, self.config.get("decoder_start_token", 0))
        states, attention = core.run(
            self._core.runtime(), None if source is None else _ids(source),
            None if target is None else _ids(target, lowest=lowest))

        def stack(kind: str) -> FloatArray | None:
            layers = [layer for of, _, layer in states if of == kind]
            return np.stack(layers) if layers else None

        return LayerStates(stack("encoder"), stack("decoder"), {(kind, layer): weights for kind, layer, weights in attention})


class Translator(Predictor):
    """Translates text. Its keyword arguments are the options of ``sixfold translate``."""

    @overload
    def translate(self, lines: str, **options: Unpack[options.TranslateOptions]) -> Translation: ...
    @overload
    def translate(self, lines: list[str] | tuple[str, ...], **options: Unpack[options.TranslateOptions]) -> list[Translation]: ...
    @overload
    def translate(self, lines: Iterator[str], **options: Unpack[options.TranslateOptions]) -> Iterator[Translation]: ...
    def translate(self, lines: Any, **options: Any) -> Any:
        """Translates a line, a list of lines, or a stream of any length.

        A line without visible characters gives an empty translation. The translation of a line does not depend on other
        lines. ``glossary``: a dict of phrases and their translations.
        """
        return _serve(lines, _is_text(lines), lambda block, first: self._core.translate(block, first, options))

    def score(self, sources: Sequence[str], targets: Sequence[str], **options: Unpack[options.TranslateOptions]) -> list[Translation]:
        """Scores given translations, with the same outputs as for the model's own. Settings of search have no effect."""
        if isinstance(sources, str) or isinstance(targets, str):
            raise TypeError("expected lists of sources and targets, found a str")
        return self._core.score(list(sources), list(targets), options)  # type: ignore[no-any-return]

    @property
    def languages(self) -> list[str]:
        """The codes of the languages that calls choose from; none if the model does not choose them by tokens."""
        return self._core.languages()  # type: ignore[no-any-return]


class Generator(Predictor):
    """Continues text with a language model. Its keyword arguments are the options of ``sixfold generate``."""

    @overload
    def generate(self, prompts: str, *, on_text: Callable[[int, int, str], object] | None = None, **options: Unpack[options.GenerateOptions]) -> Generation: ...
    @overload
    def generate(self, prompts: list[str] | tuple[str, ...], *, on_text: Callable[[int, int, str], object] | None = None, **options: Unpack[options.GenerateOptions]) -> list[Generation]: ...
    @overload
    def generate(self, prompts: Iterator[str], *, on_text: Callable[[int, int, str], object] | None = None, **options: Unpack[options.GenerateOptions]) -> Iterator[Generation]: ...
    def generate(self, prompts: Any, *, on_text: Any = None, **options: Any) -> Any:
        """Continues a prompt, a list of prompts, or a stream of them. The same seed gives the same texts.

        ``on_text``: is called with the number of the prompt, that of the text, and a piece of it, as they come.
        """
        return _serve(prompts, _is_text(prompts), lambda block, first: self._core.generate(block, first, on_text, options))

    def chat(self, messages: Sequence[Message], *, on_text: Callable[[int, int, str], object] | None = None, **options: Unpack[options.GenerateOptions]) -> Generation:
        """The model's answer to a conversation, such as ``[{"role": "user", "content": "Hello"}]``."""
        return _serve(list(messages), True, lambda block, first: self._core.generate(block, first, on_text, options))  # type: ignore[no-any-return]

    def score(self, path: Path, *, stride: int = 0) -> TextScore:
        """Scores the texts of a file. Long texts are read in windows that move by ``stride`` tokens; 0: half of one."""
        return self._core.score(path, stride)  # type: ignore[no-any-return]


class Classifier(Predictor):
    """Finds the labels of texts, or of images."""

    @overload
    def classify(self, inputs: str | Image) -> Classification: ...
    @overload
    def classify(self, inputs: list[str] | list[Image] | tuple[Image, ...]) -> list[Classification]: ...
    @overload
    def classify(self, inputs: Iterator[Image]) -> Iterator[Classification]: ...
    def classify(self, inputs: Any) -> Any:
        """Finds the label of a text or image, of a list, or of a stream of them."""
        return _serve(inputs, _is_image(inputs), lambda block, first: self._core.classify(block))

    @property
    def labels(self) -> list[str]:
        return self._core.labels()  # type: ignore[no-any-return]

    @property
    def reads_images(self) -> bool:
        return self._core.reads_images()  # type: ignore[no-any-return]


class MaskFiller(Predictor):
    """Fills each ``<mask>`` of a text with a token. Its keyword arguments are the options of ``sixfold fill``."""

    @overload
    def fill(self, texts: str, **options: Unpack[options.FillOptions]) -> FilledText: ...
    @overload
    def fill(self, texts: list[str] | tuple[str, ...], **options: Unpack[options.FillOptions]) -> list[FilledText]: ...
    @overload
    def fill(self, texts: Iterator[str], **options: Unpack[options.FillOptions]) -> Iterator[FilledText]: ...
    def fill(self, texts: Any, **options: Any) -> Any:
        """Fills a text, a list of texts, or a stream of them."""
        return _serve(texts, _is_text(texts), lambda block, first: self._core.fill(block, options))


class QuestionAnswerer(Predictor):
    """Answers questions by parts of texts. Its keyword arguments are the options of ``sixfold answer``."""

    @overload
    def answer(self, questions: str, text: str, **options: Unpack[options.AnswerOptions]) -> Answer: ...
    @overload
    def answer(self, questions: list[str], text: str | list[str], **options: Unpack[options.AnswerOptions]) -> list[Answer]: ...
    @overload
    def answer(self, questions: Iterator[str], text: str, **options: Unpack[options.AnswerOptions]) -> Iterator[Answer]: ...
    def answer(self, questions: Any, text: str | list[str], **options: Any) -> Any:
        """Answers a question about a text, a list or a stream of questions about it, or a list about a text each."""

        def serve(block: list[str], first: int) -> list[Answer]:
            read = [text] * len(block) if isinstance(text, str) else text[first : first + len(block)]
            return self._core.answer(block, read, options)  # type: ignore[no-any-return]

        if not isinstance(text, str) and (not isinstance(questions, (list, tuple)) or len(cast("list[str]", questions)) != len(text)):
            raise Error("expected one text, or a list of questions and a list of as many texts")
        return _serve(questions, _is_text(questions), serve)


class Embedder(Predictor):
    """Computes vectors that stand for texts."""

    @overload
    def embed(self, texts: Iterator[str]) -> Iterator[FloatArray]: ...
    @overload
    def embed(self, texts: str | list[str] | tuple[str, ...]) -> FloatArray: ...
    def embed(self, texts: Any) -> Any:
        """The embedding of a text, [size]; of a list, [texts, size]; or an iterator of them for a stream."""
        if isinstance(texts, (list, tuple)):
            return self._core.embed(texts, 0)
        return _serve(texts, _is_text(texts), self._core.embed)

    @property
    def size(self) -> int:
        return self._core.size()  # type: ignore[no-any-return]


class Captioner(Predictor):
    """Says what images show. Its keyword arguments are the options of ``sixfold caption``."""

    @overload
    def caption(self, images: Image, **options: Unpack[options.CaptionOptions]) -> Caption: ...
    @overload
    def caption(self, images: list[Image] | tuple[Image, ...], **options: Unpack[options.CaptionOptions]) -> list[Caption]: ...
    @overload
    def caption(self, images: Iterator[Image], **options: Unpack[options.CaptionOptions]) -> Iterator[Caption]: ...
    def caption(self, images: Any, **options: Any) -> Any:
        """The caption of an image, of a list of images, or of a stream of them."""
        return _serve(images, _is_image(images), lambda block, first: self._core.caption(block, options))

    def attention(self, image: Image, layer: int = -1) -> ImageAttention:
        """The attention over an image while its caption is said, in a layer of the decoder (negative: from the last)."""
        return self._core.attention(image, layer)  # type: ignore[no-any-return]


class Tokenizer:
    """Converts text to ids and back. ``path``: a file of a tokenizer, or a model folder, of which ``side`` names one."""

    def __init__(self, path: Path, side: str = "source") -> None:
        if side not in ("source", "target"):
            raise Error(f"side is {side!r}; it is source or target")
        self._core = core.open_tokenizer(path, side == "target")

    @classmethod
    def train(cls, lines: Iterable[str], **options: Unpack[options.TokenizerOptions]) -> Tokenizer:
        """Trains a tokenizer on lines. The keyword arguments are the keys of ``tokenizer`` in training configs."""
        trained = cls.__new__(cls)
        trained._core = core.train_tokenizer(lines if isinstance(lines, str) else list(lines), dict(options))
        return trained

    def __repr__(self) -> str:
        return f"Tokenizer(kind={self._core.kind!r}, vocab_size={self._core.vocab_size})"

    @overload
    def encode(self, texts: str) -> list[int]: ...
    @overload
    def encode(self, texts: list[str]) -> list[list[int]]: ...
    def encode(self, texts: str | list[str]) -> list[int] | list[list[int]]:
        """The ids of a text, or of each text of a list, without start and end token."""
        return self._core.encode([texts])[0] if isinstance(texts, str) else self._core.encode(list(texts))

    def decode(self, ids: Sequence[int] | NDArray[np.integer[Any]]) -> str:
        """The text of ids. Control tokens are dropped."""
        return self._core.decode(_ids(ids, len(self)))

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, as the vocabulary has them."""
        return [self._core.token(one) for one in self.encode(text)]

    def save(self, folder: Path) -> None:
        """Writes the tokenizer into a folder, under the name that model folders have for it."""
        self._core.save(folder)

    def __len__(self) -> int:
        return self._core.vocab_size

    @property
    def eos(self) -> int:
        """The id of the end token."""
        return self._core.eos

    @property
    def bos(self) -> int:
        """The id of the start token, or -1."""
        return self._core.bos

    @property
    def unk(self) -> int:
        """The id of the unknown token."""
        return self._core.unk
