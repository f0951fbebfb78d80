// Products of dense rows with vectors as long as there are rows, there and back, in one read.
//
//     y = A (Aᵀ Q − low summedᵀ),   sums += lowᵀ (the same)
//
// A tile of columns in all rows is centred into a room in the second cache, or the last, and met
// twice there.

#include "strips.hpp"

namespace PRINCOMP_ISA {
namespace {

// What the mean's low part takes off, in doubles: low (p,), or null, and rᵀ Q (padded,).
struct Low {
    const double *low, *summed;
};

template <class T, int bytes>
int row_pass(const Rows<T> &rows, const T *left, Low low, index padded, T *room, T *part,
             double *weights, T *y, double *sums) {
    constexpr index lanes = bytes / index(sizeof(T)), tile = TILE<T>;
    const index whole = (rows.m + ROWS - 1) / ROWS * ROWS;
    std::memset(y, 0, sizeof(T) * whole * padded);
    Reading<T> reading(rows, whole, tile, whole / ROWS / 2 * ROWS, 0);
    for (index at = 0; at < rows.p; at += tile) {
        const index width = rows.p - at < tile ? rows.p - at : tile;
        std::memset(part, 0, sizeof(T) * width * padded);
        std::memset(weights, 0, sizeof(double) * width * padded);
        for (index row = 0; row < whole; row += ROWS) {
            T *strip = room + row * tile;
            rows.centre(row, at, width, strip);
            Next<T> next = reading.next();
            const T *q = left + row * padded;
            PRINCOMP_GROUPS(backward, strip, width, q + c, part + c, next)
            if ((row + ROWS) % CHUNK_ROWS == 0)
                add(part, weights, width * padded);
        }
        add(part, weights, width * padded);
        for (index j = 0; j < width; ++j)
            for (index c = 0; c < padded; ++c) {
                double &weight = weights[j * padded + c];
                if (low.low) {
                    weight -= low.low[at + j] * low.summed[c];
                    sums[c] += low.low[at + j] * weight;
                }
                part[j * padded + c] = T(weight);
            }
        for (index row = 0; row < whole; row += ROWS) {
            T *strip = room + row * tile, *to = y + row * padded;
            Next<T> next = reading.next();
            PRINCOMP_GROUPS(forward, strip, width, part + c, to + c, next)
        }
    }
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// Rows x (m, p), `stride` numbers apart; high, divisor (p,) and roots (m,), or null; left (m up to
// a multiple of 8, padded), zero past m; low (p,) and summed (padded,) in doubles, or low null;
// room: 1 KiB for each row of left; part and weights: for 1 KiB of columns, padded; y as left;
// sums (padded,) are added to.
#define PRINCOMP_ROW_PASS(name, T)                                                                 \
    PRINCOMP_EXPORT(name)                                                                          \
    (const T *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride, const T *high,         \
     const T *divisor, const T *roots, const T *left, const double *low, const double *summed,     \
     std::ptrdiff_t padded, T *room, T *part, double *weights, T *y, double *sums) {               \
        return PRINCOMP_ISA::row_pass<T, PRINCOMP_LANES>({x, m, p, stride, high, divisor, roots},  \
                                                         left, {low, summed}, padded, room, part,  \
                                                         weights, y, sums);                        \
    }
PRINCOMP_ROW_PASS(row_pass_f32, float)
PRINCOMP_ROW_PASS(row_pass_f64, double)
