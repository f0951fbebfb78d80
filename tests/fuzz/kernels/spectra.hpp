// Checks of kernels for symmetric matrices.
#pragma once

#include "scatters.hpp"

namespace fuzz {

// Checks that axes are orthonormal eigenvectors whose variances are their Rayleigh quotients.
struct Spectrum {
    const double *scatter;
    index p, rank;
    double divisor;
    const double *variances, *axes, *rest;
    real norm = 0, slack = 0;

    Spectrum(const double *of, index order, double by, index most, const double *out)
        : scatter(of), p(order), rank(most), divisor(by), variances(out), axes(out + order),
          rest(out + order + order * order) {
        for (index i = 0; i < p * p; ++i)
            norm = std::hypot(norm, real(scatter[i]));
        slack = 32 * real(p) * UNIT<double> * norm + real(p) * LEAST<double> * (1 + real(divisor));
    }

    void axis(index i) const {
        const double *v = axes + i * p;
        vector<real> image(p);
        real quotient = 0, beyond = 0;
        double largest = 0;
        for (index a = 0; a < p; ++a) {
            for (index b = 0; b < p; ++b)
                image[a] += real(scatter[a * p + b]) * v[b];
            quotient += image[a] * v[a];
            largest = std::max(largest, std::fabs(v[a]));
        }
        for (index a = 0; a < p; ++a)
            beyond = std::hypot(beyond, image[a] - quotient * v[a]);
        near(beyond, {0, slack}, "residual", i);
        const real expected = i < rank ? std::max<real>(quotient, 0) : 0;
        if (norm / divisor < MOST<double> / 4)
            near(real(variances[i]) * divisor, {expected, slack}, "variance", i);
        index first = 0;
        while (std::fabs(v[first]) < (1 - 1e-12) * largest)
            ++first;
        demand(v[first] > 0, "the largest entry of an axis is not positive");
        demand(variances[i] >= 0 && (!i || i >= rank || variances[i] <= variances[i - 1]),
               "variances do not descend");
    }

    void check() const {
        real worst = 0, trace = 0;
        index live = 0;
        for (index i = 0; i < p; ++i) {
            axis(i);
            for (index j = 0; j <= i; ++j) {
                real product = i == j ? -1 : 0;
                for (index c = 0; c < p; ++c)
                    product += real(axes[i * p + c]) * axes[j * p + c];
                worst = std::max(worst, std::fabs(product));
            }
            trace += scatter[i * p + i];
            live += scatter[i * p + i] != 0;
        }
        near(worst, {0, 16 * real(p) * UNIT<double>}, "orthogonality");
        near(rest[1], {worst, 8 * real(p) * UNIT<double>}, "the reported orthogonality");
        if (norm / divisor < MOST<double> / 4 / real(p))
            near(rest[0] * real(divisor), {std::max<real>(trace, 0), slack}, "total");
        for (index i = 0, dead = live; i < p; ++i) {
            if (scatter[i * p + i] != 0)
                continue;
            for (index a = 0; a < p; ++a)
                demand(axes[a * p + i] == (a == dead), "a column without scatter has no axis");
            ++dead;
        }
    }
};

// A scatter, of which some columns may be zero, or any symmetric matrix.
inline Buffer<double> symmetric(Input &in, index p, Kind kind) {
    const unsigned how = in.byte(), rank = how % 4 == 3 ? 0 : 1 + how / 4 % 8;
    Buffer<double> made(in, p * p);
    vector<double> rows(p * rank);
    for (index j = 0; j < p; ++j) {
        const bool dead = how & 128 && in.random() % 8 == 0;
        for (unsigned r = 0; r < rank; ++r)
            rows[j * rank + r] = dead ? 0 : in.number<double>(kind);
    }
    for (index i = 0; i < p; ++i)
        for (index j = i; j < p; ++j) {
            double sum = rank ? 0 : in.number<double>(kind);
            for (unsigned r = 0; r < rank; ++r)
                sum += rows[i * rank + r] * rows[j * rank + r];
            made[i * p + j] = made[j * p + i] = sum;
        }
    for (index i = 0; i < p && !rank; ++i) // a zero variance implies zero covariances
        if (made[i * p + i] == 0)
            made[i * p + i] = 1;
    return made;
}

template <class Kernel>
void spectrum(Input &in, const char *set, const char *name, Kernel kernel) {
    const index p = in.size(0, 70), rank = std::min(p, in.size(0, 70));
    std::snprintf(label, sizeof(label), "%s %s (%td), rank %td", set, name, p, rank);
    const unsigned scaling = in.byte();
    in.seed();
    const Kind kind = in.kind();
    const Buffer<double> scatter = symmetric(in, p, kind);
    const double divisor = in.positive<double>(scaling);
    const Buffer<double> out(in, p + p * p + 3);
    const int answer = kernel(scatter.data(), p, divisor, rank, out.data());
    if (p < 1 || p > princomp_sizes::small_columns)
        return demand(answer == LEFT_RANGE, "an order that there is no room for");
    // A scatter is finite. Infinity must be detected, NaN need not be.
    if (std::any_of(scatter.data(), scatter.data() + p * p, [](double x) { return std::isinf(x); }))
        return demand(answer == NOT_FINITE, "infinity was not seen");
    if (std::any_of(scatter.data(), scatter.data() + p * p, [](double x) { return std::isnan(x); }))
        return;
    if (answer == LEFT_RANGE) // rotations may not converge if the rank is low
        return demand(p > 16 || kind > UNIFORM, "rotations do not end");
    demand(answer == DONE, "an unknown answer");
    Spectrum(scatter.data(), p, divisor, rank, out.data()).check();
}

template <class In, class Kernel>
void small(Input &in, const char *set, const char *name, Kernel kernel) {
    const index p = in.size(1, 70), m = 1 + within(in.size(1, 300), p * p);
    std::snprintf(label, sizeof(label), "%s %s (%td, %td)", set, name, m, p);
    const bool refused = in.byte() % 32 == 31 && can_refuse_memory;
    in.seed();
    const Rows<In> x(in, m, p);
    const Buffer<double> out(in, 2 * p * p + 3 * p + 3);
    const int answer = in_new_thread([&] {
        refuse_memory = refused;
        return kernel(x.x, m, p, x.stride, out.data());
    });
    if (refused)
        return demand(answer == NO_MEMORY, "memory was refused, and the kernel did not say so");
    const Moments<In, In> exact(x, nullptr);
    // Otherwise the moments are right, but the spectrum has no room or rotations do not converge.
    const bool left = answer == LEFT_RANGE && !exact.vanish(1.1L * real(m));
    exact.check(left ? DONE : answer, out.data());
    demand(answer != DONE || p <= princomp_sizes::small_columns, "there is no room for so many");
    if (answer == DONE && exact.all(exact.fits))
        Spectrum(out.data() + 2 * p, p, double(m - 1), std::min(p, m - 1),
                 out.data() + 2 * p + p * p)
            .check();
}

// ---- tridiagonal form ----------------------------------------------------------------------

// The tridiagonal form of a matrix and the reflectors that produced it.
struct Tridiagonal {
    index n, stride; // rows are padded with zeros to whole lines
    Buffer<double> a, diagonal, offdiag, factors;

