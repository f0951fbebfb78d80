"""Memory that is still in use is not overwritten: of models, copies, inputs and results."""

import copy
import gc
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import numpy as np
import pytest
import scipy.sparse as sp

from princomp import PCA, KernelPCA, Moments
from princomp.core.request import Request
from princomp.core.row_buffer import RowBuffer
from princomp.core.stream import Stream
from princomp.engines import local
from princomp.engines.local import fold
from princomp.io.readers.columns import Selection
from princomp.io.readers.numpy_file import open_npy
from princomp.kernels import csr, entries_of
from princomp.kernels.wide import MIN_COLUMNS
from princomp.linalg import scratch

P = 4
LARGE = (400, 50)  # of float64: more than the smallest array that scratch keeps


def rows_like(rng, n, size=1.0):
    return size * rng.standard_normal((n, P))


def assert_model_of(model, batches):
    """Assert that the model is that of these rows: all of their means and covariances agree.

    The rows of one model are of the size 10**i, those of others differ from it by a factor of 10
    at least: rows that are overwritten change a variance by far more than 1e-8 of it, and the
    rounding of at most 1,000 rows is below 1,000 eps.
    """
    rows = np.concatenate(batches)
    covariance = np.cov(rows.T)
    size = np.abs(covariance).max()
    found = (model.components_.T * model.explained_variance_) @ model.components_
    assert model.n_samples_ == len(rows)
    np.testing.assert_allclose(found, covariance, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(model.mean_, rows.mean(axis=0), rtol=0, atol=1e-8 * np.sqrt(size))


# ---- buffered rows -----------------------------------------------------------------------------


def test_a_discarded_model_keeps_the_rows_of_others():
    rng = np.random.default_rng(0)
    a, b, c = rows_like(rng, 50), rows_like(rng, 30), rows_like(rng, 30, 1e3)
    model = PCA(2).partial_fit(a).partial_fit(sp.csr_array(b))
    PCA(2).partial_fit(c)
    expected = np.linalg.eigvalsh(np.cov(np.concatenate([a, b]).T))[::-1][:2]
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-12)


