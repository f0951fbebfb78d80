// Checks of kernels that multiply dense rows with vectors.
#pragma once

#include "scatters.hpp"

namespace fuzz {

// Rows minus `high`, divided by `divisor`, times `roots`; each of these is optional.
template <class T> struct Affine {
    Rows<T> x;
    Buffer<T> high, divisor, roots;

    Affine(Input &in, index m, index p, unsigned parts, unsigned scaling)
        : x(in, m, p), high(parts & 1 ? filled<T>(in, p, in.kind()) : Buffer<T>()),
          divisor(parts & 2 ? positive<T>(in, p, scaling) : Buffer<T>()),
          roots(parts & 4 ? positive<T>(in, m, scaling / 5) : Buffer<T>()) {}

    Near root(index r) const { return {roots ? real(roots[r]) : 1}; }
    Near at(index r, index j) const {
        Near value{x.at(r, j)};
        if (high)
            value = minus<T>(value, {high[j]});
        if (divisor)
            value = over<T>(value, divisor[j]);
        return roots ? times<T>(value, root(r)) : value;
    }
    vector<Near> all() const {
        vector<Near> made;
        made.reserve(x.m * x.p);
        for (index r = 0; r < x.m; ++r)
            for (index j = 0; j < x.p; ++j)
                made.push_back(at(r, j));
        return made;
    }
};

// A previous number plus a sum in T, added in double precision.
template <class T> Near added(double before, const Total<T> &sum) {
    Total<double> all;
    all.add({before});
    all.add(sum.sum());
    Near expected = all.sum();
    expected.off += real(sum.count) * UNIT<double> * (std::fabs(real(before)) + sum.size);
    return expected;
}

template <class T, class Kernel>
void dense_pass(Input &in, const char *set, const char *name, Kernel kernel) {
    constexpr index line = PRINCOMP_LINE / index(sizeof(T)), tile = 1024 / index(sizeof(T));
    const index padded = line * (1 + in.byte() % 5), p = in.size(1, 8300);
    const index m = within(in.size(1, 1200), p * padded, p > 4000 ? 600000 : 100000);
    const bool scored = !in.flag(), backward = !scored || !in.flag(), with_offset = in.flag();
    const unsigned parts = in.byte(), scaling = in.byte();
    std::snprintf(label, sizeof(label), "%s %s (%td, %td, %td)%s%s", set, name, m, p, padded,
                  scored ? " forward" : "", backward ? " backward" : "");
    in.seed();
    const Affine<T> rows(in, m, p, parts, scaling);
    const auto kind = in.kind();
    const Buffer<T> right = scored ? filled<T>(in, p * padded, kind) : Buffer<T>();
    const Buffer<T> offset = scored && with_offset ? filled<T>(in, padded, kind) : Buffer<T>();
    const index tiles = (p + tile - 1) / tile;
    const Buffer<T> room(in, std::max<index>(princomp_sizes::dense_panel_bytes / index(sizeof(T)),
                                             8 * tiles * tile));
    const Buffer<T> y(in, up(m, 8) * padded);
    if (!scored) {
        y.fill(T(0));
        for (index i = 0; i < m * padded; ++i)
            y[i] = in.number<T>(kind);
    }
    const Buffer<T> scores_before = copy(in, y);
    const Buffer<T> part = backward ? Buffer<T>(in, p * padded) : Buffer<T>();
    const Buffer<double> z = backward ? filled<double>(in, p * padded, INTEGERS) : Buffer<double>();
    const Buffer<double> sums = filled<double>(in, padded, INTEGERS);
    const Buffer<double> before = copy(in, z), earlier = copy(in, sums);
    demand(kernel(rows.x.x, m, p, rows.x.stride, rows.high.data(), rows.divisor.data(),
                  rows.roots.data(), right.data(), offset.data(), padded, room.data(), y.data(),
                  part.data(), z.data(), sums.data()) == DONE,
           "an unknown answer");

    const vector<Near> a = rows.all();
    vector<Near> scores(m * padded);
    for (index c = 0; c < padded; ++c) {
        Total<T> total;
        for (index r = 0; r < m; ++r) {
            Near &score = scores[r * padded + c];
            if (!scored) {
                score = {scores_before[r * padded + c]};
                continue;
            }
            Total<T> sum;
            for (index j = 0; j < p; ++j)
                sum.add(times<T>(a[r * p + j], {right[j * padded + c]}));
            if (offset) {
                const Near down = times<T>(rows.root(r), {offset[c]});
                sum.add({-down.value, down.off});
            }
            score = sum.sum();
            near(y[r * padded + c], score, "score", r, c);
            total.add(times<T>(rows.root(r), score));
        }
        near(sums[c], added(earlier[c], total), "sum of scores", c);
    }
    if (!scored)
        same(y.data(), scores_before.data(), y.count, "an input score");
    for (index j = 0; j < p && backward; ++j)
        for (index c = 0; c < padded; ++c) {
            Total<T> sum;
            for (index r = 0; r < m; ++r)
                sum.add(times<T>(a[r * p + j], scores[r * padded + c]));
            near(z[j * padded + c], added(before[j * padded + c], sum), "image", j, c);
        }
}

template <class T, class Kernel>
void row_pass(Input &in, const char *set, const char *name, Kernel kernel) {
    constexpr index line = PRINCOMP_LINE / index(sizeof(T)), tile = 1024 / index(sizeof(T));
    const index padded = line * (1 + in.byte() % 5), p = in.size(1, 700);
    const index m = within(in.size(1, 1200), p * padded), held = up(m, 8);
    const unsigned parts = in.byte(), scaling = in.byte();
    std::snprintf(label, sizeof(label), "%s %s (%td, %td, %td)", set, name, m, p, padded);
    in.seed();
    const Affine<T> rows(in, m, p, parts, scaling);
    const auto kind = in.kind();
    const Buffer<T> left(in, held * padded);
    left.fill(T(0));
    for (index i = 0; i < m * padded; ++i)
        left[i] = in.number<T>(kind);
    const bool with_low = parts & 8;
    const Buffer<double> low = with_low ? filled<double>(in, p, UNIFORM) : Buffer<double>();
    const Buffer<double> summed = filled<double>(in, padded, UNIFORM);
    const Buffer<T> room(in, held * tile), part(in, tile * padded), y(in, held * padded);
    const Buffer<double> weights(in, tile * padded);
    const Buffer<double> sums = filled<double>(in, padded, INTEGERS), before = copy(in, sums);
    demand(kernel(rows.x.x, m, p, rows.x.stride, rows.high.data(), rows.divisor.data(),
                  rows.roots.data(), left.data(), low.data(), summed.data(), padded, room.data(),
                  part.data(), weights.data(), y.data(), sums.data()) == DONE,
           "an unknown answer");

    const vector<Near> a = rows.all();
    vector<Near> images(p);
    for (index c = 0; c < padded; ++c) {
        Total<double> total;
        total.add({before[c]});
        for (index j = 0; j < p; ++j) {
            Total<T> sum;
            for (index r = 0; r < m; ++r)
                sum.add(times<T>(a[r * p + j], {left[r * padded + c]}));
            Near image = added(0.0, sum);
            if (low) {
                image = minus<double>(image, times<double>({low[j]}, {summed[c]}));
                total.add(times<double>({low[j]}, image));
            }
            images[j] = cast<T>(image);
        }
        near(sums[c], total.sum(), "sum", c);
        for (index r = 0; r < m; ++r) {
            Total<T> sum;
            for (index j = 0; j < p; ++j)
                sum.add(times<T>(a[r * p + j], images[j]));
            near(y[r * padded + c], sum.sum(), "product", r, c);
        }
    }
}

template <class T, class Kernel>
void scores(Input &in, const char *set, const char *name, Kernel kernel) {
    constexpr index line = PRINCOMP_LINE / index(sizeof(T));
    const index k = in.size(1, 70), padded = up(k, line), p = in.size(1, 700);
    const index m = within(in.size(1, 300), p * k), pick = in.size(0, 300) % m;
    std::snprintf(label, sizeof(label), "%s %s (%td, %td, %td)", set, name, m, p, k);
    in.seed();
    const Rows<T> x(in, m, p);
    const auto kind = in.kind(), other = in.kind();
    const Buffer<T> high = filled<T>(in, p, kind), low = filled<T>(in, p, UNIFORM);
    const Buffer<T> axes(in, p * padded), out(in, m * k), again(in, k);
    axes.fill(T(0));
    for (index j = 0; j < p; ++j)
        for (index c = 0; c < k; ++c)
            axes[j * padded + c] = in.number<T>(other);
    const Buffer<T> room(in, 8 * std::max<index>(
                                     p, princomp_sizes::score_row_bytes / index(sizeof(T))));
    demand(kernel(x.x, m, p, x.stride, high.data(), low.data(), axes.data(), k, padded, room.data(),
                  out.data()) == DONE,
           "an unknown answer");
    for (index r = 0; r < m; ++r)
        for (index c = 0; c < k; ++c) {
            Total<T> sum;
            for (index j = 0; j < p; ++j)
                sum.add(times<T>(minus<T>(minus<T>({x.at(r, j)}, {high[j]}), {low[j]}),
                                 {axes[j * padded + c]}));
            near(out[r * k + c], sum.sum(), "score", r, c);
        }
    demand(kernel(x.x + pick * x.stride, 1, p, x.stride, high.data(), low.data(), axes.data(), k,
                  padded, room.data(), again.data()) == DONE,
           "an unknown answer");
    same(again.data(), out.data() + pick * k, k, "the score of a row by itself");
}

template <class T, class Kernel>
void matmul(Input &in, const char *set, const char *name, Kernel kernel) {
    constexpr index lanes = PRINCOMP_LINE / index(sizeof(T));
    const index n = in.size(1, 100), k = in.size(0, 1200);
    const index m = within(in.size(1, 60), n * k), pick = in.size(0, 60) % m;
    const index gap = in.byte() % 20, step = n + (gap < 10 ? gap : 0);
    std::snprintf(label, sizeof(label), "%s %s (%td, %td, %td)", set, name, m, k, n);
    in.seed();
    const Rows<T> x(in, m, k);
    const auto kind = in.kind();
    const index panels = (n + lanes - 1) / lanes;
    const Buffer<T> packed(in, panels * k * lanes);
    packed.fill(T(0));
    const auto entry = [&](index j, index c) -> T & {
        return packed[(c / lanes * k + j) * lanes + c % lanes];
    };
    for (index j = 0; j < k; ++j)
        for (index c = 0; c < n; ++c)
            entry(j, c) = in.number<T>(kind);
    const Buffer<T> out(in, (m - 1) * step + n), again(in, n);
    demand(kernel(x.x, m, k, x.stride, packed.data(), n, out.data(), step) == DONE,
           "an unknown answer");
    for (index r = 0; r < m; ++r) {
        for (index c = 0; c < n; ++c) {
            Total<T> sum;
            for (index j = 0; j < k; ++j)
                sum.add(times<T>({x.at(r, j)}, {entry(j, c)}));
            near(out[r * step + c], sum.sum(), "product", r, c);
        }
        for (index c = n; c < step && r + 1 < m; ++c) {
            unsigned char bytes[sizeof(T)];
            std::memcpy(bytes, &out[r * step + c], sizeof(T));
            for (const unsigned char each : bytes)
                demand(each == 0xff, "a gap between rows was written");
        }
    }
    demand(kernel(x.x + pick * x.stride, 1, k, x.stride, packed.data(), n, again.data(), n) == DONE,
           "an unknown answer");
    same(again.data(), out.data() + pick * step, n, "the product of a row by itself");
}

} // namespace fuzz
