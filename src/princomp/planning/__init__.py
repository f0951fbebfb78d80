"""The plan: which summary, which solver, why, at what cost; known before any work.

facts   what is known of the rows, and the constants
costs   the memory that a route takes
routes  which routes there are, and the choice
plan    what people read
"""

from princomp.planning.costs import krylov_room, memory_to_add
from princomp.planning.facts import (
    SCATTER_COLUMNS,
    SMALL,
    SOLVERS,
    Choice,
    Facts,
    shares_by_search,
)
from princomp.planning.plan import Plan
from princomp.planning.routes import after_search, choose, memory_of

__all__ = [
    "SCATTER_COLUMNS",
    "SMALL",
    "SOLVERS",
    "Choice",
    "Facts",
    "Plan",
    "after_search",
    "choose",
    "krylov_room",
    "memory_of",
    "memory_to_add",
    "shares_by_search",
]
