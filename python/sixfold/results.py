"""What predictors return: small immutable objects. Arrays are their own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:  # takes 15 ms to import
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float32]


def _short(value: Any) -> str:
    if hasattr(value, "items"):
        return f"{{{', '.join(f'{key!r}: {_short(one)}' for key, one in value.items())}}}"
    return f"array{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)


def _brief(result: Any) -> str:
    """The fields that have something to say."""
    said = ((name, _short(value)) for name, value in zip(result._fields, result))
    return f"{type(result).__name__}({', '.join(f'{name}={text}' for name, text in said if text not in ('None', '()'))})"


class Token(NamedTuple):
    """A token and its natural logarithm of probability."""

    text: str
    log_probability: float


class Confidence(NamedTuple):
    """How good a translation may be. ``value``: from 0 to 1, the chrF, divided by 100, that is expected of it."""

    value: float
    mean_log_probability: float
    tokens: int


class Attention(NamedTuple):
    """The attention weights of a sentence in a layer.

    ``kind``: "encoder", "decoder" (self-attention) or "cross". ``weights``: [heads, target, source]; a row is what one
    token of ``target`` attends to. ``source_words``, ``target_words``: for each token the number of its word, or -1.
    """

    kind: str
    layer: int
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: FloatArray
    source_words: tuple[int, ...]
    target_words: tuple[int, ...]

    def __repr__(self) -> str:
        return _brief(self)


class SearchedHypothesis(NamedTuple):
    """A hypothesis in a step of beam search. ``parent``: its place in the step before; -1 in the first one."""

    parent: int
    token: str
    log_probability: float
    score: float
    fate: str


class Translation(NamedTuple):
    """A translation. ``str()`` of it is its text.

    ``score``: ``log_probability``, normalized as the model's settings say. ``finish_reason``: "end", or "length" if it
    was cut at the maximum length. ``loops``: it ends in a repetition. ``copies``: it is its source. ``too_long``: it is
    far longer than its source. ``retried``: it was translated again, as ``retry`` says. ``tokens_cut``: tokens of the
    source beyond ``max_source_length``. ``unmet``: phrases that it should contain and does not. ``alternatives``: with ``n_best``, the
    other translations, best first. ``alignment``: pairs of a word of the source and a word of the text, counted from
    0. What was not asked for is None.
    """

    text: str
    score: float
    log_probability: float
    finish_reason: str
    loops: bool
    copies: bool
    too_long: bool
    retried: bool
    tokens_cut: int
    unmet: tuple[str, ...]
    alternatives: tuple[Translation, ...]
    tokens: tuple[Token, ...] | None
    alignment: tuple[tuple[int, int], ...] | None
    confidence: Confidence | None
    attention: Attention | None
    all_attention: tuple[Attention, ...] | None
    search: tuple[tuple[SearchedHypothesis, ...], ...] | None

    def __repr__(self) -> str:
        return _brief(self)

    def __str__(self) -> str:
        return self.text


class ChosenToken(NamedTuple):
    """A token of a generated text, its place in it in characters, and the likeliest tokens there."""

    text: str
    log_probability: float | None
    offset: int
    likeliest: tuple[Token, ...]


class Generation(NamedTuple):
    """A text that continues a prompt, without the prompt. ``str()`` of it is its text.

    ``tokens``: their number, without the end token. ``finish_reason``: "end", "stop" (a stop string) or "length".
    ``alternatives``: with ``samples``, the other texts. ``chosen``: with ``likeliest``, each token. ``error``: why there
    is no text.
    """

    text: str
    log_probability: float
    tokens: int
    finish_reason: str
    prompt_tokens: int
    unknown_tokens: int
    alternatives: tuple[Generation, ...]
    chosen: tuple[ChosenToken, ...] | None
    error: str | None

    def __repr__(self) -> str:
        return _brief(self)

    def __str__(self) -> str:
        return self.text


class TextScore(NamedTuple):
    """The probability of a text under a language model. ``bytes``: with line ends."""

    log_probability: float
    tokens: int
    bytes: int
    unknown: int
    perplexity: float
    bits_per_byte: float


class Classification(NamedTuple):
    """The likeliest label. ``probabilities``: [labels], in the order of ``Classifier.labels``."""

    label: str
    probability: float
    probabilities: NDArray[np.float64]
    tokens_cut: int
    error: str | None

    def __repr__(self) -> str:
        return _brief(self)


class MaskCandidate(NamedTuple):
    """A token that may stand in the place of a mask."""

    text: str
    probability: float


class FilledText(NamedTuple):
    """A text with the likeliest token for each mask. ``masks``: for each mask the likeliest tokens, best first."""

    text: str
    masks: tuple[tuple[MaskCandidate, ...], ...]
    tokens_cut: int
    error: str | None

    def __repr__(self) -> str:
        return _brief(self)


class Answer(NamedTuple):
    """A part of a text, ``text[begin:end]``, that answers a question."""

    text: str
    begin: int
    end: int
    probability: float
    tokens_cut: int
    error: str | None

    def __repr__(self) -> str:
        return _brief(self)


class Caption(NamedTuple):
    """What a model says of an image."""

    text: str
    score: float
    log_probability: float
    finish_reason: str
    error: str | None

    def __repr__(self) -> str:
        return _brief(self)


class ImageAttention(NamedTuple):
    """What each token of a caption attends to. ``weights``: [heads, tokens, rows, columns] of the grid of patches.

    ``patch``, ``stride``: in pixels, the side of a patch, and from one patch to the next.
    """

    caption: str
    layer: int
    tokens: tuple[str, ...]
    patch: int
    stride: int
    weights: FloatArray

    def __repr__(self) -> str:
        return _brief(self)


class TrainResult(NamedTuple):
    """A training. ``model``: the folder of the result; ``checkpoint``: that of the newest one."""

    model: str
    checkpoint: str
    updates: int


class LayerStates(NamedTuple):
    """The states and the attention of all layers of one sequence.

    ``encoder``, ``decoder``: [layers + 1, tokens, d_model]; row 0 is what the first layer reads. None: there is no such
    part. ``attention``: by kind ("encoder", "decoder", "cross") and layer, [heads, queries, keys].
    """

    encoder: FloatArray | None
    decoder: FloatArray | None
    attention: dict[tuple[str, int], FloatArray]

    def __repr__(self) -> str:
        return _brief(self)
