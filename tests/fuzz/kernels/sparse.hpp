// Checks of kernels for CSR rows, which trust indices that `entries_of` in entries.py has checked.
#pragma once

#include "products.hpp"

namespace fuzz {

// The position of each entry. Entries that belong to no row may precede those of the rows.
template <class I> struct Places {
    vector<I> ends, columns;

    Places(Input &in, index rows, index p, index most, bool ordered) {
        const unsigned density = in.byte(), before = in.byte();
        columns.assign(before < 64 ? before : 0, std::numeric_limits<I>::max());
        const std::size_t full = columns.size() + std::size_t(most);
        ends.push_back(I(columns.size()));
        for (index r = 0; r < rows; ++r) {
            for (index j = 0; j < p && columns.size() < full; ++j)
                if (in.random() % 256 <= density)
                    columns.push_back(I(ordered ? j : index(in.random() % std::uint64_t(p))));
            ends.push_back(I(columns.size()));
        }
    }
};

// CSR rows (n, p) with at most `most` entries; the columns of a row ascend or have any order.
template <class In, class I> struct Csr {
    Places<I> places;
    Buffer<I> ends, columns;
    Buffer<In> values;

    Csr(Input &in, index rows, index p, index most, bool ordered)
        : places(in, rows, p, most, ordered), ends(in, rows + 1),
          columns(in, index(places.columns.size())), values(in, columns.count) {
        std::copy(places.ends.begin(), places.ends.end(), ends.data());
        std::copy(places.columns.begin(), places.columns.end(), columns.data());
        const Kind kind = in.kind();
        for (index i = index(ends[0]); i < values.count; ++i)
            values[i] = in.number<In>(kind);
    }
    index stored() const { return values.count - index(ends[0]); }
};

template <class In, class T, class I, class Kernel>
void csr_pass(Input &in, const char *set, const char *name, Kernel kernel) {
    constexpr index line = PRINCOMP_LINE / index(sizeof(T));
    const index lines = 1 + in.byte() % 6, width = lines * line;
    const index step = width + line * (in.byte() % 3);
    const index p = in.size(1, 300), n = in.size(0, 600);
    const bool forward = !in.flag(), backward = !in.flag(), kept = !forward || in.flag();
    const bool with_shift = in.flag(), summed = in.flag(), shared = in.flag(), scaled = in.flag();
    const unsigned scaling = in.byte();
    in.seed();
    const Csr<In, I> x(in, n, p, 20000 / width, false);
    std::snprintf(label, sizeof(label), "%s %s (%td, %td, %td), %td entries%s%s", set, name, n, p,
                  width, x.stored(), forward ? " forward" : "", backward ? " backward" : "");
    const auto kind = in.kind();
    const Buffer<double> share = shared ? positive<double>(in, n, scaling) : Buffer<double>();
    const Buffer<double> factor = scaled ? positive<double>(in, n, scaling / 5) : Buffer<double>();
    // The last row ends with its last line.
    const auto length = [&](index height) { return height ? (height - 1) * step + width : 0; };
    const Buffer<T> right = forward ? filled<T>(in, length(p), kind) : Buffer<T>();
    const Buffer<T> shift = with_shift ? filled<T>(in, width, kind) : Buffer<T>();
    const Buffer<T> middle = kept ? filled<T>(in, length(n), kind) : Buffer<T>();
    const Buffer<T> into = backward ? filled<T>(in, length(p), INTEGERS) : Buffer<T>();
    const Buffer<double> total = summed ? filled<double>(in, width, INTEGERS) : Buffer<double>();
    const Buffer<T> middle_before = copy(in, middle), into_before = copy(in, into);
    const Buffer<double> total_before = copy(in, total);
    demand(kernel(x.values.data(), x.columns.data(), x.ends.data(), n, share.data(), factor.data(),
                  right.data(), shift.data(), middle.data(), into.data(), total.data(), step,
                  lines) == DONE,
           "an unknown answer");

    for (index c = 0; c < width; ++c) {
        vector<Total<T>> images(backward ? p : 0);
        for (index j = 0; j < p && backward; ++j)
            images[j].add({into_before[j * step + c]});
        Total<T> all;
        for (index r = 0; r < n; ++r) {
            const Near part = share ? cast<T>({share[r]}) : Near{1};
            Near y{forward ? 0 : real(middle_before[r * step + c])};
            if (forward) {
                Total<T> sum;
                for (index e = x.ends[r]; e < x.ends[r + 1]; ++e)
                    sum.add(times<T>({x.values[e]}, {right[x.columns[e] * step + c]}));
                const Near down = times<T>(part, {shift ? real(shift[c]) : 0});
                sum.add({-down.value, down.off});
                y = sum.sum();
            }
            if (factor)
                y = times<T>(y, cast<T>({factor[r]}));
            if (forward && kept)
                near(middle[r * step + c], y, "score", r, c);
            all.add(times<T>(part, y));
            for (index e = x.ends[r]; e < x.ends[r + 1] && backward; ++e)
                images[x.columns[e]].add(times<T>({x.values[e]}, y));
        }
        if (summed)
            near(total[c], added(total_before[c], all), "sum", c);
        for (index j = 0; j < p && backward; ++j)
            near(into[j * step + c], images[j].sum(), "image", j, c);
    }
    if (kept && !forward)
        same(middle.data(), middle_before.data(), middle.count, "an input score");
    for (index r = 0; r + 1 < n && kept; ++r)
        same(&middle[r * step + width], &middle_before[r * step + width], step - width,
             "a gap between scores");
    for (index j = 0; j + 1 < p && backward; ++j)
        same(&into[j * step + width], &into_before[j * step + width], step - width,
             "a gap between images");
}

template <class In, class I, class Kernel>
void csr_scatter(Input &in, const char *set, const char *name, Kernel kernel) {
    const index p = in.size(1, 700), n = in.size(0, 2000);
    const unsigned weighting = in.byte() % 6;
    const bool refused = in.byte() % 8 == 7; // then the kernel cannot sum in groups
    in.seed();
    const Csr<In, I> x(in, n, p, within(20000, p), true);
    std::snprintf(label, sizeof(label), "%s %s (%td, %td), %td entries", set, name, n, p,
                  x.stored());
    const Buffer<double> weights =
        weighting ? positive<double>(in, n, weighting - 1) : Buffer<double>();
    const Buffer<double> products = filled<double>(in, p * p, INTEGERS);
    const Buffer<double> sums = filled<double>(in, p, INTEGERS);
    const Buffer<double> before = copy(in, products), earlier = copy(in, sums);
    refuse_memory = refused;
    const int answer = kernel(x.values.data(), x.columns.data(), x.ends.data(), n, p,
                              weights.data(), products.data(), sums.data());
    refuse_memory = false;
    demand(answer == DONE, "an unknown answer");
    vector<Total<double>> squares(p * p), all(p);
    for (index i = 0; i < p * p; ++i)
        squares[i].add({before[i]});
    for (index j = 0; j < p; ++j)
        all[j].add({earlier[j]});
    for (index r = 0; r < n; ++r)
        for (index e = x.ends[r]; e < x.ends[r + 1]; ++e) {
            Near one{x.values[e]};
            if (weights)
                one = times<double>(one, {weights[r]});
            all[x.columns[e]].add(one);
            for (index other = e; other < x.ends[r + 1]; ++other)
                squares[x.columns[e] * p + x.columns[other]].add(
                    times<double>(one, {x.values[other]}));
        }
    for (index i = 0; i < p; ++i) {
        near(sums[i], all[i].sum(), "sum", i);
        for (index j = 0; j < p; ++j)
            near(products[i * p + j], squares[i * p + j].sum(), "product", i, j);
    }
}

template <class In, class I, class Kernel>
void csr_columns(Input &in, const char *set, const char *name, Kernel kernel) {
    const index p = in.size(1, 1200), n = in.size(0, 2000);
    const unsigned weighting = in.byte() % 6;
    const bool shifted = in.flag();
    in.seed();
    const Csr<In, I> x(in, n, p, 20000, false);
    std::snprintf(label, sizeof(label), "%s %s (%td, %td), %td entries", set, name, n, p,
                  x.stored());
    const auto kind = in.kind();
    const Buffer<double> shift = shifted ? filled<double>(in, p, kind) : Buffer<double>();
    const Buffer<double> weights =
        weighting ? positive<double>(in, n, weighting - 1) : Buffer<double>();
    const Buffer<double> sums = filled<double>(in, 4 * p, INTEGERS), before = copy(in, sums);
    demand(kernel(x.values.data(), x.columns.data(), x.ends.data(), n, p, shift.data(),
                  weights.data(), sums.data()) == DONE,
           "an unknown answer");
    vector<Total<double>> all(4 * p);
    for (index i = 0; i < 4 * p; ++i)
        all[i].add({before[i]});
    for (index r = 0; r < n; ++r)
        for (index e = x.ends[r]; e < x.ends[r + 1]; ++e) {
            Total<double> *to = &all[4 * x.columns[e]];
            const Near weight{weights ? real(weights[r]) : 1};
            Near deviation{x.values[e]};
            if (shift)
                deviation = minus<double>(deviation, {shift[x.columns[e]]});
            const Near share = times<double>(weight, deviation);
            to[0].add({1});
            to[1].add(weight);
            to[2].add(share);
            to[3].add(times<double>(share, deviation));
        }
    for (index i = 0; i < 4 * p; ++i)
        near(sums[i], all[i].sum(), i % 4 == 0 ? "number" : "sum", i / 4, i % 4);
}

} // namespace fuzz
