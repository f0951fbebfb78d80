// Rows times a matrix, each row by itself.
//
// Compiled once for each instruction set, like gram.cpp. Each number of the product is one sum
// over the columns of its row, always in the same order, so a row's product has the same bits
// for any other rows. BLAS does not promise that: its kernels treat rows
// differently by their position in a tile.

#include "vectors.hpp"

#include <cstring>

namespace PRINCOMP_ISA {
namespace {

// A panel is as many columns of the matrix as fill a cache line. A tile of the product is one
// panel wide, or two where a line is a single vector, and as high as the registers allow. The last
// tile may be half a panel wide: its other vectors would be padding.
template <int bytes> struct Tile {
    static constexpr int vectors = int(LINE) / bytes, panels = vectors == 1 ? 2 : 1;
    static constexpr int wide = vectors * panels;
    static constexpr int rows = PRINCOMP_REGISTERS >= 32 ? (wide == 2 ? 12 : 6) : 12 / wide;
};

// Columns of the rows whose products are summed in registers, at most: their part of a panel,
// 24 KiB, stays in the first cache while all rows pass by. With 256 columns, 600 by 600 takes 4%
// longer.
constexpr index DEPTH = 384;

// A whole tile of the product at `out`: written where `first`, else its sums go on. Row i of the
// tile is row min(i, last) of x, so that tiles of fewer rows run the same code.
template <class T, int bytes, int panels, int vectors>
void tile(const T *x, index stride, int last, index depth, const T *packed, index panel_stride,
          T *out, index out_stride, bool first) {
    typedef typename Vector<T, bytes>::type V;
    constexpr int line = int(LINE / sizeof(T));
    constexpr int wide = vectors * panels, height = Tile<bytes>::rows;
    const T *rows[height];
    V sums[height][wide] = {};
#pragma GCC unroll 12
    for (int i = 0; i < height; ++i)
        rows[i] = x + (i < last ? i : last) * stride;
    if (!first)
#pragma GCC unroll 12
        for (int i = 0; i < height; ++i)
#pragma GCC unroll 4
            for (int v = 0; v < wide; ++v)
                sums[i][v] = load<V>(out + i * out_stride, v);
    for (index j = 0; j < depth; ++j) {
        V values[wide];
#pragma GCC unroll 2
        for (int panel = 0; panel < panels; ++panel)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                values[panel * vectors + v] = load<V>(packed + panel * panel_stride + j * line, v);
#pragma GCC unroll 12
        for (int i = 0; i < height; ++i) {
            const T one = rows[i][j];
#pragma GCC unroll 4
            for (int v = 0; v < wide; ++v)
                sums[i][v] += one * values[v];
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < height; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < wide; ++v)
            store(out + i * out_stride, sums[i][v], v);
}

// One or two panels of the product, or some vectors of one, a tile after the other.
template <class T, int bytes, int panels, int vectors = Tile<bytes>::vectors>
void strip(const T *x, index stride, index m, index depth, const T *packed, index panel_stride,
           T *out, index out_stride, index columns, bool first) {
    constexpr int height = Tile<bytes>::rows;
    constexpr int width = panels * vectors * bytes / int(sizeof(T));
    for (index i = 0; i < m; i += height, x += height * stride, out += height * out_stride) {
        const int count = m - i < height ? int(m - i) : height;
        if (count == height && columns >= width) {
            tile<T, bytes, panels, vectors>(x, stride, count - 1, depth, packed, panel_stride, out,
                                            out_stride, first);
            continue;
        }
        // A tile at the edge is made elsewhere, and copied as far as it belongs to the product.
        T whole[height * width] = {};
        const std::size_t used = sizeof(T) * (columns < width ? columns : width);
        for (int a = 0; a < count && !first; ++a)
            std::memcpy(whole + a * width, out + a * out_stride, used);
        tile<T, bytes, panels, vectors>(x, stride, count - 1, depth, packed, panel_stride, whole,
                                        width, first);
        for (int a = 0; a < count; ++a)
            std::memcpy(out + a * out_stride, whole + a * width, used);
    }
}

template <class T, int bytes>
int matmul(const T *x, index m, index k, index stride, const T *packed, index n, T *out,
           index out_stride) {
    constexpr index panel = LINE / index(sizeof(T)), panels = Tile<bytes>::panels;
    constexpr int half = (Tile<bytes>::vectors + 1) / 2;
    const index parts = k > DEPTH ? (k + DEPTH - 1) / DEPTH : 1,
                part_depth = (k + parts - 1) / parts;
    for (index part = 0, j = 0; part < parts; ++part, j += part_depth) {
        const index depth = k - j < part_depth ? k - j : part_depth;
        for (index c = 0; c < n;) {
            const bool whole = n - c > panel;
            (whole                ? strip<T, bytes, panels>
             : n - c <= panel / 2 ? strip<T, bytes, 1, half>
                                  : strip<T, bytes, 1>)(
                x + j, stride, m, depth, packed + c * k + j * panel, k * panel, out + c,
                out_stride, n - c, j == 0);
            c += whole ? panel * panels : panel;
        }
    }
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// Rows x (m, k), `stride` numbers apart; the matrix (k, n) as panels of 64 bytes of its columns,
// each (k, panel), the last filled with zeros; out (m, n), rows `out_stride` numbers apart.
#define PRINCOMP_MATMUL(name, T)                                                                   \
    PRINCOMP_EXPORT(name)                                                                          \
    (const T *x, std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t stride, const T *packed,       \
     std::ptrdiff_t n, T *out, std::ptrdiff_t out_stride) {                                        \
        return PRINCOMP_ISA::matmul<T, PRINCOMP_LANES>(x, m, k, stride, packed, n, out,            \
                                                       out_stride);                                \
    }
PRINCOMP_MATMUL(matmul_f32, float)
PRINCOMP_MATMUL(matmul_f64, double)
