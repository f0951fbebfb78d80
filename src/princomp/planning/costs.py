"""Memory that a route takes beyond what is in memory already: estimates of the peak."""

from __future__ import annotations

from princomp.kernels.gram import chunk_bytes
from princomp.kernels.native import name_in_use
from princomp.kernels.wide import packed_bytes
from princomp.planning.facts import Choice, Facts, shares_by_search
from princomp.solvers.growing import share_room
from princomp.solvers.krylov import block_width, room_for
from princomp.solvers.lanczos import search_room, wide_block
from princomp.solvers.nystrom import width_for
from princomp.summaries import Moments, block_rows
from princomp.summaries.blocks import handful, panel_rows
from princomp.summaries.sketch import wide_block_rows
from princomp.threads import default_threads

__all__ = ["krylov_room", "memory_needed", "memory_to_add"]

# Bytes that a thread holds of dense rows while it multiplies them: the longest panel and what
# becomes of it.
_PANEL = 2**24
# Scatters held at once while a block is added to one and it is solved.
_SCATTERS = 8


def memory_to_add(p: int) -> int:
    """Bytes that it takes to add rows of ``p`` columns to a scatter, and to solve it."""
    return _SCATTERS * 8 * p * p


def memory_needed(facts: Facts, choice: Choice) -> int:
    """Bytes beyond what is in memory already: an estimate of the peak."""
    n, p = facts.rows, facts.columns
    size = 4 if facts.dtype == "float32" else 8
    smaller = min(n, p) if n else p
    k = facts.wanted if isinstance(facts.wanted, int) else smaller
    reader = facts.reader
    if choice.summary in ("moments", "triangle"):
        # Each thread holds a block that it read and copies of a panel, or the kernel's chunk;
        # blocks that were read wait for a thread, and sums for their turn.
        step, panel = block_rows(p), panel_rows(p)
        if choice.summary == "triangle":
            step = panel
        rows = min(n, step) if n else step
        threads = default_threads() if not n or n > step else 1
        queued = 0 if facts.held else threads + 3
        copies = 2 if choice.summary == "moments" else 3
        held = copies * 8 * min(rows, panel) * p
        if choice.summary == "moments" and name_in_use() != "numpy":
            held = chunk_bytes(rows, p)
        blocks = threads * held + queued * size * rows * p
        waiting = (threads + 2) * handful(step, p) if not n or n > step else 1
        if choice.summary == "moments" and Moments.adds(p, sparse=facts.stored is not None):
            # All threads work on one block instead, and the next one is read meanwhile.
            blocks, waiting = packed_bytes(rows, p) + min(queued, 2) * size * rows * p, 1
        state = p * p if choice.summary == "moments" else min(2 * p, n or 2 * p) * p
        return reader + blocks + (waiting + 4) * state * 8
    if choice.solver == "nystrom":
        return reader + _wide_blocks(facts, size) + p * width_for(k, p) * (4 + 3 * 8)
    if choice.solver in ("krylov", "tiles"):
        whole = facts.wanted if isinstance(facts.wanted, int) else 64
        width = block_width(whole, p)
        fixed = reader + _wide_blocks(facts, size) + 8 * p * width * 8
        space = room_for(whole, p, krylov_room(facts, fixed)) + width
        return fixed + p * (space + 2 * whole) * 8
    # Threads centre a panel each, and hand over what they made of it.
    at_once = min(default_threads() * _PANEL, n * p * size) if facts.stored is None else 0
    rows = at_once if facts.stored is None else 12 * facts.stored
    if choice.solver == "randomized":
        # A sketch, its factor and the product it is made of.
        return rows + 4 * (k + 10) * max(n, p) * size
    if choice.solver == "row_gram":
        return rows + (default_threads() + 4) * n * n * 8 + 4 * k * p * 8
    side = p if p <= n or facts.stored is None else n
    if shares_by_search(facts):
        k = space = share_room(p)
    else:
        space = search_room(side, k)
    room = space + 4 * wide_block(k)
    return rows + side * min(room, side) * 8 + 3 * k * (n + p) * 8


def krylov_room(facts: Facts, fixed: int | None = None) -> int | None:
    """Vectors of a search space that fit in the limit, or None where there is none."""
    if facts.limit is None:
        return None
    whole = facts.wanted if isinstance(facts.wanted, int) else 64
    width = block_width(whole, facts.columns)
    if fixed is None:
        size = 4 if facts.dtype == "float32" else 8
        fixed = facts.reader + _wide_blocks(facts, size) + 8 * facts.columns * width * 8
    return max((facts.limit - fixed) // (8 * facts.columns) - width - 2 * whole, 0)


def _wide_blocks(facts: Facts, size: int) -> int:
    """Blocks of wide rows on their way: queued, and one centred."""
    rows = wide_block_rows(facts.columns)
    if facts.stored is None or not facts.rows:
        return 6 * rows * facts.columns * size
    return int(40 * rows * facts.stored / facts.rows)
