// Strips of dense rows, centred in the cache, and their products with a block of vectors.
//
// Included by each source that multiplies them: PRINCOMP_ISA names the instruction set at hand,
// PRINCOMP_LANES its bytes a vector, PRINCOMP_REGISTERS how many vectors it holds.

#pragma once

#include "vectors.hpp"

#include <cstring>

namespace PRINCOMP_ISA {
namespace {

// Rows of a strip, and numbers of a tile in each row, which are as many from one row of it to the
// next: known here, since otherwise the places of eight rows do not fit the registers. With its
// share of the vectors a tile leaves room in the first cache.
constexpr int ROWS = princomp_sizes::strip_rows;
constexpr index TILE_BYTES = princomp_sizes::tile_bytes;
template <class T> constexpr index TILE = TILE_BYTES / index(sizeof(T));
// Rows whose products are summed in their own precision.
constexpr index CHUNK_ROWS = 512;
// Sums that do not wait for one another, as each waits for its products.
constexpr int INDEPENDENT_SUMS = 4;
// Most vectors of columns at a time, and rows whose sums, or values of y, then fit in the registers.
// With 16 registers, four rows by two vectors need fewer loads than eight rows by one.
constexpr int MAX_VECTORS = PRINCOMP_REGISTERS >= 32 ? 3 : 2;
constexpr int rows_at_once(int wide) {
    return PRINCOMP_REGISTERS >= 32 || wide == 1 ? ROWS : ROWS / 2;
}

// What will be read soon: called for while a strip is multiplied, a line of each row at a time.
// Asked for at once, its lines would wait for each other.
template <class T> struct Prefetch {
    static constexpr index line = LINE / index(sizeof(T));
    const T *x; // or null
    index stride;
    int rows;

    void prefetch(index column) const {
        if (x)
            for (int i = 0; i < rows; ++i)
                __builtin_prefetch(x + i * stride + column, 0, 2);
    }
};

// Numbers less what is to be subtracted, if anything is.
template <class T>
inline __attribute__((always_inline)) void
subtract(const T *from, const T *subtracted, index count, T *to) {
    if (subtracted)
        for (index j = 0; j < count; ++j)
            to[j] = from[j] - subtracted[j];
    else
        for (index j = 0; j < count; ++j)
            to[j] = from[j];
}

// Rows of A in memory, and what centres them.
template <class T> struct Rows {
    const T *x;
    index m, p, stride;
    const T *high, *divisor, *roots; // (p,), (p,) and (m,), or null

    // The same columns of the strip after this one, if it is whole.
    Prefetch<T> next_strip(index row, index at) const {
        const bool whole = row + 2 * ROWS <= m;
        return {whole ? x + (row + ROWS) * stride + at : nullptr, stride, ROWS};
    }

    // Columns [at, at + width) of a strip, into a tile; rows past the last are zero. Whole tiles by
    // a loop of known length: each of its instructions then reads the same column of row after
    // row, which processors foresee.
    void centre(index row, index at, index width, T *to) const {
        for (int i = 0; i < ROWS; ++i, to += TILE<T>) {
            if (row + i >= m) {
                std::memset(to, 0, sizeof(T) * width);
                continue;
            }
            const T *from = x + (row + i) * stride + at;
            if (width == TILE<T>)
                subtract(from, high ? high + at : nullptr, TILE<T>, to);
            else
                subtract(from, high ? high + at : nullptr, width, to);
            if (divisor)
                for (index j = 0; j < width; ++j)
                    to[j] /= divisor[at + j];
            if (roots) {
                const T root = roots[row + i];
                for (index j = 0; j < width; ++j)
                    to[j] *= root;
            }
        }
    }
};

// What a pass there and back reads, panel after panel of rows, in each tile after tile of columns.
// Nothing is read on the way back; so that memory does not wait then, half a strip is called for
// each time that one is multiplied.
template <class T> struct PanelPrefetch {
    static constexpr index half = ROWS / 2;
    const Rows<T> &rows;
    index panel, tile, first, row, at;

    // Begins at this place of the first panel.
    PanelPrefetch(const Rows<T> &of, index panel_rows, index tile_columns, index row_at,
                  index column_at)
        : rows(of), panel(panel_rows), tile(tile_columns), first(0), row(row_at), at(column_at) {}

    Prefetch<T> next() {
        Prefetch<T> here = {row + half <= rows.m ? rows.x + row * rows.stride + at : nullptr,
                            rows.stride, int(half)};
        row += half;
        if (row >= first + panel || row >= rows.m) {
            at += tile;
            if (at >= rows.p) {
                at = 0;
                first += panel;
            }
            row = first;
        }
        return here;
    }
};

// y (tall, padded) += strip (tall, width) · q (width, padded), for `wide` vectors of columns. Not
// inlined, nor is backward_some: inlined, they need more than 16 registers, and the compiler moves
// values to memory.
template <class T, int bytes, int wide, int tall>
__attribute__((noinline)) void forward_some(const T *strip, index width, const T *q, T *y,
                                            index padded, Prefetch<T> ahead) {
    typedef typename Vector<T, bytes>::type V;
    constexpr index lanes = bytes / index(sizeof(T));
    V sums[tall][wide];
    for (int i = 0; i < tall; ++i)
        for (int v = 0; v < wide; ++v)
            sums[i][v] = load<V>(y + i * padded + v * lanes);
    for (index j = 0; j < width;) {
        ahead.prefetch(j);
        for (const index stop = j + ahead.line < width ? j + ahead.line : width; j < stop; ++j) {
            V values[wide];
#pragma GCC unroll 8
            for (int v = 0; v < wide; ++v)
                values[v] = load<V>(q + j * padded + v * lanes);
#pragma GCC unroll 8
            for (int i = 0; i < tall; ++i) {
                const T one = strip[i * TILE<T> + j];
#pragma GCC unroll 8
                for (int v = 0; v < wide; ++v)
                    sums[i][v] += one * values[v];
            }
        }
    }
    for (int i = 0; i < tall; ++i)
        for (int v = 0; v < wide; ++v)
            store(y + i * padded + v * lanes, sums[i][v]);
}

// y (ROWS, padded) += strip (ROWS, width) · q (width, padded), for `wide` vectors of columns.
template <class T, int bytes, int wide>
void forward(const T *strip, index width, const T *q, T *y, index padded, Prefetch<T> ahead) {
    constexpr int tall = rows_at_once(wide);
    for (int i = 0; i < ROWS; i += tall, ahead.x = nullptr)
        forward_some<T, bytes, wide, tall>(strip + i * TILE<T>, width, q, y + i * padded, padded,
                                           ahead);
}

// Some columns: z (count, padded) += stripᵀ (count, tall) · values (tall). Inlined, or the values
// would leave the registers.
template <class T, class V, int wide, int tall, int count>
inline __attribute__((always_inline)) void
add_columns(const T *strip, const V (&values)[tall][wide], T *z, index padded) {
    constexpr index lanes = sizeof(V) / sizeof(T);
    V sums[count][wide];
#pragma GCC unroll 8
    for (int j = 0; j < count; ++j)
#pragma GCC unroll 8
        for (int v = 0; v < wide; ++v)
            sums[j][v] = load<V>(z + j * padded + v * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < tall; ++i)
#pragma GCC unroll 8
        for (int j = 0; j < count; ++j) {
            const T one = strip[i * TILE<T> + j];
#pragma GCC unroll 8
            for (int v = 0; v < wide; ++v)
                sums[j][v] += one * values[i][v];
        }
#pragma GCC unroll 8
    for (int j = 0; j < count; ++j)
#pragma GCC unroll 8
        for (int v = 0; v < wide; ++v)
            store(z + j * padded + v * lanes, sums[j][v]);
}

// z (width, padded) += stripᵀ (width, tall) · y (tall, padded), for `wide` vectors of columns.
template <class T, int bytes, int wide, int tall>
__attribute__((noinline)) void backward_some(const T *strip, index width, const T *y, T *z,
                                             index padded, Prefetch<T> ahead) {
    typedef typename Vector<T, bytes>::type V;
    constexpr index lanes = bytes / index(sizeof(T));
    constexpr int count = wide < INDEPENDENT_SUMS / 2 ? INDEPENDENT_SUMS : 2;
    V values[tall][wide];
    for (int i = 0; i < tall; ++i)
        for (int v = 0; v < wide; ++v)
            values[i][v] = load<V>(y + i * padded + v * lanes);
    index j = 0;
    while (j + count <= width) {
        ahead.prefetch(j);
        const index stop = j + ahead.line < width ? j + ahead.line : width;
        for (; j + count <= stop; j += count)
            add_columns<T, V, wide, tall, count>(strip + j, values, z + j * padded, padded);
    }
    for (; j < width; ++j)
        add_columns<T, V, wide, tall, 1>(strip + j, values, z + j * padded, padded);
}

// z (width, padded) += stripᵀ (width, ROWS) · y (ROWS, padded), for `wide` vectors of columns.
template <class T, int bytes, int wide>
void backward(const T *strip, index width, const T *y, T *z, index padded, Prefetch<T> ahead) {
    constexpr int tall = rows_at_once(wide);
    for (int i = 0; i < ROWS; i += tall, ahead.x = nullptr)
        backward_some<T, bytes, wide, tall>(strip + i * TILE<T>, width, y + i * padded, z, padded,
                                            ahead);
}

#define PRINCOMP_GROUPS(call, strip, width, one, other, next)                                      \
    for (index c = 0; c < padded; next.x = nullptr) {                                              \
        const index left = (padded - c) / lanes;                                                   \
        if (MAX_VECTORS >= 3 && left >= 3 && left != 4) {                                          \
            call<T, bytes, MAX_VECTORS >= 3 ? 3 : 1>(strip, width, one, other, padded, next);      \
            c += 3 * lanes;                                                                        \
        } else if (left >= 2) {                                                                    \
            call<T, bytes, 2>(strip, width, one, other, padded, next);                             \
            c += 2 * lanes;                                                                        \
        } else {                                                                                   \
            call<T, bytes, 1>(strip, width, one, other, padded, next);                             \
            c += lanes;                                                                            \
        }                                                                                          \
    }

// Sums of some rows are added in doubles, and begin anew.
template <class T> void add_and_clear(T *from, double *to, index count) {
    for (index i = 0; i < count; ++i) {
        to[i] += double(from[i]);
        from[i] = T(0);
    }
}

} // namespace
} // namespace PRINCOMP_ISA
