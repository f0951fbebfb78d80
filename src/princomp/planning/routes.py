"""The rule: which routes are open to some rows, the best first, and the first that fits."""

from __future__ import annotations

from princomp.errors import MemoryLimitError, ParameterError
from princomp.memory import in_words
from princomp.planning.costs import memory_needed
from princomp.planning.facts import (
    ENGINE_COLUMNS,
    GRAM_ROWS,
    LANCZOS_COLUMNS,
    LANCZOS_SHARE,
    SCATTER_COLUMNS,
    SEARCH_COLUMNS,
    SEARCH_ROWS,
    SEARCH_SHARE,
    SMALL,
    SOLVERS,
    SPARSE_GRAM_ROWS,
    SPARSE_SCATTER,
    Choice,
    Facts,
    is_few,
    shares_by_search,
)

__all__ = ["after_search", "choose", "memory_of"]

# HELD_COPIES: what a table of rows takes while it is read into memory and joined.
HELD_COPIES = 2.0


def choose(facts: Facts) -> Choice:
    """Decide from the facts alone.

    Raises
    ------
    ParameterError
        For a solver of an unknown name, or one that cannot serve these rows.
    MemoryLimitError
        When no route fits in the limit, with what each would take.
    """
    if facts.solver != "auto" and facts.solver not in SOLVERS:
        raise ParameterError(
            f"svd_solver={facts.solver!r} is not known",
            place={"parameter": "svd_solver"},
            hint=f"choose one of {', '.join(SOLVERS)}",
        )
    if facts.held and facts.limit is None and facts.solver == "auto":
        return _choose_held(facts)
    routes = _routes_held(facts) if facts.held else _routes_streamed(facts)
    if facts.limit is None:
        return routes[0]
    for route in routes:
        if memory_of(facts, route) <= facts.limit:
            return route
    raise _does_not_fit(facts, routes)


def memory_of(facts: Facts, choice: Choice) -> int:
    """Bytes that a route takes, the rows themselves where they are to be held."""
    return _memory_to_hold(facts) if choice.summary == "hold" else memory_needed(facts, choice)


def _memory_to_hold(facts: Facts) -> int:
    """The rows in memory, and the least that a route then takes."""
    n, p = facts.rows, facts.columns
    size = 4 if facts.dtype == "float32" else 8
    numbers = n * p * size if facts.stored is None else facts.stored * (size + 4) + 8 * n
    held = facts._replace(held=True, limit=None)
    return int(HELD_COPIES * numbers) + memory_needed(held, _routes_held(held)[0])


def _routes_held(facts: Facts) -> list[Choice]:
    """Routes for rows in memory, the best first."""
    asked = SOLVERS[facts.solver]
    if asked is not None:
        return [Choice(*asked, f"svd_solver={facts.solver!r} was asked for")]
    first = _choose_held(facts)
    if first.summary == "moments" and is_few(facts.wanted, facts.columns):
        p = facts.columns
        why = f"p² = {p:,}² does not fit the memory limit: only products with the rows"
        return [first, Choice("columns", "lanczos", why)]
    return [first]


def _choose_held(facts: Facts) -> Choice:
    n, p, wanted, stored = facts.rows, facts.columns, facts.wanted, facts.stored
    small = n * p <= SMALL
    if stored is not None:
        return _choose_sparse(n, p, wanted)
    if n >= p or (wanted == "mle" and p <= SCATTER_COLUMNS):
        if p >= SEARCH_COLUMNS and is_few(wanted, p if p > SCATTER_COLUMNS else SEARCH_SHARE * p):
            return Choice("columns", "lanczos", f"p² = {p:,}² does not pay for so few components")
        few = is_few(wanted, LANCZOS_SHARE * p)
        if p >= LANCZOS_COLUMNS and few:
            return Choice("moments", "lanczos", f"n ≥ p, one pass; k is far below p = {p:,}")
        whole = Choice("moments", "eigh", "n ≥ p: one pass over the rows and a p × p answer")
        if shares_by_search(facts) and _fits(facts, whole):
            why = f"p² = {p:,}² does not pay where few components make up the share"
            return Choice("columns", "lanczos", why)
        return whole
    if small:
        return Choice("triangle", "svd", "p > n and small: the SVD of the rows is exact and quick")
    if n >= SEARCH_ROWS and is_few(wanted, SEARCH_SHARE * n):
        return Choice("columns", "lanczos", f"n² = {n:,}² does not pay for so few components")
    if n <= GRAM_ROWS or not is_few(wanted, 0.1 * n):
        return Choice("columns", "row_gram", f"p > n: {n:,}² products of rows instead of {p:,}²")
    return Choice("columns", "lanczos", "large × large: only products with the rows")


def _fits(facts: Facts, choice: Choice) -> bool:
    return facts.limit is None or memory_of(facts, choice) <= facts.limit


