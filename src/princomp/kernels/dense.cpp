// Products of dense rows with a block of vectors, from one side or both, in one read of the rows.
//
// For each row a = r ((x − high) / divisor) of A, all or part of
//
//     y = a Q − r t,   Z += aᵀ y,   s += r y
//
// is done while the row is in a cache. A panel of rows is taken in strips of eight, and these in
// tiles of columns: each is centred into a room of its own and meets its share of Q there. When y
// is known, the tiles come again, and Z is added to in the same way. Sums are in the precision of
// the rows over a few hundred of them, then in doubles.

#include "vectors.hpp"

#include <cstring>

namespace PRINCOMP_ISA {
namespace {

// Rows of a strip, bytes of its tile in each row, which with its share of Q leaves room in the
// first cache, and bytes of a panel.
constexpr int ROWS = 8;
constexpr index TILE_BYTES = 1024, PANEL_BYTES = 512 * 1024;
// Rows whose products are summed in their own precision.
constexpr index CHUNK_ROWS = 512;
// Sums that do not wait for one another, as each waits for its products.
constexpr int BUSY = 4;
// Vectors that eight sums, or eight rows of y, of each fit in the registers.
constexpr int WIDEST = PRINCOMP_REGISTERS >= 32 ? 3 : 1;

// Rows of A in memory, and what centres them.
template <class T> struct Rows {
    const T *x;
    index m, p, stride;
    const T *high, *divisor, *roots; // (p,), (p,) and (m,), or null

    // Columns [at, at + width) of a strip, into (ROWS, width); rows past the last are zero.
    void centre(index row, index at, index width, T *to) const {
        for (int i = 0; i < ROWS; ++i, to += width) {
            if (row + i >= m) {
                std::memset(to, 0, sizeof(T) * width);
                continue;
            }
            const T *from = x + (row + i) * stride + at;
            if (!high)
                std::memcpy(to, from, sizeof(T) * width);
            else
                for (index j = 0; j < width; ++j)
                    to[j] = from[j] - high[at + j];
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

// What the next strip will read: called for while this one is multiplied, a line of each row at a
// time. Asked for at once, its lines would wait for each other.
template <class T> struct Next {
    static constexpr index line = LINE / index(sizeof(T));
    const T *x; // or null
    index stride;

    void call(index column) const {
        if (x)
            for (int i = 0; i < ROWS; ++i)
                __builtin_prefetch(x + i * stride + column, 0, 2);
    }
};

// y (ROWS, padded) += strip (ROWS, width) · q (width, padded), for `wide` vectors of columns.
template <class T, int bytes, int wide>
void forward(const T *strip, index width, const T *q, T *y, index padded, Next<T> next) {
    typedef typename Vector<T, bytes>::type V;
    constexpr index lanes = bytes / index(sizeof(T));
    V sums[ROWS][wide];
    for (int i = 0; i < ROWS; ++i)
        for (int v = 0; v < wide; ++v)
            sums[i][v] = *reinterpret_cast<const V *>(y + i * padded + v * lanes);
    for (index j = 0; j < width; ++j) {
        if (j % next.line == 0)
            next.call(j);
        V values[wide];
#pragma GCC unroll 8
        for (int v = 0; v < wide; ++v)
            values[v] = *reinterpret_cast<const V *>(q + j * padded + v * lanes);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; ++i) {
            const T one = strip[i * width + j];
#pragma GCC unroll 8
            for (int v = 0; v < wide; ++v)
                sums[i][v] += one * values[v];
        }
    }
    for (int i = 0; i < ROWS; ++i)
        for (int v = 0; v < wide; ++v)
            *reinterpret_cast<V *>(y + i * padded + v * lanes) = sums[i][v];
}

// Some columns: z (some, padded) += stripᵀ (some, ROWS) · values (ROWS). Inlined, or the values
// would leave the registers.
template <class T, class V, int wide, int some>
inline __attribute__((always_inline)) void
add_columns(const T *strip, index width, const V (&values)[ROWS][wide], T *z, index padded) {
    constexpr index lanes = sizeof(V) / sizeof(T);
    V sums[some][wide];
#pragma GCC unroll 8
    for (int j = 0; j < some; ++j)
#pragma GCC unroll 8
        for (int v = 0; v < wide; ++v)
            sums[j][v] = *reinterpret_cast<const V *>(z + j * padded + v * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 8
        for (int j = 0; j < some; ++j) {
            const T one = strip[i * width + j];
#pragma GCC unroll 8
            for (int v = 0; v < wide; ++v)
                sums[j][v] += one * values[i][v];
        }
#pragma GCC unroll 8
    for (int j = 0; j < some; ++j)
#pragma GCC unroll 8
        for (int v = 0; v < wide; ++v)
            *reinterpret_cast<V *>(z + j * padded + v * lanes) = sums[j][v];
}

// z (width, padded) += stripᵀ (width, ROWS) · y (ROWS, padded).
template <class T, int bytes, int wide>
void backward(const T *strip, index width, const T *y, T *z, index padded, Next<T> next) {
    typedef typename Vector<T, bytes>::type V;
    constexpr index lanes = bytes / index(sizeof(T));
    constexpr int some = wide < BUSY / 2 ? BUSY : 2;
    V values[ROWS][wide];
    for (int i = 0; i < ROWS; ++i)
        for (int v = 0; v < wide; ++v)
            values[i][v] = *reinterpret_cast<const V *>(y + i * padded + v * lanes);
    index j = 0;
    for (; j + some <= width; j += some) {
        if (j % next.line == 0)
            next.call(j);
        add_columns<T, V, wide, some>(strip + j, width, values, z + j * padded, padded);
    }
    for (; j < width; ++j)
        add_columns<T, V, wide, 1>(strip + j, width, values, z + j * padded, padded);
}

#define PRINCOMP_GROUPS(call, strip, width, one, other, next)                                      \
    for (index c = 0; c < padded; next.x = nullptr) {                                              \
        const index left = (padded - c) / lanes;                                                   \
        if (WIDEST >= 3 && left >= 3 && left != 4) {                                               \
            call<T, bytes, WIDEST >= 3 ? 3 : 1>(strip, width, one, other, padded, next);           \
            c += 3 * lanes;                                                                        \
        } else if (WIDEST >= 2 && left >= 2) {                                                     \
            call<T, bytes, WIDEST >= 2 ? 2 : 1>(strip, width, one, other, padded, next);           \
            c += 2 * lanes;                                                                        \
        } else {                                                                                   \
            call<T, bytes, 1>(strip, width, one, other, padded, next);                             \
            c += lanes;                                                                            \
        }                                                                                          \
    }


template <class T, int bytes> struct Pass {
    static constexpr index lanes = bytes / index(sizeof(T)), tile = TILE_BYTES / index(sizeof(T));
    Rows<T> rows;
    const T *right;  // Q (p, padded), or null where y is given
    const T *taken;  // t (padded,), or null
    index padded;
    T *room;         // for a panel, tile after tile, in each strip after strip; or for one tile
    bool both;       // whether the panel is kept there to be met again

    T *strip(index first, index last, index row, index at, index width) const {
        return both ? room + at * (last - first) + (row - first) * width : room;
    }

    // The same columns of the strip after this one, if it is whole.
    Next<T> ahead(index row, index at) const {
        const bool whole = row + 2 * ROWS <= rows.m;
        return {whole ? rows.x + (row + ROWS) * rows.stride + at : nullptr, rows.stride};
    }

    // y of rows [first, last), which starts at zero.
    void scores(index first, index last, T *y) const {
        std::memset(y, 0, sizeof(T) * (last - first) * padded);
        for (index at = 0; at < rows.p; at += tile) {
            const index width = rows.p - at < tile ? rows.p - at : tile;
            for (index row = first; row < last; row += ROWS) {
                T *tile_of = strip(first, last, row, at, width);
                rows.centre(row, at, width, tile_of);
                T *to = y + (row - first) * padded;
                const T *q = right + at * padded;
                Next<T> next = ahead(row, at);
                PRINCOMP_GROUPS(forward, tile_of, width, q + c, to + c, next)
            }
        }
    }

    // Takes off what the low part of the mean adds, and sums what is left.
    void mend(index first, index last, T *y, double *sums) const {
        for (index row = first; row < last; ++row, y += padded) {
            const T root = row >= rows.m ? T(0) : rows.roots ? rows.roots[row] : T(1);
            for (index c = 0; c < padded; ++c) {
                if (taken)
                    y[c] -= root * taken[c];
                sums[c] += double(root) * double(y[c]);
            }
        }
    }

    // z (p, padded) += Aᵀ y over rows [first, last).
    void images(index first, index last, const T *y, T *z) const {
        for (index at = 0; at < rows.p; at += tile) {
            const index width = rows.p - at < tile ? rows.p - at : tile;
            for (index row = first; row < last; row += ROWS) {
                T *tile_of = strip(first, last, row, at, width);
                if (!both)
                    rows.centre(row, at, width, tile_of);
                const T *from = y + (row - first) * padded;
                T *to = z + at * padded;
                Next<T> next = both ? Next<T>{nullptr, 0} : ahead(row, at);
                PRINCOMP_GROUPS(backward, tile_of, width, from + c, to + c, next)
            }
        }
    }
};
#undef PRINCOMP_GROUPS

template <class T> void add(T *from, double *to, index count) {
    for (index i = 0; i < count; ++i) {
        to[i] += double(from[i]);
        from[i] = T(0);
    }
}

template <class T, int bytes>
int dense_pass(const Pass<T, bytes> &pass, T *y, T *part, double *z, double *sums) {
    const index m = pass.rows.m, p = pass.rows.p, padded = pass.padded;
    index panel = CHUNK_ROWS;
    if (pass.both) {
        panel = PANEL_BYTES / (p * index(sizeof(T))) / ROWS * ROWS;
        panel = panel < ROWS ? ROWS : panel > CHUNK_ROWS ? CHUNK_ROWS : panel;
    }
    constexpr bool own = sizeof(T) == sizeof(double);
    T *into = part;
    if constexpr (own)
        into = z;
    else if (z)
        std::memset(part, 0, sizeof(T) * p * padded);
    index waiting = 0;
    for (index first = 0; first < m; first += panel) {
        // Whole strips: y has room for the rows past the last.
        index last = first + panel < m ? first + panel : m;
        last = first + (last - first + ROWS - 1) / ROWS * ROWS;
        T *here = y + first * padded;
        if (pass.right) {
            pass.scores(first, last, here);
            pass.mend(first, last, here, sums);
        }
        if (!z)
            continue;
        pass.images(first, last, here, into);
        waiting += panel;
        if (!own && (waiting >= CHUNK_ROWS || first + panel >= m)) {
            add(part, z, p * padded);
            waiting = 0;
        }
    }
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// Rows x (m, p), `stride` numbers apart; high, divisor (p,) and roots (m,), or null; right
// (p, padded) with taken (padded,) or null, or null where y is given; padded a multiple of 64
// bytes. room: 512 KiB, or eight rows where those are more; part (p, padded) where numbers are
// no doubles. y (m up to a multiple of 8, padded), zero past m where given; z (p, padded), or null
// where it is not wanted, and sums (padded,) are added to. All may begin anywhere; where they do so
// at a cache line it takes down to half of the time.
#define PRINCOMP_DENSE(name, T)                                                                    \
    PRINCOMP_EXPORT(name)                                                                          \
    (const T *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride, const T *high,         \
     const T *divisor, const T *roots, const T *right, const T *taken, std::ptrdiff_t padded,      \
     T *room, T *y, T *part, double *z, double *sums) {                                            \
        return PRINCOMP_ISA::dense_pass<T, PRINCOMP_LANES>(                                        \
            {{x, m, p, stride, high, divisor, roots}, right, taken, padded, room,                  \
             right && z},                                                                          \
            y, part, z, sums);                                                                     \
    }
PRINCOMP_DENSE(dense_pass_f32, float)
PRINCOMP_DENSE(dense_pass_f64, double)
