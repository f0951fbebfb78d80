// Products of centred rows with each other, in one read of some of their columns.
//
// Compiled once for each instruction set, like gram.cpp, of which this is the other side: rows
// take the place of columns, so a chunk of columns is centred and turned on its way into the
// cache, and tiles.hpp makes the products.

#include "tiles.hpp"

namespace PRINCOMP_ISA {
namespace {

// Columns of a chunk, and bytes of a packed one: about half of a core's second cache.
constexpr index CHUNK = 256, CHUNK_BYTES = 512 * 1024, FEWEST = 64;
// Numbers on a side of what is turned at a time.
constexpr index SIDE = 16;

// What centres a row x: root ((x − high) / divisor − low); each may be null.
template <class T> struct Centring {
    const T *high, *divisor, *low, *roots;
};

// Columns [at, at + width) of n rows as panels of rows, each (held, its rows); rows past the
// last are zero.
template <class T, int bytes>
void pack(const T *x, index n, index stride, index at, index width, index held,
          index padded, const Centring<T> &centre, T *packed) {
    constexpr index panel_rows = panel_width<T, bytes>();
    for (index i = 0; i < padded; i += SIDE) {
        const index rows = padded - i < SIDE ? padded - i : SIDE;
        for (index j = 0; j < width; j += SIDE) {
            const index columns = width - j < SIDE ? width - j : SIDE;
            T square[SIDE][SIDE] = {};
            for (index a = 0; a < rows && i + a < n; ++a) {
                const T *from = x + (i + a) * stride + at + j;
                T *to = square[a];
                for (index b = 0; b < columns; ++b)
                    to[b] = centre.high ? from[b] - centre.high[at + j + b] : from[b];
                if (centre.divisor)
                    for (index b = 0; b < columns; ++b)
                        to[b] /= centre.divisor[at + j + b];
                if (centre.low)
                    for (index b = 0; b < columns; ++b)
                        to[b] -= centre.low[at + j + b];
                if (centre.roots)
                    for (index b = 0; b < columns; ++b)
                        to[b] *= centre.roots[i + a];
            }
            // SIDE is no more than a panel, whose width is a multiple of a vector's.
            for (index a = 0; a < rows; ++a) {
                const index panel = (i + a) / panel_rows * panel_rows;
                const index step = padded - panel < panel_rows ? padded - panel : panel_rows;
                T *to = packed + panel * held + j * step + (i + a - panel);
                for (index b = 0; b < columns; ++b)
                    to[b * step] = square[a][b];
            }
        }
    }
}

template <class T, int bytes>
int across(const T *x, index n, index p, index stride, const Centring<T> &centre, double *out) {
    const Columns<T, bytes> columns(n, false); // rows here: what they are packed as
    const index padded = columns.padded;
    index most = CHUNK_BYTES / (padded * index(sizeof(T))) / 2 * 2;
    most = most < FEWEST ? FEWEST : most > CHUNK ? CHUNK : most;
    // Tiles may take columns by twos, and read FEW numbers past a narrow last panel.
    T *packed = static_cast<T *>(room.of(sizeof(T) * columns.packed(most)));
    if (!packed)
        return PRINCOMP_NO_MEMORY;
    for (index at = 0; at < p; at += most) {
        const index width = p - at < most ? p - at : most, held = width + width % 2;
        if (held != width)
            std::memset(packed, 0, sizeof(T) * held * padded);
        std::memset(packed + held * padded, 0, sizeof(T) * columns.past);
        pack<T, bytes>(x, n, stride, at, width, held, padded, centre, packed);
        add_products<T, bytes>(packed, held, columns, {nullptr, nullptr}, {out, n, at == 0});
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
