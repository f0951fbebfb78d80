// Moments of a dense block: mean and scatter, in one read of the rows.
//
// Compiled once for each instruction set (see CMakeLists.txt): PRINCOMP_ISA names the one at
// hand, PRINCOMP_LANES its bytes a vector, PRINCOMP_REGISTERS how many vectors it holds.
//
// Two levels of blocking. A chunk of rows is shifted, widened where asked, and packed into
// panels of columns that stay in the core's cache. Tiles of the upper triangle are then summed
// in registers, in the precision of the products, and each chunk is added to the scatter in
// doubles: products of a few hundred rows never meet a large sum in low precision.

#include "kernels.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace PRINCOMP_ISA {
namespace {

using index = std::ptrdiff_t;

// Rows of a chunk: enough to make adding a tile to the scatter cheap, few enough to stay exact
// in float32; and bytes of a packed chunk, about half of a core's second cache. A wide scatter
// is dear to add to, so there a chunk is long and lies in the third.
constexpr index CHUNK_ROWS = 256, CHUNK_BYTES = 512 * 1024, WIDE = 768, WIDE_CHUNK_ROWS = 512;
// Rows that are packed, and summed in the products' precision, at a time.
constexpr index STRIP_ROWS = 32;
// Rows that say where the mean is, roughly.
constexpr index SAMPLE = 256;
// Columns of a tile are broadcast one by one: four, or eight where few vectors stand beside them.
constexpr int FEW = 4, MANY = 8;
// Sums that keep the processor's multipliers busy.
constexpr int ENOUGH_SUMS = 8;

template <class T, int bytes> struct Vector {
    typedef T type __attribute__((vector_size(bytes)));
};
template <class T> struct Bits;
template <> struct Bits<float> { typedef std::int32_t type; };
template <> struct Bits<double> { typedef std::int64_t type; };

template <class V> inline V load(const void *from) {
    V v;
    std::memcpy(&v, from, sizeof(V));
    return v;
}
template <class V> inline void store(void *to, V v) { std::memcpy(to, &v, sizeof(V)); }

// Vectors of a tile: FEW times as many sums, and the vectors themselves, fill the registers.
template <class T, int bytes> constexpr int widest() {
    return PRINCOMP_REGISTERS >= 32 ? 6 : bytes / sizeof(T) >= FEW ? 3 : 2;
}

// Columns of a panel; the last panel may have fewer vectors.
template <class T, int bytes> constexpr index panel_width() {
    constexpr index width = widest<T, bytes>() * (bytes / index(sizeof(T)));
    static_assert(width % FEW == 0, "a tile reaches over one panel only");
    return width;
}

// ---- a chunk on its way into the cache -----------------------------------------------------

template <class In, class T, int bytes, bool weighted> struct Packed {
    typedef typename Vector<T, bytes>::type V;
    typedef typename Vector<typename Bits<T>::type, bytes>::type M;
    static constexpr index lanes = bytes / index(sizeof(T)), width = panel_width<T, bytes>();

    const In *x;
    index p, stride, padded;
    index safe; // rows before this one may be read up to `padded` columns
    const T *shift;      // (padded,), zeros past p
    const double *roots; // of the weights (m,)
    M last;              // which lanes of the last vector of a row are columns

    static V lanes_of(const In *from, index count) {
        V v = {};
        for (index i = 0; i < count; ++i)
            v[i] = T(from[i]);
        return v;
    }
    static V whole(const In *from) {
        if constexpr (sizeof(In) == sizeof(T)) {
            return load<V>(from);
        } else {
            typedef typename Vector<In, bytes / 2>::type Half;
            return __builtin_convertvector(load<Half>(from), V);
        }
    }

    // `count` vectors of some rows, from column `at` on; sums of them are added to `sums`.
    template <int count> void strip(index row, index rows, index at, T *to, index step,
                                    double *sums) const {
        V shifts[count], total[count];
        for (int v = 0; v < count; ++v) {
            shifts[v] = load<V>(shift + at + v * lanes);
            total[v] = V{};
        }
        const bool ragged = at + count * lanes > p;
        const index quick = !ragged ? rows : safe <= row ? 0 : safe - row < rows ? safe - row : rows;
        for (index r = 0; r < rows; ++r) {
            const In *from = x + (row + r) * stride + at;
#pragma GCC unroll 8
            for (int v = 0; v < count; ++v) {
                V value;
                if (v + 1 < count || !ragged)
                    value = whole(from + v * lanes);
                else if (r < quick)
                    value = V(M(whole(from + v * lanes)) & last);
                else
                    value = lanes_of(from + v * lanes, p - at - v * lanes);
                value -= shifts[v];
                if constexpr (weighted) {
                    const T root = T(roots[row + r]);
                    value *= root;
                    total[v] += value * root;
                } else {
                    total[v] += value;
                }
                store(to + r * step + v * lanes, value);
            }
        }
        for (int v = 0; v < count; ++v)
            for (index i = 0; i < lanes; ++i)
                if (at + v * lanes + i < p)
                    sums[at + v * lanes + i] += double(total[v][i]);
    }

    // Rows [row, row + rows) as panels, each (held, its width); what is left of them is zero.
    void chunk(index row, index rows, index held, T *to, double *sums) const {
        for (index done = 0; done < rows; done += STRIP_ROWS) {
            const index now = rows - done < STRIP_ROWS ? rows - done : STRIP_ROWS;
            for (index at = 0; at < padded;) {
                const index panel = at / width * width;
                const index step = padded - panel < width ? padded - panel : width;
                T *into = to + panel * held + done * step + (at - panel);
                const index left = (panel + step - at) / lanes;
                if (left >= 3) {
                    strip<3>(row + done, now, at, into, step, sums);
                    at += 3 * lanes;
                } else if (left == 2) {
                    strip<2>(row + done, now, at, into, step, sums);
                    at += 2 * lanes;
                } else {
                    strip<1>(row + done, now, at, into, step, sums);
                    at += lanes;
                }
            }
        }
        for (index panel = 0; panel < padded; panel += width) {
            const index step = padded - panel < width ? padded - panel : width;
            std::memset(to + panel * held + rows * step, 0, sizeof(T) * step * (held - rows));
        }
    }
};

// ---- tiles ---------------------------------------------------------------------------------

// A vector's numbers added to as many doubles.
template <class T, int bytes>
inline void add_doubles(typename Vector<T, bytes>::type sums, double *to) {
    if constexpr (sizeof(T) == sizeof(double)) {
        store(to, load<typename Vector<double, bytes>::type>(to) + sums);
    } else {
        typedef typename Vector<double, bytes>::type Wide;
        typedef typename Vector<T, bytes / 2>::type Half;
        constexpr index half = bytes / 2 / index(sizeof(T));
        Half parts[2];
        std::memcpy(parts, &sums, sizeof(sums));
        for (int i = 0; i < 2; ++i)
            store(to + i * half,
                  load<Wide>(to + i * half) + __builtin_convertvector(parts[i], Wide));
    }
}

// Cache lines of the next chunk, called for while this one is multiplied: packing would wait for
// memory, and multiplying leaves it idle.
struct Ahead {
    const char *at, *end;
    index line() const { return at < end ? 64 : 0; }
    void advance(index lines) { at = end - at > lines * 64 ? at + lines * 64 : end; }
};

// Products of `tall` columns with `wide` vectors over all rows of a chunk, added to the scatter.
template <class T, int bytes, int tall, int wide>
void tile(const T *left, index left_step, const T *right, index right_step, index rows,
          const Ahead &ahead, double *out, index p, index height, index columns) {
    typedef typename Vector<T, bytes>::type V;
    constexpr index lanes = bytes / index(sizeof(T));
    // Few sums would wait for one another, so they are taken twice, over every other row.
    constexpr int turns = tall * wide < ENOUGH_SUMS ? 2 : 1;
    V sums[turns][tall][wide] = {};
    const char *next = ahead.at;
    const index line = ahead.line();
    for (index r = 0; r < rows; r += turns, next += line) {
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
    for (int i = 0; i < tall && i < height; ++i)
        for (int v = 0; v < wide; ++v) {
            double *to = out + i * p + v * lanes;
            const index count = columns - v * lanes;
            if (count >= lanes)
                add_doubles<T, bytes>(sums[0][i][v], to);
            else
                for (index j = 0; j < count; ++j)
                    to[j] += double(sums[0][i][v][j]);
        }
}

template <class T, int bytes, int tall>
void tile_of(index vectors, const T *left, index left_step, const T *right, index right_step,
             index rows, const Ahead &ahead, double *out, index p, index height, index columns) {
#define PRINCOMP_TILE(wide)                                                                        \
    case wide:                                                                                     \
        if constexpr (tall * wide <= FEW * widest<T, bytes>())                                     \
            tile<T, bytes, tall, wide>(left, left_step, right, right_step, rows, ahead, out, p,    \
                                       height, columns);                                           \
        break;
    switch (vectors) {
        PRINCOMP_TILE(1)
        PRINCOMP_TILE(2)
        PRINCOMP_TILE(3)
        PRINCOMP_TILE(4)
        PRINCOMP_TILE(5)
        PRINCOMP_TILE(6)
    }
#undef PRINCOMP_TILE
}

// The upper triangle of a packed chunk's products, added to `scatter` (p, p).
template <class T, int bytes>
void add_products(const T *packed, index rows, index p, index padded, Ahead ahead,
                  double *scatter) {
    constexpr index lanes = bytes / index(sizeof(T)), width = panel_width<T, bytes>();
    for (index right = 0; right < padded; right += width) {
        const index right_step = padded - right < width ? padded - right : width;
        for (index i = 0; i < p && i < right + right_step;) {
            const index left = i / width * width;
            const index left_step = padded - left < width ? padded - left : width;
            // Vectors that lie wholly below the diagonal are left out.
            const index first = left == right ? (i - left) / lanes : 0;
            const index vectors = right_step / lanes - first, column = right + first * lanes;
            const T *a = packed + left * rows + (i - left);
            const T *b = packed + right * rows + first * lanes;
            double *out = scatter + i * p + column;
            const bool many = vectors * MANY <= FEW * widest<T, bytes>() && (i - left) + MANY <= left_step &&
                              (left != right || (i - left + FEW) / lanes == first) && p - i > FEW;
            if (many) {
                tile_of<T, bytes, MANY>(vectors, a, left_step, b, right_step, rows, ahead, out, p,
                                        p - i, p - column);
                i += MANY;
            } else {
                tile_of<T, bytes, FEW>(vectors, a, left_step, b, right_step, rows, ahead, out, p,
                                       p - i, p - column);
                i += FEW;
            }
            ahead.advance(rows);
        }
    }
}

// ---- a block -------------------------------------------------------------------------------

// Memory that a thread keeps for its next block: fresh pages cost as much as the arithmetic.
struct Room {
    void *memory = nullptr;
    std::size_t size = 0;
    void *of(std::size_t bytes) {
        if (bytes > size) {
            std::free(memory);
            size = 0;
            if (posix_memalign(&memory, 64, bytes)) {
                memory = nullptr;
                return nullptr;
            }
            size = bytes;
        }
        return memory;
    }
    ~Room() { std::free(memory); }
};
thread_local Room room;

// A row near the mean: the first, and the mean distance to it of rows at a stride, so that
// constant columns become exact zeros. Weighted, all rows: a heavy one may lie anywhere.
template <class In, class T>
void find_shift(const In *x, index m, index p, index stride, const double *weights, double total,
                double *away, T *shift) {
    const index step = weights ? 1 : (m + SAMPLE - 1) / SAMPLE;
    std::memset(away, 0, sizeof(double) * p);
    for (index r = step; r < m; r += step) {
        const In *row = x + r * stride;
        const double share = weights ? weights[r] / total : 1.0;
        for (index j = 0; j < p; ++j)
            away[j] += share * (double(row[j]) - double(x[j]));
    }
    const double count = weights ? 1.0 : double((m + step - 1) / step);
    for (index j = 0; j < p; ++j)
        shift[j] = T(double(x[j]) + away[j] / count);
}

// The lower triangle from the upper one, square by square.
void mirror(double *scatter, index p) {
    constexpr index side = 16;
    for (index i = 0; i < p; i += side)
        for (index j = i; j < p; j += side)
            for (index a = i; a < p && a < i + side; ++a)
                for (index b = j > a ? j : a + 1; b < p && b < j + side; ++b)
                    scatter[b * p + a] = scatter[a * p + b];
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
    constexpr index lanes = bytes / index(sizeof(T));
    double *mean = out, *low = out + p, *scatter = out + 2 * p;
    const index padded = (p + lanes - 1) / lanes * lanes;
    const index fit = CHUNK_BYTES / (padded * index(sizeof(T))) / STRIP_ROWS * STRIP_ROWS;
    const index most = p >= WIDE ? WIDE_CHUNK_ROWS : fit < CHUNK_ROWS ? fit : CHUNK_ROWS;
    const index rows = m < most ? m : most, held = rows + rows % 2; // tiles may take rows by twos
    // Packed rows (FEW more numbers are read past a narrow last panel), shift, sums, roots.
    const std::size_t packed_size = (std::size_t(held * padded + MANY) * sizeof(T) + 63) / 64 * 64;
    const std::size_t shift_size = (std::size_t(padded) * sizeof(T) + 63) / 64 * 64;
    char *memory = static_cast<char *>(
        room.of(packed_size + shift_size + sizeof(double) * (p + (weighted ? m : 0))));
    if (!memory)
        return PRINCOMP_NO_MEMORY;
    T *packed = reinterpret_cast<T *>(memory), *shift = reinterpret_cast<T *>(memory + packed_size);
    double *sums = reinterpret_cast<double *>(memory + packed_size + shift_size), *roots = sums + p;

    double total = double(m);
    if constexpr (weighted) {
        total = 0.0;
        for (index r = 0; r < m; ++r) {
            total += weights[r];
            roots[r] = std::sqrt(weights[r]);
        }
    }
    std::memset(packed + held * padded, 0, MANY * sizeof(T));
    std::memset(shift, 0, shift_size);
    find_shift<In, T>(x, m, p, stride, weighted ? weights : nullptr, total, sums, shift);
    std::memset(sums, 0, sizeof(double) * p);
    std::memset(scatter, 0, sizeof(double) * p * p);

    Packed<In, T, bytes, weighted> from;
    from.x = x, from.p = p, from.stride = stride, from.padded = padded;
    from.shift = shift, from.roots = roots;
    const index spare = (m - 1) * stride + p - padded; // the last safe row begins here or before
    from.safe = spare < 0 ? 0 : stride ? spare / stride + 1 : m;
    for (index i = 0; i < lanes; ++i)
        from.last[i] = padded - lanes + i < p ? -1 : 0;
    index chunks = 0;
    for (index row = 0; row < m; row += rows, ++chunks) {
        const index now = m - row < rows ? m - row : rows;
        from.chunk(row, now, now + now % 2, packed, sums);
        const char *next = reinterpret_cast<const char *>(x + (row + now) * stride);
        const index left = m - row - now < rows ? m - row - now : rows;
        const Ahead ahead = {next, next + left * stride * index(sizeof(In))};
        add_products<T, bytes>(packed, now + now % 2, p, padded, ahead, scatter);
    }

    for (index j = 0; j < p; ++j)
        if (!std::isfinite(scatter[j * p + j]) || !std::isfinite(sums[j])) {
            std::memcpy(mean, sums, sizeof(double) * p);
            return PRINCOMP_NOT_FINITE;
        }
    if (sizeof(T) == 4 && left_range<In, T>(x, m, p, stride, shift, scatter, chunks))
        return PRINCOMP_LEFT_RANGE;
    // From about the shift to about the mean, which is kept as a sum of two doubles.
    for (index i = 0; i < p; ++i) {
        const double offset = sums[i] / total, moved = total * offset;
        for (index j = i; j < p; ++j)
            scatter[i * p + j] -= moved * (sums[j] / total);
        const double base = double(shift[i]), high = base + offset, part = high - base;
        mean[i] = high;
        low[i] = (base - (high - part)) + (offset - part);
    }
    mirror(scatter, p);
    return PRINCOMP_DONE;
}

// Narrow rows leave less of a narrow vector empty; wide ones take the widest there is.
template <class In, class T>
int moments_of(const In *x, index m, index p, index stride, const double *weights, double *out) {
    constexpr int full = PRINCOMP_LANES, half = full > 32 ? full / 2 : full;
    const bool narrow = p < 12 * full / index(sizeof(T));
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
