"""A fitted RobustPCA: its result, the distances of rows, the contents of its model file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp import __version__, io
from princomp.core import FittedModel
from princomp.engines import DistributedRows
from princomp.errors import ModelFileError, NotFiniteError, ParameterError
from princomp.io import Array, Arrays, Document, Field, RowData, Source, values
from princomp.linalg import EPS, FloatArray, cached_property, frozen, int_or_none
from princomp.summaries import Names, is_sparse

_HINT = "remove such rows, or fill the cells before"
_WHY_DENSE = "RobustPCA takes dense rows in memory"


class OutlierMap(NamedTuple):
    """Distances of rows, within the space of the components and from this space.

    Attributes
    ----------
    score_distances : ndarray of shape (n,)
        √(Σ t²/λ): distances from the centre within the space.
    orthogonal_distances : ndarray of shape (n,)
        ‖x − x̂‖ in the units of the analysis: distances from the space.
    outliers : ndarray of bool of shape (n,)
        Rows beyond either cut-off.
    kinds : ndarray of str of shape (n,)
        ``"regular"``; ``"good leverage"``: far from the centre, but within the space;
        ``"orthogonal"``: far from the space, but near the centre within it; ``"bad leverage"``:
        far in both respects.
    """

    score_distances: FloatArray
    orthogonal_distances: FloatArray
    outliers: NDArray[np.bool_]
    kinds: NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class RobustFit:
    """The result of a robust fit.

    Parameters
    ----------
    mean : ndarray of shape (p,)
        Robust centre in the units of the data.
    scale : ndarray of shape (p,), optional
        Divisors of the columns.
    axes : ndarray of shape (k, p)
    variances : ndarray of shape (k,)
    total : float
        Total variance.
    score_distances, orthogonal_distances : ndarray of shape (n,)
        Distances of the rows of the fit.
    score_cutoff, orthogonal_cutoff : float
    support : int
        Number h of rows whose covariance the MCD uses.
    dtype : numpy dtype
        Precision of the data.
    """

    mean: FloatArray
    scale: FloatArray | None
    axes: FloatArray
    variances: FloatArray
    total: float
    score_distances: FloatArray
    orthogonal_distances: FloatArray
    score_cutoff: float
    orthogonal_cutoff: float
    support: int
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                frozen(value)

    @property
    def k(self) -> int:
        """Number of components."""
        return len(self.axes)

    @property
    def n_samples(self) -> int:
        """Number of rows of the fit."""
        return len(self.score_distances)

    @cached_property
    def components(self) -> FloatArray:
        """Axes (k, p) in the precision of the data."""
        return frozen(self.axes.astype(self.dtype))

    @cached_property
    def rates(self) -> FloatArray:
        """Contribution rates (k,)."""
        shares = self.variances / self.total if self.total > 0 else np.zeros(self.k)
        return frozen(shares)

    @cached_property
    def loadings(self) -> FloatArray:
        """Axes times √λ (p, k)."""
        return frozen(self.axes.T * np.sqrt(self.variances))

    @cached_property
    def outliers(self) -> NDArray[np.bool_]:
        """Rows of the fit (n,) beyond either cut-off."""
        beyond_score = self.score_distances > self.score_cutoff
        beyond_orthogonal = self.orthogonal_distances > self.orthogonal_cutoff
        return frozen(beyond_score | beyond_orthogonal)

    def centred(self, rows: FloatArray) -> FloatArray:
        """Subtract the centre from rows (n, p) and divide by the divisors, in float64."""
        differences: FloatArray = rows.astype(np.float64) - self.mean
        return differences if self.scale is None else differences / self.scale

    def outlier_map(self, rows: FloatArray) -> OutlierMap:
        """Compute the distances of rows (n, p), and compare them with the cut-offs."""
        centred = self.centred(rows)
        scores = centred @ self.axes.T
        mean = np.abs(self.mean if self.scale is None else self.mean / self.scale).max()
        rounding = 8 * EPS * len(self.mean) * (np.abs(centred).max(axis=1) + mean)
        # Along a component without variance, a row off the centre is very far away, unless it is
        # off by rounding errors only.
        deviations = np.sqrt(np.maximum(self.variances, np.finfo(np.float64).tiny))
        score_distances = np.linalg.norm(scores / np.maximum(deviations, rounding[:, None]), axis=1)
        orthogonal_distances = np.linalg.norm(centred - scores @ self.axes, axis=1)
        beyond_score = score_distances > self.score_cutoff
        beyond_orthogonal = orthogonal_distances > np.maximum(self.orthogonal_cutoff, rounding)
        kinds = np.array(["regular", "good leverage", "orthogonal", "bad leverage"])
        return OutlierMap(
            score_distances,
            orthogonal_distances,
            beyond_score | beyond_orthogonal,
            kinds[beyond_score + 2 * beyond_orthogonal],
        )


@dataclass(frozen=True, eq=False)
class RobustModel(FittedModel[RobustFit]):
    """A fitted RobustPCA: its result, and the columns of its table."""

    missing: ClassVar[str] = "error"
    _cell_hint: ClassVar[str] = _HINT

    def block_scores(self, rows: FloatArray) -> FloatArray:
        """Compute scores of dense rows in memory."""
        check_dense(rows)
        fit = self.result
        with np.errstate(over="ignore", invalid="ignore"):  # chunk_scores looks for the cause
            return (fit.centred(rows) @ fit.axes.T).astype(rows.dtype)

    def engine_scores(self, data: DistributedRows) -> FloatArray:
        """Refuse rows on an engine."""
        check_dense(data)
        raise AssertionError

    def chunk_outlier_map(self, rows: FloatArray, data: RowData, first: int) -> OutlierMap:
        """Compute distances of some rows of ``data``."""
        check_dense(rows)
        self.check_finite(rows, data, first)
        return self.result.outlier_map(rows)

    def reconstruct(self, scores: FloatArray) -> FloatArray:
        """Compute rows (n, p) in the units of the data from scores (n, k)."""
        self.check_scores(scores, first=0)
        fit = self.result
        rows = scores @ fit.axes
        if fit.scale is not None:
            rows = rows * fit.scale
        out: FloatArray = rows + fit.mean
        return out.astype(scores.dtype) if scores.dtype.kind == "f" else out


def dense_rows(
    data: RowData,
    columns: Names,
    origin: io.Origin | None,
    *,
    why_dense: str = _WHY_DENSE,
    hint: str = _HINT,
) -> FloatArray:
    """Return finite rows in memory; ``why_dense`` and ``hint``, on missing cells, are for errors.

    Raises
    ------
    ParameterError, NotFiniteError
    """
    rows: Any = data
    if isinstance(data, Source) and not isinstance(data, DistributedRows):
        rows = io.read_whole(data)
    check_dense(rows, why_dense)
    if not np.isfinite(rows).all():
        error = NotFiniteError("", place={"row": 0})
        raise io.not_finite_error(rows, error, columns=columns, origin=origin, hint=hint)
    return rows


def check_dense(rows: object, why_dense: str = _WHY_DENSE) -> None:
    """Refuse sparse rows, and rows that are not in memory."""
    if is_sparse(rows):
        # Tests of scikit-learn's compatibility look for the first words.
        problem = f"Sparse data was passed: {why_dense}"
        hint = "give a file that stores the matrix dense, such as .npy; for an array, X.toarray()"
    elif isinstance(rows, Source):
        where = f"on {rows.engine}" if isinstance(rows, DistributedRows) else "not in memory"
        problem = f"the rows are {where}: {why_dense}"
        hint = "pass them, or a sample of them, as an array in memory"
    else:
        return
    raise ParameterError(problem, place={"parameter": "X"}, hint=hint)


# ---- the model file ----------------------------------------------------------------------

# Largest error of orthonormality; that of computed axes is far smaller.
_ORTHONORMAL = 1e-6

_SCHEMA = io.Schema(
    {
        "estimator": Field(values.TEXT),
        "parameters": Field(
            values.Values(
                "an object whose 'scale' is null, 'mad' or an array",
                lambda value: value["scale"] in (None, "mad", {"array": True}),
            )
        ),
        "columns": Field(values.COLUMN_NAMES),
        "id_column": Field(values.optional(values.TEXT)),
        "na": Field(values.TEXTS, default=[]),
        "rows": Field(values.integer(2), "score_distances.size"),
        "features": Field(values.integer(1), "mean.size"),
        "k": Field(values.COUNT, "variances.size"),
        "support": Field(values.integer(1)),
        "total": Field(values.at_least(0)),
        "score_cutoff": Field(values.at_least(0)),
        "orthogonal_cutoff": Field(values.at_least(0)),
        "dtype": Field(values.DTYPE, "dtype.name"),
    },
    {
        "mean": Array("p"),
        "axes": Array("k p"),
        "variances": Array("k", sign="not negative"),
        # Along a component without variance, a row off the centre is infinitely far away.
        "score_distances": Array("n", sign="not negative", infinite=True),
        "orthogonal_distances": Array("n", sign="not negative"),
        "scale": Array("p", optional=True, sign="positive"),
    },
)


def model_to_contents(model: RobustModel, parameters: dict[str, Any]) -> tuple[Arrays, Document]:
    """Convert a model, and the parameters of the estimator, to arrays by name and a document."""
    result, columns = model.result, model.schema.names
    parameters = {**parameters, "random_state": int_or_none(parameters["random_state"])}
    # The divisors are those of the fit, also if the parameter was changed since.
    if result.scale is None:
        parameters["scale"] = None
    elif not isinstance(parameters["scale"], str):
        parameters["scale"] = {"array": True}  # the array of that name
    document = _SCHEMA.document(
        result,
        estimator="RobustPCA",
        parameters={name: io.json_value(name, value) for name, value in parameters.items()},
        columns=None if columns is None else list(map(str, columns)),
        id_column=model.schema.id_column,
        na=list(model.schema.na),
    )
    return _SCHEMA.arrays_of(result), {"princomp": __version__, **document}


def model_from_contents(tensors: Arrays, document: Document) -> tuple[RobustFit, dict[str, Any]]:
    """Restore the result of a fit and the parameters of the estimator.

    Raises
    ------
    ModelFileError
    """
    document = _SCHEMA.checked(document)
    n, p, columns = document["rows"], document["features"], document["columns"]
    _SCHEMA.check_arrays(tensors, {"n": n, "p": p, "k": document["k"]})
    if document["support"] > n or (columns is not None and len(columns) != p):
        raise ModelFileError("its document and its arrays differ in size")
    if (np.diff(tensors["variances"]) > 0).any():
        raise ModelFileError("the variances do not descend")
    axes = tensors["axes"]
    if np.abs(axes @ axes.T - np.eye(len(axes))).max(initial=0.0) > _ORTHONORMAL:
        raise ModelFileError("the axes are not orthonormal")
    parameters = dict(document["parameters"])
    if (parameters["scale"] is None) is not ("scale" not in tensors):
        raise ModelFileError("its parameter 'scale' and its array 'scale' do not go together")
    if isinstance(parameters["scale"], dict):
        parameters["scale"] = tensors["scale"]
    parts: dict[str, Any] = {"scale": None, **tensors}
    for name in ("total", "score_cutoff", "orthogonal_cutoff"):
        parts[name] = float(document[name])
    result = RobustFit(**parts, support=document["support"], dtype=np.dtype(document["dtype"]))
    return result, parameters
