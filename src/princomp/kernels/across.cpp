// Products of centred rows with each other, in one read of some of their columns.
//
// Compiled once for each instruction set, like gram.cpp, of which this is the other side: rows
// take the place of columns, so a chunk of columns is centred and turned on its way into the
// cache, and tiles.hpp makes the products.

#include "tiles.hpp"

#include <type_traits>
#include <utility>

namespace PRINCOMP_ISA {
namespace {

// Columns of a chunk: enough to make adding a tile to the output cheap, few enough to keep sums in
// float32 accurate.
constexpr index CHUNK_COLUMNS = 256;

// What centres a row x: root ((x − high) / divisor − low); each may be null.
template <class T> struct Centring {
    const T *high, *divisor, *low, *roots;
};

// So many numbers, and zeros up to a whole vector.
template <class V, class T> inline V load_padded(const T *from, index count) {
    if (count * sizeof(T) == sizeof(V))
        return load<V>(from);
    V v = {};
    std::memcpy(&v, from, sizeof(T) * count);
    return v;
}

// Where number t comes from when a pair of quarters of two rows is exchanged, `distance` numbers
// staying together: those of the first row are counted from 0 on, of the second from `lanes` on.
constexpr int source(int t, int distance, bool second, int lanes) {
    const bool other = t & distance;
    return second ? (other ? lanes + t : t + distance) : (other ? lanes + t - distance : t);
}

template <class V, int distance, bool second, std::size_t... t>
inline V exchange(V one, V other, std::index_sequence<t...>) {
    constexpr int lanes = sizeof...(t);
#ifdef __clang__
    return __builtin_shufflevector(one, other, source(int(t), distance, second, lanes)...);
#else
    typedef std::conditional_t<sizeof(one[0]) == 4, std::int32_t, std::int64_t> Place;
    typedef typename Vector<Place, int(sizeof(V))>::type Places;
    return __builtin_shuffle(one, other, Places{source(int(t), distance, second, lanes)...});
#endif
}

// A square of as many vectors as each holds numbers: rows become columns.
template <class V, int lanes, int distance> inline void transpose(V *square) {
    constexpr auto every = std::make_index_sequence<lanes>();
#pragma GCC unroll 16
    for (int a = 0; a < lanes; ++a)
        if (!(a & distance)) {
            const V one = square[a], other = square[a + distance];
            square[a] = exchange<V, distance, false>(one, other, every);
            square[a + distance] = exchange<V, distance, true>(one, other, every);
        }
    if constexpr (distance > 1)
        transpose<V, lanes, distance / 2>(square);
}

// Columns [at, at + width) of n rows as panels of rows, each (even_width, its rows); rows past the
// last are zero.
template <class T, int bytes>
void pack(const T *x, index n, index stride, index at, index width, index even_width,
          index padded, const Centring<T> &centre, T *packed) {
    typedef typename Vector<T, bytes>::type V;
    constexpr index lanes = bytes / index(sizeof(T)), panel_rows = panel_width<T, bytes>();
    for (index i = 0; i < padded; i += lanes) {
        const index rows = n - i < lanes ? n - i : lanes, panel = i / panel_rows * panel_rows;
        const index step = padded - panel < panel_rows ? padded - panel : panel_rows;
        for (index j = 0; j < width; j += lanes) {
            const index columns = width - j < lanes ? width - j : lanes, first = at + j;
            V square[lanes] = {};
            for (index a = 0; a < rows; ++a)
                square[a] = load_padded<V>(x + (i + a) * stride + first, columns);
            const V high = centre.high ? load_padded<V>(centre.high + first, columns) : V{};
            for (index a = 0; a < rows; ++a)
                square[a] -= high;
            if (centre.divisor) {
                const V divisor = load_padded<V>(centre.divisor + first, columns);
                for (index a = 0; a < rows; ++a)
                    square[a] /= divisor;
            }
            if (centre.low) {
                const V low = load_padded<V>(centre.low + first, columns);
                for (index a = 0; a < rows; ++a)
                    square[a] -= low;
            }
            if (centre.roots)
                for (index a = 0; a < rows; ++a)
                    square[a] *= centre.roots[i + a];
            transpose<V, lanes, lanes / 2>(square);
            T *to = packed + panel * even_width + j * step + (i - panel);
            for (index b = 0; b < columns; ++b)
                store(to + b * step, square[b]);
        }
    }
}

template <class T, int bytes>
int across(const T *x, index n, index p, index stride, const Centring<T> &centre, double *out) {
    const Columns<T, bytes> columns(n, false); // rows here: what they are packed as
    const index padded = columns.padded;
    // Tiles may take columns by twos.
    T *packed = static_cast<T *>(thread_buffer.reserve(sizeof(T) * columns.packed(CHUNK_COLUMNS)));
    if (!packed)
        return PRINCOMP_NO_MEMORY;
    for (index at = 0; at < p; at += CHUNK_COLUMNS) {
        const index width = std::min(p - at, CHUNK_COLUMNS), even_width = width + width % 2;
        if (even_width != width)
            std::memset(packed, 0, sizeof(T) * even_width * padded);
        std::memset(packed + even_width * padded, 0, sizeof(T) * columns.past);
        pack<T, bytes>(x, n, stride, at, width, even_width, padded, centre, packed);
        add_products<T, bytes>(packed, even_width, columns, Ahead::none(packed),
                               {out, n, at == 0});
    }
    if (!p)
        std::memset(out, 0, sizeof(double) * n * n);
    for (index top = 0; top < n; top += MIRRORED)
        mirror(out, n, top);
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// Rows x (n, p), `stride` numbers apart; high, divisor and low (p,), roots (n,), or null;
// out (n, n) is written over.
#define PRINCOMP_ACROSS(name, T)                                                                   \
    PRINCOMP_EXPORT(name)                                                                          \
    (const T *x, std::ptrdiff_t n, std::ptrdiff_t p, std::ptrdiff_t stride, const T *high,         \
     const T *divisor, const T *low, const T *roots, double *out) {                                \
        return PRINCOMP_ISA::across<T, PRINCOMP_LANES>(x, n, p, stride,                            \
                                                       {high, divisor, low, roots}, out);          \
    }
PRINCOMP_ACROSS(across_f32, float)
PRINCOMP_ACROSS(across_f64, double)
