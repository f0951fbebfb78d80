from . import (
    csr as csr,
    dense as dense,
    eigen as eigen,
    gram as gram,
    native as native,
    wide as wide,
)
from .columns import stored_sums_about as stored_sums_about, sums_about as sums_about
from .dense import (
    Affine as Affine,
    forward as forward,
    images_of_rows as images_of_rows,
    padded as padded,
    row_products as row_products,
)
from .eigen import (
    MAX_SMALL_COLUMNS as MAX_SMALL_COLUMNS,
    SmallSpectrum as SmallSpectrum,
    moments_and_spectrum as moments_and_spectrum,
)
from .entries import Entries as Entries, entries_of as entries_of
from .gram import (
    CHUNK_ROWS as CHUNK_ROWS,
    LONG_CHUNK_COLUMNS as LONG_CHUNK_COLUMNS,
    LONG_CHUNK_ROWS as LONG_CHUNK_ROWS,
    chunk_bytes as chunk_bytes,
    is_shift_far as is_shift_far,
    products as products,
    sampled_rows as sampled_rows,
    shift_of as shift_of,
)
from .matmul import RightFactor as RightFactor
from .native import (
    instruction_set_in_use as instruction_set_in_use,
    warn_without_kernels as warn_without_kernels,
)
from .scores import project as project
from .tridiagonal import tridiagonalise as tridiagonalise
from .wide import packed_bytes as packed_bytes
