"""Spark: kinds of frames, weights, places of errors, a worker that dies, and MLlib."""

from __future__ import annotations

import os

import numpy as np
import on_spark
import pandas as pd
import pytest
import scipy.sparse as sp

from helpers import aligned
from princomp import PCA, read_table
from princomp.errors import (
    CheckpointError,
    ColumnError,
    NotAvailableError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)

if on_spark.missing():
    pytest.skip(on_spark.missing(), allow_module_level=True)

from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions

from princomp.core.plan import select_route
from princomp.core.problem import Problem
from princomp.spark import compute_principal_components, compute_svd, mllib_solver


@pytest.fixture(scope="module")
def spark():
    return on_spark.session()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return rng.standard_normal((90, 4)) * [4.0, 3.0, 2.0, 1.0] + 5.0


@pytest.fixture(scope="module")
def columns(rows):
    return on_spark.frame(np.split(rows, [30, 30, 31])).cache()


@pytest.fixture(scope="module")
def arrays(columns):
    return columns.select(functions.array(*columns.columns).alias("features")).cache()


def assert_same_model(model, rows, **parameters):
    weights = parameters.pop("sample_weight", None)
    expected = PCA(**parameters).fit(rows, sample_weight=weights)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-11)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-10)
    np.testing.assert_allclose(model.mean_, expected.mean_, atol=1e-12)
    return expected


def test_arrays_and_vectors_are_rows_too(arrays, rows):
    expected = assert_same_model(PCA(2).fit(arrays), rows, n_components=2)
    vectors = arrays.select(array_to_vector("features").alias("features"))
    model = PCA(2).fit(vectors)
    assert_same_model(model, rows, n_components=2)
    assert not hasattr(model, "feature_names_in_")
    scored = model.transform(vectors)
    assert scored.columns == ["features", "PC_features"]
    scores = np.array([row[1] for row in scored.collect()])
    np.testing.assert_allclose(scores, expected.transform(rows), atol=1e-10)
    back = model.inverse_transform(scored.select("PC_features"))
    assert back.columns == ["PC_features", "x_features"]
    made = np.array([row[1] for row in back.collect()])
    np.testing.assert_allclose(made, expected.inverse_transform(scores), atol=1e-10)


def test_dense_and_sparse_vectors_may_share_a_column(rows):
    table = np.where(rows > 6, 0.0, rows)
    kinds = [Vectors.dense, lambda row: Vectors.sparse(4, list(enumerate(row)))]
    parts = [
        [kinds[i % 2](row) for i, row in enumerate(table[:50])],
        [kinds[1](row) for row in table[50:]],
    ]
    assert_same_model(PCA().fit(on_spark.of_vectors(parts)), table)
    # If the first are sparse, all are read as sparse, and dense ones are kept in full.
    model = PCA(2).fit(on_spark.of_vectors(parts[::-1]))
    assert "sparse" in str(model.plan_)
    assert_same_model(model, np.concatenate([table[50:], table[:50]]), n_components=2)


def test_a_sparse_frame_is_never_made_dense(rng):
    table = sp.random_array((60, 5_000), density=0.002, rng=rng, format="csr") * 10
    strong = sp.csr_array(5 * rng.standard_normal((60, 1)))
    table = sp.hstack([strong, table[:, 1:]], format="csr")
    model = PCA(1, tol=1e-6, svd_solver="krylov").fit(on_spark.frame([table[:20], table[20:]]))
    expected = PCA(1).fit(table)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:the variances of the columns differ:UserWarning")
def test_integers_decimals_and_names_with_dots_are_columns(spark, columns, rows):
    chosen = columns.select(
        functions.col("x0").alias("a.b"),
        (functions.col("x1") * 100).cast("int").alias("whole `1`"),
        functions.col("x2").cast("float").alias("x2"),
        functions.col("x3").cast("decimal(20,10)").alias("x3"),
    )
    table = np.array([list(map(float, row)) for row in chosen.collect()])
    model = PCA(2).fit(chosen)
    assert_same_model(model, table, n_components=2)
    assert list(model.feature_names_in_) == chosen.columns
    assert model.transform(chosen).columns == [*chosen.columns, "PC1", "PC2"]


