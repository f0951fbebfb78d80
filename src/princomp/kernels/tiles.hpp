// What turns columns that are packed in the cache into the upper triangle of their products.
//
// Included once by each source that packs: PRINCOMP_ISA names the instruction set at hand,
// PRINCOMP_LANES its bytes a vector, PRINCOMP_REGISTERS how many vectors it holds. Tiles are
// summed in registers, in the precision of the products, and each chunk is added in doubles:
// products of a few hundred numbers never meet a large sum in low precision.

#pragma once

#include "vectors.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace PRINCOMP_ISA {
namespace {

// Columns of a tile are broadcast one by one: four, or eight where there are few vectors.
constexpr int FEW = 4, MANY = 8;
// Sums that keep the processor's multipliers busy.
constexpr int ENOUGH_SUMS = 8;
// Bytes of packed columns that are kept near: half of a core's second cache.
constexpr index LEFT_BYTES = 1024 * 1024;

// Vectors of a panel, and the sums of a tile, which fill the registers with them.
template <class T, int bytes> constexpr int widest() { return bytes / sizeof(T) >= FEW ? 3 : 2; }
constexpr int SUMS = PRINCOMP_REGISTERS >= 32 ? 24 : 12;

// Columns of a panel; the last panel may have fewer vectors.
template <class T, int bytes> constexpr index panel_width() {
    constexpr index width = widest<T, bytes>() * (bytes / index(sizeof(T)));
    static_assert(width % FEW == 0, "a tile reaches over one panel only");
    return width;
}

// ---- tiles ---------------------------------------------------------------------------------

// A vector's numbers added to as many doubles, or written there where nothing is known yet.
template <class T, int bytes>
inline void add_doubles(typename Vector<T, bytes>::type sums, double *to, bool fresh) {
    if constexpr (sizeof(T) == sizeof(double)) {
        store(to, fresh ? sums : load<typename Vector<double, bytes>::type>(to) + sums);
    } else {
        typedef typename Vector<double, bytes>::type Wide;
        typedef typename Vector<T, bytes / 2>::type Half;
        constexpr index half = bytes / 2 / index(sizeof(T));
        Half parts[2];
        std::memcpy(parts, &sums, sizeof(sums));
        for (int i = 0; i < 2; ++i) {
            const Wide part = __builtin_convertvector(parts[i], Wide);
            store(to + i * half, fresh ? part : load<Wide>(to + i * half) + part);
        }
    }
}

// Where products go: `out`, whose rows are p numbers apart, and whether anything is there yet.
struct Scatter {
    double *out;
    index p;
    bool fresh;
    Scatter at(index i, index j) const { return {out + i * p + j, p, fresh}; }
    void prefetch(index rows, index columns) const {
        for (index i = 0; i < rows; ++i)
            for (index j = 0; j < columns; j += LINE / index(sizeof(double)))
                __builtin_prefetch(out + i * p + j, 1, 3);
    }
};

// Bytes of the next chunk, prefetched while this one is multiplied: packing would wait for memory,
// and multiplying leaves it idle.
struct Ahead {
    const char *at, *end;
    index per_row; // bytes for each row of a tile
    index step() const { return at < end ? per_row : 0; }
    void advance(index rows) { at = end - at > rows * per_row ? at + rows * per_row : end; }
};

// Products of `tall` columns with `wide` vectors over all rows of a chunk, added to the scatter.
template <class T, int bytes, int tall, int wide>
void tile(const T *left, index left_step, const T *right, index right_step, index rows,
          const Ahead &ahead, const Scatter &into, index height, index columns) {
    typedef typename Vector<T, bytes>::type V;
    constexpr index lanes = bytes / index(sizeof(T));
    // Few sums would wait for one another, so they are taken twice, over every other row.
    constexpr int turns = tall * wide < ENOUGH_SUMS ? 2 : 1;
    V sums[turns][tall][wide] = {};
    const char *next = ahead.at;
    const index step = ahead.step();
    into.prefetch(tall, wide * lanes); // the sums are added there at the end
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
                add_doubles<T, bytes>(sums[0][i][v], into.out + i * into.p + v * lanes, into.fresh);
        return;
    }
    for (int i = 0; i < tall && i < height; ++i)
        for (int v = 0; v < wide; ++v) {
            double *to = into.out + i * into.p + v * lanes;
            const index count = columns - v * lanes;
            if (count >= lanes)
                add_doubles<T, bytes>(sums[0][i][v], to, into.fresh);
            else
                for (index j = 0; j < count; ++j)
                    to[j] = double(sums[0][i][v][j]) + (into.fresh ? 0.0 : to[j]);
        }
}

