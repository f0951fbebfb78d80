from .arrays import (
    EPS as EPS,
    FloatArray as FloatArray,
    Tridiagonal as Tridiagonal,
    add_outer as add_outer,
    added_with_outer as added_with_outer,
    below_diagonal as below_diagonal,
    binary_exponent as binary_exponent,
    column_sums as column_sums,
    compensated_sum as compensated_sum,
    divided as divided,
    eigh as eigh,
    eigh_top as eigh_top,
    fix_signs as fix_signs,
    frozen as frozen,
    not_vanished as not_vanished,
    qr_r as qr_r,
    reproducible as reproducible,
    squares_over as squares_over,
    svd as svd,
    tridiagonal as tridiagonal,
    two_sum as two_sum,
)
from .buffers import (
    LINE as LINE,
    aligned as aligned,
    empty as empty,
    scratch as scratch,
    unwritten as unwritten,
)
from .memory import (
    DEFAULT_SHARE as DEFAULT_SHARE,
    byte_count as byte_count,
    in_words as in_words,
    memory_limit as memory_limit,
)
from .seeds import (
    check_random_state as check_random_state,
    number_of as number_of,
    seed_of as seed_of,
)
from .threads import (
    at_most as at_most,
    default_threads as default_threads,
    in_order as in_order,
    one_blas_thread as one_blas_thread,
    uninterrupted as uninterrupted,
)
