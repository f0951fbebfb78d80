// Sums and squares of each column about a shift, in doubles, in one read of the rows.
//
// Compiled once for each instruction set, like gram.cpp. A few dense rows at a time are summed in
// registers, column by column, in the order of the rows. An entry of
// CSR rows is added to four numbers that lie together, so that it touches one line of memory.

#include "vectors.hpp"

#include <algorithm>

namespace PRINCOMP_ISA {
namespace {

// Rows that are added one by one, rows of a group, and columns that this is done for at a time.
// Equal rows round all one way, so that an error grows with the numbers that are added one by one.
constexpr index ROWS = 8, GROUP = 128 * ROWS, SPAN = 2048;

// `lanes` columns of `count` rows; memory is asked for so many numbers ahead.
template <class T, int lanes, bool weighted>
inline void add(const T *x, index count, index stride, index ahead, const double *shift,
                const double *weights, double *sums, double *squares) {
    typedef typename Vector<T, lanes * int(sizeof(T))>::type V;
    typedef typename Vector<double, lanes * int(sizeof(double))>::type D;
    const D shifts = load<D>(shift);
    D sum = {}, square = {};
#pragma GCC unroll 8
    for (index r = 0; r < count; ++r) {
        __builtin_prefetch(x + r * stride + ahead, 0, 2);
        const V value = load<V>(x + r * stride);
        const D deviation = __builtin_convertvector(value, D) - shifts;
        const D share = weighted ? deviation * weights[r] : deviation;
        sum += share;
        square += share * deviation;
    }
    store(sums, load<D>(sums) + sum);
    store(squares, load<D>(squares) + square);
}

// Some columns of some rows.
template <class T, int bytes, bool weighted>
void add_columns(const T *x, index m, index p, index stride, const double *shift,
                 const double *weights, double *sums, double *squares) {
    constexpr int lanes = bytes / int(sizeof(double));
    for (index row = 0; row < m; row += ROWS) {
        const index count = m - row < ROWS ? m - row : ROWS;
        const T *from = x + row * stride;
        const double *shares = weighted ? weights + row : nullptr;
        // The same columns of the next rows, where there are as many.
        const index ahead = row + 2 * ROWS <= m ? ROWS * stride : 0;
        index j = 0;
        if (count == ROWS)
            for (; j + lanes <= p; j += lanes)
                add<T, lanes, weighted>(from + j, ROWS, stride, ahead, shift + j, shares, sums + j,
                                        squares + j);
        for (; j < p; ++j) {
            double sum = 0.0, square = 0.0;
            for (index r = 0; r < count; ++r) {
                const double deviation = double(from[r * stride + j]) - shift[j];
                const double share = weighted ? deviation * shares[r] : deviation;
                sum += share;
                square += share * deviation;
            }
            sums[j] += sum;
            squares[j] += square;
        }
    }
}

template <class T, int bytes, bool weighted>
int columns(const T *x, index m, index p, index stride, const double *shift, const double *weights,
            double *sums, double *squares) {
    if (m <= GROUP) {
        add_columns<T, bytes, weighted>(x, m, p, stride, shift, weights, sums, squares);
        return PRINCOMP_DONE;
    }
    for (index at = 0; at < p; at += SPAN) {
        const index width = std::min(SPAN, p - at);
        Sum totals[SPAN], total_squares[SPAN];
        for (index row = 0; row < m; row += GROUP) {
            double sum[SPAN], square[SPAN];
            std::fill(sum, sum + width, 0.0);
            std::fill(square, square + width, 0.0);
            add_columns<T, bytes, weighted>(x + row * stride + at, std::min(GROUP, m - row), width,
                                            stride, shift + at, weighted ? weights + row : nullptr,
                                            sum, square);
            for (index j = 0; j < width; ++j) {
                totals[j].add(sum[j]);
                total_squares[j].add(square[j]);
            }
        }
        for (index j = 0; j < width; ++j) {
            sums[at + j] += totals[j].value();
            squares[at + j] += total_squares[j].value();
        }
    }
    return PRINCOMP_DONE;
}

// Entries between asking for a line of memory and using it.
constexpr index AHEAD = 16;

// The most columns whose entries are summed in groups of rows, how many entries per column a group
// has on average, and the most rows in a group (p, if that is more), because a column may be stored
// in all of them. Wide rows come in blocks of few rows, so that none of their sums is long.
constexpr index GROUPED = 1024, ENTRIES_PER_COLUMN = 128, GROUP_ROWS = 256;

template <class In, class I>
int stored_sums(const In *values, const I *columns, const I *ends, index rows, index p,
                const double *shift, const double *weights, double *sums) {
    const index last = index(ends[rows]);
    double group[4 * GROUPED];
    Sum totals[4 * GROUPED];
    const index most = std::max(GROUP_ROWS, p);
    const bool grouped =
        p <= GROUPED && (last - index(ends[0]) > ENTRIES_PER_COLUMN * p || rows > most);
    double *to = grouped ? group : sums;
    if (grouped)
        std::fill(group, group + 4 * p, 0.0);
    index begin = index(ends[0]), first = 0; // of the group
    for (index row = 0; row < rows; ++row) {
        const double weight = weights ? weights[row] : 1.0;
        for (index e = index(ends[row]); e < index(ends[row + 1]); ++e) {
            if (e + AHEAD < last)
                __builtin_prefetch(to + 4 * index(columns[e + AHEAD]), 1, 3);
            const index j = index(columns[e]);
            const double deviation = double(values[e]) - (shift ? shift[j] : 0.0);
            const double each[4] = {1.0, weight, weight * deviation,
                                    weight * deviation * deviation};
            for (int i = 0; i < 4; ++i)
                to[4 * j + i] += each[i];
        }
        if (grouped && (row + 1 == rows || row + 1 - first == most ||
                        index(ends[row + 1]) - begin > ENTRIES_PER_COLUMN * p)) {
            begin = index(ends[row + 1]);
            first = row + 1;
            for (index i = 0; i < 4 * p; ++i) {
                totals[i].add(group[i]);
                group[i] = 0.0;
            }
        }
    }
    if (grouped)
        for (index i = 0; i < 4 * p; ++i)
            sums[i] += totals[i].value();
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// Rows x (m, p), `stride` numbers apart; shift (p,); weights (m,) or null; sums and squares (p,)
// are added to.
#define PRINCOMP_COLUMNS(name, T)                                                                  \
    PRINCOMP_EXPORT(name)                                                                          \
    (const T *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride, const double *shift,   \
     const double *weights, double *sums, double *squares) {                                       \
        using PRINCOMP_ISA::columns;                                                               \
        return weights ? columns<T, PRINCOMP_LANES, true>(x, m, p, stride, shift, weights, sums,   \
                                                          squares)                                 \
                       : columns<T, PRINCOMP_LANES, false>(x, m, p, stride, shift, weights, sums,  \
                                                           squares);                               \
    }
PRINCOMP_COLUMNS(columns_f32, float)
PRINCOMP_COLUMNS(columns_f64, double)

// CSR rows as in csr.cpp; shift (p,) and weights (rows,) or null. Of each column's entries their
// number, weight, sum and squares are added to `sums` (p, 4).
#define PRINCOMP_STORED(name, In, I)                                                               \
    PRINCOMP_EXPORT(name)                                                                          \
    (const In *values, const I *columns, const I *ends, std::ptrdiff_t rows, std::ptrdiff_t p,     \
     const double *shift, const double *weights, double *sums) {                                   \
        return PRINCOMP_ISA::stored_sums<In, I>(values, columns, ends, rows, p, shift, weights,    \
                                                sums);                                             \
    }
PRINCOMP_STORED(csr_columns_f64_i32, double, std::int32_t)
PRINCOMP_STORED(csr_columns_f64_i64, double, std::int64_t)
PRINCOMP_STORED(csr_columns_f32_i32, float, std::int32_t)
PRINCOMP_STORED(csr_columns_f32_i64, float, std::int64_t)