template <class T, int bytes, int tall>
void tile_of(index vectors, const T *left, index left_step, const T *right, index right_step,
             index rows, const Ahead &ahead, const Scatter &into, index height, index columns) {
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

// Columns on the left whose packed rows stay in a core's second cache, while those on the right
// pass by: a multiple of a panel's.
template <class T, int bytes> index left_columns(index rows, index padded) {
    constexpr index width = panel_width<T, bytes>();
    const index fit = LEFT_BYTES / (rows * index(sizeof(T))) / width * width;
    return fit >= padded ? padded : fit > width ? fit : width;
}

// Columns in whole vectors, and the few that would leave most of another one empty: these are
// packed next to each other, to be broadcast one by one over the vectors of all others.
template <class T, int bytes> struct Columns {
    static constexpr index lanes = bytes / index(sizeof(T));
    // Half of a vector is more than a panel of them; and of few vectors the last is no great loss.
    static constexpr bool can_split = FEW <= lanes / 2;
    static constexpr index SPLIT = 3;
    index count, main, padded; // of all; of those in vectors, without and with what fills them up
    index rest, remaining;     // of the others, and the width of their panel
    explicit Columns(index p, bool split) : count(p) {
        const index over = p % lanes;
        rest = can_split && split && p >= SPLIT * lanes && over <= lanes / 2 ? over : 0;
        main = p - rest;
        padded = (main + lanes - 1) / lanes * lanes;
        remaining = (rest + FEW - 1) / FEW * FEW;
    }
    // Numbers of so many packed rows, and those that are read past them.
    index packed(index rows) const { return rows * (padded + remaining) + past; }
    static constexpr index past = lanes > MANY ? lanes : MANY;
};

// What to prefetch of the next chunk, `size` bytes at `next`, while a chunk is multiplied: spread
// evenly over the first two thirds of its tiles. At a higher rate, tiles would wait for their own
// lines behind those of the next chunk.
template <class T, int bytes>
Ahead prefetch_evenly(const void *next, index size, index rows, const Columns<T, bytes> &columns) {
    constexpr index width = panel_width<T, bytes>();
    index tiles = 0; // about as many
    for (index right = 0; right < columns.main; right += width)
        tiles += (std::min(right + width, columns.main) + columns.remaining + FEW - 1) / FEW;
    const index per_row = 3 * size / (2 * rows * tiles) + 1;
    const char *at = static_cast<const char *>(next);
    return {at, at + size, std::min(per_row, LINE)};
}

// Products of the remaining columns with all, added to the scatter's last rows: what
// belongs above the diagonal is below it.
template <class T, int bytes>
void add_remaining(const T *packed, index rows, const Columns<T, bytes> &columns, Ahead &ahead,
                const Scatter &scatter) {
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
            ahead.advance(rows);
        }
        // A vector of them reaches into the next row: what it holds of that is not kept.
        tile_of<T, bytes, FEW>(1, few + i, step, few, step, rows, ahead,
                               scatter.at(main + i, main), height, columns.rest);
    }
}

// Products of the columns [begin, end) of a packed chunk with those from there on of another, or of
// the same, added to the upper triangle of the scatter (p, p). The first is the first of a panel.
template <class T, int bytes>
void add_group(const T *packed, const T *other, index rows, const Columns<T, bytes> &columns,
               index begin, index end, Ahead &ahead, const Scatter &scatter) {
    constexpr index lanes = bytes / index(sizeof(T)), width = panel_width<T, bytes>();
    const index p = columns.main, padded = columns.padded;
    for (index right = begin; right < padded; right += width) {
        const index right_step = padded - right < width ? padded - right : width;
        for (index i = begin; i < p && i < end && i < right + right_step;) {
            const index left = i / width * width;
            const index left_step = padded - left < width ? padded - left : width;
            // Vectors that lie wholly below the diagonal are left out.
            const index first = left == right ? (i - left) / lanes : 0;
            const index vectors = right_step / lanes - first, column = right + first * lanes;
            const T *a = packed + left * rows + (i - left);
            const T *b = other + right * rows + first * lanes;
            const Scatter into = scatter.at(i, column);
            const bool many = vectors * MANY <= SUMS && (i - left) + MANY <= left_step &&
                              (left != right || (i - left + FEW) / lanes == first) && p - i > FEW;
            if (many) {
                tile_of<T, bytes, MANY>(vectors, a, left_step, b, right_step, rows, ahead, into,
                                        p - i, p - column);
                i += MANY;
            } else {
                tile_of<T, bytes, FEW>(vectors, a, left_step, b, right_step, rows, ahead, into,
                                       p - i, p - column);
                i += FEW;
            }
            ahead.advance(rows);
        }
    }
}

// The upper triangle of a packed chunk's products, added to the scatter (p, p); see
// `add_remaining`.
template <class T, int bytes>
void add_products(const T *packed, index rows, const Columns<T, bytes> &columns, Ahead ahead,
                  const Scatter &scatter) {
    const index group = left_columns<T, bytes>(rows, columns.padded);
    for (index begin = 0; begin < columns.main; begin += group)
        add_group<T, bytes>(packed, packed, rows, columns, begin, begin + group, ahead, scatter);
    add_remaining<T, bytes>(packed, rows, columns, ahead, scatter);
}

// One upper triangle, with what `add_remaining` left below it, added to another.
template <class T, int bytes>
void add_upper(const double *from, const Columns<T, bytes> &columns, double *to) {
    const index p = columns.count;
    for (index i = 0; i < p; ++i)
        for (index j = i < columns.main ? i : 0; j < (i < columns.main ? columns.main : p); ++j)
            to[i * p + j] += from[i * p + j];
}

// The last rows of the lower triangle that `add_remaining` left, as columns of the upper one.
template <class T, int bytes>
void copy_remaining(double *scatter, const Columns<T, bytes> &columns) {
    const index p = columns.count;
    for (index j = columns.main; j < p; ++j)
        for (index i = 0; i < columns.main; ++i)
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

// Memory that a thread keeps for its next block: fresh pages cost as much as the arithmetic.
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
