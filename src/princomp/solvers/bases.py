"""Orthonormal bases of tall, thin sets of vectors, by products of matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from princomp.linalg import FloatArray, in_order, scratch

# Smallest combination of vectors of length one for which twice the triangle of the Gram leaves
# orthonormal vectors to rounding: well above the root of EPS. Its diagonal does not show it: after
# two small numbers the third is rounding, however large.
_INDEPENDENT = 1e-6
# Where all products of a vector with the others are smaller than this in sum, once is enough.
_NEARLY = 0.5
# Numbers from which on the Gram is quicker than Householder reflectors: 16 vectors of 4,000 take
# 0.4 instead of 1.5 ms.
_MANY = 2**13
# Entries of each vector that are worked on at a time, or more where they are fewer numbers than
# this, and products from how many on several threads pay.
_CHUNK, _NUMBERS, _THREADS_PAY = 2048, 2**17, 2**23


def orthonormal(vectors: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """Orthonormal rows (m, size) with the span of ``vectors`` (m, size), in float64.

    ``overwrite``: in the memory of the vectors where that is possible; they are used up.
    """
    return factored(vectors, overwrite=overwrite)[0]


def factored(vectors: FloatArray, *, overwrite: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return :func:`orthonormal` rows, and the triangle whose transpose times them is the input.

    By two triangles of their Gram, which are products of matrices (Yamamoto, Nakatsukasa,
    Yanagisawa & Fukaya 2015), and by Householder reflectors where the vectors are nearly dependent.
    """
    if vectors.size >= _MANY:
        basis = np.array(vectors, dtype=np.float64, order="C", copy=None if overwrite else True)
        first, nearly = _straightened(basis)
        if first is not None and (nearly or _straightened(basis)[0] is not None):
            return basis, first
        # Rows after one triangle have the span of the input.
        vectors = basis if overwrite else vectors
    columns, triangle = np.linalg.qr(vectors.T.astype(np.float64))
    return np.ascontiguousarray(columns.T), triangle


def growth(triangle: FloatArray) -> float:
    """Bound the growth of errors of length one in each vector, in the basis of their triangle.

    Infinity where the vectors are dependent.
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
    """Return spans of entries to work on at a time, and the number of threads for them."""
    step = max(_CHUNK, _NUMBERS // max(len(vectors), 1))
    spans = [slice(at, at + step) for at in range(0, vectors.shape[1], step)]
    return spans, 1 if vectors.size * others < _THREADS_PAY else None


def swept(vectors: FloatArray, known: FloatArray, name: str) -> tuple[FloatArray, FloatArray]:
    """Remove from vectors (m, size) their part in the span of orthonormal rows (q, size).

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
