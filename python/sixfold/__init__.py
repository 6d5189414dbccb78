"""Sixfold: a complete Transformer. docs/python.md begins with what people want."""

from . import metrics, results
from .core import __version__
from .errors import Error
from .predictors import Captioner, Classifier, Embedder, Generator, MaskFiller, Predictor, QuestionAnswerer, Tokenizer, Translator
from .study import attention, cosine, position_encodings
from .training import default_config, train

__all__ = [
    "Captioner", "Classifier", "Embedder", "Error", "Generator", "MaskFiller", "Predictor", "QuestionAnswerer", "Tokenizer",
    "Translator", "__version__", "attention", "cosine", "default_config", "metrics", "position_encodings", "results", "train",
]
