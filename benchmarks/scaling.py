"""The cost model of a fit on any engine, checked on this machine, and asked about large tables.

    python benchmarks/scaling.py [--tiny] [--rounds 3] [--json FILE]

The formulas stand here and nowhere else; docs/explain/cluster-cost.md says them in words. A run
measures what this machine does (scaling_measured.py), predicts fits from it, measures those too,
and then says what the formulas give for tables that no single machine holds.

Sizes are in bytes, work in floating-point operations, of which a product and its sum are two.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from princomp.solvers.krylov import block_width, max_krylov_vectors
from princomp.solvers.nystrom import sketch_width
from princomp.summaries.blocks import block_rows, panel_rows
from princomp.summaries.sketch import wide_block_rows

# Of the engines: neighbours joined by a task of Dask; by one of Spark's first level, and bytes
# of a state up to which Spark has only a last one; columns of a group of tiles.
DASK_FAN, SPARK_FAN, SPARK_SMALL, TILE_COLUMNS = 8, 16, 2**20, 1_500
# Sums (p, p) that a task holds at once: its own, a block's, both joined (3 are measured), and
# one that is sent.
STATES_IN_TASK = 4
# Arrays (p, b) that a task of the Krylov route holds: vectors, image, and what a block came to
# before it is added. Measured: 6 with sparse rows, 3 to 4 with dense ones.
ARRAYS_IN_TASK = 6
# Bytes of eight rows from which on all threads add a block's products to the sum.
SHARED_ADD_BYTES = 2**22
CONCURRENT = "concurrent"
# Bytes of sums from which on they are not in a cache from block to block.
CACHE_BYTES = 2**22
# eigh: reduction, eigenvectors, and the way back; measured rates are in the same units.
EIGH_FACTOR = 9
# Components that are wanted in what is measured.
K = 10


class Rows(NamedTuple):
    """A table: n × p numbers of ``size`` bytes, of which ``stored`` where it is sparse."""

    n: int
    p: int
    size: int = 8
    stored: int | None = None

    @property
    def numbers(self):
        return self.n * self.p if self.stored is None else self.stored

    @property
    def bytes(self):
        # CSR: a number, its column in four bytes, and eight for where a row begins.
        if self.stored is None:
            return self.numbers * self.size
        return self.stored * (self.size + 4) + 8 * self.n

    @property
    def wide_blocks(self):
        """Blocks that the routes with p × b sums cut the rows into."""
        return -(-self.n // wide_block_rows(self.p, sparse=self.stored is not None))


class Work(NamedTuple):
    """What a fit does, all passes together; ``state`` and memory are of one sum."""

    passes: float
    read: float  # bytes of rows
    flops: float  # with the rows, divided among workers
    adds: float  # bytes (TSQR: flops) of joining the sums of blocks, one thread a partition
    state: float  # bytes of what a partition sends up, once a pass
    up: float  # bytes that partitions send up
    down: float  # bytes that go to each worker
    rounds: float  # times that all wait for the slowest
    solve: float  # flops where the answer is found
    task: float  # bytes that a task holds in addition to its rows
    driver: float  # bytes where the answer is found
    # How the threads of a task join sums: one of them "after" all have multiplied a block,
    # one while the others multiply ("concurrent"), or all of them ("shared").
    adding: str = "after"


def covariance(rows, m):
    """One pass: half the products of columns, added up in p × p sums."""
    n, p = rows.n, rows.p
    flops = float(n) * p * (p + 1) if rows.stored is None else rows.stored**2 / n
    blocks = max(-(-n // block_rows(p)), m)
    state = 8.0 * p * p
    solve = EIGH_FACTOR * float(p) ** 3
    task, driver = STATES_IN_TASK * state, STATES_IN_TASK * state
    adds, up = blocks * state, m * state
    return Work(1, rows.bytes, flops, adds, state, up, 0, 1, solve, task, driver, CONCURRENT)


def tsqr(rows, m):
    """One pass: triangles of panels of r rows, each joined with the one before by another QR."""
    n, p, r = rows.n, rows.p, panel_rows(rows.p)
    panels = max(n / r, m)
    # Householder's QR of r × p, and of two triangles below one another.
    flops = 2.0 * n * p**2 - panels * 2 / 3 * p**3
    join_flops = panels * 10 / 3 * p**3
    state = 8.0 * min(2 * p, n / m) * p
    task, driver = 8.0 * (3 * r * p) + 2 * state, 2 * state + 24.0 * p * p
    solve = 2.0 * EIGH_FACTOR * p**3
    up = m * state
    return Work(1, rows.bytes, flops, join_flops, state, up, 0, 1, solve, task, driver, CONCURRENT)


def krylov(rows, m, passes, k=K):
    """Products with b vectors and back, pass by pass; the first is a sketch of as many."""
    b, p = block_width(k, rows.p), rows.p
    state, room = 8.0 * p * b, max_krylov_vectors(k, p) + b
    # Each new block is freed of all those before, twice; two products of p × b × room.
    solve = passes * 8.0 * p * b * room / 2
    driver = 8.0 * p * (room + 2 * k + 3 * b)
    return Work(
        passes,
        passes * rows.bytes,
        passes * 4.0 * rows.numbers * b,
        passes * max(rows.wide_blocks, m) * state,
        state,
        passes * m * state,
        (passes - 1) * state,
        passes,
        solve,
        ARRAYS_IN_TASK * state + _wide_block(rows),
        driver,
        "shared" if rows.stored is None and 8 * p * rows.size > SHARED_ADD_BYTES else "after",
    )


def sketch(rows, m, k=K):
    """One pass of Krylov, with more vectors, and an answer to match."""
    width, p = sketch_width(k, rows.p), rows.p
    state = 8.0 * p * width
    return Work(
        1,
        rows.bytes,
        4.0 * rows.numbers * width,
        max(rows.wide_blocks, m) * state,
        state,
        m * state,
        0,
        1,
        6.0 * p * width**2,
        ARRAYS_IN_TASK * state + _wide_block(rows),
        4 * state,
    )


def tiles(rows, m, passes, k=K):
    """Spark's: the scatter of each pair of g groups of columns, then products with tiles."""
    n, p, b = rows.n, rows.p, block_width(k, rows.p)
    g = max(-(-p // TILE_COLUMNS), 2)
    pairs, width = g * (g - 1) // 2, 2 * p / g
    state = 8.0 * width**2
    products = passes * 16.0 * p * b
    room = max_krylov_vectors(k, p) + b
    return Work(
        1 + (g - 1),
        g * rows.bytes,
        pairs * n * width * (width + 1),
        pairs * max(-(-n // block_rows(int(width))), m) * state,
        state,
        pairs * m * state + products,
        passes * 8.0 * p * b,
        2 + passes,
        passes * 8.0 * p * b * room / 2,
        STATES_IN_TASK * state,
        8.0 * p * (room + 2 * k + 3 * b),
    )


def _wide_block(rows):
    """Bytes of a block of rows on its way into products, as it was and as it is multiplied."""
    return 2.0 * rows.bytes / max(rows.wide_blocks, 1)


def received_states(engine, m, state):
    """States that one process receives, level by level, on the longest way up the tree."""
    if engine == "Spark":
        if m < 2:
            return ()
        return (m - 1,) if state <= SPARK_SMALL else (min(m, SPARK_FAN) - 1, -(-m // SPARK_FAN) - 1)
    fan = DASK_FAN if engine == "Dask" else 2
    levels = []
    while m > 1:
        levels.append(min(m, fan) - 1)
        m = -(-m // fan)
    return tuple(levels)


class Rates(NamedTuple):
    """What one core does of each: flops or bytes in a second."""

    route: float  # flops with the rows
    add: float  # bytes of sums in a block's sum and its merge
    merge: float  # bytes of states joined
    solve: float  # flops where the answer is found


class Cluster(NamedTuple):
    """Some workers: bytes in a second that one reads and sends; seconds of tasks and rounds."""

    engine: str
    workers: int
    cores: int
    read: float
    net: float
    task: float
    round: float


class Seconds(NamedTuple):
    """Where the time goes. Rows are summed while they are read; the rest follows."""

    read: float
    sum: float
    tasks: float
    up: float
    down: float
    rounds: float
    solve: float

    @property
    def total(self):
        return max(self.read, self.sum) + sum(self[2:])

    @property
    def bottleneck(self):
        return max(zip(self, self._fields, strict=True))[1]


def seconds(work, rates, cluster, m):
    """Of a fit of rows in ``m`` partitions, each of them a task of one core or more."""
    cores = cluster.workers * cluster.cores
    # A rank has its machine for itself, and products with vectors take all processors of it.
    threads = cluster.cores if cluster.engine not in ("Dask", "Spark") or work.passes > 1 else 1
    tasks, busy_threads = min(m, cores), min(m * threads, cores)
    levels = sum(received_states(cluster.engine, m, work.state))
    seconds_per_state = (
        work.state * (1 / cluster.net + 1 / rates.merge)
        if cluster.workers > 1
        else work.state / rates.merge
    )
    # The longest way up, or the links of all workers, whichever is slower.
    up = max(work.passes * levels * seconds_per_state, work.up / (cluster.workers * cluster.net))
    rows, adds = work.flops / rates.route, work.adds / rates.add
    adds_overlap, adding_threads = (
        work.adding != "after",
        busy_threads if work.adding == "shared" else tasks,
    )
    n_waits = work.rounds * (1 + len(received_states(cluster.engine, m, work.state)))
    return Seconds(
        work.read / (min(m, cluster.workers) * cluster.read),
        max((rows + adds) / busy_threads, adds / adding_threads)
        if adds_overlap
        else rows / busy_threads + adds / adding_threads,
        work.passes * m * cluster.task,
        up if m > 1 else 0.0,
        work.down * math.ceil(math.log2(cluster.workers)) / cluster.net,
        n_waits * cluster.round,
        work.solve / rates.solve,
    )


def rates_of(summary, rows, measured):
    """The rates that a route goes at, of those measured."""
    if summary == "moments":
        rates_by_width = measured["moments32" if rows.size == 4 else "moments"]
        log_widths = np.log([float(p) for p in rates_by_width])
        route = float(
            np.exp(np.interp(np.log(rows.p), log_widths, np.log(list(rates_by_width.values()))))
        )
        return Rates(route, measured["merge"], measured["merge"], measured["eigh"])
    if summary == "triangle":
        # Two triangles, 16p² bytes, are joined in 10/3 p³ flops.
        join = measured["join"]
        return Rates(measured["qr"], join, join * 4.8 / rows.p, measured["eigh"])
    suffix = "_wide" if 8 * rows.p * block_width(K, rows.p) > CACHE_BYTES else ""
    if rows.stored is not None:
        route, add = measured["sparse" + suffix], measured["add" + suffix]
    else:
        route = measured["dense32" if rows.size == 4 else "dense"]
        add = measured["add_long" if suffix else "add"]
    return Rates(route, add, measured["merge"], measured["swept"])


# ---- this machine ---------------------------------------------------------------------------


def predict(fit, measured):
    """Seconds of a measured fit, by the formulas."""
    rows, engine, n_processes = Rows(fit.n, fit.p, 8, fit.stored), fit.engine, fit.many
    m = fit.chunks if engine == "Dask" else n_processes
    if fit.summary == "moments":
        work = covariance(rows, m)
    elif fit.summary == "triangle":
        work = tsqr(rows, m)
    else:
        work = krylov(rows, m, fit.passes)
    net = measured["net"] if engine == "Dask" else measured["merge"]
    task, round_seconds = (measured["task"], measured["round"]) if engine == "Dask" else (0.0, 0.0)
    # Cores of one machine share its memory: two of them do less than twice as much.
    rates = rates_of(fit.summary, rows, measured)
    efficiency = measured["both"] if n_processes > 1 else 1.0
    rates = rates._replace(route=rates.route * efficiency, add=rates.add * efficiency)
    cluster = Cluster(engine, n_processes, 1, math.inf, net, task, round_seconds)
    if engine in ("Dask", "ranks"):
        return seconds(work, rates, cluster, m).total
    # Threads of a process add to one sum: nothing is sent, and no worker waits. Its clock counts
    # what is read as well as what is summed.
    cluster = cluster._replace(workers=1, cores=n_processes, read=measured["read"])
    time = seconds(work, rates, cluster, m)
    return time.sum + time.solve / n_processes + (time.read if engine == "file" else 0.0)


def _load_text():
    """Processes that want a processor: more than there are make times long."""
    return f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""


def main():
    import scaling_large
    import scaling_measured

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="small tables: does it run at all?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    measured = scaling_measured.constants(tiny=options.tiny)
    for name, value in measured.items():
        print(f"{name:10}", value if isinstance(value, dict) else f"{value:.3g}")
    print("\nmeasured ÷ predicted")
    results = []
    for fit in scaling_measured.fits(options.rounds, tiny=options.tiny):
        expected = predict(fit, measured)
        results.append({**fit._asdict(), "predicted": expected})
        print(
            f"  {fit.n:>9,} × {fit.p:<6,} {fit.summary:9} {fit.engine:5} {fit.many} "
            f"{fit.passes:3} passes {fit.seconds:7.3f} ÷ {expected:7.3f} s = "
            f"{fit.seconds / expected:.2f}  on the wall {fit.wall:.3f}{_load_text()}",
            flush=True,
        )
    scaling_large.show(measured)
    if options.json:
        options.json.write_text(json.dumps({"measured": measured, "fits": results}, indent=1))


if __name__ == "__main__":
    main()
