// Products of dense rows with vectors as long as there are rows, there and back, in one read.
//
//     y = A (Aᵀ Q − low left_sumsᵀ),   sums += lowᵀ (the same)
//
// A tile of columns in all rows is centred into a buffer in the second cache, or the last, and met
// twice there.

#include "strips.hpp"

namespace PRINCOMP_ISA {
namespace {

// What the mean's low part takes off, in doubles: low (p,), or null, and rᵀ Q (padded,).
struct Low {
    const double *low, *left_sums;
};

template <class T, int bytes>
int row_pass(const Rows<T> &rows, const T *left, Low low, index padded, T *buffer, T *part,
             double *weights, T *y, double *sums) {
    constexpr index lanes = bytes / index(sizeof(T)), tile = TILE<T>;
    const index padded_rows = (rows.m + ROWS - 1) / ROWS * ROWS;
    std::memset(y, 0, sizeof(T) * padded_rows * padded);
    PanelPrefetch<T> reading(rows, padded_rows, tile, padded_rows / ROWS / 2 * ROWS, 0);
    for (index at = 0; at < rows.p; at += tile) {
        const index width = rows.p - at < tile ? rows.p - at : tile;
        std::memset(part, 0, sizeof(T) * width * padded);
        std::memset(weights, 0, sizeof(double) * width * padded);
        for (index row = 0; row < padded_rows; row += ROWS) {
            T *strip = buffer + row * tile;
            rows.centre(row, at, width, strip);
            Prefetch<T> next = reading.next();
            const T *q = left + row * padded;
            PRINCOMP_GROUPS(backward, strip, width, q + c, part + c, next)
            if ((row + ROWS) % CHUNK_ROWS == 0)
                add_and_clear(part, weights, width * padded);
        }
        add_and_clear(part, weights, width * padded);
        for (index j = 0; j < width; ++j)
            for (index c = 0; c < padded; ++c) {
                double &weight = weights[j * padded + c];
                if (low.low) {
                    weight -= low.low[at + j] * low.left_sums[c];
                    sums[c] += low.low[at + j] * weight;
                }
                part[j * padded + c] = T(weight);
            }
        for (index row = 0; row < padded_rows; row += ROWS) {
            T *strip = buffer + row * tile, *to = y + row * padded;
            Prefetch<T> next = reading.next();
            PRINCOMP_GROUPS(forward, strip, width, part + c, to + c, next)
        }
    }
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// Rows x (m, p), `stride` numbers apart; high, divisor (p,) and roots (m,), or null; left (m up to
// a multiple of 8, padded), zero past m; low (p,) and left_sums (padded,) in doubles, or low null;
// buffer: 1 KiB for each row of left; part and weights: for 1 KiB of columns, padded; y as left;
// sums (padded,) are added to.
#define PRINCOMP_ROW_PASS(name, T)                                                                 \
    PRINCOMP_EXPORT(name)                                                                          \
    (const T *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride, const T *high,         \
     const T *divisor, const T *roots, const T *left, const double *low, const double *left_sums,  \
     std::ptrdiff_t padded, T *buffer, T *part, double *weights, T *y, double *sums) {             \
        return PRINCOMP_ISA::row_pass<T, PRINCOMP_LANES>({x, m, p, stride, high, divisor, roots},  \
                                                         left, {low, left_sums}, padded, buffer,   \
                                                         part, weights, y, sums);                  \
    }
PRINCOMP_ROW_PASS(row_pass_f32, float)
PRINCOMP_ROW_PASS(row_pass_f64, double)