def test_rows_are_added_and_removed_on_executors(columns, rows):
    model = PCA(2).partial_fit(columns).partial_fit(columns.limit(40)).forget(columns.limit(40))
    assert_same_model(model, rows, n_components=2)
    with pytest.raises(ParameterError, match="name of a column"):
        model.partial_fit(columns, sample_weight=np.ones(90))
    with pytest.raises(NotAvailableError, match="these are on Spark"):
        model.score_samples(columns)


def test_a_first_column_that_numbers_the_rows_is_left_out(columns, rows):
    numbered = columns.select(functions.monotonically_increasing_id().alias("id"), "*")
    with pytest.warns(UserWarning, match="left out 'id', the first column"):
        model = PCA(2).fit(numbered)
    assert_same_model(model, rows, n_components=2)
    assert model.transform(numbered).columns == [*numbered.columns, "PC1", "PC2"]
    frame = pd.DataFrame(rows, columns=columns.columns)
    frame.insert(0, "id", range(len(rows)))
    whole = PCA(1, scale="unit").fit(read_table(frame, id_column=False))  # with that column
    assert whole.transform(numbered).columns == [*numbered.columns, "PC1"]


def test_a_transform_keeps_the_other_columns_and_collects_nothing(columns, rows):
    named = columns.select(functions.lit("a").alias("princomp_PC1"), "*")
    named = named.withColumn("flag", functions.col("x0") > 5)
    left_out = "1 text column: princomp_PC1; left out 1 true/false column: flag.*on Spark"
    with pytest.warns(UserWarning, match=left_out):
        assert_same_model(PCA(2).fit(named), rows, n_components=2)
    model = PCA(2).fit(columns)
    scored = model.transform(named)
    assert scored.columns == ["princomp_PC1", *columns.columns, "flag", "PC1", "PC2"]
    assert scored.first()[0] == "a"
    plan = scored._jdf.queryExecution().toString()
    assert plan.split("== Physical Plan ==")[1].count("ArrowEvalPython") == 1
    scores = np.array([row[-2:] for row in scored.collect()])
    np.testing.assert_allclose(scores, PCA(2).fit(rows).transform(rows), atol=1e-10)
    with pytest.raises(ColumnError, match="already has a column 'PC1'"):
        model.transform(columns.withColumn("PC1", functions.lit("a")))
    arrays = columns.select(functions.array(*columns.columns).alias("features"))
    of_arrays = PCA(2).fit(arrays)
    # Spark takes these for the same name, and would replace the column.
    with pytest.raises(ColumnError, match="already has a column 'pc_features'"):
        of_arrays.transform(arrays.withColumn("pc_features", functions.lit("a")))
    with pytest.raises(ColumnError, match="not those of the fit"):
        model.transform(columns.withColumnRenamed("x1", "other"))


def test_columns_of_the_model_are_found_among_others(spark, columns, arrays, rows):
    model = PCA(2).fit(columns)
    scores, more = model.transform(columns), {"id": functions.lit(7), "w": functions.lit(2.0)}
    found = model.transform(columns.withColumns(more).withColumn("v", functions.array("x0")))
    assert found.columns == [*columns.columns, "id", "w", "v", "PC1", "PC2"]
    assert found.first()[-2:] == scores.first()[-2:]
    with pytest.raises(ColumnError, match="not those of the fit"):
        model.transform(columns.select("x1", "x0", "x2", "x3"))
    with pytest.raises(ColumnError, match="already has a column 'x0'") as caught:
        model.inverse_transform(scores)
    drop = ", ".join(map(repr, columns.columns))
    assert caught.value.hint == f"rename or drop it before: df.drop({drop})"
    back = model.inverse_transform(scores.withColumns(more).drop(*columns.columns))
    assert back.columns == ["PC1", "PC2", "id", "w", *columns.columns]
    in_memory = PCA(2).fit(rows)
    expected = in_memory.inverse_transform(in_memory.transform(rows[:1]))
    np.testing.assert_allclose([back.first()[-4:]], expected, atol=1e-10)
    of_arrays = PCA(2).fit(arrays)
    back = of_arrays.inverse_transform(of_arrays.transform(arrays))
    assert back.columns == ["features", "PC_features", "x_features"]
    np.testing.assert_allclose([back.first()["x_features"]], expected, atol=1e-10)


