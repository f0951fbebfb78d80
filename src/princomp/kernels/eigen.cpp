// All eigenpairs of a small symmetric matrix, where LAPACK's calls cost more than its arithmetic.
//
// Compiled once for each instruction set (see CMakeLists.txt).
//
// Householder reflectors make the matrix tridiagonal, rotations with implicit shifts make that
// diagonal (Golub & Van Loan, 8.3), and both are applied to rows, so that axes come out as rows.

#include "vectors.hpp"

#include <algorithm>
#include <cmath>

namespace PRINCOMP_ISA {
namespace {

// Orders up to here. Rows are as many numbers apart as whole lines hold, and zero at their ends.
constexpr index MAX_COLUMNS = princomp_sizes::small_columns,
                LINE_DOUBLES = LINE / index(sizeof(double));
// Steps that an eigenvalue is given: two or three are usual, and tens those of a table of low rank.
constexpr int STEPS = 300;
// Entries of an axis this close to its largest are its equals, as in Python.
constexpr double TIE = 1e-12;
constexpr double EPS = 2.220446049250313e-16;
// Numbers this small next to the largest, which is about one, count as zero: their squares would
// lose digits to underflow, and rotations by them would not be orthogonal.
constexpr double TINY = 1e-150;

typedef Vector<double, PRINCOMP_LANES>::type V;
constexpr index lanes = PRINCOMP_LANES / index(sizeof(double)), VECTORS = LINE_DOUBLES / lanes;

// ---- rows of whole lines -------------------------------------------------------------------

double dot(const double *a, const double *b, index count) {
    V sums[VECTORS] = {};
    for (index i = 0; i < count / lanes; i += VECTORS)
        for (index v = 0; v < VECTORS; ++v)
            sums[v] += load<V>(a, i + v) * load<V>(b, i + v);
    double eight[LINE_DOUBLES];
    for (index v = 0; v < VECTORS; ++v)
        store(eight, sums[v], v);
    return ((eight[0] + eight[4]) + (eight[2] + eight[6])) +
           ((eight[1] + eight[5]) + (eight[3] + eight[7]));
}

// Subtract a times x and b times y.
void subtract(double *to, double a, const double *x, double b, const double *y, index count) {
    for (index i = 0; i < count / lanes; ++i)
        store(to, load<V>(to, i) - (a * load<V>(x, i) + b * load<V>(y, i)), i);
}

void subtract(double *to, double a, const double *x, index count) {
    for (index i = 0; i < count / lanes; ++i)
        store(to, load<V>(to, i) - a * load<V>(x, i), i);
}

void rotate_rows(double *upper, double *lower, double cosine, double sine, index count) {
    for (index i = 0; i < count / lanes; ++i) {
        const V above = load<V>(upper, i), below = load<V>(lower, i);
        store<V>(lower, sine * above + cosine * below, i);
        store<V>(upper, cosine * above - sine * below, i);
    }
}

// ---- the matrix ----------------------------------------------------------------------------

struct Small {
    const index p, stride;
    double matrices[3][MAX_COLUMNS * MAX_COLUMNS], lengths[MAX_COLUMNS], diagonal[MAX_COLUMNS],
        off_diagonal[MAX_COLUMNS];

    explicit Small(index order)
        : p(order), stride((order + LINE_DOUBLES - 1) / LINE_DOUBLES * LINE_DOUBLES) {}

    double *matrix(index i) { return matrices[0] + i * stride; }
    double *row(index i) { return matrices[1] + i * stride; }    // of axes
    double *reflector(index i) { return matrices[2] + i * stride; } // of step i, from i + 1 on
    // Where the line begins that holds the first entry of a reflector.
    static index first_line(index i) { return (i + 1) / LINE_DOUBLES * LINE_DOUBLES; }

    // Some columns of a matrix `width` wide, and the same rows. The largest entry becomes one of
    // [0.5, 1): no square leaves the range. Answers its power.
    int load(const double *from, index width, const index *columns) {
        double largest = 0.0;
        for (index i = 0; i < width * width; ++i)
            largest = std::max(largest, std::fabs(from[i]));
        int power = 0;
        if (!std::isfinite(largest))
            return INT32_MIN;
        std::frexp(largest, &power);
        // By halves, for no double is as large as what the smallest of them needs.
        const double once = std::ldexp(1.0, -power / 2),
                     twice = std::ldexp(1.0, -power + power / 2);
        for (index i = 0; i < p; ++i) {
            double *to = matrix(i);
            for (index j = 0; j < p; ++j)
                to[j] = from[columns[i] * width + columns[j]] * once * twice;
            std::fill(to + p, to + stride, 0.0);
        }
        return power;
    }

