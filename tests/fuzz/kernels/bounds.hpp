// Reference values in long double, with bounds of a kernel's rounding error for any order of sums,
// with or without fused multiply-adds.
#pragma once

#include "input.hpp"

namespace fuzz {

typedef long double real;

template <class T> constexpr real UNIT = std::numeric_limits<T>::epsilon() / 2;
template <class T> constexpr real LEAST = std::numeric_limits<T>::denorm_min();
template <class T> constexpr real MOST = std::numeric_limits<T>::max();

// If `off` is infinite, intermediate results may overflow and any result is accepted. If `value` is
// not finite, only results that are not finite are accepted.
struct Near {
    real value = 0, off = 0;
    real size() const { return std::fabs(value) + off; }
};

// The result of an operation in T whose operands have errors that change it by up to `off`.
template <class T> Near rounded(real value, real off) {
    const real size = std::fabs(value) + off;
    if (std::isfinite(value) && !(size <= MOST<T>))
        off = HUGE_VALL;
    return {value, off + UNIT<T> * size + LEAST<T>};
}
template <class T> Near minus(Near a, Near b) {
    return rounded<T>(a.value - b.value, a.off + b.off);
}
template <class T> Near times(Near a, Near b) {
    return rounded<T>(a.value * b.value, std::fabs(a.value) * b.off + a.off * b.size());
}
template <class T> Near over(Near a, real b) {
    return rounded<T>(a.value / b, a.off / std::fabs(b));
}
template <class T> Near cast(Near a) { return rounded<T>(a.value, a.off); }

// A sum in T, in any order. The first-order bound, count · UNIT · size, is raised by a tenth for
// higher orders; partial sums beyond half the range may overflow.
template <class T> struct Total {
    real value = 0, size = 0, off = 0;
    index count = 0;
    void add(Near term) {
        value += term.value;
        size += term.size();
        off += term.off;
        ++count;
    }
    Near sum() const {
        const bool fits = size <= MOST<T> / 2 || !std::isfinite(value);
        return {value, fits ? off + 1.1L * real(count) * UNIT<T> * size : HUGE_VALL};
    }
};

inline void near(real found, Near expected, const char *what, index i = 0, index j = 0) {
    if (!std::isfinite(expected.value) ? !std::isfinite(found)
                                       : !(expected.off < HUGE_VALL) ||
                                             std::fabs(found - expected.value) <= expected.off)
        return;
    std::fprintf(stderr, "%s: %s (%td, %td) is %.20Lg, not %.20Lg ± %.3Lg\n", label, what, i, j,
                 found, expected.value, expected.off);
    std::abort();
}

// Bitwise equal; all NaNs are equal.
template <class T> bool same(T a, T b) {
    return (std::isnan(a) && std::isnan(b)) || !std::memcmp(&a, &b, sizeof(T));
}
template <class T> void same(const T *a, const T *b, index count, const char *what) {
    for (index i = 0; i < count; ++i)
        if (!same(a[i], b[i])) {
            std::fprintf(stderr, "%s: %s differs at %td: %.20g and %.20g\n", label, what, i,
                         double(a[i]), double(b[i]));
            std::abort();
        }
}

} // namespace fuzz
