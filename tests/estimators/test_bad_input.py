"""Invalid input: errors give the value, the place and the next step, and nothing is written."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from princomp import PCA, KernelPCA, bootstrap, diagnostics
from princomp.errors import (
    ColumnError,
    ConstantColumnError,
    DataError,
    NotAvailableError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
)

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
SOLVERS = ["auto", "full", "covariance_eigh", "lanczos", "arpack", "row_gram", "randomized"]
every_frame = pytest.mark.parametrize("library", list(FRAMES))


@pytest.fixture
def table(rng):
    return rng.standard_normal((60, 4)) + 3


def columns(table, names="abcd"):
    return {name: table[:, i] for i, name in enumerate(names)}


def assert_refused(kind, action, *messages, place=None):
    """Assert that the action raises ``kind`` with these messages, this place and a hint."""
    with pytest.raises(kind) as caught:
        action()
    error = caught.value
    assert isinstance(error, PrincompError)
    assert isinstance(error, ValueError)
    for message in messages:
        assert message in str(error)
    if place is not None:
        assert error.place == place
    assert error.hint, f"no next step: {error}"
    assert error.to_dict()["kind"] == type(error).__name__
    return error


# ---- NaN and infinity ------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [Fraction(1, 10), 10**30])
@pytest.mark.filterwarnings("ignore:the kernel .* is near zero for nearly all pairs")
def test_python_numbers_unknown_to_numpy_are_accepted(table, gamma):
    exact, model = (KernelPCA(2, kernel="rbf", gamma=g).fit(table) for g in (float(gamma), gamma))
    np.testing.assert_array_equal(model.eigenvalues_, exact.eigenvalues_)
    assert_refused(
        ParameterError, lambda: KernelPCA(gamma=10**400).fit(table), place={"parameter": "gamma"}
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_nonfinite_errors_give_first_place_and_count(solver, form, value, name, table):
    table[41, 1] = np.nan
    table[7, 2] = value
    table[7, 3] = np.inf
    given = form(table)
    nan, inf = (2, 1) if np.isnan(value) else (1, 2)
    assert_refused(
        NotFiniteError,
        lambda: PCA(2, svd_solver=solver, random_state=0).fit(given),
        name,
        "row 7, column 2",
        f"{nan} NaN and {inf} infinite",
        place={"row": 7, "column": 2},
    )
    model = PCA(2).fit(np.nan_to_num(table, posinf=0, neginf=0))
    for action in (model.transform, model.score_samples):
        assert_refused(NotFiniteError, lambda act=action: act(given), "row 7, column 2")


def test_nonfinite_row_number_counts_from_start_of_table(rng):
    table = rng.standard_normal((100_000, 9))
    table[87_654, 5] = np.nan
    place = {"row": 87_654, "column": 5}
    assert_refused(
        NotFiniteError, lambda: PCA(2).fit(table), "row 87,654, column 5", "1 NaN", place=place
    )


@every_frame
def test_nonfinite_errors_name_the_frame_column(library, table):
    table[7, 2] = np.nan
    frame = FRAMES[library](columns(table))
    assert_refused(
        NotFiniteError, lambda: PCA(2).fit(frame), "'c'", place={"row": 7, "column": "c"}
    )


def test_infinity_is_not_missing(table):
    table[5, 1] = np.inf
    assert_refused(
        NotFiniteError, lambda: PCA(2, missing="drop").fit(table), "infinity", "row 5, column 1"
    )
    model = PCA(2, missing="drop").fit(table[10:])
    assert_refused(NotFiniteError, lambda: model.transform(table), "row 5, column 1")


def test_missing_values_in_most_rows_leave_too_few(table):
    table[1:, 0] = np.nan
    for solver in ("auto", "full", "row_gram"):
        model = PCA(1, missing="drop", svd_solver=solver)
        assert_refused(ShapeError, lambda m=model: m.fit(table), "1 of 60 rows")


# ---- not numbers --------------------------------------------------------------------------------


@every_frame
def test_text_among_numbers_is_reported_with_column_and_value(library, table):
    data = columns(table)
    data["b"] = ["1.5"] * 33 + ["oops"] + ["2"] * 26
    frame = FRAMES[library](data)
    error = assert_refused(NotNumericError, lambda: PCA(2).fit(frame), "'b'", "'oops'")
    assert error.place["column"] == "b"


def test_text_and_complex_arrays_are_refused(table):
    with pytest.raises(ValueError, match="oops"):
        PCA().fit([["1", "2"], ["oops", "3"]])
    assert_refused(NotNumericError, lambda: PCA().fit(table + 1j), "Complex data not supported")
    assert_refused(NotNumericError, lambda: PCA().fit(sp.csr_array(table + 1j)), "Complex")


def test_arrays_of_dates_and_durations_are_refused(table):
    """Converted to numbers, a missing date would be -2⁶³."""
    dates = np.array([["2020-01-01", "2020-01-02"], ["2021-01-01", "NaT"]], dtype="M8[D]")
    model = PCA(2).fit(table[:, :2])
    for rows in (dates, dates - dates[0, 0]):
        for call in (
            PCA().fit,
            PCA().partial_fit,
            lambda rows: PCA().fit(list(rows)),
            lambda rows: PCA().fit(iter([rows])),
            model.transform,
            model.inverse_transform,
        ):
            assert_refused(NotNumericError, partial(call, rows), f"array of {rows.dtype}")


# ---- rows, columns, components ----------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_too_few_rows_are_refused(solver, form):
    one = form(np.array([[1.0, 2.0, 3.0]]))
    assert_refused(
        ShapeError, lambda: PCA(1, svd_solver=solver).fit(one), "at least 2 rows", "1 sample"
    )
    none = form(np.empty((0, 3)))
    assert_refused(ShapeError, lambda: PCA(1, svd_solver=solver).fit(none), "0 sample")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("k", [5, 60, 10**6])
def test_n_components_out_of_range_is_refused(solver, k, table):
    error = assert_refused(
        ShapeError, lambda: PCA(k, svd_solver=solver).fit(table), f"n_components={k}", "=4"
    )
    assert error.place == {"parameter": "n_components"}


@pytest.mark.parametrize("k", [-1, 0.0, 1.0, 1.5, -0.2, "all", True, np.nan])
def test_invalid_n_components_are_refused(k, table):
    error = assert_refused(ParameterError, lambda: PCA(k).fit(table), f"n_components={k!r}")
    assert "fraction" in error.hint


def test_other_invalid_parameters_are_refused(table):
    for name, value in {
        "svd_solver": "svd",
        "scale": "zscore",
        "missing": "ignore",
        "tol": -1.0,
        "iterated_power": -1,
        "n_oversamples": 0,
        "power_iteration_normalizer": "qr",
    }.items():
        place = {"parameter": name}
        assert_refused(
            ParameterError, lambda n=name, v=value: PCA(**{n: v}).fit(table), place=place
        )
    error = assert_refused(ParameterError, lambda: PCA(tol="loose").fit(table), "tol='loose'")
    assert error.hint == "tol must be a number of at least 0"
    assert_refused(ParameterError, lambda: PCA("mle", svd_solver="arpack").fit(table), "mle")
    assert_refused(ShapeError, lambda: PCA("mle").fit(table[:3]), "mle")


@pytest.mark.parametrize("scale", [True, np.True_, False])
def test_a_truth_value_as_scale_is_answered_with_the_scales(scale):
    with pytest.raises(ParameterError, match=rf"scale={scale!r} is not valid") as caught:
        PCA(scale=scale).fit(np.eye(3))
    assert "scale must be 'unit'" in caught.value.hint


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", ["unit", "pareto", "range"])
def test_constant_columns_are_named(solver, scale, table):
    table[:, 1] = 0.1
    table[:, 3] = 1e8 + 0.1
    action = PCA(1, scale=scale, svd_solver=solver).fit
    place = {"column": 1}
    assert_refused(ConstantColumnError, lambda: action(table), "column 1", "column 3", place=place)
    frame = pd.DataFrame(columns(table))
    assert_refused(ConstantColumnError, lambda: action(frame), "'b'", "'d'", place={"column": "b"})


def test_invalid_scales_are_refused(table):
    assert_refused(ShapeError, lambda: PCA(scale=[1.0, 2.0]).fit(table), "(2,)", "4 columns")
    for wrong in (0.0, -1.0, np.nan, np.inf):
        given = np.array([1.0, 1.0, wrong, 1.0])
        assert_refused(ParameterError, lambda g=given: PCA(scale=g).fit(table), "column 2")


def test_a_scale_with_labels_in_another_order_is_refused(table):
    frame = pd.DataFrame(columns(table))
    scale = frame.std()
    expected = PCA(scale=scale.to_numpy()).fit(frame)
    for same in (scale, pd.Series(scale.to_numpy()), scale.rename(str.upper)):
        np.testing.assert_array_equal(PCA(scale=same).fit(frame).scale_, expected.scale_)
    place = {"parameter": "scale"}
    for action in (PCA(scale=scale[::-1]).fit, KernelPCA(scale=scale[::-1]).fit):
        assert_refused(ColumnError, lambda fit=action: fit(frame), "another order", place=place)
    with pytest.raises(ColumnError, match="another order"):
        expected.rescaled(scale[["b", "a", "c", "d"]])


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("missing", ["error", "em", "nipals"])
def test_a_scale_that_leaves_the_range_of_squares_is_refused(table, missing, size):
    if missing != "error":
        table[3, 1] = np.nan
    model = PCA(2, missing=missing, scale=np.full(4, size))
    assert_refused(NotFiniteError, lambda: model.fit(table), "divided by scale", "power of ten")


def test_invalid_weights_are_refused(table):
    for wrong in (np.ones(59), -np.ones(60), np.full(60, np.nan), np.zeros(60)):
        with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn's message
            PCA().fit(table, sample_weight=wrong)
    complex_weights = np.ones(60) + 1j
    assert_refused(
        ParameterError, lambda: PCA().fit(table, sample_weight=complex_weights), "complex128"
    )
    for text in (np.full(60, "1"), ["1"] * 60, pd.Series(["1"] * 60), np.zeros(60, "M8[s]")):
        assert_refused(ParameterError, lambda w=text: PCA().fit(table, sample_weight=w), "text")
    assert_refused(ParameterError, lambda: PCA().fit(table, sample_weight="w"), "X.pop('w')")
    only = np.eye(60)[0]
    assert_refused(ShapeError, lambda: PCA().fit(table, sample_weight=only), "weights")


def test_weights_with_labels_of_the_rows_in_other_places_are_refused(table):
    frame = pd.DataFrame(columns(table)).rename(index="r{}".format)
    weights = pd.Series(np.arange(1.0, 61.0), frame.index)
    model = PCA(2).fit(frame, sample_weight=weights)
    for same in (weights, weights.reset_index(drop=True), weights.rename(index=str.upper)):
        np.testing.assert_array_equal(PCA(2).fit(frame, sample_weight=same).mean_, model.mean_)
    for action in (
        PCA(2).fit,
        PCA(2).partial_fit,
        KernelPCA(2).fit,
        partial(bootstrap, model, n=2),
        partial(diagnostics.rows, model),
    ):
        place = {"parameter": "sample_weight"}
        act = partial(action, frame, sample_weight=weights[::-1])
        assert_refused(ParameterError, act, "another order", "[X.index]", place=place)
        act = partial(action, frame[30:], sample_weight=weights[20:50])
        assert_refused(ParameterError, act, "has 20 of the 30 labels", "[X.index]", place=place)


@pytest.mark.parametrize("missing", ["error", "drop", "em"])
def test_weights_whose_sum_is_1_up_to_rounding_are_refused(missing, table):
    if missing != "error":
        table[3, 1] = np.nan
    weights = 0.97 ** np.arange(60)
    weights *= (1 + 1e-15) / weights.sum()
    if missing == "drop":
        weights /= 1 - weights[3]
    model = PCA(2, missing=missing)
    action = partial(model.fit, table, sample_weight=weights)
    assert "(w**2).sum()" in assert_refused(ShapeError, action, "sum of weights above 1").hint
    model.fit(table, sample_weight=weights / weights.mean())


def test_weights_of_batches_whose_sum_is_1_up_to_rounding_are_refused(table):
    weights = np.full(60, (1 + 1e-15) / 60)
    model = PCA(2).partial_fit(table, sample_weight=weights)
    assert not hasattr(model, "components_")
    message = "a sum of weights above 1, got 1 so far"
    assert_refused(NotAvailableError, lambda: model.components_, message)
    model.partial_fit(table, sample_weight=np.ones(60))
    assert model.components_.shape == (2, 4)


def test_arguments_of_a_wrong_kind_are_refused_with_their_name(table):
    model = PCA(2).fit(table)
    for parameter, action in (
        ("sample_weight", lambda: PCA().fit(table, sample_weight="a")),
        ("sample_weight", lambda: PCA().partial_fit(table, sample_weight=["a"] * 60)),
        ("progress", lambda: PCA().fit(table, progress=True)),
        ("summary", lambda: PCA.from_summary(model)),
        ("C", lambda: PCA.from_covariance("cov.csv")),
        ("mean", lambda: PCA.from_covariance(np.eye(4), mean="zero")),
    ):
        assert_refused(ParameterError, action, parameter, place={"parameter": parameter})
    text = np.array([["a", "b"]])
    assert_refused(NotNumericError, lambda: model.inverse_transform(text), "'a'")


def test_a_fraction_of_zero_variance_is_refused():
    assert_refused(DataError, lambda: PCA(0.5).fit(np.ones((9, 3))), "constant")


# ---- transform and inverse_transform ---------------------------------------------------------


def test_a_wrong_number_of_columns_is_refused(table):
    model = PCA(2).fit(table)
    for wrong in (table[:, :3], np.hstack([table, table]), sp.csr_array(table[:, :3])):
        for action in (model.transform, model.score_samples):
            p = wrong.shape[1]
            assert_refused(
                ShapeError, lambda a=action, w=wrong: a(w), f"{p} features", "4 features"
            )
    assert_refused(ShapeError, lambda: model.inverse_transform(table), "2 components")


@every_frame
def test_missing_and_new_columns_are_both_reported(library, table):
    model = PCA(2).fit(FRAMES[library](columns(table)))
    frame = FRAMES[library](columns(table, "abxd"))
    error = assert_refused(ColumnError, lambda: model.transform(frame), "c", "x")
    assert error.hint
    fewer = FRAMES[library](columns(table[:, :3], "abd"))
    assert_refused(ColumnError, lambda: model.transform(fewer), "'c'")


# ---- from_covariance -------------------------------------------------------------------------


def test_invalid_covariances_are_refused():
    wrong = np.eye(3)
    wrong[0, 2] = 0.5
    assert_refused(DataError, lambda: PCA.from_covariance(wrong), "symmetric", "0.5")
    assert_refused(ShapeError, lambda: PCA.from_covariance(np.ones((2, 3))), "square", "(2, 3)")
    assert_refused(ShapeError, lambda: PCA.from_covariance(np.ones(3)), "square")
    negative = np.array([[1.0, 2.0], [2.0, 1.0]])
    error = assert_refused(
        DataError, lambda: PCA.from_covariance(negative), "negative eigenvalue", "-1"
    )
    assert "missing='drop'" in error.hint
    wrong = np.eye(3)
    wrong[1, 1] = np.nan
    place = {"row": 1, "column": 1}
    assert_refused(NotFiniteError, lambda: PCA.from_covariance(wrong), "C[1, 1]", place=place)


def test_invalid_arguments_of_from_covariance_are_refused():
    C = np.eye(3)
    assert_refused(ShapeError, lambda: PCA.from_covariance(C, mean=[1.0, 2.0]), "3", "(2,)")
    assert_refused(ParameterError, lambda: PCA.from_covariance(C, n_samples=1), "n_samples=1")
    assert_refused(DataError, lambda: PCA.from_covariance(C, n_components="mle"), "rows")
    assert_refused(ShapeError, lambda: PCA.from_covariance(C, feature_names=["a"]), "1", "3")
    assert_refused(ShapeError, lambda: PCA.from_covariance(C, n_components=4), "n_components=4")
    assert_refused(
        ConstantColumnError, lambda: PCA.from_covariance(np.diag([1, 0]), scale="unit"), "1"
    )


def test_means_with_labels_in_another_order_are_refused(table):
    frame = pd.DataFrame(columns(table))
    C, mean = frame.cov(), frame.mean()
    place = {"parameter": "mean"}
    assert_refused(
        ColumnError, lambda: PCA.from_covariance(C, mean=mean[::-1]), "labels", place=place
    )
    for other in (mean, mean.rename({"a": "other"}), mean[::-1].to_numpy()):
        assert np.array_equal(PCA.from_covariance(C, mean=other).mean_, other)


def test_without_a_mean_rows_cannot_be_transformed(table):
    model = PCA.from_covariance(np.cov(table.T), n_components=2)
    assert "mean" in assert_refused(NotAvailableError, lambda: model.transform(table)).hint
    for action in (model.score_samples, model.score):
        assert_refused(NotAvailableError, lambda a=action: a(table), "mean")
    assert_refused(NotAvailableError, lambda: model.inverse_transform(np.ones((1, 2))), "mean")
    assert_refused(NotAvailableError, lambda: model.singular_values_, "rows")
    assert_refused(NotAvailableError, lambda: model.mean_, "mean")
    table[3, 1] = np.nan
    filling = model.set_params(missing="nipals")
    assert_refused(NotAvailableError, lambda: filling.impute(table), "mean")


def test_without_a_number_of_rows_a_covariance_cannot_fill_cells_or_be_verified(table):
    C, mean = np.cov(table.T), table.mean(axis=0)
    model = PCA.from_covariance(C, mean=mean, n_components=2, missing="em")
    assert_refused(NotAvailableError, lambda: model.verify(table), "number of rows")
    table[3, 1] = np.nan
    for action in (model.impute, model.transform):
        assert_refused(NotAvailableError, lambda a=action: a(table), "number of rows")
    assert np.isfinite(model.set_params(missing="nipals").impute(table)).all()


# ---- nothing is written ------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_the_input_is_never_written(solver, copy, form, table):
    weights = np.arange(60.0) % 4
    given = form(table * (table > 2.5))
    before = given.copy()
    model = PCA(2, svd_solver=solver, copy=copy, scale="unit", whiten=True, random_state=0)
    model.fit(given, sample_weight=weights)
    scores = model.transform(given)
    kept = scores.copy()
    model.inverse_transform(scores)
    model.score_samples(given)
    same = (given != before).nnz == 0 if sp.issparse(given) else (given == before).all()
    assert same
    assert (weights == np.arange(60.0) % 4).all()
    assert (scores == kept).all()


def test_a_failed_fit_leaves_the_model_as_it_was(table):
    model = PCA(2).fit(table)
    before = model.transform(table)
    bad = np.full((9, 3), np.nan)
    with pytest.raises(NotFiniteError):
        model.fit(bad)
    assert (model.transform(table) == before).all()


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**64 - 1])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_integers_that_float64_cannot_hold_are_refused(value, form):
    rows = np.zeros((4, 3), np.uint64 if value > 2**63 else np.int64)
    rows[0, 0], rows[2, 1], rows[3, 0] = 5, value, 2**53
    with pytest.raises(NotNumericError, match=f"column 1 row 2: the integer {value} is"):
        PCA(1).fit(form(rows))
    rows[2, 1] = 2**53
    np.testing.assert_array_equal(PCA(1).fit(form(rows)).mean_, PCA(1).fit(rows).mean_)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "f4"])
def test_repeated_cells_of_sparse_integers_are_summed_as_floats(dtype):
    data, cells = np.array([100, 100, 1]).astype(dtype), ([0, 0, 1], [0, 0, 1])
    repeated = sp.coo_array((data, cells), shape=(3, 2))
    expected = np.zeros((3, 2))
    np.add.at(expected, cells, data)
    # Sparse and in the same precision, so that sums are in the same order.
    expected = sp.csr_array(expected.astype(np.float32 if dtype == "f4" else np.float64))
    means = PCA(1).fit(expected).mean_
    np.testing.assert_array_equal(PCA(1).fit(repeated).mean_, means)


def test_comparing_column_names_takes_linear_time():
    """The names of the other fit are iterated a few times, not once for each name."""

    class Counted(list):
        times = 0

        def __iter__(self):
            Counted.times += 1
            return super().__iter__()

    rows = np.arange(20 * 50.0).reshape(20, 50) ** 1.5
    one, other = PCA(1).fit(rows), PCA(1).fit(rows)
    one._schema = replace(one._schema, names=Counted(f"a{i}" for i in range(50)))
    other._schema = replace(other._schema, names=Counted(f"b{i}" for i in range(50)))
    Counted.times = 0
    with pytest.raises(ColumnError, match="missing: a0") as caught:
        one.merge(other)
    assert caught.value.place["new"] == list(other.feature_names_in_)
    assert Counted.times <= 10