@pytest.mark.parametrize("kind", ["columns", "arrays"])
def test_a_column_may_hold_the_weights(kind, rows, request):
    frame = request.getfixturevalue(kind)
    first = functions.col("x0" if kind == "columns" else "features")
    first = first if kind == "columns" else first[0]
    weighted = frame.withColumn("w", functions.floor(functions.abs(first)) % 3)
    w = np.floor(np.abs(rows[:, 0])) % 3
    model = PCA(2).fit(weighted, sample_weight="w")
    assert_same_model(model, rows, n_components=2, sample_weight=w)
    if kind == "columns":
        assert list(model.feature_names_in_) == columns_of(frame)
    with pytest.raises(ColumnError, match="'v' is not a numeric column"):
        PCA(2).fit(weighted, sample_weight="v")
    with pytest.raises(ParameterError, match="rows on Spark have no order"):
        PCA(2).fit(weighted, sample_weight=w)
    with pytest.raises(ParameterError, match="in sample_weight: one is -1") as caught:
        PCA(2).fit(frame.withColumn("w", functions.lit(-1)), sample_weight="w")
    assert caught.value.place == {"parameter": "sample_weight", "row": 0}


def columns_of(frame):
    return [name for name in frame.columns if name != "w"]


def test_null_counts_as_nan(columns, arrays):
    holed = columns.withColumn("x2", functions.when(functions.col("x0") > 8, functions.col("x2")))
    first = next(i for i, row in enumerate(holed.collect()) if row[2] is None)
    with pytest.raises(NotFiniteError) as caught:
        PCA(2).fit(holed)
    assert caught.value.place == {"row": first, "column": "x2"}
    many = functions.when(functions.col("features")[0] <= 8, functions.col("features"))
    gone = arrays.select(many.alias("features"))
    first = next(i for i, row in enumerate(gone.collect()) if row[0] is None)
    with pytest.raises(NotFiniteError) as caught:
        PCA(2).fit(gone)
    assert caught.value.place["row"] == first
    left = np.array([row[0] for row in gone.collect() if row[0] is not None])
    model = PCA(2, missing="drop").fit(gone)
    assert_same_model(model, left, n_components=2)
    assert model.n_dropped_ == 90 - len(left)


def test_invalid_frames_are_refused_with_the_place(spark, columns, arrays):
    ragged = arrays.select(
        functions.when(functions.rand() < 2, functions.slice("features", 1, 4)).alias("f")
    ).union(spark.sql("select array(1d, 2d, 3d)"))
    with pytest.raises(ShapeError, match="row 90: a row has 3 numbers") as caught:
        PCA(2).fit(ragged)
    assert caught.value.place == {"row": 90, "length": 3}
    with pytest.raises(NotNumericError, match=r"row 1: the integer 9007199254740992"):
        PCA(1).fit(spark.sql("select * from values (1L, 2L), (3L, 9007199254740993L)"))
    with pytest.raises(NotNumericError, match=r"row 1: the integer 9007199254740992"):
        PCA(1).fit(spark.sql("select * from values (1BD, 2BD), (3BD, 9007199254740993BD)"))
    with pytest.raises(NotNumericError, match="no column of numbers"):
        PCA(1).fit(spark.sql("select 'a' as b"))
    with pytest.raises(NotNumericError, match="arrays of integers to array<double>"):
        PCA(1).fit(spark.sql("select array(1, 2) as b"))
    with pytest.raises(ColumnError, match="does not distinguish 'A' from another column"):
        PCA(1).fit(columns.select(functions.col("x0").alias("A"), functions.col("x1").alias("a")))
    with pytest.raises(ColumnError, match="several columns of arrays"):
        PCA(1).fit(arrays.withColumn("more", functions.col("features")))
    with pytest.raises(ColumnError, match="two columns of the same name"):
        PCA(1).fit(columns.select("x0", "x0"))
    with pytest.raises(ShapeError, match="there are 0 samples"):
        PCA(1).fit(columns.where("x0 > 1e9"))
    with pytest.raises(ShapeError, match="has no rows"):
        PCA(1).fit(arrays.where("false"))