    // To a tridiagonal matrix: row i is reflected onto its first off-diagonal entry.
    void reduce() {
        double image[MAX_COLUMNS];
        for (index i = 0; i + 2 < p; ++i) {
            double *v = reflector(i), *from = matrix(i);
            const index start = first_line(i), count = stride - start;
            std::fill(v, v + stride, 0.0);
            std::copy(from + i + 2, from + p, v + i + 2);
            const double rest = dot(v + start, v + start, count);
            lengths[i] = 0.0;
            if (rest == 0.0)
                continue; // nothing to take away
            const double first = from[i + 1], length = std::sqrt(first * first + rest);
            const double end = first > 0.0 ? -length : length;
            v[i + 1] = first - end;
            const double share = lengths[i] = 1.0 / (length * (length + std::fabs(first)));
            from[i + 1] = end;
            std::fill(image + start, image + stride, 0.0);
            for (index j = i + 1; j < p; ++j)
                image[j] = share * dot(matrix(j) + start, v + start, count);
            const double half = 0.5 * share * dot(image + start, v + start, count);
            subtract(image + start, half, v + start, count);
            for (index j = i + 1; j < p; ++j)
                subtract(matrix(j) + start, v[j], image + start, image[j], v + start,
                         count);
        }
        for (index i = 0; i < p; ++i) {
            diagonal[i] = matrix(i)[i];
            off_diagonal[i] = i + 1 < p ? matrix(i)[i + 1] : 0.0;
            std::fill(row(i), row(i) + stride, 0.0);
            row(i)[i] = 1.0;
        }
    }

    // The tridiagonal matrix to a diagonal one, its rotations to the rows; false if it will not.
    bool rotate() {
        for (index low = 0; low < p; ++low)
            for (int step = 0;; ++step) {
                index high = low;
                for (; high + 1 < p; ++high)
                    if (std::fabs(off_diagonal[high]) <=
                        EPS * (std::fabs(diagonal[high]) + std::fabs(diagonal[high + 1])) + TINY)
                        break;
                if (high == low)
                    break;
                if (step == STEPS)
                    return false;
                sweep(low, high);
            }
        return true;
    }

    void sweep(index low, index high) {
        // Wilkinson's shift, from the corner where an eigenvalue is to appear.
        const double gap = (diagonal[low + 1] - diagonal[low]) / (2.0 * off_diagonal[low]);
        const double root = std::sqrt(gap * gap + 1.0);
        double bulge = diagonal[high] - diagonal[low] +
                       off_diagonal[low] / (gap + (gap < 0.0 ? -root : root));
        double sine = 1.0, cosine = 1.0, moved = 0.0;
        for (index i = high - 1; i >= low; --i) {
            const double far = sine * off_diagonal[i], near = cosine * off_diagonal[i];
            const double length = std::sqrt(far * far + bulge * bulge);
            off_diagonal[i + 1] = length;
            if (length == 0.0) { // the matrix falls in two
                diagonal[i + 1] -= moved;
                off_diagonal[high] = 0.0;
                return;
            }
            sine = far / length, cosine = bulge / length;
            const double base = diagonal[i + 1] - moved;
            const double turned = (diagonal[i] - base) * sine + 2.0 * cosine * near;
            moved = sine * turned;
            diagonal[i + 1] = base + moved;
            bulge = cosine * turned - near;
            rotate_rows(row(i), row(i + 1), cosine, sine, stride);
        }
        diagonal[low] -= moved;
        off_diagonal[low] = bulge;
        off_diagonal[high] = 0.0;
    }

    // From axes of the tridiagonal matrix to those of the one that was given.
    void apply_reflectors() {
        for (index i = p - 3; i >= 0; --i) {
            if (lengths[i] == 0.0)
                continue;
            const index start = first_line(i), count = stride - start;
            const double *v = reflector(i) + start;
            for (index r = 0; r < p; ++r) {
                double *axis = row(r) + start;
                subtract(axis, lengths[i] * dot(axis, v, count), v, count);
            }
        }
    }

