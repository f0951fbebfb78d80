// Products of dense rows with a block of vectors, from one side or both, in one read of the rows.
//
// For each row a = r ((x − high) / divisor) of A, all or part of
//
//     y = a Q − r t,   Z += aᵀ y,   s += r y
//
// is done while the row is in a cache. A panel of rows is taken in strips of eight, and these in
// tiles of columns: each is centred into a buffer of its own and meets its share of Q there. When y
// is known, the tiles come again, and Z is added to in the same way. Sums are in the precision of
// the rows over a few hundred of them, then in doubles: where rows are equal, all sums round one
// way, and the error of one long chain would grow with the number of rows.

#include "strips.hpp"

namespace PRINCOMP_ISA {
namespace {

// Bytes of a panel.
constexpr index PANEL_BYTES = princomp_sizes::dense_panel_bytes;

template <class T, int bytes> struct Pass {
    static constexpr index lanes = bytes / index(sizeof(T));
    Rows<T> rows;
    const T *right;  // Q (p, padded), or null where y is given
    const T *shift;  // t (padded,), or null
    index padded;
    T *buffer;       // for a panel, tile after tile, in each strip after strip; or for one tile
    bool keep_panel; // whether the panel is kept there to be met again

    index tiles() const { return (rows.p + TILE<T> - 1) / TILE<T>; }

    // Columns of a tile, as many in each as whole lines allow: what one calls for is as much as
    // another reads.
    index tile_width() const {
        constexpr index line = Prefetch<T>::line;
        return ((rows.p + tiles() - 1) / tiles() + line - 1) / line * line;
    }

    T *strip(index first, index last, index row, index tile_index) const {
        return keep_panel ? buffer + (tile_index * (last - first) + row - first) * TILE<T> : buffer;
    }

    // y of rows [first, last), which starts at zero.
    void scores(index first, index last, T *y, PanelPrefetch<T> &reading) const {
        std::memset(y, 0, sizeof(T) * (last - first) * padded);
        const index step = tile_width();
        for (index at = 0, tile_index = 0; at < rows.p; at += step, ++tile_index) {
            const index width = rows.p - at < step ? rows.p - at : step;
            for (index row = first; row < last; row += ROWS) {
                T *tile = strip(first, last, row, tile_index);
                rows.centre(row, at, width, tile);
                T *to = y + (row - first) * padded;
                const T *q = right + at * padded;
                Prefetch<T> next = keep_panel ? reading.next() : rows.next_strip(row, at);
                PRINCOMP_GROUPS(forward, tile, width, q + c, to + c, next)
            }
        }
    }

    // Takes off what the low part of the mean adds, and sums what is left.
    void subtract_shift(index first, index last, T *y, double *sums) const {
        for (index row = first; row < last; ++row, y += padded) {
            const T root = row >= rows.m ? T(0) : rows.roots ? rows.roots[row] : T(1);
            for (index c = 0; c < padded; ++c) {
                if (shift)
                    y[c] -= root * shift[c];
                sums[c] += double(root) * double(y[c]);
            }
        }
    }

    // z (p, padded) += Aᵀ y over rows [first, last).
    void images(index first, index last, const T *y, T *z, PanelPrefetch<T> &reading) const {
        const index step = tile_width();
        for (index at = 0, tile_index = 0; at < rows.p; at += step, ++tile_index) {
            const index width = rows.p - at < step ? rows.p - at : step;
            for (index row = first; row < last; row += ROWS) {
                T *tile = strip(first, last, row, tile_index);
                if (!keep_panel)
                    rows.centre(row, at, width, tile);
                const T *from = y + (row - first) * padded;
                T *to = z + at * padded;
                Prefetch<T> next = keep_panel ? reading.next() : rows.next_strip(row, at);
                PRINCOMP_GROUPS(backward, tile, width, from + c, to + c, next)
            }
        }
    }
};

template <class T, int bytes>
int dense_pass(const Pass<T, bytes> &pass, T *y, T *part, double *z, double *sums) {
    const index m = pass.rows.m, p = pass.rows.p, padded = pass.padded;
    index panel = CHUNK_ROWS;
    if (pass.right) {
        panel = PANEL_BYTES / (pass.tiles() * TILE_BYTES) / ROWS * ROWS;
        panel = panel < ROWS ? ROWS : panel > CHUNK_ROWS ? CHUNK_ROWS : panel;
    }
    if (z)
        std::memset(part, 0, sizeof(T) * p * padded);
    // Half a panel ahead.
    const index column = pass.tiles() / 2 * pass.tile_width(),
                row = column ? 0 : panel / ROWS / 2 * ROWS;
    PanelPrefetch<T> reading(pass.rows, panel, pass.tile_width(), row, column);
    index pending_rows = 0;
    for (index first = 0; first < m; first += panel) {
        // Whole strips: y has room for the rows past the last.
        index last = first + panel < m ? first + panel : m;
        last = first + (last - first + ROWS - 1) / ROWS * ROWS;
        T *panel_y = y + first * padded;
        if (pass.right) {
            pass.scores(first, last, panel_y, reading);
            pass.subtract_shift(first, last, panel_y, sums);
        }
        if (!z)
            continue;
        pass.images(first, last, panel_y, part, reading);
        pending_rows += panel;
        if (pending_rows >= CHUNK_ROWS || first + panel >= m) {
            add_and_clear(part, z, p * padded);
            pending_rows = 0;
        }
    }
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// Rows x (m, p), `stride` numbers apart; high, divisor (p,) and roots (m,), or null; right
// (p, padded) with shift (padded,) or null, or null where y is given; padded a multiple of 64
// bytes. buffer: 512 KiB, or eight rows of whole KiB where those are more; part (p, padded), or
// null where z is. y (m up to a multiple of 8, padded), zero past m where given; z
// (p, padded), or null where it is not wanted, and sums (padded,) are added to. All may begin
// anywhere; where they do so at a cache line it takes down to half of the time.
#define PRINCOMP_DENSE(name, T)                                                                    \
    PRINCOMP_EXPORT(name)                                                                          \
    (const T *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride, const T *high,         \
     const T *divisor, const T *roots, const T *right, const T *shift, std::ptrdiff_t padded,      \
     T *buffer, T *y, T *part, double *z, double *sums) {                                          \
        return PRINCOMP_ISA::dense_pass<T, PRINCOMP_LANES>(                                        \
            {{x, m, p, stride, high, divisor, roots}, right, shift, padded, buffer,                \
             right && z},                                                                          \
            y, part, z, sums);                                                                     \
    }
PRINCOMP_DENSE(dense_pass_f32, float)
PRINCOMP_DENSE(dense_pass_f64, double)

