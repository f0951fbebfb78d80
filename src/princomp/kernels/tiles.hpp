// The upper triangle of the products of packed columns, tile by tile.
//
// Included once by each source that packs: PRINCOMP_ISA is the name of the instruction set,
// PRINCOMP_LANES the bytes of a vector, PRINCOMP_REGISTERS the number of vector registers. A tile
// is summed in registers over one chunk of rows, in the precision of T, and then added to the
// output in double, so that sums in low precision are short.

#pragma once

#include "vectors.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace PRINCOMP_ISA {
namespace {

// Columns on the left of a tile, which are broadcast one by one: MANY if their sums fit the
// registers, else FEW.
constexpr int FEW = 4, MANY = 8;
// Sums that keep the processor's multipliers busy.
constexpr int ENOUGH_SUMS = 8;
// Bytes of packed columns that stay in a core's L2 cache of 512 KB to 2 MB, or nearly.
constexpr index LEFT_BYTES = 1024 * 1024;

// Vectors of a panel, and the most vectors of sums in a tile: with those of a panel and a broadcast
// number they fill the registers.
template <class T, int bytes> constexpr int widest() { return bytes / sizeof(T) >= FEW ? 3 : 2; }
constexpr int SUMS = PRINCOMP_REGISTERS >= 32 ? 24 : 12;

// Columns of a panel; the last panel may have fewer vectors.
template <class T, int bytes> constexpr index panel_width() {
    constexpr index width = widest<T, bytes>() * (bytes / index(sizeof(T)));
    static_assert(width % FEW == 0, "no tile spans two panels");
    return width;
}

// ---- tiles ---------------------------------------------------------------------------------

// A vector's numbers added to as many doubles, or written over them.
template <class T, int bytes>
inline void add_doubles(typename Vector<T, bytes>::type sums, double *to, bool overwrite) {
    if constexpr (sizeof(T) == sizeof(double)) {
        store(to, overwrite ? sums : load<typename Vector<double, bytes>::type>(to) + sums);
    } else {
        typedef typename Vector<double, bytes>::type Wide;
        typedef typename Vector<T, bytes / 2>::type Half;
        constexpr index half = bytes / 2 / index(sizeof(T));
        Half parts[2];
        std::memcpy(parts, &sums, sizeof(sums));
        for (int i = 0; i < 2; ++i) {
            const Wide part = __builtin_convertvector(parts[i], Wide);
            store(to + i * half, overwrite ? part : load<Wide>(to + i * half) + part);
        }
    }
}

// A matrix whose rows are `stride` numbers apart, to which products are added, or which they
// overwrite.
struct Output {
    double *to;
    index stride;
    bool overwrite;
    Output at(index i, index j) const { return {to + i * stride + j, stride, overwrite}; }
    void prefetch(index rows, index columns) const {
        for (index i = 0; i < rows; ++i)
            for (index j = 0; j < columns; j += LINE / index(sizeof(double)))
                __builtin_prefetch(to + i * stride + j, 1, 3);
    }
};

// Bytes of the next chunk, prefetched while this one is multiplied: packing would wait for memory,
// and multiplying leaves it idle.
struct Ahead {
    const char *at, *end;
    index per_row; // bytes for each row of a tile of FEW columns
    // Nothing to prefetch. The address is one in the cache: others cost time even if not mapped.
    static Ahead none(const void *cached) {
        const char *at = static_cast<const char *>(cached);
        return {at, at, 0};
    }
    index step() const { return at < end ? per_row : 0; }
    void advance(index rows, index tall) {
        const index bytes = rows * tall / FEW * per_row;
        at = end - at > bytes ? at + bytes : end;
    }
};

// Products of `tall` columns with `wide` vectors over all rows of a chunk. Only the first `height`
// rows and `columns` columns of them are columns of the data.
template <class T, int bytes, int tall, int wide>
void tile(const T *left, index left_step, const T *right, index right_step, index rows,
          const Ahead &ahead, const Output &into, index height, index columns) {
    typedef typename Vector<T, bytes>::type V;
    constexpr index lanes = bytes / index(sizeof(T));
    // Additions to few sums would wait for each other, so even and odd rows have their own.
    constexpr int turns = tall * wide < ENOUGH_SUMS ? 2 : 1;
    V sums[turns][tall][wide] = {};
    const char *next = ahead.at;
    const index step = turns * tall / FEW * ahead.step();
    into.prefetch(tall, wide * lanes); // needed at the end
    for (index r = 0; r < rows; r += turns, next += step) {
        __builtin_prefetch(next, 0, 2);
#pragma GCC unroll 2
        for (int turn = 0; turn < turns; ++turn) {
            V values[wide];
#pragma GCC unroll 8
            for (int v = 0; v < wide; ++v)
                values[v] = load<V>(right + (r + turn) * right_step + v * lanes);
#pragma GCC unroll 8
            for (int i = 0; i < tall; ++i) {
                const T one = left[(r + turn) * left_step + i];
#pragma GCC unroll 8
                for (int v = 0; v < wide; ++v)
                    sums[turn][i][v] += one * values[v];
            }
        }
    }
    if constexpr (turns == 2)
        for (int i = 0; i < tall; ++i)
            for (int v = 0; v < wide; ++v)
                sums[0][i][v] += sums[1][i][v];
    if (height >= tall && columns >= wide * lanes) { // all of it, from registers
#pragma GCC unroll 8
        for (int i = 0; i < tall; ++i)
#pragma GCC unroll 8
            for (int v = 0; v < wide; ++v)
                add_doubles<T, bytes>(sums[0][i][v], into.to + i * into.stride + v * lanes,
                                      into.overwrite);
        return;
    }
    for (int i = 0; i < tall && i < height; ++i)
        for (int v = 0; v < wide; ++v) {
            double *to = into.to + i * into.stride + v * lanes;
            const index count = columns - v * lanes;
            if (count >= lanes)
                add_doubles<T, bytes>(sums[0][i][v], to, into.overwrite);
            else
                for (index j = 0; j < count; ++j)
                    to[j] = double(sums[0][i][v][j]) + (into.overwrite ? 0.0 : to[j]);
        }
}

template <class T, int bytes, int tall>
void tile_of(index vectors, const T *left, index left_step, const T *right, index right_step,
             index rows, const Ahead &ahead, const Output &into, index height, index columns) {
#define PRINCOMP_TILE(wide)                                                                        \
    case wide:                                                                                     \
        if constexpr (tall * wide <= SUMS)                                                         \
            tile<T, bytes, tall, wide>(left, left_step, right, right_step, rows, ahead, into,      \
                                       height, columns);                                           \
        break;
    switch (vectors) {
        PRINCOMP_TILE(1)
        PRINCOMP_TILE(2)
        PRINCOMP_TILE(3)
    }
#undef PRINCOMP_TILE
}

// Columns on the left, a multiple of a panel's, that stay in the cache while those on the right are
// read once.
template <class T, int bytes> index left_columns(index rows) {
    constexpr index width = panel_width<T, bytes>();
    return std::max(LEFT_BYTES / (rows * index(sizeof(T))) / width * width, width);
}

// How columns are packed. Most are in whole vectors. The last ones, if they would fill at most half
// of a vector, are packed next to each other, and broadcast one by one over the vectors of others.
template <class T, int bytes> struct Columns {
    static constexpr index lanes = bytes / index(sizeof(T));
    // A split pays if half of a vector is at least one tile of FEW, and from SPLIT vectors on.
    static constexpr bool can_split = FEW <= lanes / 2;
    static constexpr index SPLIT = 3;
    index count;        // all columns
    index main, padded; // those in whole vectors, and their number with zeros in the last vector
    index rest, remaining; // the others, and their number with zeros in the last tile of FEW
    explicit Columns(index p, bool split) : count(p) {
        const index over = p % lanes;
        rest = can_split && split && p >= SPLIT * lanes && over <= lanes / 2 ? over : 0;
        main = p - rest;
        padded = (main + lanes - 1) / lanes * lanes;
        remaining = (rest + FEW - 1) / FEW * FEW;
    }
    // Numbers to allocate for packed rows, of which tiles read `past` after the rows.
    index packed(index rows) const { return rows * (padded + remaining) + past; }
    static constexpr index past = std::max<index>(lanes, MANY);
};

// Prefetches `size` bytes of the next chunk while `rows` rows are multiplied, evenly over the first
// two thirds of the tiles: at a higher rate, tiles would wait for their own lines.
template <class T, int bytes>
Ahead prefetch_evenly(const void *next, index size, index rows, const Columns<T, bytes> &columns) {
    constexpr index width = panel_width<T, bytes>();
    index tiles = 0; // of FEW columns, about as many
    for (index right = 0; right < columns.main; right += width)
        tiles += (std::min(right + width, columns.main) + columns.remaining + FEW - 1) / FEW;
    const index per_row = 3 * size / (2 * rows * tiles) + 1;
    const char *at = static_cast<const char *>(next);
    return {at, at + size, std::min(per_row, LINE / 2)}; // tiles advance by twice that at most
}

// Products of the remaining columns with all, added to the last rows of the scatter, below the
// diagonal: `copy_remaining` moves them above it.
template <class T, int bytes>
void add_remaining(const T *packed, index rows, const Columns<T, bytes> &columns, Ahead &ahead,
                   const Output &scatter) {
    constexpr index lanes = bytes / index(sizeof(T)), width = panel_width<T, bytes>();
    const index main = columns.main, step = columns.remaining;
    const T *few = packed + columns.padded * rows;
    for (index i = 0; i < columns.rest; i += FEW) {
        const index height = columns.rest - i;
        for (index right = 0; right < main; right += width) {
            const index right_step = main - right < width ? main - right : width;
            tile_of<T, bytes, FEW>(right_step / lanes, few + i, step, packed + right * rows,
                                   right_step, rows, ahead, scatter.at(main + i, right), height,
                                   main - right);
            ahead.advance(rows, FEW);
        }
        // A vector of them contains numbers of the next row, whose products are not stored.
        tile_of<T, bytes, FEW>(1, few + i, step, few, step, rows, ahead,
                               scatter.at(main + i, main), height, columns.rest);
    }
}

// packed[:, begin:end]ᵀ · other[:, begin:], on and above the diagonal, added to the output. `other`
// may be `packed`; `begin` is the first column of a panel.
template <class T, int bytes>
void add_group(const T *packed, const T *other, index rows, const Columns<T, bytes> &columns,
               index begin, index end, Ahead &ahead, const Output &output) {
    constexpr index lanes = bytes / index(sizeof(T)), width = panel_width<T, bytes>();
    const index main = columns.main, padded = columns.padded;
    for (index right = begin; right < padded; right += width) {
        const index right_step = std::min(padded - right, width);
        for (index i = begin; i < main && i < end && i < right + right_step;) {
            const index left = i / width * width;
            const index left_step = std::min(padded - left, width);
            // Vectors that lie wholly below the diagonal are left out.
            const index first = left == right ? (i - left) / lanes : 0;
            const index vectors = right_step / lanes - first, column = right + first * lanes;
            const T *a = packed + left * rows + (i - left);
            const T *b = other + right * rows + first * lanes;
            const Output into = output.at(i, column);
            // If their sums fit the registers, they are in one panel, both halves begin with the
            // same vector on the diagonal, and there are more than FEW.
            const bool many = vectors * MANY <= SUMS && (i - left) + MANY <= left_step &&
                              (left != right || (i - left + FEW) / lanes == first) &&
                              main - i > FEW;
            if (many)
                tile_of<T, bytes, MANY>(vectors, a, left_step, b, right_step, rows, ahead, into,
                                        main - i, main - column);
            else
                tile_of<T, bytes, FEW>(vectors, a, left_step, b, right_step, rows, ahead, into,
                                       main - i, main - column);
            i += many ? MANY : FEW;
            ahead.advance(rows, many ? MANY : FEW);
        }
    }
}

// The upper triangle of the products of a packed chunk, added to the scatter; see `add_remaining`.
template <class T, int bytes>
void add_products(const T *packed, index rows, const Columns<T, bytes> &columns, Ahead ahead,
                  const Output &scatter) {
    const index group = left_columns<T, bytes>(rows);
    for (index begin = 0; begin < columns.main; begin += group)
        add_group<T, bytes>(packed, packed, rows, columns, begin, begin + group, ahead, scatter);
    add_remaining<T, bytes>(packed, rows, columns, ahead, scatter);
}

// One upper triangle (p, p), with the rows from `main` on that `add_remaining` wrote below it,
// added to another.
[[maybe_unused]] void add_upper(const double *from, index p, index main, double *to) {
    for (index i = 0; i < p; ++i)
        for (index j = i < main ? i : 0; j < (i < main ? main : p); ++j)
            to[i * p + j] += from[i * p + j];
}

// The rows from `main` on that `add_remaining` wrote below the diagonal, as columns above it.
[[maybe_unused]] void copy_remaining(double *scatter, index p, index main) {
    for (index j = main; j < p; ++j)
        for (index i = 0; i < main; ++i)
            scatter[i * p + j] = scatter[j * p + i];
}

// A square of the upper triangle at (i, j) turned into the lower one, through the first cache.
inline void transpose_square(double *scatter, index p, index i, index j) {
    constexpr index side = 8;
    const index height = p - i < side ? p - i : side, width = p - j < side ? p - j : side;
    double square[side][side];
    for (index a = 0; a < height; ++a)
        for (index b = 0; b < width; ++b)
            square[a][b] = scatter[(i + a) * p + j + b];
    for (index b = 0; b < width; ++b)
        for (index a = 0; a < height && i + a < j + b; ++a)
            scatter[(j + b) * p + i + a] = square[a][b];
}

// Some rows of the upper triangle turned into columns of the lower one, by squares whose rows lie
// in few pages of memory.
constexpr index MIRRORED = princomp_sizes::wide_mirrored_rows;
[[maybe_unused]] __attribute__((noinline)) void mirror(double *scatter, index p, index top) {
    constexpr index side = 8;
    for (index left = top; left < p; left += MIRRORED)
        for (index i = top; i < p && i < top + MIRRORED; i += side)
            for (index j = left > i ? left : i; j < p && j < left + MIRRORED; j += side)
                transpose_square(scatter, p, i, j);
}

// Memory at a multiple of 64 bytes, or null.
#ifdef _WIN32
inline void *aligned_alloc(std::size_t bytes) { return _aligned_malloc(bytes, 64); }
inline void aligned_free(void *memory) { _aligned_free(memory); }
#else
inline void *aligned_alloc(std::size_t bytes) {
    void *memory = nullptr;
    return posix_memalign(&memory, 64, bytes) ? nullptr : memory;
}
inline void aligned_free(void *memory) { std::free(memory); }
#endif

// Memory that a thread keeps for its next block: new pages cost as much time as the arithmetic.
struct ThreadBuffer {
    void *memory = nullptr;
    std::size_t size = 0;
    void *reserve(std::size_t bytes) {
        if (bytes > size) {
            aligned_free(memory);
            memory = aligned_alloc(bytes);
            size = memory ? bytes : 0;
        }
        return memory;
    }
    ~ThreadBuffer() { aligned_free(memory); }
};
thread_local ThreadBuffer thread_buffer;

} // namespace
} // namespace PRINCOMP_ISA