def test_the_hints_for_rdds_and_row_matrices_work(spark, rows):
    from pyspark.mllib.linalg import Vectors as OldVectors
    from pyspark.mllib.linalg.distributed import RowMatrix

    rdd = spark.sparkContext.parallelize(rows.tolist(), 2)
    matrix = RowMatrix(rdd.map(OldVectors.dense))
    names = {"rdd": rdd, "matrix": matrix, "Vectors": Vectors}
    for given in (rdd, matrix):
        with pytest.raises(
            ParameterError, match="X must be a DataFrame of Spark, got its R"
        ) as caught:
            PCA(2).fit(given)
        frame = eval(caught.value.hint.partition(", with Vectors")[0], names)  # code of a hint
        assert_same_model(PCA(2).fit(frame), rows, n_components=2)


def test_a_worker_that_dies_in_mid_partition_counts_its_rows_once(columns, rows, tmp_path):
    marker = os.fspath(tmp_path / "died")
    schema = columns.schema

    def once(batches):
        import os

        for batch in batches:
            yield batch
            if batch.num_rows > 1:
                try:
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os._exit(1)

    model = PCA(2).fit(columns.mapInArrow(once, schema))
    assert os.path.exists(marker)
    assert model.n_samples_ == 90
    assert_same_model(model, rows, n_components=2)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("columns", {"scale": "unit"}),
        ("arrays", {"missing": "drop"}),
        ("vectors", {"center": False}),
    ],
)
def test_wide_rows_are_summed_in_tiles(kind, parameters, monkeypatch, rng):
    monkeypatch.setattr("princomp.engines.spark.tiles.GROUP_COLUMNS", 3)
    table = rng.standard_normal((60, 10)) * 2.0 ** -np.arange(10) + 3.0
    frame = on_spark.frame([table[:20], table[20:]])
    features = functions.array(*frame.columns)
    if kind == "vectors":
        features = array_to_vector(features)
    frame = frame if kind == "columns" else frame.select(features.alias("features"))
    if parameters.get("missing"):
        hole = functions.lit(float("nan"))
        frame = frame.union(frame.limit(1).select(functions.array(*[hole] * 10)))
    before = len(persisted(frame))
    model = PCA(3, svd_solver="lanczos", **parameters).fit(frame)
    assert model.plan_.solver == "tiles"
    assert "in tiles that stay on Spark" in str(model.plan_)
    assert model.n_dropped_ == ("missing" in parameters)
    assert_same_model(model, table, n_components=3, **parameters)
    assert len(persisted(frame)) == before


def test_tiles_leave_out_vectors_that_are_missing(spark, monkeypatch, rows):
    monkeypatch.setattr("princomp.engines.spark.tiles.GROUP_COLUMNS", 2)
    vectors = [[Vectors.dense(row) for row in rows], [None]]
    frame = on_spark.of_vectors(vectors)
    model = PCA(2, svd_solver="lanczos", missing="drop").fit(frame)
    assert (model.plan_.solver, model.n_dropped_) == ("tiles", 1)
    assert_same_model(model, rows, n_components=2)


def test_too_wide_scatters_select_krylov():
    facts = Problem(0, 4_000, 10, in_memory=False, engine="Spark")
    assert select_route(facts).summary == "moments"
    choice = select_route(facts._replace(columns=4_001))
    assert choice.solver == "krylov"
    assert choice.reason.startswith("p² = 4,001² is too much for a task of Spark")
    assert select_route(facts._replace(columns=4_001, engine="")).summary == "moments"


def persisted(frame):
    """The frames that the session has persisted."""
    return frame.sparkSession.sparkContext._jsc.getPersistentRDDs()


def test_a_checkpoint_of_other_rows_is_refused(spark, columns, rows, tmp_path):
    def local(table):
        return spark.createDataFrame(pd.DataFrame(table, columns=columns.columns))

    columns.write.parquet(str(tmp_path / "rows"))
    read = spark.read.parquet(str(tmp_path / "rows"))
    for number, (frame, same, other) in enumerate(
        [
            (read.where("x0 > 5"), read.where("x0 > 5"), read.where("x0 > 4")),
            (columns.where("x0 > 5"), columns.where("x0 > 5"), columns.where("x0 > 4")),
            (local(rows), local(rows), local(rows + 1.0)),
        ]
    ):
        path = tmp_path / f"run{number}"
        model = PCA(2).fit(frame, checkpoint=path)
        with pytest.raises(CheckpointError):
            PCA(2).fit(other, checkpoint=path)
        resumed = PCA(2).fit(same, checkpoint=path)
        assert np.array_equal(resumed.components_, model.components_)


