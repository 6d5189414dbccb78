"""For those who follow the paper with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import core
from .errors import Error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .results import FloatArray


def attention(
    q: ArrayLike, k: ArrayLike, v: ArrayLike, *, heads: int = 1, causal: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Section 3.2 of the paper: softmax(q k^T / sqrt(d_k)) v in each head, in fp64.

    q: [n, heads * d_k], k: [m, heads * d_k], v: [m, heads * d_v]. ``causal``: a query attends to the keys up to its own
    place; then n = m. Returns the output [n, heads * d_v] and the attention weights [heads, n, m].
    """
    query, key, value = (np.asarray(one, dtype=np.float64) for one in (q, k, v))
    return core.attention(query, key, value, heads, causal)


def position_encodings(positions: int, d_model: int) -> FloatArray:
    """Section 3.5: the sinusoidal encodings of the first positions, [positions, d_model]."""
    return core.position_encodings(positions, d_model)


def cosine(a: ArrayLike, b: ArrayLike) -> float:
    """The cosine of the angle between two vectors, from -1 to 1; 0 if one of them is zero."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise Error(f"cosine: expected two vectors of one size, found shapes {x.shape} and {y.shape}")
    if not x.any() or not y.any():
        return 0.0
    x, y = (one / float(np.linalg.norm(one, np.inf)) for one in (x, y))  # whose squares do not overflow
    return float(np.clip(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)), -1, 1))
