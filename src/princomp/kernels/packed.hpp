// Rows of a dense block on their way into the cache: shifted, widened where asked, and packed into
// panels of columns, with the sums of what is packed. Included by the sources that make a Gram of
// them; see tiles.hpp.

#pragma once

#include "tiles.hpp"

#include <cstring>

namespace PRINCOMP_ISA {
namespace {

// Rows that are packed, and summed in the products' precision, at a time.
constexpr index STRIP_ROWS = 32;

template <class T> struct Bits;
template <> struct Bits<float> { typedef std::int32_t type; };
template <> struct Bits<double> { typedef std::int64_t type; };

template <class In, class T, int bytes, bool weighted, bool squared = false> struct Packer {
    typedef typename Vector<T, bytes>::type V;
    typedef typename Vector<typename Bits<T>::type, bytes>::type M;
    static constexpr index lanes = bytes / index(sizeof(T)), width = panel_width<T, bytes>();

    const In *x;
    index stride;
    Columns<T, bytes> columns;
    index p = columns.main, padded = columns.padded;
    const T *shift;      // (padded, or all), zeros past p
    const double *roots; // of the weights (m,)
    index safe;          // rows before this one may be read past their end
    M last;              // which lanes of the last vector of a row are columns

    Packer(const In *x, index m, index stride, const Columns<T, bytes> &columns, const T *shift,
           const double *roots)
        : x(x), stride(stride), columns(columns), shift(shift), roots(roots) {
        const index read = columns.rest ? p + columns.remaining : padded;
        const index spare = (m - 1) * stride + columns.count - read; // the last begins here
        safe = spare < 0 ? 0 : stride ? spare / stride + 1 : m;
        for (index i = 0; i < lanes; ++i)
            last[i] = padded - lanes + i < p ? -1 : 0;
    }

    static V load_partial(const In *from, index count) {
        V v = {};
        for (index i = 0; i < count; ++i)
            v[i] = T(from[i]);
        return v;
    }
    static V load_vector(const In *from) {
        if constexpr (sizeof(In) == sizeof(T)) {
            return load<V>(from);
        } else {
            typedef typename Vector<In, bytes / 2>::type Half;
            return __builtin_convertvector(load<Half>(from), V);
        }
    }

    // `count` vectors of some rows, from column `at` on; sums of them are added to `sums`, and
    // after these (columns.count) of their squares where they are wanted.
    template <int count> void strip(index row, index rows, index at, T *to, index step,
                                    double *sums) const {
        V shifts[count], total[count], squares[count];
        for (int v = 0; v < count; ++v) {
            shifts[v] = load<V>(shift + at + v * lanes);
            total[v] = squares[v] = V{};
        }
        const bool ragged = at + count * lanes > p;
        const index quick = !ragged             ? rows
                            : safe <= row       ? 0
                            : safe - row < rows ? safe - row
                                                : rows;
        for (index r = 0; r < rows; ++r) {
            const In *from = x + (row + r) * stride + at;
#pragma GCC unroll 8
            for (int v = 0; v < count; ++v) {
                V value;
                if (v + 1 < count || !ragged)
                    value = load_vector(from + v * lanes);
                else if (r < quick)
                    value = V(M(load_vector(from + v * lanes)) & last);
                else
                    value = load_partial(from + v * lanes, p - at - v * lanes);
                value -= shifts[v];
                if constexpr (weighted) {
                    const T root = T(roots[row + r]);
                    value *= root;
                    total[v] += value * root;
                } else {
                    total[v] += value;
                }
                if constexpr (squared)
                    squares[v] += value * value;
                store(to + r * step + v * lanes, value);
            }
        }
        for (int v = 0; v < count; ++v)
            for (index i = 0; i < lanes; ++i)
                if (at + v * lanes + i < p) {
                    sums[at + v * lanes + i] += double(total[v][i]);
                    if constexpr (squared)
                        sums[columns.count + at + v * lanes + i] += double(squares[v][i]);
                }
    }

    // The remaining columns, of some rows: by fours, the last of them filled up.
    void remaining(index row, index rows, T *to, double *sums) const {
        typedef typename Vector<T, FEW * sizeof(T)>::type Four;
        for (index b = 0; b < columns.rest; b += FEW) {
            const index count = columns.rest - b < FEW ? columns.rest - b : FEW;
            const In *from = x + row * stride + p + b;
            typedef typename Vector<typename Bits<T>::type, FEW * sizeof(T)>::type Mask;
            Four shifts = {}, total = {};
            Mask is_column = {};
            for (index i = 0; i < count; ++i) {
                shifts[i] = shift[p + b + i];
                is_column[i] = -1;
            }
            for (index r = 0; r < rows; ++r) {
                Four value = {};
                if (count == FEW || row + r < safe) {
                    typedef typename Vector<In, FEW * sizeof(In)>::type Read;
                    value = __builtin_convertvector(load<Read>(from + r * stride), Four);
                    value = Four(Mask(value) & is_column);
                } else {
                    for (index i = 0; i < count; ++i)
                        value[i] = T(from[r * stride + i]);
                }
                value -= shifts;
                if constexpr (weighted) {
                    const T root = T(roots[row + r]);
                    value *= root;
                    total += value * root;
                } else {
                    total += value;
                }
                store(to + r * columns.remaining + b, value);
            }
            for (index i = 0; i < count; ++i)
                sums[p + b + i] += double(total[i]);
        }
    }

    // Rows [row, row + rows) as panels, each (packed_rows, its width); what is left of them is
    // zero.
    void chunk(index row, index rows, index packed_rows, T *to, double *sums) const {
        for (index done = 0; done < rows; done += STRIP_ROWS) {
            const index count = rows - done < STRIP_ROWS ? rows - done : STRIP_ROWS;
            for (index at = 0; at < padded;) {
                const index panel = at / width * width;
                const index step = padded - panel < width ? padded - panel : width;
                T *into = to + panel * packed_rows + done * step + (at - panel);
                const index left = (panel + step - at) / lanes;
                if (left >= 3) {
                    strip<3>(row + done, count, at, into, step, sums);
                    at += 3 * lanes;
                } else if (left == 2) {
                    strip<2>(row + done, count, at, into, step, sums);
                    at += 2 * lanes;
                } else {
                    strip<1>(row + done, count, at, into, step, sums);
                    at += lanes;
                }
            }
            if constexpr (Columns<T, bytes>::can_split)
                remaining(row + done, count, to + padded * packed_rows + done * columns.remaining,
                          sums);
        }
        for (index panel = 0; panel < padded; panel += width) {
            const index step = padded - panel < width ? padded - panel : width;
            std::memset(to + panel * packed_rows + rows * step, 0,
                        sizeof(T) * step * (packed_rows - rows));
        }
        std::memset(to + padded * packed_rows + rows * columns.remaining, 0,
                    sizeof(T) * columns.remaining * (packed_rows - rows));
    }
};

} // namespace
} // namespace PRINCOMP_ISA