    Tridiagonal(Input &in, const Buffer<double> &matrix, index order)
        : n(order), stride((order + 7) / 8 * 8), a(in, n * stride), diagonal(in, order),
          offdiag(in, order - 1), factors(in, order - 1) {
        a.fill(0);
        for (index i = 0; i < n; ++i) { // entries below the diagonal are not read
            std::fill(&a[i * stride], &a[i * stride] + i, std::numeric_limits<double>::quiet_NaN());
            std::copy(&matrix[i * n] + i, &matrix[i * n] + n, &a[i * stride] + i);
        }
    }
    template <class Lead, class Help>
    void make(Input &in, Lead lead, Help help, index numbers, int helpers) {
        const Buffer<double> memory(in, numbers);
        const Buffer<char> shared(in, PRINCOMP_LINE, true);
        shared.fill(0);
        vector<std::thread> threads;
        for (int i = 0; i < helpers; ++i)
            threads.emplace_back([&] { help(shared.data()); });
        lead(a.data(), n, diagonal.data(), offdiag.data(), factors.data(), memory.data(),
             shared.data());
        for (auto &each : threads)
            each.join();
    }
    void reflect(index i, vector<real> &x) const {
        real product = 0;
        for (index j = i + 1; j < n; ++j)
            product += a[i * stride + j] * x[j];
        for (index j = i + 1; j < n; ++j)
            x[j] -= factors[i] * product * a[i * stride + j];
    }
    // The product of the original matrix with x.
    vector<real> image(vector<real> x) const {
        for (index i = 0; i + 1 < n; ++i)
            reflect(i, x);
        vector<real> y(n);
        for (index i = 0; i < n; ++i)
            y[i] = diagonal[i] * x[i] + (i ? offdiag[i - 1] * x[i - 1] : 0) +
                   (i + 1 < n ? offdiag[i] * x[i + 1] : 0);
        for (index i = n - 1; i-- > 0;)
            reflect(i, y);
        return y;
    }
};

inline void tridiagonal(Input &in, const Kernels &kernels) {
    const bool large = in.byte() == 255; // large enough for several pieces to share, but slow
    const index n = large ? 321 + index(in.byte()) % 16 : in.size(1, 120);
    const int helpers = large ? int(in.byte() % 3) : 0;
    std::snprintf(label, sizeof(label), "%s tridiagonal_f64 (%td), %d helpers", kernels.set, n,
                  helpers);
    in.seed();
    const Kind kind = in.kind();
    const Buffer<double> matrix = symmetric(in, n, kind);
    const index numbers = kernels.tridiagonal_numbers(n);
    Tridiagonal made(in, matrix, n);
    made.make(in, kernels.tridiagonal_f64, kernels.tridiagonal_help, numbers, 0);
    if (helpers) {
        Tridiagonal again(in, matrix, n);
        again.make(in, kernels.tridiagonal_f64, kernels.tridiagonal_help, numbers, helpers);
        same(again.diagonal.data(), made.diagonal.data(), n, "the diagonal of several threads");
        same(again.offdiag.data(), made.offdiag.data(), n - 1, "the off-diagonal");
        same(again.factors.data(), made.factors.data(), n - 1, "the factors");
    }
    if (kind == SPECIAL || kind == TINY || kind == GREAT || kind == RAW)
        return; // squares may be out of range
    real norm = 0;
    for (index i = 0; i < n * n; ++i)
        norm = std::hypot(norm, real(matrix[i]));
    vector<real> x(n), expected(n);
    for (auto &each : x)
        each = in.uniform();
    for (index i = 0; i < n; ++i)
        for (index j = 0; j < n; ++j)
            expected[i] += real(matrix[i * n + j]) * x[j];
    const vector<real> found = made.image(x);
    // n reflections with sums of n products each; columns shorter than 1e-140 count as zero.
    const real rounding = 4 * real(n * n) * UNIT<double> * std::sqrt(real(n));
    const real slack = rounding * norm + real(n) * 1e-139L;
    for (index i = 0; i < n; ++i)
        near(found[i], {expected[i], slack}, "image", i);
}

} // namespace fuzz