    // Variances in descending order, none of them below zero and those beyond the rank zero; axes
    // `width` long, with their largest |entry| positive. Answers the largest entry of |VVᵀ − I|.
    double write_results(int power, double divisor, index rank, index width, const index *columns,
                         double *variances, double *axes, double *clipped) {
        index order[MAX_COLUMNS];
        for (index i = 0; i < p; ++i) {
            index at = i; // few, and almost in order: by insertion
            for (; at > 0 && diagonal[order[at - 1]] < diagonal[i]; --at)
                order[at] = order[at - 1];
            order[at] = i;
        }
        double worst = 0.0;
        *clipped = 0.0;
        for (index i = 0; i < p; ++i) {
            const double *axis = row(order[i]);
            const double value = std::ldexp(diagonal[order[i]], power) / divisor;
            variances[i] = i < rank && value > 0.0 ? value : 0.0;
            *clipped += i < rank && value < 0.0;
            double largest = 0.0;
            for (index j = 0; j < p; ++j)
                largest = std::max(largest, std::fabs(axis[j]));
            index first = 0;
            while (first + 1 < p && std::fabs(axis[first]) < (1.0 - TIE) * largest)
                ++first;
            const double sign = axis[first] < 0.0 ? -1.0 : 1.0;
            for (index j = 0; j < p; ++j)
                axes[i * width + columns[j]] = sign * axis[j] + 0.0; // no zero is negative
            for (index other = 0; other <= i; ++other) {
                const double product = dot(axis, row(order[other]), stride);
                worst = std::max(worst, std::fabs(product - (other == i ? 1.0 : 0.0)));
            }
        }
        return worst;
    }
};

int spectrum(const double *scatter, index p, double divisor, index rank, double *out) {
    if (p < 1 || p > MAX_COLUMNS)
        return PRINCOMP_LEFT_RANGE;
    // Columns without scatter take no part, and have the last axes for themselves.
    index columns[MAX_COLUMNS], varying = 0, constant = p;
    double trace = 0.0;
    for (index i = 0; i < p; ++i) {
        trace += scatter[i * p + i];
        if (scatter[i * p + i] != 0.0)
            columns[varying++] = i;
    }
    for (index i = p; i-- > 0;)
        if (scatter[i * p + i] == 0.0)
            columns[--constant] = i;
    double *variances = out, *axes = out + p, *summary = out + p + p * p;
    std::fill(out, summary + 3, 0.0);
    for (index i = varying; i < p; ++i)
        axes[i * p + columns[i]] = 1.0;
    Small small(varying);
    const int power = small.load(scatter, p, columns);
    if (power == INT32_MIN)
        return PRINCOMP_NOT_FINITE;
    small.reduce();
    if (!small.rotate())
        return PRINCOMP_LEFT_RANGE;
    small.apply_reflectors();
    summary[0] = std::max(trace, 0.0) / divisor;
    summary[1] = small.write_results(power, divisor, rank, p, columns, variances, axes,
                                     summary + 2);
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// A scatter (p, p), 1 ≤ p ≤ 64, its divisor and the rank that it has at most; out: variances (p),
// axes as rows (p, p), total variance, how far the axes are from orthonormal, and how many
// variances were below zero. LEFT_RANGE where rotations do not end.
PRINCOMP_EXPORT(spectrum_f64)(const double *scatter, std::ptrdiff_t p, double divisor,
                              std::ptrdiff_t rank, double *out) {
    return PRINCOMP_ISA::spectrum(scatter, p, divisor, rank, out);
}

// The mean and scatter of rows, as in gram.cpp, and behind them their spectrum.
#define PRINCOMP_SMALL(name, In, moments)                                                          \
    PRINCOMP_EXPORT(name)(const In *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride,  \
                          double *out) {                                                           \
        const int status =                                                                         \
            PRINCOMP_NAMED(PRINCOMP_ISA, moments)(x, m, p, stride, nullptr, out);                  \
        return status ? status                                                                     \
                      : PRINCOMP_ISA::spectrum(out + 2 * p, p, double(m - 1),                      \
                                               std::min(p, m - 1), out + 2 * p + p * p);           \
    }
PRINCOMP_SMALL(small_f64, double, moments_f64)
PRINCOMP_SMALL(small_f32, float, moments_f32)
