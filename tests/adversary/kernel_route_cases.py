"""KernelPCA by its exact routes and its approximations: the calls and their checks.

Exact: eigenvalues and residuals against the kernel matrix in extended precision, with the errors
that the certificate claims; scores, and pre-images of the linear kernel, with the rounding of
their sums. Approximations: all claims of a PCA, for the images of the map; and that images are
those of the definition of the map, also of single rows.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from claims import (
    SUBNORMAL,
    Finding,
    check_fraction,
    check_pca,
    check_total,
    check_variances,
    compare,
    promise_of,
)
from kernel_oracle import Kernel, kernel_truth, scaled
from oracle import EPS, LONG, truth

from princomp import KernelPCA
from princomp.core import fitted_model

# Largest number of products that are quick in extended precision, and of rows of a kernel matrix.
_QUICK, _ROWS = 2e7, 600
_POSITIVE = ("chi2",)
_OF_SPARSE = ("linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "chi2")


def exact(calls):
    """A fit by the exact route, of any kernel, weights and scale."""
    rows, weights = _quick_rows(calls)
    recipe, kernel, options = calls.recipe, *_kernel(calls, rows)
    solver = "auto" if recipe["solver"] == "auto" else sklearn_solver(recipe["solver"])
    options |= {"eigen_solver": solver, "n_components": calls.model().n_components}
    data = rows
    if kernel.name == "precomputed":
        wide = rows.astype(np.float64)
        data = (wide @ wide.T + (wide @ wide.T).T) / 2
    elif kernel.name == "linear":
        options["fit_inverse_transform"] = True
    if kernel.name != "precomputed":
        options["scale"] = recipe["scale"]
    data = _form(calls, data, kernel.name)
    model = KernelPCA(**options).fit(data, sample_weight=weights)
    calls.fit_another_model()
    return model, lambda: check_exact(model, kernel, data, rows, weights)


def _form(calls, rows, kernel):
    """The rows, as CSR if the recipe is sparse and the kernel takes sparse rows."""
    sparse = calls.recipe["source"] in ("csr", "csc") and kernel in _OF_SPARSE
    return sp.csr_array(rows) if sparse and rows.dtype.char in "fd" else rows


def sklearn_solver(solver):
    """The eigen_solver of KernelPCA for a svd_solver of PCA."""
    return {"covariance_eigh": "dense", "full": "dense"}.get(solver, "arpack")


def nystrom(calls):
    """Rows represented by their kernel with landmarks, fitted at once or in batches."""
    rows, weights = _quick_rows(calls)
    _, options = _kernel(calls, rows, excluded=("precomputed", "sigmoid"))
    count = int(calls.rng.integers(1, min(len(rows), 40) + 1))
    kind = ("uniform", "kmeans", "leverage", "rows")[int(calls.rng.integers(4))]
    landmarks = rows[np.sort(calls.rng.permutation(len(rows))[:count])] if kind == "rows" else kind
    options |= {"approximation": "nystrom", "landmarks": landmarks}
    if kind != "rows":
        options["n_landmarks"] = count
    return _approximate(calls, rows, weights, options)


def features(calls):
    """Random features of a kernel, fitted at once or in batches."""
    rows, weights = _quick_rows(calls)
    _, options = _kernel(
        calls, rows, excluded=("precomputed", "sigmoid", "linear", "cosine", "chi2")
    )
    options |= {"approximation": "features", "n_landmarks": int(calls.rng.integers(2, 60))}
    return _approximate(calls, rows, weights, options)


def _approximate(calls, rows, weights, options):
    middle = int(calls.rng.integers(0, len(rows)))
    # The images may have a single coordinate, and more components than coordinates are refused.
    k = calls.model().n_components
    options["n_components"] = None if isinstance(k, int) and k > 1 else k
    data = _form(calls, rows, options["kernel"])
    if sp.issparse(data) and not isinstance(options.get("landmarks", ""), str):
        options["landmarks"] = sp.csr_array(options["landmarks"])
    batches = calls.rng.random() < 0.4 and options["gamma"] is not None
    batches = batches and not isinstance(options.get("landmarks"), str)
    if batches:
        model = KernelPCA(**options)
        for part in (slice(0, middle), slice(middle, None)):
            if len(rows[part]):
                model.partial_fit(
                    data[part], sample_weight=None if weights is None else weights[part]
                )
    else:
        model = KernelPCA(**options, scale=calls.recipe["scale"]).fit(data, sample_weight=weights)
    calls.fit_another_model()
    if weights is not None and not weights.any():
        model.eigenvalues_  # noqa: B018 (batches without weight are refused now)
    return model, lambda: check_approximation(model, data, weights)


def _quick_rows(calls):
    """As many rows as are quick, with their weights."""
    rows, weights = calls.rows, calls.weights
    limit = max(2, int(min(_ROWS, np.sqrt(_QUICK / rows.shape[1]))))
    calls.rows, calls.weights = rows[:limit], None if weights is None else weights[:limit]
    if calls.recipe["kernel"] in _POSITIVE:
        calls.rows = np.where(calls.rows > 0, calls.rows, 0).astype(calls.rows.dtype)
    return calls.rows, calls.weights


def _kernel(calls, rows, excluded=()):
    """A Kernel with γ of the size of the rows, and the parameters of KernelPCA."""
    recipe, name = calls.recipe, calls.recipe["kernel"]
    name = "rbf" if name in excluded else name
    wide = rows.astype(np.float64)
    scale, p = recipe["scale"], rows.shape[1]
    if name in ("rbf", "laplacian"):
        wide = wide - wide.mean(axis=0)
    if scale is not None:
        wide = np.ones((1, p))
    size = float((wide**2).mean())
    gamma = 10.0 ** recipe["gamma"] / p
    if name in ("laplacian", "chi2"):
        size = np.sqrt(size)
    if 1e-290 < size < 1e290:
        gamma /= size
    chosen = Kernel(name, gamma, float(1 + recipe["degree"]), float(recipe["degree"] % 2))
    options = {"kernel": name, "gamma": gamma, "degree": chosen.degree, "coef0": chosen.coef0}
    return chosen, options


# ---- exact routes ------------------------------------------------------------------------


def check_exact(model, kernel, data, rows, weights):
    """All Findings on an exact fit."""
    kept = slice(None) if weights is None else weights > 0
    weights, dtype = None if weights is None else weights[kept], fitted_model(model).result.dtype
    wide, matrix = None, data[kept][:, kept] if kernel.name == "precomputed" else None
    if matrix is None:
        # Divisors are those of all rows of positive weight.
        wide = scaled(kernel, rows[kept], model.scale, weights)
        if not np.isfinite(wide).all():
            return [Finding("a constant column was scaled", np.inf)]
    expected = kernel_truth(kernel, wide, weights, dtype, matrix)
    if not expected.error < 1e-3 * expected.variances[0]:
        return [Finding("variance", 0.0)]  # too inaccurate even in extended precision
    promise = promise_of(model)
    first = max(float(expected.variances[0]), SUBNORMAL)
    promise = promise._replace(roundoff=promise.roundoff + expected.error / first, squared=True)
    found = float(model.explained_variance_.sum())
    if expected.total < found and expected.variances[-1] < -1e-6 * expected.variances[0]:
        # For an indefinite matrix, shares are relative to the components, as a warning says, unless
        # what the others sum to is small.
        totals = [found, expected.total] if found - expected.total < 1e-4 * first else [found]
        answer = getattr(model, "total_variance_", found)
        expected = expected._replace(total=min(totals, key=lambda total: abs(total - answer)))
    found = [
        check_variances(model, promise, expected),
        check_total(model, promise, expected),
        check_fraction(model, promise, expected),
    ]
    if not model.n_components_ or not model.explained_variance_[0] > 0:
        return found
    # Rows of weight zero have entries in the axes of a kernel matrix only.
    kept_rows = kept if kernel.name == "precomputed" else slice(None)
    found += [_vectors(model, promise, expected, kept_rows), _orthogonality(model)]
    found.append(_scores(model, expected, data[kept], kept_rows))
    if kernel.name == "linear" and weights is None:
        found.append(_pre_images(model, expected, rows, weights))
    return found


def _vectors(model, promise, expected, kept):
    """Residuals of eigenvectors whose eigenvalue is not zero."""
    vectors = model.eigenvectors_[kept].astype(LONG)
    values = model.explained_variance_
    first = max(expected.variances[0], LONG(values[0]))
    deviation = (expected.matrix @ vectors) / expected.degrees - vectors * values
    error = np.sqrt((deviation**2).sum(axis=0)) / first * (values > 0)
    claim = (
        2 * promise.roundoff + promise.residuals + float(np.finfo(model.eigenvectors_.dtype).eps)
    )
    return compare(
        "eigenvector", error, claim, lambda i: f"{i + 1}: residual {float(error[i]):.1e}"
    )


def _orthogonality(model):
    vectors = model.eigenvectors_.astype(np.float64)
    n, k = vectors.shape
    error = np.abs(vectors.T @ vectors - np.eye(k)).max(initial=0)
    stored = float(np.finfo(model.eigenvectors_.dtype).eps)
    claim = model.certificate_.orthogonality + stored * max(4, np.sqrt(n))
    return compare("orthogonality", float(error), claim, lambda _: f"{float(error):.1e}")


def _weights(model, expected, kept):
    """Weights of the rows in each axis (n, k), from the eigenvectors of a fit, and their rounding.

    An axis of hardly any variance is not orthogonal to the constant, whose part is removed: what is
    left of large weights has their rounding.
    """
    found = fitted_model(model).result
    values = found.spectrum.variances[: found.k] * found.divisor
    factors = np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1)), 0)
    weights = found.spectrum.axes[: found.k, kept].T.astype(LONG) * factors
    roots = np.ones((len(weights), 1)) if found.roots is None else found.roots[kept].astype(LONG)
    weights, shares = roots * weights, roots**2 / (roots**2).sum()
    rounding = 4 * EPS * (np.abs(weights) + shares * np.abs(weights).sum(axis=0))
    return weights - shares * weights.sum(axis=0), rounding


def _scores(model, expected, data, kept):
    """Scores of the rows of the fit: (k(x, ·) − its mean) times the weights of the axes."""
    weights, rounding = _weights(model, expected, kept)
    answer = model.transform(data)
    centred = expected.values - expected.means
    error = answer - centred @ weights
    unit = float(np.finfo(answer.dtype).eps)
    # A sum of n products, each of two errors of entries and one of a weight.
    each = unit * (len(weights) + 16) * expected.largest + 2 * expected.entry
    claim = each * np.abs(weights).sum(axis=0) + np.finfo(answer.dtype).smallest_subnormal
    claim = claim + float(np.abs(centred).max()) * rounding.sum(axis=0)
    return compare("scores", error, claim, lambda _: f"{float(np.abs(error).max()):.1e} off")


def _pre_images(model, expected, rows, weights):
    """For the linear kernel: scores times axes, plus the mean, in the units of the data."""
    scores = model.transform(rows)
    answer = model.inverse_transform(scores)
    found, _ = _weights(model, expected, slice(None))
    wide = rows.astype(LONG)
    share = np.ones(len(rows), LONG) if weights is None else weights.astype(LONG)
    mean = (share / share.sum()) @ wide
    about = wide - mean
    divisor = 1 if model.scale_ is None else model.scale_.astype(LONG)
    error = answer - (mean + scores.astype(LONG) @ (found.T @ (about / divisor)) * divisor)
    unit = max(float(np.finfo(answer.dtype).eps), EPS)
    axes = np.abs(found).T @ np.abs(about)
    claim = unit * (len(rows) + 16) * (np.abs(scores) @ axes + np.abs(wide).max(axis=0))
    return compare("pre-image", error, claim, lambda _: f"{float(np.abs(error).max()):.1e} off")


# ---- approximations ----------------------------------------------------------------------


def check_approximation(model, rows, weights):
    """All Findings on an approximation: on the PCA of the images, and on the map."""
    from runs import Fit

    found = fitted_model(model).result
    kept = rows if weights is None else rows[weights > 0]
    shown = kept.astype(found.map.dtype)
    images = found.map.images(shown)
    weights = None if weights is None else weights[weights > 0]
    if not np.isfinite(images).all():
        return [Finding("image", np.inf, "not finite")]
    inner = check_pca(Fit(found.images, images, weights), truth(images, weights))
    some = [0, len(images) // 2, len(images) - 1]
    alone = [found.map.images(shown[i : i + 1])[0] for i in some]
    same = (np.array(alone) == images[some]).all()
    inner.append(Finding("image of a row alone", 0.0 if same else np.inf))
    if found.map.kind == "nystrom":
        inner += _check_landmarks(model, found, shown, images)
    elif found.map.kind == "fourier":
        inner += _check_waves(model, found, shown, images)
    return inner


def _kernel_of(function):
    return Kernel(function.name, function.gamma or 0.0, function.degree, function.coef0)


def _divided(function, rows):
    """Rows in extended precision, shifted before they are divided, which loses no digit."""
    wide = (rows.toarray() if sp.issparse(rows) else rows).astype(LONG)
    if function.shift is not None and function.shift_invariant:
        wide = wide - function.shift
    return wide if function.divisors is None else wide / function.divisors.astype(LONG)


def _check_landmarks(model, found, rows, images):
    """Images are k(x, L) W with WᵀK(L, L)W = 1; scores are (k(x, L) − mean) W V."""
    feature_map, kernel = found.map, _kernel_of(found.map.kernel)
    wide, points = (
        _divided(feature_map.kernel, rows),
        _divided(feature_map.kernel, feature_map.points),
    )
    between, values = kernel.between(points, points), kernel.between(wide, points)
    root, m = feature_map.weights.astype(LONG), len(points)
    unit = float(np.finfo(feature_map.dtype).eps)
    everything = np.concatenate([wide, points])
    entry = kernel.entry_error(everything, feature_map.dtype, about_mean=False)
    largest = max(float(np.abs(values).max()), float(np.abs(between).max()))
    each = unit * (m + 16) * largest + entry
    expected = values @ root
    claims = each * np.abs(root).sum(axis=0) + np.finfo(feature_map.dtype).smallest_subnormal
    error = images - expected
    out = [compare("image", error, claims, lambda _: f"{float(np.abs(error).max()):.1e} off")]
    lengths = np.sqrt((root**2).sum(axis=0))
    size = EPS * (m + 16) * m * largest + m * kernel.entry_error(
        points, np.float64, about_mean=False
    )
    off = root.T @ between @ root - np.eye(root.shape[1])
    out.append(compare("landmarks", off, size * np.outer(lengths, lengths) + m * EPS, lambda _: ""))
    axes = fitted_model(found.images).result.spectrum.axes[: found.k].T.astype(LONG)
    answer, mean = model.transform(rows), found.images.mean_.astype(LONG)
    deviation = answer - (expected - mean) @ axes
    inner = np.abs(root @ axes).sum(axis=0)
    whole = unit * (m + 16) * np.abs(mean).sum()
    out.append(
        compare(
            "scores",
            deviation,
            2 * each * inner + whole + np.abs(claims).max() * unit,
            lambda _: "",
        )
    )
    return out


def _check_waves(model, found, rows, images):
    """Images are cosines and sines of unit length along the waves of the map."""
    feature_map = found.map
    rows = rows.toarray() if sp.issparse(rows) else rows
    wide, waves = rows.astype(LONG), feature_map.waves.astype(LONG)
    angles = wide @ waves
    expected = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(
        LONG(feature_map.count)
    )
    unit, p = max(float(np.finfo(feature_map.precision).eps), EPS), rows.shape[1]
    # An angle is a sum of p products, each with one rounding.
    sizes = np.abs(wide) @ np.abs(waves)
    sizes = np.concatenate([sizes, sizes], axis=1)
    stored = float(np.finfo(feature_map.dtype).eps)
    claim = (unit * (p + 8) * sizes + 4 * stored) / np.sqrt(LONG(feature_map.count))
    error = images - expected
    return [compare("image", error, claim, lambda _: f"{float(np.abs(error).max()):.1e} off")]