# ---- compared with MLlib ----------------------------------------------------------------------


def test_mllib_has_equal_components_but_uncentred_scores(arrays, rows):
    from pyspark.ml.feature import PCA as MLlibPCA  # noqa: N811

    vectors = arrays.select(array_to_vector("features").alias("features"))
    mllib_model = MLlibPCA(k=3, inputCol="features", outputCol="scores").fit(vectors)
    model = PCA(3).fit(vectors)
    axes = aligned(model.components_, mllib_model.pc.toArray().T)
    np.testing.assert_allclose(axes, model.components_, atol=1e-12)
    rates = mllib_model.explainedVariance.toArray()
    np.testing.assert_allclose(rates, model.contribution_rate_, rtol=1e-12)
    mllib_scores = np.array([row[1].toArray() for row in mllib_model.transform(vectors).collect()])
    scores = np.array([row[1] for row in model.transform(vectors).collect()])
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-12)
    mean = mllib_model.pc.toArray().T @ rows.mean(axis=0)
    assert np.abs(mean).max() > 1.0
    np.testing.assert_allclose(mllib_scores.mean(axis=0), mean, rtol=1e-12)


@pytest.mark.parametrize("mode", ["auto", "mllib"])
def test_mllib_functions_match_mllib(mode, arrays, rows):
    from pyspark.mllib.linalg import Vectors as OldVectors
    from pyspark.mllib.linalg.distributed import RowMatrix

    vectors = arrays.select(array_to_vector("features").alias("features"))
    row_matrix = RowMatrix(arrays.rdd.map(lambda row: OldVectors.dense(row[0])))
    axes = compute_principal_components(vectors, 2, mode=mode)
    expected = row_matrix.computePrincipalComponents(2).toArray()
    np.testing.assert_allclose(aligned(axes.T, expected.T).T, axes, atol=1e-12)
    found, expected = compute_svd(vectors, 2, compute_u=True, mode=mode), row_matrix.computeSVD(2)
    np.testing.assert_allclose(found.s, expected.s.toArray(), rtol=1e-10)
    np.testing.assert_allclose(aligned(found.V.T, expected.V.toArray().T).T, found.V, atol=1e-8)
    u = np.array([row[1] for row in found.U.collect()])
    np.testing.assert_allclose(u.T @ u, np.eye(2), atol=1e-10)
    first = (u * found.s) @ found.V.T
    left = np.linalg.svd(rows, compute_uv=False)[2:]
    assert np.linalg.norm(rows - first) == pytest.approx(np.linalg.norm(left), rel=1e-8)


def test_singular_values_that_are_zero_are_left_out(columns):
    twice = columns.select("x0", (functions.col("x0") * 2).alias("x1"), "x2")
    found = compute_svd(twice, 3)
    assert len(found.s) == 2
    assert found.V.shape == (3, 2)
    assert found.U is None


def test_a_warning_says_which_singular_values_may_be_rounding_errors(columns):
    # Twelve columns of rank 2, whose squares do not resolve the other singular values.
    sums = [f"x0 * {0.1 + i / 7} + x1 * {1.3 - i / 9} as y{i}" for i in range(12)]
    rank2 = columns.selectExpr(*sums)
    assert len(compute_svd(rank2, 12).s) == 2
    with pytest.warns(UserWarning, match="may be rounding errors"):
        compute_svd(rank2, 12, mode="mllib")
    assert len(compute_svd(rank2, 12, r_cond=1e-6, mode="mllib").s) == 2


def test_mllib_solver_follows_mllibs_rule():
    assert mllib_solver(99, 5) == "covariance_eigh"
    assert mllib_solver(100, 50) == "krylov"
    assert mllib_solver(100, 51) == "covariance_eigh"
    assert mllib_solver(15_001, 15_000) == "krylov"
    for wrong in ({"k": 0}, {"k": 2, "mode": "dist-eigs"}):
        with pytest.raises(ParameterError):
            compute_principal_components(None, **wrong)
