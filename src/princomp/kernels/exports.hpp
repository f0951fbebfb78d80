// What crosses the border to Python: functions with the types of their arguments, and sizes by which
// Python makes buffers. signatures.py holds the same table, and Python compares both before it calls
// a kernel: a change on one side only is refused instead of corrupting memory.
#pragma once

#include <cstddef>
#include <cstdint>

typedef std::ptrdiff_t princomp_size;

// Bytes of a cache line: buffers from Python are padded to, and begin at, multiples of it.
#define PRINCOMP_LINE 64

#define PRINCOMP_SIZES(SIZE)                                                                       \
    SIZE(line_bytes, PRINCOMP_LINE)                                                                \
    SIZE(strip_rows, 8)                                                                            \
    SIZE(tile_bytes, 1024)                                                                         \
    SIZE(dense_panel_bytes, 512 * 1024)                                                            \
    SIZE(score_rows, 8)                                                                            \
    SIZE(score_row_bytes, 1024)                                                                    \
    SIZE(gram_chunk_bytes, 1024 * 1024)                                                            \
    SIZE(gram_long_columns, 768)                                                                   \
    SIZE(gram_long_rows, 1024)                                                                     \
    SIZE(wide_chunk_rows, 1024)                                                                    \
    SIZE(wide_group_rows, 48)                                                                      \
    SIZE(wide_mirrored_rows, 64)                                                                   \
    SIZE(small_columns, 64)

namespace princomp_sizes {
#define PRINCOMP_SIZE(name, value) constexpr princomp_size name = value;
PRINCOMP_SIZES(PRINCOMP_SIZE)
#undef PRINCOMP_SIZE
} // namespace princomp_sizes

// Rows: where they are, how many, their columns, and numbers from one row to the next.
#define PRINCOMP_ROWS(T) const T *, princomp_size, princomp_size, princomp_size
#define PRINCOMP_CSR(In, I) const In *, const I *, const I *, princomp_size

#define PRINCOMP_MOMENTS_OF(In) PRINCOMP_ROWS(In), const double *, double *
#define PRINCOMP_PACK_OF(In, T) PRINCOMP_ROWS(In), const T *, const double *, T *, double *
#define PRINCOMP_ADD_OF(T)                                                                         \
    const T *, princomp_size, princomp_size, princomp_size, princomp_size, princomp_size,          \
        princomp_size, const double *, const double *, double, const double *, double *
#define PRINCOMP_ACROSS_OF(T) PRINCOMP_ROWS(T), const T *, const T *, const T *, const T *, double *
#define PRINCOMP_COLUMNS_OF(T) PRINCOMP_ROWS(T), const double *, const double *, double *, double *
#define PRINCOMP_DENSE_OF(T)                                                                       \
    PRINCOMP_ROWS(T), const T *, const T *, const T *, const T *, const T *, princomp_size, T *,   \
        T *, T *, double *, double *
#define PRINCOMP_ROW_PASS_OF(T)                                                                    \
    PRINCOMP_ROWS(T), const T *, const T *, const T *, const T *, const double *, const double *,  \
        princomp_size, T *, T *, double *, T *, double *
#define PRINCOMP_SCORES_OF(T)                                                                      \
    PRINCOMP_ROWS(T), const T *, const T *, const T *, princomp_size, princomp_size, T *, T *
#define PRINCOMP_MATMUL_OF(T)                                                                      \
    PRINCOMP_ROWS(T), const T *, princomp_size, T *, princomp_size
#define PRINCOMP_PASS_OF(In, T, I)                                                                 \
    PRINCOMP_CSR(In, I), const double *, const double *, const T *, const T *, T *, T *, double *, \
        princomp_size, princomp_size
#define PRINCOMP_SUMS_OF(In, I)                                                                    \
    PRINCOMP_CSR(In, I), princomp_size, const double *, double *, double *
#define PRINCOMP_STORED_OF(In, I)                                                                  \
    PRINCOMP_CSR(In, I), princomp_size, const double *, const double *, double *