def fail_in_a_batch(model, rng, size):
    """Add batches of which a later one is refused, after the first was accepted."""
    bad = rows_like(rng, 3, size)
    bad[1, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinite|not finite"):
        model.partial_fit(iter([rows_like(rng, 5, 7 * size), bad]))


def in_a_thread(work):
    found = []
    thread = Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture(scope="module")
def _freeze_older_objects():
    """Exempt the objects of earlier tests from garbage collection, which takes 0.1 s each time."""
    gc.collect()
    gc.freeze()


@pytest.mark.usefixtures("_freeze_older_objects")
@pytest.mark.parametrize("seed", range(6))
def test_models_and_their_copies_keep_their_own_rows(seed):
    """Any sequence of batches, copies, failures, and new and deleted models."""
    rng = np.random.default_rng(seed)
    models = [(PCA(), [], 1.0)]
    for step in range(60):
        model, batches, size = models[rng.integers(len(models))]
        more = rows_like(rng, int(rng.choice([1, 2, 30, 100])), size)
        action = rng.integers(9) if batches else 0
        if action <= 2:
            model.partial_fit(more)
        elif action == 3:
            model.partial_fit(sp.csr_array(more))
        elif action == 4:
            in_a_thread(lambda model=model, more=more: model.partial_fit(more))
        elif action == 5:
            fail_in_a_batch(model, rng, size)
        elif action == 6 and sum(map(len, batches)) > 1:
            model.explained_variance_  # noqa: B018  (solves)
        elif action > 6:
            duplicate = copy.copy if action == 7 else [copy.deepcopy, through_pickle][step % 2]
            models.append((duplicate(model), list(batches), size))
        if action <= 4:
            batches.append(more)
        if step % 5 == 0:
            models.append((PCA(), [], 10.0 ** rng.integers(-3, 4)))
        if len(models) > 6:
            models.pop(int(rng.integers(len(models))))
            gc.collect()
        PCA().partial_fit(rows_like(rng, 64, 1e9))
    for model, batches, _ in models:
        if sum(map(len, batches)) > P:
            assert_model_of(model, batches)


def through_pickle(value):
    return pickle.loads(pickle.dumps(value))


class CallbackWeights:
    """Weights that call a function when they are read: another thread may run then."""

    def __init__(self, weights, meanwhile):
        self.weights, self.meanwhile = weights, meanwhile

    def __array__(self, dtype=None, copy=None):
        self.meanwhile()
        return np.asarray(self.weights, dtype=dtype)


def test_concurrent_additions_do_not_write_to_the_same_rows():
    first = RowBuffer().appended(np.zeros((3, P)), None, 100)
    others = []
    weights = CallbackWeights(
        np.ones(2), lambda: others.append(first.appended(np.full((2, P), 5.0), None, 100))
    )
    one = first.appended(np.full((2, P), 7.0), weights, 100)
    assert (one.table()[0][3:] == 7.0).all()
    assert (others[0].table()[0][3:] == 5.0).all()


def test_a_failed_addition_does_not_affect_others():
    def stop():
        raise RuntimeError

    first = RowBuffer().appended(np.zeros((3, P)), None, 100)
    with pytest.raises(RuntimeError):
        first.appended(np.full((2, P), 7.0), CallbackWeights(np.ones(2), stop), 100)
    one, two = (first.appended(np.full((2, P), value), None, 100) for value in (5.0, 6.0))
    assert (first.table()[0] == 0.0).all()
    assert (one.table()[0][3:] == 5.0).all()
    assert (two.table()[0][3:] == 6.0).all()


def test_an_emptied_stream_does_not_affect_the_original():
    stream = Stream(Request.of(PCA()), P)
    stream.add(np.full((10, P), 3.0), None)
    other = stream.empty_copy()
    other.add(np.full((20, P), 9.0), None)
    stream.add(np.full((5, P), 3.0), None)
    for each, value, n in ((stream, 3.0, 15), (other, 9.0, 20)):
        summary = each.summary_and_dropped()[0]
        assert summary.rows == n
        assert (summary.mean == value).all()
        assert (summary.scatter == 0.0).all()


# ---- reused memory ---------------------------------------------------------------------------


def test_scratch_is_reused_once_nothing_refers_to_it():
    array = scratch("used again", LARGE, np.float64)
    address = array.ctypes.data
    del array
    assert scratch("used again", LARGE, np.float64).ctypes.data == address


@pytest.mark.parametrize(
    "part",
    [
        lambda array: array,
        lambda array: array[3:7],
        lambda array: array.T.reshape(-1)[::2] if array.T.flags.c_contiguous else array.T[1:],
        lambda array: array.view(np.uint8)[5],
        lambda array: memoryview(array),
        lambda array: iter(array),
        lambda array: (number for number in [array][0]),
    ],
    ids=["itself", "slice", "transpose", "bytes", "memoryview", "iterator", "generator"],
)
def test_scratch_is_not_reused_while_a_part_of_it_is_alive(part):
    alive = part(scratch("parts", LARGE, np.float64))
    # An earlier array may be free: three more calls use up all that are kept.
    for _ in range(3):
        more = scratch("parts", LARGE, np.float64)
        more[:] = 1.0
        part_of_it = np.asarray(next(alive) if hasattr(alive, "__next__") else alive)
        assert not np.shares_memory(part_of_it, more)


def test_scratch_in_the_traceback_of_an_error_is_not_reused():
    def fails():
        array = scratch("failed", LARGE, np.float64)
        array[:] = 1.0
        raise ValueError

    with pytest.raises(ValueError) as caught:  # noqa: PT011
        fails()
    scratch("failed", LARGE, np.float64)[:] = 2.0
    (frame,) = [t for t in caught.traceback if t.name == "fails"]
    assert (frame.locals["array"] == 1.0).all()


def test_products_of_sparse_rows_are_not_overwritten_by_the_next():
    rng = np.random.default_rng(0)
    entries = entries_of(sp.random_array((500, 3000), density=0.02, rng=rng, format="csr"))
    one, two = (csr.images(entries, rng.standard_normal((3000, 8)))[0] for _ in range(2))
    assert not np.shares_memory(one, two)


def test_a_block_being_added_is_not_overwritten_by_the_next(tmp_path, monkeypatch):
    """One thread reads ahead of the one that adds, so that the next block is always read."""

    def one_ahead(work, pieces, threads=None, *, prefetch=False):
        with ThreadPoolExecutor(1) as reader:
            before = None
            for piece in pieces:
                read = reader.submit(work, piece).result()
                if before is not None:
                    yield before
                before = read
            yield before

    rows = np.random.default_rng(0).standard_normal((2 * 2048 + 100, MIN_COLUMNS), dtype=np.float32)
    np.save(tmp_path / "rows.npy", rows)
    source = open_npy(tmp_path / "rows.npy", Selection())
    expected = fold(Moments, rows).summary
    monkeypatch.setattr(local, "map_in_order", one_ahead)
    found = fold(Moments, source).summary
    np.testing.assert_array_equal(found.scatter, expected.scatter)


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


@pytest.mark.parametrize("setting", ["1", "0", ""])
def test_new_and_reused_memory_is_filled_with_nan_on_request(setting):
    program = (
        "import numpy as np\n"
        "from princomp.linalg import buffers\n"
        "def all_made():\n"
        "    return [buffers.empty((300, 100)), buffers.aligned((300, 100), 'f4'),\n"
        "            buffers.scratch('x', (300, 100), 'f8'), buffers.empty(5, dtype='i8')]\n"
        "for array in all_made():\n"
        "    array[...] = 1\n"
        "del array\n"
        "filled = np.frombuffer(bytes([0xa5]) * 8, 'i8')[0]\n"
        "*floats, integers = all_made()\n"
        "assert all(np.isnan(x).all() for x in floats) == buffers.FILL\n"
        "assert (integers == filled).all() == buffers.FILL\n"
        "print(buffers.FILL)\n"
    )
    assert run(program, PRINCOMP_FILL_EMPTY=setting).strip() == str(setting == "1")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_during_a_fit_restores_the_threads_of_blas():
    program = """
import os, threading
from princomp.linalg import threads as blas
from princomp.linalg import one_blas_thread
blas._set_threads([2] * len(blas._blas_libraries()))
def threads(): return [library.num_threads for library in blas._blas_libraries()]
inside, done = threading.Event(), threading.Event()
def fit():
    with one_blas_thread():
        inside.set()
        done.wait()
other = threading.Thread(target=fit)
other.start()
inside.wait()
def child_of(work):
    child = os.fork()
    if child == 0:
        try:
            os._exit(work())
        except BaseException:
            os._exit(9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
def outside():
    before = threads()
    with one_blas_thread():
        during = threads()
    return 0 if (set(before), set(during), set(threads())) == ({2}, {1}, {2}) else 1
assert child_of(outside) == 0
with one_blas_thread():
    assert child_of(lambda: 0 if set(threads()) == {1} else 1) == 0
done.set()
other.join()
assert set(threads()) == {2}
print("good")
"""
    assert run(program).strip() == "good"


BEGINNING_OF_FORKS = """
import os, signal, threading, time
from princomp.linalg import cached_property, one_blas_thread, threads
busy = threading.Event()
forked, report_fork = os.pipe()
def child_of(work):
    other = threading.Thread(target=work)
    other.start()
    busy.wait()
    child = os.fork()
    os.write(report_fork, b"x")  # in both processes: each of them reads one byte
    if child == 0:
        signal.alarm(60)
        work()
        os._exit(0)
    other.join()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_does_not_wait_for_a_property_that_a_thread_computes():
    program = """
class Slow:
    @cached_property
    def value(self):
        busy.set()
        os.read(forked, 1)
        return 1
print(child_of(lambda: Slow().value))
"""
    assert run(BEGINNING_OF_FORKS + program).strip() == "0"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_waits_while_a_thread_sets_the_threads_of_blas():
    program = """
lock = threading.Lock()
class Library:
    def get_num_threads(self):
        return 2
    def set_num_threads(self, number):
        with lock:
            busy.set()
            time.sleep(0.1)
threads._blas_libraries = lambda: [Library()]
def limit():
    with one_blas_thread():
        pass
print(child_of(limit))
"""
    assert run(BEGINNING_OF_FORKS + program).strip() == "0"


# ---- inputs and results of models ------------------------------------------------------------

ROWS = np.random.default_rng(3).standard_normal((60, P)) + 3.0


MAKERS = {
    "fit": lambda X, w: PCA(scale="unit").fit(X, sample_weight=w),
    "range": lambda X, w: PCA(scale="range").fit(X, sample_weight=w),
    "full": lambda X, w: PCA(svd_solver="full").fit(X, sample_weight=w),
    "lanczos": lambda X, w: PCA(2, svd_solver="lanczos").fit(X, sample_weight=w),
    "batches": lambda X, w: PCA(scale="unit").partial_fit(X, sample_weight=w),
    "summary": lambda X, w: PCA.from_summary(Moments.of(X, w)),
    "rbf": lambda X, w: KernelPCA(2, kernel="rbf").fit(X, sample_weight=w),
    "poly": lambda X, w: KernelPCA(2, kernel="poly", fit_inverse_transform=True).fit(X),
    "nystrom": lambda X, w: KernelPCA(2, kernel="poly", approximation="nystrom").fit(X),
}


def results_of(model):
    names = [n for n in dir(type(model)) if n.endswith("_") and not n.startswith("_")]
    found = {"scores": model.transform(ROWS[:7] + 0.5)}
    for name in names:
        value = getattr(model, name, None)
        if isinstance(value, np.ndarray):
            found[name] = value.copy()
    return found


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_model_does_not_change_with_its_input_rows(make):
    expected = results_of(make(ROWS.copy(), np.linspace(1, 2, 60)))
    X, weights = ROWS.copy(), np.linspace(1, 2, 60)
    model = make(X, weights)
    X[:] = 7.0  # still writable, too
    weights[:] = 0.0
    found = results_of(model)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_a_model_does_not_change_with_its_covariance_or_summary():
    covariance, mean = np.cov(ROWS.T), ROWS.mean(axis=0)
    summary = Moments.of(ROWS)
    models = [
        PCA.from_covariance(covariance, mean=mean, n_samples=60),
        PCA.from_summary(summary),
    ]
    covariance[:], mean[:], summary.scatter[:], summary.mean[:] = 7.0, 7.0, 7.0, 7.0
    for model in models:
        expected = results_of(PCA().fit(ROWS))
        for name, value in results_of(model).items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-10, atol=1e-10, err_msg=name)
        assert model.truncated(3).explained_variance_.max() < 2.0


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_writing_to_results_does_not_change_the_model(make):
    model = make(ROWS.copy(), np.linspace(1, 2, 60))
    before = results_of(model)
    for name in dir(type(model)):
        if not name.endswith("_") or name.startswith("_"):
            continue
        value = getattr(model, name, None)
        parts = [value] if isinstance(value, np.ndarray) else getattr(value, "__slots__", ())
        for part in parts:
            array = getattr(value, part) if isinstance(part, str) else part
            if isinstance(array, np.ndarray) and array.flags.writeable and array.dtype != object:
                array[...] = 7
    model.transform(ROWS)[:] = 7.0
    for name, value in results_of(model).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