def after_search(first: Choice, wanted: int | float | str | None, p: int) -> Choice:
    """The route through a scatter, once a search in the rows was given up."""
    few = p >= LANCZOS_COLUMNS and is_few(wanted, LANCZOS_SHARE * p)
    return first._replace(summary="moments", solver="lanczos" if few else "eigh")


def _routes_streamed(facts: Facts) -> list[Choice]:
    """Routes for rows that are read block by block, the best first."""
    p, solver = facts.columns, facts.solver
    why = "products with blocks of rows, pass by pass, to a residual"
    if facts.stored is None and ENGINE_COLUMNS.get(facts.engine, p) < p:
        why = f"p² = {p:,}² is too much for a task of {facts.engine}: {why}"
    krylov = Choice("columns", "krylov", why)
    sketch = Choice("sketch", "nystrom", f"rows seen once and p² = {p:,}² is too much: a sketch")
    hold = Choice("hold", "", "the rows fit in memory and are read whole")
    again = [krylov] if facts.repeatable else []
    may_hold = bool(facts.rows) and not facts.engine
    if facts.engine and solver in ("randomized", "row_gram"):
        raise ParameterError(
            f"svd_solver={solver!r} multiplies rows in memory, and these are on {facts.engine}",
            place={"parameter": "svd_solver"},
            hint="choose 'auto', 'covariance_eigh', 'full', 'krylov' or 'sketch'",
        )
    if solver == "lanczos" and facts.engine in ENGINE_COLUMNS and facts.stored is None:
        why = (
            f"svd_solver='lanczos' was asked for: on a scatter in tiles that stay on {facts.engine}"
        )
        return [Choice("columns", "tiles", why)]
    if facts.engine and solver in ("arpack", "lanczos"):
        return again
    if solver in ("arpack", "lanczos", "randomized", "row_gram"):
        more = again if solver in ("arpack", "lanczos") else []
        return ([hold] if may_hold else []) + more or [hold]
    if solver == "krylov" and not facts.repeatable:
        raise ParameterError(
            "svd_solver='krylov' reads the rows several times, and these can be read once",
            place={"parameter": "svd_solver"},
            hint="svd_solver='sketch' reads them once; or give a file, or a function that makes "
            "a new iterator",
        )
    asked = SOLVERS[solver]
    if asked is not None:
        return [Choice(*asked, f"svd_solver={solver!r} was asked for")]
    few = is_few(facts.wanted, LANCZOS_SHARE * p) and p >= LANCZOS_COLUMNS
    moments = Choice(
        "moments", "lanczos" if few else "eigh", "one pass over the rows, block by block"
    )
    whole = is_few(facts.wanted, p)
    truncated = again if facts.repeatable else [sketch]
    tall = not facts.rows or facts.rows >= p
    scatter = SCATTER_COLUMNS if facts.stored is None else SPARSE_SCATTER
    scatter = min(scatter, ENGINE_COLUMNS.get(facts.engine, scatter))
    routes = [hold] if may_hold else []
    if p <= scatter and tall:
        routes = [moments, *routes]
    if (whole or (facts.repeatable and isinstance(facts.wanted, float))) and truncated:
        routes += truncated
    return routes if moments in routes else [*routes, moments]


def _does_not_fit(facts: Facts, routes: list[Choice]) -> MemoryLimitError:
    """What each route would take, and what would fit."""
    assert facts.limit is not None
    needs = {_called(route): memory_of(facts, route) for route in routes}
    told = ", ".join(f"{name} {in_words(need)}" for name, need in needs.items())
    least = min(needs.values())
    whole = is_few(facts.wanted, facts.columns)
    rows = f"{facts.rows:,}" if facts.rows else "unknown"
    return MemoryLimitError(
        f"no route for {rows} × {facts.columns:,} rows fits in {in_words(facts.limit)} of memory: "
        f"{told}",
        place={"parameter": "memory_limit", "limit": facts.limit, "needed": least},
        hint=f"allow {in_words(1.05 * least)} (memory_limit, --memory), or use fewer columns"
        + ("" if whole else ", or ask for a whole number of components"),
    )


def _called(route: Choice) -> str:
    names = {"hold": "the rows in memory", "moments": "the p × p scatter", "columns": route.solver}
    return names.get(route.summary, route.summary)


def _choose_sparse(n: int, p: int, wanted: int | float | str | None) -> Choice:
    if isinstance(wanted, str) and p <= min(n, SCATTER_COLUMNS):
        return Choice("moments", "eigh", f"the rule {wanted!r} may ask for all variances")
    if p <= SPARSE_SCATTER and n >= p:
        return Choice("moments", "eigh", "sparse with few columns: one pass, implicit centring")
    if n <= SPARSE_GRAM_ROWS:
        return Choice("columns", "row_gram", f"sparse and wide: {n:,}² products of rows")
    return Choice("columns", "lanczos", "sparse: only products with the rows, nothing made dense")
