"""Tables that no single machine holds, by the formulas of scaling.py: route, seconds, memory."""

from __future__ import annotations

from typing import NamedTuple

from scaling import Cluster, Rows, covariance, krylov, rates_of, seconds

from princomp.core.plan import cost_of, select_route
from princomp.core.problem import Problem


class Case(NamedTuple):
    name: str
    rows: Rows
    k: int
    passes: int  # assumed, where Krylov's residual decides
    partitions: dict[str, int]


# Partitions: chunks of 128 MB for Spark and 512 MB for Dask, and one a rank. Where a state is
# larger than that, one a worker, and of dense rows as many as let a chunk be in memory.
FEW_PARTITIONS = {"one machine": 1, "Dask": 100, "Spark": 100, "MPI": 100}
CASES = [
    Case(
        "10⁹ × 1,000 dense float32",
        Rows(10**9, 1_000, 4),
        20,
        1,
        {"one machine": 1, "Dask": 8_000, "Spark": 32_000, "MPI": 100},
    ),
    Case("10⁷ × 10⁶ sparse, 100 a row", Rows(10**7, 10**6, 8, 10**9), 20, 10, FEW_PARTITIONS),
    Case(
        "0.5M × 6M dense float32",
        Rows(500_000, 6_000_000, 4),
        20,
        10,
        {"one machine": 1, "Dask": 6_000, "Spark": 1_000, "MPI": 100},
    ),
    Case("0.5M × 6M sparse, 200 a row", Rows(500_000, 6_000_000, 8, 10**8), 20, 10, FEW_PARTITIONS),
]
# The machines that are assumed: 8 cores and 64 GB each, of which a fit may take 60%; rows come
# with 10 GB/s (from memory or several disks), 10 Gbit/s between machines.
WORKERS, CORES, MEMORY, READ, NET = 100, 8, 64e9, 10e9, 1.25e9
# Seconds of a task where the next one is handed out, and of a round, also assumed.
TASK = {"Dask": 1e-3, "Spark": 1e-3}
ROUND = {"Dask": 0.05, "Spark": 1.0, "MPI": 0.01}


def plan_case(case, engine, memory=MEMORY):
    """The plan that princomp makes there, and the bytes that it expects."""
    rows, limit = case.rows, int(0.6 * memory)
    on_one_machine = engine == "one machine"
    problem = Problem(
        rows.n,
        rows.p,
        case.k,
        "float32" if rows.size == 4 else "float64",
        rows.stored,
        in_memory=on_one_machine and rows.bytes < limit,
        memory_limit=limit,
        engine={"one machine": "", "MPI": "MPI ranks"}.get(engine, engine),
    )
    choice = select_route(problem)
    return choice, cost_of(problem, choice).memory


def estimate(case, engine, measured):
    """Work and seconds of the route that the plan takes there."""
    choice, m = plan_case(case, engine)[0], case.partitions[engine]
    if choice.summary == "moments":
        work = covariance(case.rows, m)
    else:
        work = krylov(case.rows, m, case.passes, case.k)
    if choice.solver == "lanczos" and choice.summary == "columns":
        # Rows in memory are multiplied as a whole, and searched on their shorter side.
        row_share = min(case.rows.n, case.rows.p) / case.rows.p
        work = work._replace(
            adds=case.passes * work.state,
            solve=row_share * work.solve,
            driver=row_share * work.driver,
        )
    workers = 1 if engine == "one machine" else WORKERS
    cluster = Cluster(
        engine, workers, CORES, READ, NET, TASK.get(engine, 0.0), ROUND.get(engine, 0.0)
    )
    return work, seconds(work, rates_of(choice.summary, case.rows, measured), cluster, m)


def show(measured):
    """Print each table on each engine."""
    print(
        f"\n{WORKERS} workers of {CORES} cores as fast as this one's, {MEMORY / 1e9:.0f} GB each;"
    )
    print(f"rows at {READ / 1e9:g} GB/s a worker, {NET / 1e9:g} GB/s between them; seconds")
    for case in CASES:
        rows = case.rows
        print(f"\n{case.name}: {rows.bytes / 1e12:.3g} TB, k = {case.k}, {case.passes} passes")
        for engine, m in case.partitions.items():
            choice, memory = plan_case(case, engine)
            work, time = estimate(case, engine, measured)
            tasks_at_once = CORES if engine in ("Dask", "Spark") else 1
            parts = ", ".join(f"{name} {value:.1f}" for name, value in time._asdict().items())
            print(
                f"  {engine}, {m:,} partitions, {choice.summary} and {choice.solver}: "
                f"{time.total:,.0f} s, most of it {time.bottleneck} ({parts})\n"
                f"    worker {tasks_at_once * work.task / 1e9:.1f} GB, driver "
                f"{work.driver / 1e9:.1f}, plan says {memory / 1e9:.1f}; up {work.up / 1e9:,.0f} GB"
            )
