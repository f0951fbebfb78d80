// Moments of a dense block: mean and scatter, in one read of the rows.
//
// Compiled once for each instruction set (see CMakeLists.txt).
//
// A chunk of rows is shifted, widened to double if asked, and packed into panels of columns that
// stay in a core's cache; tiles.hpp multiplies them.

#include "packed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace PRINCOMP_ISA {
namespace {

// Rows of a chunk: enough to make adding a tile to the scatter cheap, few enough to keep sums in
// float32 accurate.
constexpr index CHUNK_ROWS = 256;
// Bytes of a packed chunk, which stays in an L2 cache of 512 KB to 2 MB, or nearly.
constexpr index CHUNK_BYTES = princomp_sizes::gram_chunk_bytes;
// From so many columns on, adding to the scatter is expensive, so chunks are longer and lie in the
// L3 cache. Even wider rows go to wide.cpp.
constexpr index LONG_COLUMNS = princomp_sizes::gram_long_columns;
template <class T> constexpr index LONG_CHUNK =
    princomp_sizes::gram_long_rows / (sizeof(T) == sizeof(double) ? 1 : 2);
// Rows whose mean is the first shift.
constexpr index SAMPLE = 64;
// Chunks that are added one by one. Sums of equal chunks all round in the same direction, so the
// error grows with this number.
constexpr index CHUNKS = 64;

// ---- a block -------------------------------------------------------------------------------

// Sampled row i of `count`: one from each of `count` equal parts of the block, at a place in its
// part that the golden ratio gives. At a stride, rows of the same period could all be special.
inline index sampled_row(index i, index count, index m) {
    const index begin = i * m / count, length = (i + 1) * m / count - begin;
    return begin +
           index((std::uint64_t(std::uint32_t(i) * 2654435769u) * std::uint64_t(length)) >> 32);
}

// A row near the mean: one row plus the mean difference of the sampled rows from it, so that
// constant columns become exact zeros. With weights, all rows are used, because one of large weight
// may be anywhere, and differences are taken from the row of the largest weight: from an outlier of
// small weight, they would lose their digits.
template <class In, class T>
void find_shift(const In *x, index m, index p, index stride, const double *weights, double total,
                double *difference, T *shift) {
    const index count = weights || m < SAMPLE ? m : SAMPLE;
    const In *base = x + (weights ? std::max_element(weights, weights + m) - weights : 0) * stride;
    std::memset(difference, 0, sizeof(double) * p);
    for (index i = 0; i < count; ++i) {
        const In *row = x + (count < m ? sampled_row(i, count, m) : i) * stride;
        const double share = weights ? weights[i] / total : 1.0;
        for (index j = 0; j < p; ++j)
            difference[j] += share * (double(row[j]) - double(base[j]));
    }
    for (index j = 0; j < p; ++j)
        shift[j] = T(double(base[j]) + (weights ? difference[j] : difference[j] / double(count)));
}

// Whether the mean lies further from the shift than the rows lie from the mean: m d² > S for the
// offset d of some column and its scatter S about the mean. `scatter` has S + m d². With u the unit
// roundoff of the products, their error is about u (S + m d²).
//
// One more pass about the mean, which is known by then, leaves m d² <= S, up to rounding. The new
// shift is the number a nearest to the mean that T can hold. If b is its neighbour on the other
// side of the mean, no value lies between a and b, so (x − a)(x − b) >= 0 for every x. Averaged
// over the rows this is S / m >= |mean − a| |mean − b| >= d². The mean itself may be off by about
// 32 u |d|, since STRIP_ROWS rows are summed in the products' precision. That is too small to
// matter: the sampled rows belong to the block, so the first d has m d² <= m / SAMPLE · S.
// Weighted, the first shift already is the nearest number.
inline bool is_shift_far(const double *sums, const double *scatter, index p, double total) {
    for (index j = 0; j < p; ++j)
        if (2.0 * sums[j] * (sums[j] / total) > scatter[j * p + j])
            return true;
    return false;
}

// Whether products of float32 numbers may have lost digits to underflow: the squares of a column
// that is not constant are tiny.
template <class In, class T>
bool left_range(const In *x, index m, index p, index stride, const T *shift, const double *scatter,
                index chunks) {
    for (index j = 0; j < p; ++j)
        if (scatter[j * p + j] < std::ldexp(double(chunks), -96))
            for (index r = 0; r < m; ++r)
                if (T(x[r * stride + j]) != shift[j])
                    return true;
    return false;
}

template <class In, class T, int bytes, bool weighted>
int moments(const In *x, index m, index p, index stride, const double *weights, double *out) {
    double *mean = out, *low = out + p, *scatter = out + 2 * p;
    const Columns<T, bytes> columns(p, true);
    const index padded = columns.padded;
    const index fit = CHUNK_BYTES / (padded * index(sizeof(T))) / STRIP_ROWS * STRIP_ROWS;
    const index max_rows = p >= LONG_COLUMNS ? LONG_CHUNK<T> : std::min(fit, CHUNK_ROWS);
    // Tiles may take rows by twos.
    const index rows = std::min(m, max_rows), packed_rows = rows + rows % 2;
    // Packed rows with what tiles read after them, shift, sums, the scatter and sums of earlier
    // groups of CHUNKS chunks, roots.
    const std::size_t packed_size =
        (std::size_t(columns.packed(packed_rows)) * sizeof(T) + 63) / 64 * 64;
    const std::size_t shift_size = (std::size_t(padded + columns.rest) * sizeof(T) + 63) / 64 * 64;
    const index added = m > CHUNKS * rows ? p * p + p : 0;
    char *memory = static_cast<char *>(
        thread_buffer.reserve(packed_size + shift_size +
                              sizeof(double) * (p + added + (weighted ? m : 0))));
    if (!memory)
        return PRINCOMP_NO_MEMORY;
    T *packed = reinterpret_cast<T *>(memory), *shift = reinterpret_cast<T *>(memory + packed_size);
    double *sums = reinterpret_cast<double *>(memory + packed_size + shift_size);
    double *earlier = sums + p, *roots = earlier + added;

    double total = double(m);
    if constexpr (weighted) {
        Sum weight_sum;
        for (index r = 0; r < m; ++r) {
            weight_sum.add(weights[r]);
            roots[r] = std::sqrt(weights[r]);
        }
        total = weight_sum.value();
    }
    std::memset(packed + columns.packed(packed_rows) - columns.past, 0, columns.past * sizeof(T));
    std::memset(shift, 0, shift_size);
    find_shift<In, T>(x, m, p, stride, weighted ? weights : nullptr, total, sums, shift);

    const Packer<In, T, bytes, weighted> packer(x, m, stride, columns, shift, roots);
    // Rows that lie far apart in memory are not prefetched: the range between them is not needed.
    const index row_bytes = stride >= p && stride < 2 * p ? stride * index(sizeof(In)) : 0;
    for (bool again = false;; again = true) {
        std::memset(sums, 0, sizeof(double) * p);
        std::memset(earlier, 0, sizeof(double) * added);
        for (index row = 0; row < m; row += rows) {
            const bool overwrite = row % (CHUNKS * rows) == 0;
            if (overwrite && row) {
                add_upper(scatter, p, columns.main, earlier);
                for (index j = 0; j < p; ++j) {
                    earlier[p * p + j] += sums[j];
                    sums[j] = 0.0;
                }
            }
            const index count = std::min(m - row, rows), next = std::min(m - row - count, rows);
            const index packed_count = count + count % 2;
            packer.chunk(row, count, packed_count, packed, sums);
            const Ahead ahead = prefetch_evenly<T, bytes>(
                x + (next ? row + count : 0) * stride, next * row_bytes, count, columns);
            add_products<T, bytes>(packed, packed_count, columns, ahead,
                                   {scatter, p, overwrite});
        }
        if (added) {
            add_upper(earlier, p, columns.main, scatter);
            for (index j = 0; j < p; ++j)
                sums[j] += earlier[p * p + j];
        }
        if (again || !is_shift_far(sums, scatter, p, total))
            break;
        for (index j = 0; j < p; ++j)
            shift[j] = T(double(shift[j]) + sums[j] / total);
    }

    for (index j = 0; j < p; ++j)
        if (!std::isfinite(scatter[j * p + j]) || !std::isfinite(sums[j])) {
            std::memcpy(mean, sums, sizeof(double) * p);
            return PRINCOMP_NOT_FINITE;
        }
    const index chunks = (m + rows - 1) / rows;
    if (sizeof(T) == 4 && left_range<In, T>(x, m, p, stride, shift, scatter, chunks))
        return PRINCOMP_LEFT_RANGE;
    copy_remaining(scatter, p, columns.main);
    for (index i = 0; i < p; ++i) {
        const double offset = sums[i] / total;
        // Squares that underflowed: only a constant column has a variance of zero.
        if (scatter[i * p + i] == 0.0 && sums[i] != 0.0)
            scatter[i * p + i] = std::numeric_limits<double>::denorm_min();
        const double base = double(shift[i]), high = base + offset, part = high - base;
        mean[i] = high;
        low[i] = (base - (high - part)) + (offset - part);
        sums[i] = offset;
    }
    // The scatter about the mean instead of the shift, and both triangles, some rows at a time
    // while they are in the cache. `sums` has the offsets now.
    for (index top = 0; top < p; top += MIRRORED) {
        for (index i = top; i < p && i < top + MIRRORED; ++i) {
            const double scaled_offset = total * sums[i];
            for (index j = i; j < p; ++j)
                scatter[i * p + j] -= scaled_offset * sums[j];
        }
        mirror(scatter, p, top);
    }
    return PRINCOMP_DONE;
}

// Length of a row, in full-width vectors, from which on these are faster than half-width ones. Zen 4
// computes with halves, and half-width vectors waste fewer lanes: they are faster up to p = 192 in
// float32. On Sapphire Rapids, which computes with whole vectors, these take 0.7 of the time from
// p = 64 on. Zen 5 was not measured.
index widest_from() {
#if defined(__x86_64__) && !defined(_WIN32) // Clang on Windows does not link __cpu_model
    return __builtin_cpu_is("amd") ? 12 : 3;
#else
    return 12;
#endif
}

// Half-width vectors for narrow rows, of which they waste fewer lanes.
template <class In, class T>
int moments_of(const In *x, index m, index p, index stride, const double *weights, double *out) {
    constexpr int full = PRINCOMP_LANES, half = full > 32 ? full / 2 : full;
    const bool narrow = p < widest_from() * full / index(sizeof(T));
    if (weights)
        return narrow ? moments<In, T, half, true>(x, m, p, stride, weights, out)
                      : moments<In, T, full, true>(x, m, p, stride, weights, out);
    return narrow ? moments<In, T, half, false>(x, m, p, stride, nullptr, out)
                  : moments<In, T, full, false>(x, m, p, stride, nullptr, out);
}

} // namespace
} // namespace PRINCOMP_ISA

// m >= 1 rows x (m, p), `stride` numbers apart; weights (m,) or null; out: mean (p), its rounding
// error (p), scatter (p, p). If a sum or square is not finite: the sums of the shifted rows in
// place of the mean, and the squares on the diagonal of the scatter.
#define PRINCOMP_MOMENTS(name, In, T)                                                              \
    PRINCOMP_EXPORT(name)(const In *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride,  \
                          const double *weights, double *out) {                                    \
        return PRINCOMP_ISA::moments_of<In, T>(x, m, p, stride, weights, out);                     \
    }
PRINCOMP_MOMENTS(moments_f32, float, float)
PRINCOMP_MOMENTS(moments_f32_precise, float, double)
PRINCOMP_MOMENTS(moments_f64, double, double)
