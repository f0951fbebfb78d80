// A block of wide rows added to a scatter in place, by several threads at once.
//
// Compiled once for each instruction set, like gram.cpp. Where a scatter is large, one for each
// block and each thread costs more to write, mirror and merge than a core has time for. So all
// threads pack the chunks of one block, and then each takes groups of the scatter's rows: the
// products of their columns with all that follow, and what moves the sum to the joint mean.

#include "packed.hpp"

#include <cmath>

namespace PRINCOMP_ISA {
namespace {

// Rows of a chunk at most. Rows of the scatter of which groups are multiples, so that each begins
// with a panel.
constexpr index MOST_ROWS = princomp_sizes::wide_chunk_rows,
                GROUP = princomp_sizes::wide_group_rows;
// Python pads columns, and what is read past the last, to as many numbers as a line has floats.
static_assert(Columns<float, PRINCOMP_LANES>::past <= PRINCOMP_LINE / index(sizeof(float)) &&
                  Columns<double, PRINCOMP_LANES>::past <= PRINCOMP_LINE / index(sizeof(float)) &&
                  PRINCOMP_LINE % PRINCOMP_LANES == 0,
              "vectors are longer than what wide.py pads to");

template <class In, class T>
int pack(const In *x, index m, index p, index stride, const T *shift, const double *weights,
         T *packed, double *sums) {
    constexpr int bytes = PRINCOMP_LANES;
    const Columns<T, bytes> columns(p, false);
    const index packed_rows = m + m % 2; // tiles may take rows by twos
    std::memset(sums, 0, 2 * p * sizeof(double));
    std::memset(packed + columns.packed(packed_rows) - columns.past, 0, columns.past * sizeof(T));
    if (!weights) {
        const Packer<In, T, bytes, false, true> packer(x, m, stride, columns, shift, nullptr);
        packer.chunk(0, m, packed_rows, packed, sums);
        return PRINCOMP_DONE;
    }
    double roots[MOST_ROWS];
    for (index r = 0; r < m; ++r)
        roots[r] = std::sqrt(weights[r]);
    const Packer<In, T, bytes, true, true> packer(x, m, stride, columns, shift, roots);
    packer.chunk(0, m, packed_rows, packed, sums);
    return PRINCOMP_DONE;
}

template <class T>
int add(const T *packed, index chunk_stride, index m, index rows, index p, index begin, index end,
        const double *mean_offset, const double *sums, double delta_weight, const double *delta,
        double *scatter) {
    constexpr int bytes = PRINCOMP_LANES;
    static_assert(GROUP % panel_width<T, bytes>() == 0, "a group begins with a panel");
    const Columns<T, bytes> columns(p, false);
    Ahead no_prefetch = Ahead::none(packed);
    for (index row = 0; row < m; row += rows, packed += chunk_stride) {
        const index count = m - row < rows ? m - row : rows;
        add_group<T, bytes>(packed, packed, count + count % 2, columns, begin, end, no_prefetch,
                            {scatter, p, false});
    }
    for (index i = begin; i < p && i < end; ++i) {
        const double down = mean_offset[i], up = delta_weight * delta[i];
        double *to = scatter + i * p;
        for (index j = i; j < p; ++j)
            to[j] += up * delta[j] - down * sums[j];
    }
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// Rows x (m, p) of one chunk, `stride` numbers apart; shift, with zeros for a vector past its end;
// weights (m,) or null; packed: memory for m + 1 rows of columns for whole vectors and a vector
// more; sums: of the shifted rows (p), and of their squares (p).
#define PRINCOMP_WIDE_PACK(name, In, T)                                                            \
    PRINCOMP_EXPORT(name)                                                                          \
    (const In *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride, const T *shift,       \
     const double *weights, T *packed, double *sums) {                                             \
        return PRINCOMP_ISA::pack<In, T>(x, m, p, stride, shift, weights, packed, sums);           \
    }
PRINCOMP_WIDE_PACK(wide_pack_f32, float, float)
PRINCOMP_WIDE_PACK(wide_pack_f32_precise, float, double)
PRINCOMP_WIDE_PACK(wide_pack_f64, double, double)

// To rows [begin, end) of the scatter (p, p), on and above its diagonal: the products of m packed
// rows, `rows` a chunk and chunks `chunk_stride` numbers from each other, + delta_weight · delta
// deltaᵀ − mean_offset sumsᵀ (all p).
#define PRINCOMP_WIDE_ADD(name, T)                                                                 \
    PRINCOMP_EXPORT(name)                                                                          \
    (const T *packed, std::ptrdiff_t chunk_stride, std::ptrdiff_t m, std::ptrdiff_t rows,          \
     std::ptrdiff_t p, std::ptrdiff_t begin, std::ptrdiff_t end, const double *mean_offset,        \
     const double *sums, double delta_weight, const double *delta, double *scatter) {              \
        return PRINCOMP_ISA::add<T>(packed, chunk_stride, m, rows, p, begin, end, mean_offset,     \
                                    sums, delta_weight, delta, scatter);                           \
    }
PRINCOMP_WIDE_ADD(wide_add_f32, float)
PRINCOMP_WIDE_ADD(wide_add_f64, double)

// Rows [begin, end) of the upper triangle of a scatter (p, p) turned into columns of the lower one;
// the first is a multiple of as many as are turned at a time.
PRINCOMP_EXPORT(wide_mirror)
(double *scatter, std::ptrdiff_t p, std::ptrdiff_t begin, std::ptrdiff_t end) {
    for (std::ptrdiff_t top = begin; top < end; top += PRINCOMP_ISA::MIRRORED)
        PRINCOMP_ISA::mirror(scatter, p, top);
    return PRINCOMP_DONE;
}
