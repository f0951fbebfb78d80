// Scores of rows on few axes, in one read of the rows.
//
// Compiled once for each instruction set, like gram.cpp. A few rows are centred into the first
// cache, then multiplied with all axes while they lie there. Each row's scores are summed by
// themselves, in the order of the columns: they are the same, to the bit, in any company.

#include "vectors.hpp"

#include <cstring>

namespace PRINCOMP_ISA {
namespace {

// Rows that are multiplied together: each value of an axis serves all of them.
constexpr int ROWS = princomp_sizes::score_rows;
// Most vectors of axes at a time, and rows whose sums then fit in the registers.
constexpr int MAX_VECTORS = PRINCOMP_REGISTERS >= 32 ? 3 : 2;
constexpr int rows_at_once(int wide) {
    return PRINCOMP_REGISTERS >= 32 || wide == 1 ? ROWS : ROWS / 2;
}

// Bytes of a row up to which centred rows are so far apart that their places are known here: eight
// others do not fit the registers.
constexpr index KNOWN_ROW_BYTES = princomp_sizes::score_row_bytes;

// `wide` vectors of scores of `tall` centred rows, `count` of them stored. The rows are
// `known_length` numbers apart, or p where that is zero.
template <class T, int bytes, int wide, int tall, index known_length>
void block(const T *rows, index p, const T *axes, index padded, T *out, index k, index columns,
           int count, const char *ahead, index line) {
    typedef typename Vector<T, bytes>::type V;
    constexpr index lanes = bytes / index(sizeof(T));
    const index row_step = known_length ? known_length : p;
    V sums[tall][wide] = {};
    for (index j = 0; j < p; ++j, ahead += line) {
        __builtin_prefetch(ahead, 0, 2);
        V values[wide];
#pragma GCC unroll 8
        for (int v = 0; v < wide; ++v)
            values[v] = load<V>(axes + j * padded + v * lanes);
#pragma GCC unroll 8
        for (int i = 0; i < tall; ++i) {
            const T one = rows[i * row_step + j];
#pragma GCC unroll 8
            for (int v = 0; v < wide; ++v)
                sums[i][v] += one * values[v];
        }
    }
    for (int i = 0; i < count; ++i)
        for (int v = 0; v < wide; ++v) {
            T *to = out + i * k + v * lanes;
            const index left = columns - v * lanes;
            if (left >= lanes)
                store(to, sums[i][v]);
            else
                for (index c = 0; c < left; ++c)
                    to[c] = sums[i][v][c];
        }
}

// `wide` vectors of scores of ROWS centred rows, as many at a time as fit in the registers.
template <class T, int bytes, int wide, index known_length>
void blocks(const T *rows, index p, const T *axes, index padded, T *out, index k, index columns,
            int count, const char *ahead, index line) {
    constexpr int tall = rows_at_once(wide);
    const index row_step = known_length ? known_length : p;
    for (int i = 0; i < count; i += tall, line = 0)
        block<T, bytes, wide, tall, known_length>(rows + i * row_step, p, axes, padded, out + i * k,
                                                  k, columns, count - i < tall ? count - i : tall,
                                                  ahead, line);
}

template <class T, int bytes, index known_length>
int scores(const T *x, index m, index p, index stride, const T *high, const T *low, const T *axes,
           index k, index padded, T *buffer, T *out) {
    constexpr index lanes = bytes / index(sizeof(T));
    const index row_step = known_length ? known_length : p;
    for (index row = 0; row < m; row += ROWS) {
        const int count = m - row < ROWS ? int(m - row) : ROWS;
        for (int i = 0; i < count; ++i) {
            const T *from = x + (row + i) * stride;
            T *to = buffer + i * row_step;
            for (index j = 0; j < p; ++j)
                to[j] = (from[j] - high[j]) - low[j];
        }
        // The next rows come from memory while these are multiplied.
        const char *ahead = reinterpret_cast<const char *>(x + (row + count) * stride);
        const bool prefetch_next = row + 2 * ROWS <= m && ROWS * index(sizeof(T)) <= LINE;
        for (index c = 0; c < k; c += MAX_VECTORS * lanes) {
            const T *some = axes + c;
            T *to = out + row * k + c;
            const index vectors = (k - c + lanes - 1) / lanes;
            const index line = prefetch_next && c == 0 ? LINE : 0;
#define PRINCOMP_BLOCKS(wide)                                                                      \
    blocks<T, bytes, wide, known_length>(buffer, p, some, padded, to, k, k - c, count, ahead, line)
            if (MAX_VECTORS >= 3 && vectors >= 3)
                PRINCOMP_BLOCKS((MAX_VECTORS >= 3 ? 3 : 1));
            else if (vectors >= 2)
                PRINCOMP_BLOCKS(2);
            else
                PRINCOMP_BLOCKS(1);
#undef PRINCOMP_BLOCKS
        }
    }
    return PRINCOMP_DONE;
}

template <class T, int bytes>
int any_scores(const T *x, index m, index p, index stride, const T *high, const T *low,
               const T *axes, index k, index padded, T *buffer, T *out) {
    constexpr index known_length = KNOWN_ROW_BYTES / index(sizeof(T));
    if (p <= known_length)
        return scores<T, bytes, known_length>(x, m, p, stride, high, low, axes, k, padded, buffer,
                                              out);
    return scores<T, bytes, 0>(x, m, p, stride, high, low, axes, k, padded, buffer, out);
}

} // namespace
} // namespace PRINCOMP_ISA

// Rows x (m, p), `stride` numbers apart; their mean in two parts (p,); axes (p, padded) with
// columns past k zero, padded a multiple of 64 bytes; buffer (8, p), of a KiB a row at least; out
// (m, k).
#define PRINCOMP_SCORES(name, T)                                                                   \
    PRINCOMP_EXPORT(name)                                                                          \
    (const T *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride, const T *high,         \
     const T *low, const T *axes, std::ptrdiff_t k, std::ptrdiff_t padded, T *buffer, T *out) {    \
        return PRINCOMP_ISA::any_scores<T, PRINCOMP_LANES>(x, m, p, stride, high, low, axes, k,    \
                                                           padded, buffer, out);                   \
    }
PRINCOMP_SCORES(scores_f32, float)
PRINCOMP_SCORES(scores_f64, double)
