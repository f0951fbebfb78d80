from . import dense as dense, randomized as randomized, row_gram as row_gram
from .abandon_rule import AbandonRule as AbandonRule
from .bases import orthonormal as orthonormal
from .dense import eigenpairs as eigenpairs, of_small as of_small, unit_of as unit_of
from .device import solve_on_device as solve_on_device
from .krylov import (
    Images as Images,
    ImagesOf as ImagesOf,
    block_width as block_width,
    room_for as room_for,
    solve_blocks as solve_blocks,
)
from .lanczos import lanczos as lanczos
from .nystrom import (
    TEST_DIRECTIONS as TEST_DIRECTIONS,
    solve_sketch as solve_sketch,
    width_for as width_for,
)
from .ritz import FEWEST_UNITS as FEWEST_UNITS
from .row_search import (
    search_room as search_room,
    search_rows as search_rows,
    solve_rows as solve_rows,
    wide_block as wide_block,
)
from .scatter_search import search_scatter as search_scatter
from .search import Pairs as Pairs
from .share_search import (
    FEWEST_COLUMNS as FEWEST_COLUMNS,
    search_rows_share as search_rows_share,
    search_share as search_share,
    share_room as share_room,
    too_many_components as too_many_components,
)
from .spectrum import Spectrum as Spectrum, completed as completed
from .warm_start import find_warm_start as find_warm_start, sample_step as sample_step
