// Checks of kernels that multiply rows or columns with each other.
#pragma once

#include "bounds.hpp"
#include "table.hpp"

#include <algorithm>
#include <vector>

namespace fuzz {

using std::vector;

// The wanted number, limited by this budget of products, but at least one.
inline index within(index wanted, index products_each, index budget = 100000) {
    return std::max<index>(1, std::min(wanted, budget / std::max<index>(products_each, 1)));
}
inline index up(index count, index multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

// ---- moments -------------------------------------------------------------------------------

// Mean and scatter in extended precision, and the columns whose intermediate results fit the range.
template <class In, class T> struct Moments {
    const Rows<In> &x;
    const double *weights;
    index m, p;
    real total = 0, roots = 0, largest_root = 0;
    vector<real> mean, scatter, widest;
    vector<char> finite, fits, constant;

    Moments(const Rows<In> &rows, const double *given)
        : x(rows), weights(given), m(rows.m), p(rows.p), mean(p), scatter(p * p), widest(p),
          finite(p, 1), fits(p), constant(p, 1) {
        for (index r = 0; r < m; ++r) {
            total += weight(r);
            roots += std::sqrt(weight(r));
            largest_root = std::max(largest_root, std::sqrt(weight(r)));
        }
        for (index j = 0; j < p; ++j)
            column(j);
        vector<real> deviation(p);
        for (index r = 0; r < m; ++r) {
            for (index j = 0; j < p; ++j)
                deviation[j] = real(x.at(r, j)) - mean[j];
            for (index i = 0; i < p; ++i)
                for (index j = i; j < p; ++j)
                    scatter[i * p + j] += weight(r) * deviation[i] * deviation[j];
        }
    }
    real weight(index r) const { return weights ? weights[r] : 1; }

    void column(index j) {
        real squares = 0, sums = 0;
        for (index r = 0; r < m; ++r) {
            finite[j] = finite[j] && std::isfinite(x.at(r, j));
            constant[j] = constant[j] && x.at(r, j) == x.at(0, j);
            widest[j] = std::max(widest[j], 2 * std::fabs(real(x.at(r, j))));
        }
        for (int pass = 0; pass < 2; ++pass) {
            real sum = 0;
            for (index r = 0; r < m; ++r)
                sum += weight(r) * (real(x.at(r, j)) - mean[j]);
            mean[j] += sum / total; // first about zero, then about the mean
        }
        for (index r = 0; r < m; ++r) {
            squares += weight(r) * widest[j] * widest[j];
            sums += weight(r) * widest[j];
        }
        const real most = MOST<T> / 16;
        fits[j] = finite[j] && total < MOST<double> / 16 && squares < most && sums < most &&
                  largest_root * (1 + widest[j]) < most && largest_root * largest_root < most;
    }
    bool all(const vector<char> &what) const {
        return std::count(what.begin(), what.end(), 1) == p;
    }

    // Bounds the scatter about the shift, whose distance from the mean is at most that of the rows.
    real square(index j) const { return 4 * scatter[j * p + j]; }
    real relative() const {
        return 1.1L * (real(std::min<index>(m, 1100) + 80) * UNIT<T> + real(m + 80) * UNIT<double>);
    }
    Near entry(index i, index j) const {
        const real vanished = (1 + widest[i]) * widest[j] + (1 + widest[j]) * widest[i];
        return {scatter[i * p + j], relative() * std::sqrt(square(i) * square(j)) +
                                        1.1L * LEAST<T> * (roots * vanished + real(m))};
    }
    Near centre(index j) const {
        return {mean[j], relative() * std::sqrt(square(j) / total) +
                             4 * UNIT<double> * UNIT<double> * std::fabs(mean[j]) + LEAST<double> +
                             LEAST<T> * (real(m) + roots) * (1 + widest[j]) / total};
    }

    // Whether squares of some column may underflow in float; the smallest relevant is about 2⁻⁹⁶.
    bool vanish(real share) const {
        for (index j = 0; j < p && sizeof(T) == 4; ++j)
            if (!fits[j] || (!constant[j] && scatter[j * p + j] < std::ldexp(share, -96)))
                return true;
        return false;
    }

    void check(int answer, const double *out) const {
        const double *low = out + p, *found = out + 2 * p;
        if (!all(finite))
            demand(answer == NOT_FINITE, "NaN or infinity was not seen");
        if (answer == NOT_FINITE) {
            for (index j = 0; j < p; ++j) {
                const bool good = std::isfinite(out[j]) && std::isfinite(found[j * p + j]);
                demand(!fits[j] || good, "a finite column has sums that are not");
                demand(finite[j] || !good, "a column that is not finite has finite sums");
            }
            demand(!all(fits), "NOT_FINITE, but all is in range");
            return;
        }
        if (answer == LEFT_RANGE)
            return demand(vanish(1.1L * real(m)), "LEFT_RANGE, but all is in range");
        demand(answer == DONE, "an unknown answer");
        demand(!vanish(1 / 9.0L) || !all(fits), "DONE, but products vanished");
        for (index i = 0; i < p; ++i) {
            if (!fits[i])
                continue;
            near(real(out[i]) + real(low[i]), centre(i), "mean", i);
            if (constant[i])
                demand(out[i] == double(x.at(0, i)) && low[i] == 0, "a constant has another mean");
            for (index j = 0; j < p; ++j) {
                if (!fits[j])
                    continue;
                near(found[i * p + j], entry(std::min(i, j), std::max(i, j)), "scatter", i, j);
                demand(found[i * p + j] == found[j * p + i], "the scatter is not symmetric");
                demand(!constant[i] || found[i * p + j] == 0, "a constant column varies");
            }
        }
    }
};

template <class In, class T, class Kernel>
void moments(Input &in, const char *set, const char *name, Kernel kernel) {
    const index p = in.size(1, 800), most = in.size(1, 1200);
    index m = within(most, p * p);
    if (p <= 3 && in.byte() % 8 == 7)
        m = 16300 + most; // more chunks than are added sequentially
    std::snprintf(label, sizeof(label), "%s %s (%td, %td)", set, name, m, p);
    const unsigned weighting = in.byte() % 6;
    const bool refused = in.byte() % 32 == 31 && can_refuse_memory;
    in.seed();
    const Rows<In> x(in, m, p);
    const Buffer<double> weights =
        weighting ? positive<double>(in, m, weighting - 1) : Buffer<double>();
    const Buffer<double> out(in, 2 * p + p * p);
    const int answer = in_new_thread([&] {
        refuse_memory = refused;
        return kernel(x.x, m, p, x.stride, weights.data(), out.data());
    });
    if (refused)
        demand(answer == NO_MEMORY, "memory was refused, and the kernel did not say so");
    else
        Moments<In, T>(x, weights.data()).check(answer, out.data());
}

// ---- products across rows ------------------------------------------------------------------

template <class T, class Kernel>
void across(Input &in, const char *set, const char *name, Kernel kernel) {
    const index n = in.size(1, 200), p = std::min(in.size(0, 700), within(700, n * n));
    std::snprintf(label, sizeof(label), "%s %s (%td, %td)", set, name, n, p);
    const bool centred = in.flag(), divided = in.flag(), with_low = in.flag(), rooted = in.flag();
    const bool refused = in.byte() % 32 == 31 && can_refuse_memory;
    in.seed();
    const Rows<T> x(in, n, p);
    const auto kind = in.kind();
    const auto scaling = in.byte();
    const Buffer<T> high = centred ? filled<T>(in, p, kind) : Buffer<T>();
    const Buffer<T> divisor = divided ? positive<T>(in, p, scaling) : Buffer<T>();
    const Buffer<T> low = with_low ? filled<T>(in, p, UNIFORM) : Buffer<T>();
    const Buffer<T> roots = rooted ? positive<T>(in, n, scaling / 5) : Buffer<T>();
    const Buffer<double> out(in, n * n);
    const int answer = in_new_thread([&] {
        refuse_memory = refused;
        return kernel(x.x, n, p, x.stride, high.data(), divisor.data(), low.data(), roots.data(),
                      out.data());
    });
    if (refused)
        return demand(answer == NO_MEMORY, "memory was refused, and the kernel did not say so");
    demand(answer == DONE, "an unknown answer");
    vector<Near> rows(n * p);
    for (index i = 0; i < n; ++i)
        for (index j = 0; j < p; ++j) {
            Near value{x.at(i, j)};
            if (high)
                value = minus<T>(value, {high[j]});
            if (divisor)
                value = over<T>(value, divisor[j]);
            if (low)
                value = minus<T>(value, {low[j]});
            rows[i * p + j] = roots ? times<T>(value, {roots[i]}) : value;
        }
    for (index i = 0; i < n; ++i)
        for (index j = i; j < n; ++j) {
            Total<T> sum;
            for (index c = 0; c < p; ++c)
                sum.add(times<T>(rows[i * p + c], rows[j * p + c]));
            near(out[i * n + j], sum.sum(), "product", i, j);
            demand(same(out[i * n + j], out[j * n + i]), "the products are not symmetric");
        }
}

// ---- sums of columns -----------------------------------------------------------------------

template <class T, class Kernel>
void columns(Input &in, const char *set, const char *name, Kernel kernel) {
    const index p = in.size(0, 2200), m = std::min(in.size(0, 2200), within(2200, p));
    std::snprintf(label, sizeof(label), "%s %s (%td, %td)", set, name, m, p);
    const unsigned weighting = in.byte() % 6;
    in.seed();
    const Rows<T> x(in, m, p);
    const auto kind = in.kind();
    const Buffer<double> shift = filled<double>(in, p, kind);
    const Buffer<double> weights =
        weighting ? positive<double>(in, m, weighting - 1) : Buffer<double>();
    const Buffer<double> sums = filled<double>(in, p, INTEGERS), before = copy(in, sums);
    const Buffer<double> squares = filled<double>(in, p, INTEGERS), earlier = copy(in, squares);
    demand(kernel(x.x, m, p, x.stride, shift.data(), weights.data(), sums.data(),
                  squares.data()) == DONE,
           "an unknown answer");
    for (index j = 0; j < p; ++j) {
        Total<double> sum, square;
        sum.add({before[j]});
        square.add({earlier[j]});
        for (index r = 0; r < m; ++r) {
            const Near deviation = minus<double>({x.at(r, j)}, {shift[j]});
            const Near share = weights ? times<double>(deviation, {weights[r]}) : deviation;
            sum.add(share);
            square.add(times<double>(share, deviation));
        }
        near(sums[j], sum.sum(), "sum", j);
        near(squares[j], square.sum(), "square", j);
    }
}

} // namespace fuzz
