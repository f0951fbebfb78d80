"""The functions of the compiled library and the sizes of buffers, as in exports.hpp.

Both tables are compared with those of the library before a kernel is called: see
:func:`~princomp.kernels.native.function`.
"""

from __future__ import annotations

from princomp.linalg import CACHE_LINE

_BOTH = ("f32", "f64")
_MIXED = ("f32", "f32_precise", "f64")
_CSR = ("f32_i32", "f32_i64", "f64_i32", "f64_i64")
_PASSES = (*(f"f32_{kind}" for kind in _CSR), "f64_f64_i32", "f64_f64_i64")

# For each family of functions: its arguments, one letter each (p is a pointer, n a ptrdiff_t and
# d a double), and the types of numbers it is compiled for. All functions return an int.
_FAMILIES = {
    "moments": ("pnnnpp", _MIXED),
    "small": ("pnnnp", _BOTH),
    "spectrum": ("pndnp", ("f64",)),
    "wide_pack": ("pnnnpppp", _MIXED),
    "wide_add": ("pnnnnnnppdpp", _BOTH),
    "across": ("pnnnppppp", _BOTH),
    "columns": ("pnnnpppp", _BOTH),
    "dense_pass": ("pnnnpppppnppppp", _BOTH),
    "row_pass": ("pnnnppppppnppppp", _BOTH),
    "scores": ("pnnnpppnnpp", _BOTH),
    "matmul": ("pnnnpnpn", _BOTH),
    "csr_pass": ("pppnpppppppnn", _PASSES),
    "csr_scatter": ("pppnnppp", _CSR),
    "csr_columns": ("pppnnppp", _CSR),
    "tridiagonal": ("pnppppp", ("f64",)),
}
SIGNATURES = {
    "wide_mirror": "pnnn",
    "tridiagonal_help": "p",
    "tridiagonal_numbers": "n",
    **{
        f"{family}_{kind}": arguments
        for family, (arguments, kinds) in _FAMILIES.items()
        for kind in kinds
    },
}

SIZES = {
    "line_bytes": CACHE_LINE,
    # Dense rows are centred in strips of rows and tiles of columns: rows of a strip, bytes of a row
    # in a tile, and bytes of a panel, which contains all centred rows that are kept.
    "strip_rows": 8,
    "tile_bytes": 2**10,
    "dense_panel_bytes": 2**19,
    # Rows that are centred at a time for scores, and the minimum bytes kept for each.
    "score_rows": 8,
    "score_row_bytes": 2**10,
    # A packed chunk of rows: its bytes, or its rows from gram_long_columns columns on.
    "gram_chunk_bytes": 2**20,
    "gram_long_columns": 768,
    "gram_long_rows": 1024,
    # Wide blocks: float64 rows of a packed chunk, the number of scatter rows that group sizes are
    # multiples of, and the scatter rows that are mirrored at a time.
    "wide_chunk_rows": 1024,
    "wide_group_rows": 48,
    "wide_mirrored_rows": 64,
    # Maximum columns of a scatter whose spectrum is computed by rotations.
    "small_columns": 64,
}