#define PRINCOMP_FUNCTIONS(FUNCTION)                                                               \
    FUNCTION(moments_f32, PRINCOMP_MOMENTS_OF(float))                                              \
    FUNCTION(moments_f32_precise, PRINCOMP_MOMENTS_OF(float))                                      \
    FUNCTION(moments_f64, PRINCOMP_MOMENTS_OF(double))                                             \
    FUNCTION(small_f32, PRINCOMP_ROWS(float), double *)                                            \
    FUNCTION(small_f64, PRINCOMP_ROWS(double), double *)                                           \
    FUNCTION(spectrum_f64, const double *, princomp_size, double, princomp_size, double *)         \
    FUNCTION(wide_pack_f32, PRINCOMP_PACK_OF(float, float))                                        \
    FUNCTION(wide_pack_f32_precise, PRINCOMP_PACK_OF(float, double))                               \
    FUNCTION(wide_pack_f64, PRINCOMP_PACK_OF(double, double))                                      \
    FUNCTION(wide_add_f32, PRINCOMP_ADD_OF(float))                                                 \
    FUNCTION(wide_add_f64, PRINCOMP_ADD_OF(double))                                                \
    FUNCTION(wide_mirror, double *, princomp_size, princomp_size, princomp_size)                   \
    FUNCTION(across_f32, PRINCOMP_ACROSS_OF(float))                                                \
    FUNCTION(across_f64, PRINCOMP_ACROSS_OF(double))                                               \
    FUNCTION(columns_f32, PRINCOMP_COLUMNS_OF(float))                                              \
    FUNCTION(columns_f64, PRINCOMP_COLUMNS_OF(double))                                             \
    FUNCTION(dense_pass_f32, PRINCOMP_DENSE_OF(float))                                             \
    FUNCTION(dense_pass_f64, PRINCOMP_DENSE_OF(double))                                            \
    FUNCTION(row_pass_f32, PRINCOMP_ROW_PASS_OF(float))                                            \
    FUNCTION(row_pass_f64, PRINCOMP_ROW_PASS_OF(double))                                           \
    FUNCTION(scores_f32, PRINCOMP_SCORES_OF(float))                                                \
    FUNCTION(scores_f64, PRINCOMP_SCORES_OF(double))                                               \
    FUNCTION(matmul_f32, PRINCOMP_MATMUL_OF(float))                                                \
    FUNCTION(matmul_f64, PRINCOMP_MATMUL_OF(double))                                               \
    FUNCTION(csr_pass_f32_f32_i32, PRINCOMP_PASS_OF(float, float, std::int32_t))                   \
    FUNCTION(csr_pass_f32_f32_i64, PRINCOMP_PASS_OF(float, float, std::int64_t))                   \
    FUNCTION(csr_pass_f32_f64_i32, PRINCOMP_PASS_OF(float, double, std::int32_t))                  \
    FUNCTION(csr_pass_f32_f64_i64, PRINCOMP_PASS_OF(float, double, std::int64_t))                  \
    FUNCTION(csr_pass_f64_f64_i32, PRINCOMP_PASS_OF(double, double, std::int32_t))                 \
    FUNCTION(csr_pass_f64_f64_i64, PRINCOMP_PASS_OF(double, double, std::int64_t))                 \
    FUNCTION(csr_scatter_f32_i32, PRINCOMP_SUMS_OF(float, std::int32_t))                           \
    FUNCTION(csr_scatter_f32_i64, PRINCOMP_SUMS_OF(float, std::int64_t))                           \
    FUNCTION(csr_scatter_f64_i32, PRINCOMP_SUMS_OF(double, std::int32_t))                          \
    FUNCTION(csr_scatter_f64_i64, PRINCOMP_SUMS_OF(double, std::int64_t))                          \
    FUNCTION(csr_columns_f32_i32, PRINCOMP_STORED_OF(float, std::int32_t))                         \
    FUNCTION(csr_columns_f32_i64, PRINCOMP_STORED_OF(float, std::int64_t))                         \
    FUNCTION(csr_columns_f64_i32, PRINCOMP_STORED_OF(double, std::int32_t))                        \
    FUNCTION(csr_columns_f64_i64, PRINCOMP_STORED_OF(double, std::int64_t))                        \
    FUNCTION(tridiagonal_f64, double *, princomp_size, double *, double *, double *, double *,     \
             void *)                                                                               \
    FUNCTION(tridiagonal_help, void *)                                                             \
    FUNCTION(tridiagonal_numbers, princomp_size)
