"""For those who follow the paper with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import core

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
    return core.attention(np.asarray(q), np.asarray(k), np.asarray(v), heads, causal)


def position_encodings(positions: int, d_model: int) -> FloatArray:
    """Section 3.5: the sinusoidal encodings of the first positions, [positions, d_model]."""
    return core.position_encodings(positions, d_model)


def cosine(a: ArrayLike, b: ArrayLike) -> float:
    """The cosine of the angle between two vectors, from -1 to 1; 0 if one of them is zero."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    length = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / length if length else 0.0
