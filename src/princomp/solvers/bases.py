"""Orthonormal bases of tall, thin sets of vectors, by products of matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from princomp.arrays import FloatArray, scratch
from princomp.threads import in_order

__all__ = ["factored", "gram_of", "growth", "orthonormal", "swept", "turned"]

# Smallest combination of vectors of length one for which twice the triangle of the Gram leaves
# orthonormal vectors to rounding: well above the root of EPS. Its diagonal does not show it: after
# two small numbers the third is rounding, however large.
_INDEPENDENT = 1e-6
# Where all products of a vector with the others come to less than this, once is enough.
_NEARLY = 0.5
# Numbers from which on the Gram is quicker than Householder's way: 16 vectors of 4,000 take
# 0.4 instead of 1.5 ms.
_MANY = 2**13
# Entries of each vector that are worked on at a time, or more where they are fewer numbers than
# this, and products from how many on a thread has something to do.
_CHUNK, _NUMBERS, _THREADS_PAY = 2048, 2**17, 2**23


def orthonormal(vectors: FloatArray, *, spend: bool = False) -> FloatArray:
    """Orthonormal rows (m, size) with the span of ``vectors`` (m, size), in float64.

    ``spend``: in the memory of the vectors where that is possible; they are used up.
    """
    return factored(vectors, spend=spend)[0]


def factored(vectors: FloatArray, *, spend: bool = False) -> tuple[FloatArray, FloatArray]:
    """The same, and the upper triangle (m, m) whose transpose times them gives the vectors.

    By two triangles of their Gram, which are products of matrices (Yamamoto, Nakatsukasa,
    Yanagisawa & Fukaya 2015), and by Householder's where the vectors are nearly dependent.
    """
    if vectors.size >= _MANY:
        basis = np.array(vectors, dtype=np.float64, order="C", copy=None if spend else True)
        first, nearly = _straightened(basis)
        if first is not None and (nearly or _straightened(basis)[0] is not None):
            return basis, first
        # One triangle may have turned them: they span the same.
        vectors = basis if spend else vectors
    columns, triangle = np.linalg.qr(vectors.T.astype(np.float64))
    return np.ascontiguousarray(columns.T), triangle


def growth(triangle: FloatArray) -> float:
    """How many times longer a part becomes that all vectors share, in the basis of their triangle.

    The most, for parts of length one in each: infinity where the vectors are dependent.
    """
    return _inverted(triangle)[1]


def _inverted(triangle: FloatArray) -> tuple[FloatArray, float]:
    """The inverse of a triangle, and its growth."""
    inverse, singular = scipy.linalg.lapack.dtrtri(triangle)
    return inverse, np.inf if singular else float(np.abs(inverse).sum(axis=0).max())


def _straightened(basis: FloatArray) -> tuple[FloatArray | None, bool]:
    """Orthonormalise in place as far as one triangle does, None where it does not suffice.

    Also whether the vectors were nearly orthogonal, so that it leaves rounding only.
    """
    gram = gram_of(basis)
    lengths = np.sqrt(gram.diagonal())
    if not (lengths.all() and np.isfinite(lengths).all()):
        return None, False
    gram = gram / lengths[:, None] / lengths
    triangle, failed = scipy.linalg.lapack.dpotrf(gram)
    if failed:
        return None, False
    inverse, grown = _inverted(triangle)
    if grown * _INDEPENDENT > 1.0:
        return None, False
    turn = np.ascontiguousarray((inverse / lengths[:, None]).T)
    turned(turn, basis, basis)
    return triangle * lengths, bool(np.abs(gram).sum(axis=1).max() - 1.0 < _NEARLY)


def gram_of(vectors: FloatArray) -> FloatArray:
    """Products (m, m) of vectors (m, size) with each other."""
    spans, threads = _spans(vectors, len(vectors))
    gram: FloatArray = np.zeros((len(vectors), len(vectors)))
    for part in in_order(lambda span: vectors[:, span] @ vectors[:, span].T, spans, threads):
        gram += part
    return gram


def turned(turn: FloatArray, vectors: FloatArray, out: FloatArray) -> None:
    """Write ``turn`` (q, m) times vectors (m, size) to ``out`` (q, size), which they may be."""

    def work(span: slice) -> None:
        out[:, span] = turn @ vectors[:, span]

    spans, threads = _spans(vectors, len(turn))
    for _ in in_order(work, spans, threads):
        pass


def _spans(vectors: FloatArray, others: int) -> tuple[list[slice], int | None]:
    """Some entries of each vector at a time, and how many threads their products are for."""
    step = max(_CHUNK, _NUMBERS // max(len(vectors), 1))
    spans = [slice(at, at + step) for at in range(0, vectors.shape[1], step)]
    return spans, 1 if vectors.size * others < _THREADS_PAY else None


def swept(vectors: FloatArray, known: FloatArray, name: str) -> tuple[FloatArray, FloatArray]:
    """Vectors (m, size) without their part in the span of orthonormal rows (q, size).

    Also the coordinates (q, m) of that part. The vectors lie in :func:`scratch` memory of that
    name; entries are taken some at a time, so the bits do not depend on the threads.
    """
    spans, threads = _spans(known, len(vectors))
    coordinates = np.zeros((len(known), len(vectors)))
    for part in in_order(lambda span: known[:, span] @ vectors[:, span].T, spans, threads):
        coordinates += part
    rest = scratch(name, vectors.shape, np.float64)
    turned = np.ascontiguousarray(coordinates.T)

    def subtract(span: slice) -> None:
        np.subtract(vectors[:, span], turned @ known[:, span], out=rest[:, span])

    for _ in in_order(subtract, spans, threads):
        pass
    return rest, coordinates
