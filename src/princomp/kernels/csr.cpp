// Products of CSR rows: with a block of vectors, from one side or both, and with themselves.
//
// Compiled once for each instruction set, like gram.cpp. Nothing is assumed of alignment. The
// caller has checked that every index is a column and that the rows follow one another.
//
// The vectors lie by rows, so that an entry x of column j meets one short row of theirs: all
// work goes along that row, in whole cache lines. Which lines a thread takes changes no bit:
// every column of the answer is summed by itself, in the order of the entries.

#include "vectors.hpp"

#include <algorithm>
#include <cstdlib>

namespace PRINCOMP_ISA {
namespace {

// Vectors of a cache line, and the lines of a row that are summed in registers, in two sums each.
constexpr int VECTORS = LINE / PRINCOMP_LANES;
constexpr int MAX_LINES = PRINCOMP_LANES == 64 ? 4 : PRINCOMP_REGISTERS / VECTORS >= 8 ? 2 : 1;
// Entries between asking for a line of memory and using it: 8 to 64 made no difference.
constexpr index AHEAD = 16;
// Rows whose sum is kept in the precision of the products before it is added to doubles.
constexpr index FEW_ROWS = 128;
// Bytes of the scatter that are filled at a time, half of a core's second cache, and the rows
// that fill them.
constexpr index TILE = 512 * 1024, TILE_ROWS = 512;
// The most columns whose scatter is summed in groups of rows, how many products each of its numbers
// then has per group on average, the fewest rows in a group, and the most per column: a column that
// is stored in most rows has far more products than the average.
constexpr index GROUPED = 256, PRODUCTS_PER_GROUP = 16, GROUP_ROWS = 128, ROWS_PER_COLUMN = 16;

template <class T> inline void fetch(const T *row, int lines) {
    for (int i = 0; i < lines; ++i)
        __builtin_prefetch(row + i * (LINE / index(sizeof(T))), 1, 3);
}

// What a pass reads and writes; those of the pointers that are null are left out.
template <class In, class T, class I> struct Pass {
    const In *values;
    const I *columns, *ends; // ends[r] to ends[r + 1] are the entries of row r
    index rows;
    const double *share, *factor; // c and f below, a number a row; 1 where null
    const T *right;               // Q
    const T *shift;               // t
    T *middle;                    // Y: written where there is a Q, else read
    T *into;                      // Z
    double *total;                // s
    index step;                   // numbers between rows of Q, Y and Z
};

// For each row x with its c and f:  y = f (Σ x_j Q_j − c t),  Z_j += x_j y,  s += c y.
template <int LINES, class In, class T, class I> void pass(const Pass<In, T, I> &args) {
    typedef typename Vector<T, PRINCOMP_LANES>::type V;
    constexpr int N = LINES * VECTORS;
    constexpr index NUMBERS = N * (PRINCOMP_LANES / index(sizeof(T)));
    const index last = index(args.ends[args.rows]);
    V sum[N], shift[N];
    for (int i = 0; i < N; ++i) {
        sum[i] = V{};
        shift[i] = args.shift ? load<V>(args.shift, i) : V{};
    }
    for (index row = 0; row < args.rows; ++row) {
        const index start = index(args.ends[row]), stop = index(args.ends[row + 1]);
        const T share = args.share ? T(args.share[row]) : T(1);
        V y[N], odd[N];
        if (args.right) {
            // Two sums: an addition need not wait for the one before.
            for (int i = 0; i < N; ++i)
                y[i] = odd[i] = V{};
            for (index e = start; e < stop; e += 2) {
                for (index ahead = e + AHEAD; ahead < e + AHEAD + 2 && ahead < last; ++ahead) {
                    fetch(args.right + index(args.columns[ahead]) * args.step, LINES);
                    if (args.into)
                        fetch(args.into + index(args.columns[ahead]) * args.step, LINES);
                }
                const T *one = args.right + index(args.columns[e]) * args.step;
                for (int i = 0; i < N; ++i)
                    y[i] += T(args.values[e]) * load<V>(one, i);
                if (e + 1 == stop)
                    break;
                const T *two = args.right + index(args.columns[e + 1]) * args.step;
                for (int i = 0; i < N; ++i)
                    odd[i] += T(args.values[e + 1]) * load<V>(two, i);
            }
            for (int i = 0; i < N; ++i)
                y[i] = y[i] + odd[i] - share * shift[i];
        } else {
            for (int i = 0; i < N; ++i)
                y[i] = load<V>(args.middle + row * args.step, i);
        }
        if (args.factor)
            for (int i = 0; i < N; ++i)
                y[i] *= T(args.factor[row]);
        if (args.right && args.middle)
            for (int i = 0; i < N; ++i)
                store(args.middle + row * args.step, y[i], i);
        if (args.total) {
            for (int i = 0; i < N; ++i)
                sum[i] += share * y[i];
            if ((row + 1) % FEW_ROWS == 0 || row + 1 == args.rows) {
                T numbers[NUMBERS];
                for (int i = 0; i < N; ++i) {
                    store(numbers, sum[i], i);
                    sum[i] = V{};
                }
                for (index i = 0; i < NUMBERS; ++i)
                    args.total[i] += double(numbers[i]);
            }
        }
        if (args.into)
            for (index e = start; e < stop; ++e) {
                T *line = args.into + index(args.columns[e]) * args.step;
                if (!args.right && e + AHEAD < last)
                    fetch(args.into + index(args.columns[e + AHEAD]) * args.step, LINES);
                for (int i = 0; i < N; ++i)
                    store(line, load<V>(line, i) + T(args.values[e]) * y[i], i);
            }
    }
}

template <class T> inline T *advance(T *pointer, index by) {
    return pointer ? pointer + by : pointer;
}

// As many lines at a time as there are registers for.
template <class In, class T, class I> int passes(Pass<In, T, I> w, index lines) {
    while (lines > 0) {
        const int count = int(lines < MAX_LINES ? lines : MAX_LINES);
        if (count == 1)
            pass<1>(w);
        else if (count == 2)
            pass<(MAX_LINES >= 2 ? 2 : 1)>(w);
        else if (count == 3)
            pass<(MAX_LINES >= 3 ? 3 : 1)>(w);
        else
            pass<(MAX_LINES >= 4 ? 4 : 1)>(w);
        const index by = count * (LINE / index(sizeof(T)));
        w.right = advance(w.right, by), w.shift = advance(w.shift, by);
        w.middle = advance(w.middle, by), w.into = advance(w.into, by);
        w.total = advance(w.total, by);
        lines -= count;
    }
    return PRINCOMP_DONE;
}

// Upper triangle of Σ w x xᵀ (p, p) and column sums Σ w x (p), both added to. The indices of a
// row ascend.
template <class In, class I>
void add_scatter(const In *values, const I *columns, const I *ends, index rows, index p,
                 const double *weights, double *products, double *sums) {
    const index height = TILE / (8 * p) > 8 ? TILE / (8 * p) : 8;
    index next[TILE_ROWS];
    for (index first = 0; first < rows; first += TILE_ROWS) {
        const index count = rows - first < TILE_ROWS ? rows - first : TILE_ROWS;
        for (index r = 0; r < count; ++r) {
            next[r] = index(ends[first + r]);
            const double weight = weights ? weights[first + r] : 1.0;
            for (index e = next[r]; e < index(ends[first + r + 1]); ++e)
                sums[columns[e]] += weight * double(values[e]);
        }
        for (index top = 0; top < p; top += height)
            for (index r = 0; r < count; ++r) {
                const index stop = index(ends[first + r + 1]);
                const double weight = weights ? weights[first + r] : 1.0;
                index e = next[r];
                for (; e < stop && index(columns[e]) < top + height; ++e) {
                    const double x = weight * double(values[e]);
                    double *line = products + index(columns[e]) * p;
                    for (index other = e; other < stop; ++other)
                        line[columns[other]] += x * double(values[other]);
                }
                next[r] = e;
            }
    }
}

// The same, by groups of rows where p is small: wide rows come in blocks of few. Equal products
// round all one way, so that an error grows with those that are added one by one.
template <class In, class I>
int scatter(const In *values, const I *columns, const I *ends, index rows, index p,
            const double *weights, double *products, double *sums) {
    // Rows that make many more products than there are numbers to add.
    const double stored = double(ends[rows] - ends[0]) / double(rows ? rows : 1) + 1.0;
    const double enough = PRODUCTS_PER_GROUP * double(p * p) / (stored * stored);
    const index most = ROWS_PER_COLUMN * p,
                step = std::max(enough < double(most) ? index(enough) : most, GROUP_ROWS);
    const bool grouped = p <= GROUPED && step < rows;
    // The products of a group, and the sums of those of all groups.
    const index size = p * p + p;
    double *group = nullptr;
    if (grouped)
        group = static_cast<double *>(std::malloc((sizeof(double) + sizeof(Sum)) * size));
    if (!group) {
        add_scatter<In, I>(values, columns, ends, rows, p, weights, products, sums);
        return PRINCOMP_DONE;
    }
    Sum *totals = reinterpret_cast<Sum *>(group + size);
    std::fill(totals, totals + size, Sum());
    for (index first = 0; first < rows; first += step) {
        std::fill(group, group + size, 0.0);
        add_scatter<In, I>(values, columns, ends + first, std::min(step, rows - first), p,
                           weights ? weights + first : nullptr, group, group + p * p);
        for (index i = 0; i < size; ++i)
            totals[i].add(group[i]);
    }
    for (index i = 0; i < p * p; ++i)
        products[i] += totals[i].value();
    for (index j = 0; j < p; ++j)
        sums[j] += totals[p * p + j].value();
    std::free(group);
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

#define PRINCOMP_PASS(name, In, T, I)                                                              \
    PRINCOMP_EXPORT(name)                                                                          \
    (const In *values, const I *columns, const I *ends, std::ptrdiff_t rows, const double *share,  \
     const double *factor, const T *right, const T *shift, T *middle, T *into, double *total,      \
     std::ptrdiff_t step, std::ptrdiff_t lines) {                                                  \
        return PRINCOMP_ISA::passes<In, T, I>({values, columns, ends, rows, share, factor, right,  \
                                               shift, middle, into, total, step},                  \
                                              lines);                                              \
    }
PRINCOMP_PASS(csr_pass_f64_f64_i32, double, double, std::int32_t)
PRINCOMP_PASS(csr_pass_f64_f64_i64, double, double, std::int64_t)
PRINCOMP_PASS(csr_pass_f32_f64_i32, float, double, std::int32_t)
PRINCOMP_PASS(csr_pass_f32_f64_i64, float, double, std::int64_t)
PRINCOMP_PASS(csr_pass_f32_f32_i32, float, float, std::int32_t)
PRINCOMP_PASS(csr_pass_f32_f32_i64, float, float, std::int64_t)

#define PRINCOMP_SCATTER(name, In, I)                                                              \
    PRINCOMP_EXPORT(name)                                                                          \
    (const In *values, const I *columns, const I *ends, std::ptrdiff_t rows, std::ptrdiff_t p,     \
     const double *weights, double *products, double *sums) {                                      \
        return PRINCOMP_ISA::scatter<In, I>(values, columns, ends, rows, p, weights, products,     \
                                            sums);                                                 \
    }
PRINCOMP_SCATTER(csr_scatter_f64_i32, double, std::int32_t)
PRINCOMP_SCATTER(csr_scatter_f64_i64, double, std::int64_t)
PRINCOMP_SCATTER(csr_scatter_f32_i32, float, std::int32_t)
PRINCOMP_SCATTER(csr_scatter_f32_i64, float, std::int64_t)
