// Moments of a dense block: mean and scatter, in one read of the rows.
//
// Compiled once for each instruction set (see CMakeLists.txt).
//
// Two levels of blocking. A chunk of rows is shifted, widened where asked, and packed into
// panels of columns that stay in the core's cache; tiles.hpp makes their products of it.

#include "packed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace PRINCOMP_ISA {
namespace {

// Rows of a chunk: enough to make adding a tile to the scatter cheap, few enough to stay exact
// in float32; and bytes of a packed chunk, of a core's second cache or twice that. A large scatter
// is expensive to add to, so there a chunk is long and lies in the third; larger ones are
// wide.cpp's.
constexpr index CHUNK_ROWS = 256, CHUNK_BYTES = princomp_sizes::gram_chunk_bytes,
                LONG_COLUMNS = princomp_sizes::gram_long_columns;
template <class T> constexpr index LONG_CHUNK =
    princomp_sizes::gram_long_rows / (sizeof(T) == sizeof(double) ? 1 : 2);
// Rows whose mean is the first shift.
constexpr index SAMPLE = 64;
// Chunks that are added one by one. Equal ones round all one way, so their error grows with this.
constexpr index CHUNKS = 64;

// ---- a block -------------------------------------------------------------------------------

// Sampled row i of `count`: one from each of `count` equal parts of the block, at a place in its
// part that the golden ratio gives. At a stride, rows of the same period could all be special.
inline index sampled_row(index i, index count, index m) {
    const index begin = i * m / count, length = (i + 1) * m / count - begin;
    return begin +
           index((std::uint64_t(std::uint32_t(i) * 2654435769u) * std::uint64_t(length)) >> 32);
}

// A row near the mean: one row, and the mean distance of the sampled rows to it, so that constant
// columns become exact zeros. Weighted, all rows are sampled, for a heavy one may lie anywhere, and
// the heaviest is the one that distances are measured from: a light one may lie so far out that
// they lose their digits.
template <class In, class T>
void find_shift(const In *x, index m, index p, index stride, const double *weights, double total,
                double *distance, T *shift) {
    const index count = weights || m < SAMPLE ? m : SAMPLE;
    const In *base = x + (weights ? std::max_element(weights, weights + m) - weights : 0) * stride;
    std::memset(distance, 0, sizeof(double) * p);
    for (index i = 0; i < count; ++i) {
        const In *row = x + (count < m ? sampled_row(i, count, m) : i) * stride;
        const double share = weights ? weights[i] / total : 1.0;
        for (index j = 0; j < p; ++j)
            distance[j] += share * (double(row[j]) - double(base[j]));
    }
    for (index j = 0; j < p; ++j)
        shift[j] = T(double(base[j]) + (weights ? distance[j] : distance[j] / double(count)));
}

// Whether the mean lies further from the shift than the rows lie from the mean: m d² > S for the
// offset d of some column and its scatter S. With u the unit roundoff of the products, their error
// is about u (S + m d²).
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

// Whether products of float32 numbers vanished though the numbers did not.
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
    const index max_rows = p >= LONG_COLUMNS ? LONG_CHUNK<T> : fit < CHUNK_ROWS ? fit : CHUNK_ROWS;
    // Tiles may take rows by twos.
    const index rows = m < max_rows ? m : max_rows, packed_rows = rows + rows % 2;
    // Packed rows (FEW more numbers are read past a narrow last panel), shift, sums, the scatter
    // and sums of chunks before the last CHUNKS, roots.
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
    index chunks = 0;
    for (bool again = false;; again = true) {
        std::memset(sums, 0, sizeof(double) * p);
        std::memset(earlier, 0, sizeof(double) * added);
        chunks = 0;
        for (index row = 0; row < m; row += rows, ++chunks) {
            const bool fresh = chunks % CHUNKS == 0;
            if (fresh && row) {
                add_upper<T, bytes>(scatter, columns, earlier);
                for (index j = 0; j < p; ++j) {
                    earlier[p * p + j] += sums[j];
                    sums[j] = 0.0;
                }
            }
            const index count = m - row < rows ? m - row : rows;
            packer.chunk(row, count, count + count % 2, packed, sums);
            const index left = m - row - count < rows ? m - row - count : rows;
            const Ahead ahead =
                prefetch_evenly<T, bytes>(x + (row + count) * stride,
                                          left * stride * index(sizeof(In)), count, columns);
            add_products<T, bytes>(packed, count + count % 2, columns, ahead, {scatter, p, fresh});
        }
        if (added) {
            add_upper<T, bytes>(earlier, columns, scatter);
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
    if (sizeof(T) == 4 && left_range<In, T>(x, m, p, stride, shift, scatter, chunks))
        return PRINCOMP_LEFT_RANGE;
    copy_remaining<T, bytes>(scatter, columns);
    for (index i = 0; i < p; ++i) {
        const double offset = sums[i] / total;
        // Squares that vanished: the column is not constant, and must not look like it.
        if (scatter[i * p + i] == 0.0 && sums[i] != 0.0)
            scatter[i * p + i] = std::numeric_limits<double>::denorm_min();
        const double base = double(shift[i]), high = base + offset, part = high - base;
        mean[i] = high;
        low[i] = (base - (high - part)) + (offset - part);
        sums[i] = offset;
    }
    // From about the shift to about the mean, and both triangles, while some rows are near.
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

// Vectors of so many numbers of a row from which on the widest are the quickest. AMD's processors
// take them in halves: on Zen 4 narrow ones leave less empty up to p = 192 in float32. Where they
// are taken whole they multiply twice as much: on Sapphire Rapids they take 0.7 of the time from
// p = 64 on.
index widest_from() {
#if defined(__x86_64__) && !defined(_WIN32) // Clang on Windows does not link __cpu_model
    return __builtin_cpu_is("amd") ? 12 : 3;
#else
    return 12;
#endif
}

// Narrow rows leave less of a narrow vector empty; wide ones take the widest there is.
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

// Rows x (m, p), `stride` numbers apart, at least one of them; weights (m,) or null;
// out: mean (p), its low part (p), scatter (p, p). Where a sum or square is not finite: the sums
// of the shifted rows in place of the mean, and the squares on the scatter's diagonal.
#define PRINCOMP_MOMENTS(name, In, T)                                                              \
    PRINCOMP_EXPORT(name)(const In *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride,  \
                          const double *weights, double *out) {                                    \
        return PRINCOMP_ISA::moments_of<In, T>(x, m, p, stride, weights, out);                     \
    }
PRINCOMP_MOMENTS(moments_f32, float, float)
PRINCOMP_MOMENTS(moments_f32_precise, float, double)
PRINCOMP_MOMENTS(moments_f64, double, double)
