"""Orthonormal bases of a few long vectors, computed mostly with matrix products."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from princomp.linalg import FloatArray, for_each, map_in_order, scratch, slices

# Two Cholesky factorisations of the Gram matrix make unit vectors orthonormal up to rounding if no
# combination of them is shorter than about this, well above the root of EPS. The test uses the
# inverse of the triangle, because the diagonal does not show such combinations: after two small
# entries, the third is only rounding, even if it is large.
_INDEPENDENT = 1e-6
# One factorisation is enough if, for each unit vector, the absolute inner products with the others
# add up to less than this.
_NEARLY_ORTHOGONAL = 0.5
# Fewest numbers for which the Gram matrix is faster than Householder reflectors: 16 vectors of
# length 4,000 take 0.4 instead of 1.5 ms.
_MIN_NUMBERS = 2**13
# Entries of each vector that are processed at a time: at least _CHUNK, or as many as make _NUMBERS
# values of all vectors. Fewest multiplications for which several threads pay.
_CHUNK, _NUMBERS, _THREADS_PAY = 2048, 2**17, 2**23


def orthonormal(vectors: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """Return orthonormal rows (m, size) with the span of ``vectors`` (m, size), in float64.

    With ``overwrite``, the result is written to the memory of ``vectors`` if possible.
    """
    return qr_of_rows(vectors, overwrite=overwrite)[0]


def qr_of_rows(vectors: FloatArray, *, overwrite: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return :func:`orthonormal` rows Q and an upper triangle R with RᵀQ = ``vectors``.

    Computed by two Cholesky factorisations of the Gram matrix (CholeskyQR2; Yamamoto, Nakatsukasa,
    Yanagisawa & Fukaya 2015), or by Householder reflectors if the vectors are nearly dependent. R
    is that of the first factorisation.
    """
    if vectors.size >= _MIN_NUMBERS:
        basis = np.array(vectors, dtype=np.float64, order="C", copy=None if overwrite else True)
        triangle, nearly_orthogonal = _orthonormalise_once(basis)
        if triangle is not None and (
            nearly_orthogonal or _orthonormalise_once(basis)[0] is not None
        ):
            return basis, triangle
        # After one factorisation, the rows still have the span of the input.
        vectors = basis if overwrite else vectors
    columns, triangle = np.linalg.qr(vectors.T.astype(np.float64))
    return np.ascontiguousarray(columns.T), triangle


def inverse_and_growth(triangle: FloatArray) -> tuple[FloatArray, float]:
    """Return the inverse of a triangle, and how much errors grow if it is divided out.

    The growth is a bound for an error of length one in each vector. It is infinite if the vectors
    are dependent.
    """
    inverse, singular = scipy.linalg.lapack.dtrtri(triangle)
    return inverse, np.inf if singular else float(np.abs(inverse).sum(axis=0).max())


def _orthonormalise_once(basis: FloatArray) -> tuple[FloatArray | None, bool]:
    """Orthonormalise rows in place by one Cholesky factorisation of their Gram matrix.

    Return its triangle, or None if the rows are too dependent, and whether the rows were nearly
    orthogonal, so that only rounding errors remain.
    """
    gram = inner_products(basis, basis)
    lengths = np.sqrt(gram.diagonal())
    if not (lengths.all() and np.isfinite(lengths).all()):
        return None, False
    gram = gram / lengths[:, None] / lengths
    triangle, failed = scipy.linalg.lapack.dpotrf(gram)
    if failed:
        return None, False
    inverse, growth = inverse_and_growth(triangle)
    if growth * _INDEPENDENT > 1.0:
        return None, False
    transform = np.ascontiguousarray((inverse / lengths[:, None]).T)
    multiply_left(transform, basis, basis)
    return triangle * lengths, bool(np.abs(gram).sum(axis=1).max() - 1.0 < _NEARLY_ORTHOGONAL)


def inner_products(one: FloatArray, other: FloatArray) -> FloatArray:
    """Inner products (q, m) of vectors (q, size) with others (m, size)."""
    spans, threads = _spans(one, len(other))
    products: FloatArray = np.zeros((len(one), len(other)))
    for part in map_in_order(lambda span: one[:, span] @ other[:, span].T, spans, threads):
        products += part
    return products


def multiply_left(matrix: FloatArray, vectors: FloatArray, out: FloatArray) -> None:
    """Write ``matrix`` (q, m) times ``vectors`` (m, size) to ``out``, which may be ``vectors``."""

    def work(span: slice) -> None:
        out[:, span] = matrix @ vectors[:, span]

    for_each(work, *_spans(vectors, len(matrix)))


def _spans(vectors: FloatArray, others: int) -> tuple[list[slice], int | None]:
    """Return spans of entries to process at a time, and the number of threads for them."""
    spans = slices(vectors.shape[1], max(_CHUNK, _NUMBERS // len(vectors)))
    return spans, 1 if vectors.size * others < _THREADS_PAY else None


def project_out(
    vectors: FloatArray, basis: FloatArray, scratch_name: str
) -> tuple[FloatArray, FloatArray]:
    """Subtract from vectors (m, size) their projection onto orthonormal rows ``basis`` (q, size).

    Return the result and the coordinates (q, m) of the projection. The result is in :func:`scratch`
    memory called ``scratch_name``. Entries are processed in fixed spans, so the result does not
    depend on the number of threads.
    """
    coordinates = inner_products(basis, vectors)
    remainder = scratch(scratch_name, vectors.shape, np.float64)
    transposed = np.ascontiguousarray(coordinates.T)

    def subtract(span: slice) -> None:
        np.subtract(vectors[:, span], transposed @ basis[:, span], out=remainder[:, span])

    for_each(subtract, *_spans(basis, len(vectors)))
    return remainder, coordinates
