from .arrays import (
    EPS as EPS,
    FloatArray as FloatArray,
    Operator as Operator,
    Tridiagonal as Tridiagonal,
    Weights as Weights,
    add_outer as add_outer,
    added_with_outer as added_with_outer,
    as_floats as as_floats,
    below_diagonal as below_diagonal,
    binary_exponent as binary_exponent,
    column_sums as column_sums,
    compensated_sum as compensated_sum,
    divided as divided,
    eigh as eigh,
    eigh_top as eigh_top,
    fix_signs as fix_signs,
    frozen as frozen,
    part_of as part_of,
    qr_r as qr_r,
    reproducible_blas as reproducible_blas,
    restore_underflowed as restore_underflowed,
    slices as slices,
    squares_over as squares_over,
    svd as svd,
    tridiagonal as tridiagonal,
    two_sum as two_sum,
    unmasked as unmasked,
)
from .buffers import (
    CACHE_LINE as CACHE_LINE,
    aligned as aligned,
    empty as empty,
    mark_unwritten as mark_unwritten,
    scratch as scratch,
)
from .caching import cached_property as cached_property
from .memory import (
    DEFAULT_SHARE as DEFAULT_SHARE,
    byte_count as byte_count,
    format_bytes as format_bytes,
    memory_limit as memory_limit,
)
from .seeds import (
    check_random_state as check_random_state,
    int_or_none as int_or_none,
    seed_of as seed_of,
)
from .threads import (
    default_threads as default_threads,
    for_each as for_each,
    limit_threads as limit_threads,
    map_in_order as map_in_order,
    one_blas_thread as one_blas_thread,
    run_uninterrupted as run_uninterrupted,
)
