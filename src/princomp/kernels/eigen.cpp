// All eigenpairs of a small symmetric matrix, where LAPACK's calls cost more than its arithmetic.
//
// Compiled once for each instruction set (see CMakeLists.txt).
//
// Mirrors make the matrix tridiagonal, rotations with implicit shifts make that diagonal
// (Golub & Van Loan, 8.3), and both are applied to rows, so that axes come out as rows.

#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace PRINCOMP_ISA {
namespace {

typedef std::ptrdiff_t index;

// Orders up to here; rows are this long, whatever the order, so that their ends are whole vectors.
constexpr index MOST = 32;
// Steps that an eigenvalue is given: two or three are usual.
constexpr int STEPS = 40;
// Entries of an axis this close to its largest are its equals, as in Python.
constexpr double TIE = 1e-12;
constexpr double EPS = 2.220446049250313e-16;

double dot(const double *a, const double *b, index count) {
    double sum = 0.0;
    for (index i = 0; i < count; ++i)
        sum += a[i] * b[i];
    return sum;
}

struct Small {
    index p, padded;
    double matrix[MOST][MOST], rows[MOST][MOST], mirrors[MOST][MOST], lengths[MOST];
    double diagonal[MOST], beside[MOST];

    // The largest entry becomes one of [0.5, 1): no square leaves the range. Answers its power.
    int load(const double *from) {
        double largest = 0.0;
        for (index i = 0; i < p * p; ++i)
            largest = std::max(largest, std::fabs(from[i]));
        int power = 0;
        if (!std::isfinite(largest))
            return INT32_MIN;
        std::frexp(largest, &power);
        for (index i = 0; i < p; ++i) {
            for (index j = 0; j < p; ++j)
                matrix[i][j] = std::ldexp(from[i * p + j], -power);
            for (index j = p; j < padded; ++j)
                matrix[i][j] = 0.0;
        }
        return power;
    }

    // To a tridiagonal matrix: row i is mirrored onto its first entry beside the diagonal.
    void reduce() {
        double image[MOST];
        for (index i = 0; i + 2 < p; ++i) {
            double *mirror = mirrors[i], *row = matrix[i];
            std::fill(mirror, mirror + padded, 0.0);
            double rest = 0.0;
            for (index j = i + 2; j < p; ++j)
                rest += row[j] * row[j];
            lengths[i] = 0.0;
            if (rest == 0.0)
                continue; // nothing to take away
            const double first = row[i + 1], length = std::sqrt(first * first + rest);
            const double end = first > 0.0 ? -length : length;
            std::memcpy(mirror + i + 2, row + i + 2, sizeof(double) * (p - i - 2));
            mirror[i + 1] = first - end;
            const double share = lengths[i] = 1.0 / (length * (length + std::fabs(first)));
            row[i + 1] = end;
            for (index j = i + 1; j < p; ++j)
                image[j] = share * dot(matrix[j] + i + 1, mirror + i + 1, padded - i - 1);
            const double half = 0.5 * share * dot(image + i + 1, mirror + i + 1, p - i - 1);
            for (index j = i + 1; j < p; ++j)
                image[j] -= half * mirror[j];
            for (index j = i + 1; j < p; ++j) {
                const double a = mirror[j], b = image[j];
                double *to = matrix[j];
                for (index c = i + 1; c < p; ++c)
                    to[c] -= a * image[c] + b * mirror[c];
            }
        }
        for (index i = 0; i < p; ++i) {
            diagonal[i] = matrix[i][i];
            beside[i] = i + 1 < p ? matrix[i][i + 1] : 0.0;
            std::fill(rows[i], rows[i] + padded, 0.0);
            rows[i][i] = 1.0;
        }
    }

