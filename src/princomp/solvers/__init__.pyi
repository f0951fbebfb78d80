from . import dense as dense, randomized as randomized, row_gram as row_gram
from .bases import orthonormal as orthonormal
from .dense import (
    eigenpairs as eigenpairs,
    from_small_spectrum as from_small_spectrum,
    unit_for_error as unit_for_error,
)
from .device import solve_on_device as solve_on_device
from .krylov import (
    Images as Images,
    ImagesOf as ImagesOf,
    block_width as block_width,
    max_krylov_vectors as max_krylov_vectors,
    solve_blocks as solve_blocks,
)
from .lanczos import lanczos as lanczos
from .nystrom import (
    SKETCH_PANEL as SKETCH_PANEL,
    TEST_DIRECTIONS as TEST_DIRECTIONS,
    sketch_width as sketch_width,
    solve_sketch as solve_sketch,
)
from .ritz import FEWEST_UNITS as FEWEST_UNITS
from .row_search import (
    find_warm_start as find_warm_start,
    max_search_vectors as max_search_vectors,
    sample_step as sample_step,
    search_block_width as search_block_width,
    search_rows as search_rows,
)
from .scatter_search import search_scatter as search_scatter
from .search import Pairs as Pairs
from .share_search import (
    FEWEST_COLUMNS as FEWEST_COLUMNS,
    max_share_vectors as max_share_vectors,
    search_rows_share as search_rows_share,
    search_share as search_share,
    too_many_components as too_many_components,
)
from .spectrum import Spectrum as Spectrum, completed as completed
from .stopping import AbandonRule as AbandonRule