    // The tridiagonal matrix to a diagonal one, its rotations to the rows; false if it will not.
    bool rotate() {
        for (index low = 0; low < p; ++low)
            for (int step = 0;; ++step) {
                index high = low;
                for (; high + 1 < p; ++high)
                    if (std::fabs(beside[high]) <=
                        EPS * (std::fabs(diagonal[high]) + std::fabs(diagonal[high + 1])) + 1e-300)
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
        const double gap = (diagonal[low + 1] - diagonal[low]) / (2.0 * beside[low]);
        const double root = std::sqrt(gap * gap + 1.0);
        double bulge = diagonal[high] - diagonal[low] +
                       beside[low] / (gap + (gap < 0.0 ? -root : root));
        double sine = 1.0, cosine = 1.0, moved = 0.0;
        for (index i = high - 1; i >= low; --i) {
            const double far = sine * beside[i], near = cosine * beside[i];
            const double length = std::sqrt(far * far + bulge * bulge);
            beside[i + 1] = length;
            if (length == 0.0) { // the matrix falls in two
                diagonal[i + 1] -= moved;
                beside[high] = 0.0;
                return;
            }
            sine = far / length, cosine = bulge / length;
            const double base = diagonal[i + 1] - moved;
            const double turned = (diagonal[i] - base) * sine + 2.0 * cosine * near;
            moved = sine * turned;
            diagonal[i + 1] = base + moved;
            bulge = cosine * turned - near;
            double *upper = rows[i], *lower = rows[i + 1];
            for (index j = 0; j < padded; ++j) {
                const double above = upper[j], below = lower[j];
                lower[j] = sine * above + cosine * below;
                upper[j] = cosine * above - sine * below;
            }
        }
        diagonal[low] -= moved;
        beside[low] = bulge;
        beside[high] = 0.0;
    }

    // From axes of the tridiagonal matrix to those of the one that was given.
    void mirror_back() {
        for (index i = p - 3; i >= 0; --i) {
            if (lengths[i] == 0.0)
                continue;
            const double *mirror = mirrors[i];
            for (index r = 0; r < p; ++r) {
                const double share = lengths[i] * dot(rows[r], mirror, padded);
                for (index j = i + 1; j < p; ++j)
                    rows[r][j] -= share * mirror[j];
            }
        }
    }

    // Variances in descending order, none of them below zero and those beyond the rank zero; axes
    // with their largest |entry| positive. Answers the largest entry of |VVᵀ − I|.
    double answer(int power, double divisor, index rank, double *variances, double *axes,
                  double *clipped) {
        index order[MOST];
        for (index i = 0; i < p; ++i) {
            index at = i; // few, and almost in order: by insertion
            for (; at > 0 && diagonal[order[at - 1]] < diagonal[i]; --at)
                order[at] = order[at - 1];
            order[at] = i;
        }
        double worst = 0.0;
        *clipped = 0.0;
        for (index i = 0; i < p; ++i) {
            const double *row = rows[order[i]];
            const double value = std::ldexp(diagonal[order[i]], power) / divisor;
            variances[i] = i < rank && value > 0.0 ? value : 0.0;
            *clipped += i < rank && value < 0.0;
            double largest = 0.0;
            for (index j = 0; j < p; ++j)
                largest = std::max(largest, std::fabs(row[j]));
            index first = 0;
            while (first + 1 < p && std::fabs(row[first]) < (1.0 - TIE) * largest)
                ++first;
            const double sign = row[first] < 0.0 ? -1.0 : 1.0;
            for (index j = 0; j < p; ++j)
                axes[i * p + j] = sign * row[j] + 0.0; // no zero is negative
            for (index other = 0; other <= i; ++other) {
                const double product = dot(row, rows[order[other]], padded);
                worst = std::max(worst, std::fabs(product - (other == i ? 1.0 : 0.0)));
            }
        }
        return worst;
    }
};

int spectrum(const double *scatter, index p, double divisor, index rank, double *out) {
    double trace = 0.0;
    index live = 0;
    for (index i = 0; i < p; ++i) {
        trace += scatter[i * p + i];
        live += scatter[i * p + i] != 0.0;
    }
    if (p < 1 || p > MOST || (live && live < p))
        return PRINCOMP_LEFT_RANGE;
    Small small;
    small.p = p, small.padded = (p + 7) / 8 * 8;
    const int power = small.load(scatter);
    if (power == INT32_MIN)
        return PRINCOMP_NOT_FINITE;
    small.reduce();
    if (!small.rotate())
        return PRINCOMP_LEFT_RANGE;
    small.mirror_back();
    double *told = out + p + p * p;
    told[0] = std::max(trace, 0.0) / divisor;
    told[1] = small.answer(power, divisor, rank, out, out + p, told + 2);
    return PRINCOMP_DONE;
}

} // namespace
} // namespace PRINCOMP_ISA

// A scatter (p, p), 1 ≤ p ≤ 32, its divisor and the rank that it has at most; out: variances (p),
// axes as rows (p, p), total variance, how far the axes are from orthonormal, and how many
// variances were below zero. LEFT_RANGE where some columns have no scatter, or rotations do not
// end.
PRINCOMP_EXPORT(spectrum_f64)(const double *scatter, std::ptrdiff_t p, double divisor,
                              std::ptrdiff_t rank, double *out) {
    return PRINCOMP_ISA::spectrum(scatter, p, divisor, rank, out);
}

// The mean and scatter of rows, as in gram.cpp, and behind them their spectrum.
#define PRINCOMP_SMALL(name, In, moments)                                                          \
    PRINCOMP_EXPORT(moments)(const In *, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t,           \
                             const double *, double *);                                            \
    PRINCOMP_EXPORT(name)(const In *x, std::ptrdiff_t m, std::ptrdiff_t p, std::ptrdiff_t stride,  \
                          double *out) {                                                           \
        const int answer =                                                                         \
            PRINCOMP_NAMED(PRINCOMP_ISA, moments)(x, m, p, stride, nullptr, out);                  \
        return answer ? answer                                                                     \
                      : PRINCOMP_ISA::spectrum(out + 2 * p, p, double(m - 1),                      \
                                               std::min(p, m - 1), out + 2 * p + p * p);           \
    }
PRINCOMP_SMALL(small_f64, double, moments_f64)
PRINCOMP_SMALL(small_f32, float, moments_f32)
