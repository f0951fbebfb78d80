// Packs a block of rows chunk by chunk, adds it to groups of a scatter's rows, and mirrors the
// scatter, as wide.py does.
#pragma once

#include "scatters.hpp"

namespace fuzz {

template <class In, class T, class Pack, class Add, class Mirror>
void wide(Input &in, const char *set, const char *name, Pack pack, Add add, Mirror mirror) {
    constexpr index vector_numbers = PRINCOMP_LINE / 4, panel = princomp_sizes::wide_group_rows,
                    turned = princomp_sizes::wide_mirrored_rows;
    const index p = in.size(1, 300), m = within(in.size(1, 1500), p * p, 200000);
    const index rows = 1 + in.size(0, princomp_sizes::wide_chunk_rows - 1);
    const index group = panel * (1 + in.byte() % 3), chunks = (m + rows - 1) / rows;
    std::snprintf(label, sizeof(label), "%s %s (%td, %td), chunks of %td, groups of %td", set, name,
                  m, p, rows, group);
    const unsigned weighting = in.byte() % 5;
    in.seed();
    const Rows<In> x(in, m, p);
    const auto kind = in.kind();
    const Buffer<double> weights =
        weighting ? positive<double>(in, m, weighting - 1) : Buffer<double>();
    const Buffer<T> shift(in, p + vector_numbers);
    shift.fill(T(0));
    for (index j = 0; j < p; ++j)
        shift[j] = T(in.number<In>(kind));
    const auto numbers = [&](index held) {
        return up(held, 2) * up(p, vector_numbers) + vector_numbers;
    };
    const index step = numbers(rows);
    const Buffer<T> packed(in, chunks * numbers(std::min(rows, m)));
    const Buffer<double> scatter = filled<double>(in, p * p, INTEGERS), before = copy(in, scatter);
    const Buffer<double> delta = filled<double>(in, p, UNIFORM), away = filled<double>(in, p, FAR);
    const Buffer<double> moved = filled<double>(in, p, UNIFORM);
    const double between = in.uniform();

    vector<Near> values(m * p), roots(m);
    for (index r = 0; r < m; ++r) {
        if (weights)
            roots[r] = cast<T>({std::sqrt(real(weights[r])), 0});
        for (index j = 0; j < p; ++j) {
            const Near value = minus<T>({x.at(r, j)}, {shift[j]});
            values[r * p + j] = weights ? times<T>(value, roots[r]) : value;
        }
    }
    for (index chunk = 0; chunk < chunks; ++chunk) {
        const index first = chunk * rows, now = std::min(rows, m - first);
        const Buffer<double> sums(in, 2 * p);
        demand(pack(x.x + first * x.stride, now, p, x.stride, shift.data(),
                    weights ? weights.data() + first : nullptr, packed.data() + chunk * step,
                    sums.data()) == DONE,
               "an unknown answer");
        for (index j = 0; j < p; ++j) {
            Total<T> sum, squares;
            for (index r = first; r < first + now; ++r) {
                const Near value = values[r * p + j];
                sum.add(weights ? times<T>(value, roots[r]) : value);
                squares.add(times<T>(value, value));
            }
            near(sums[j], sum.sum(), "sum", chunk, j);
            near(sums[p + j], squares.sum(), "square", chunk, j);
        }
    }
    for (index begin = 0; begin < p; begin += group) {
        const index end = std::min(begin + group, p);
        const Buffer<double> others = copy(in, scatter);
        demand(add(packed.data(), step, m, rows, p, begin, end, moved.data(), away.data(), between,
                   delta.data(), scatter.data()) == DONE,
               "an unknown answer");
        same(others.data(), scatter.data(), begin * p, "a row before the group");
        same(others.data() + end * p, scatter.data() + end * p, (p - end) * p,
             "a row after the group");
    }
    for (index begin = 0; begin < p; begin += turned)
        demand(mirror(scatter.data(), p, begin, std::min(begin + turned, p)) == DONE,
               "an unknown answer");
    for (index i = 0; i < p; ++i)
        for (index j = i; j < p; ++j) {
            Total<T> products;
            for (index r = 0; r < m; ++r)
                products.add(times<T>(values[r * p + i], values[r * p + j]));
            Total<double> sum;
            sum.add(products.sum());
            sum.add({before[i * p + j]});
            sum.add(times<double>(times<double>({between}, {delta[i]}), {delta[j]}));
            const Near down = times<double>({moved[i]}, {away[j]});
            sum.add({-down.value, down.off});
            // The sum over each chunk is added separately.
            Near expected = sum.sum();
            expected.off *= 1 + real(chunks);
            near(scatter[i * p + j], expected, "scatter", i, j);
            demand(same(scatter[i * p + j], scatter[j * p + i]), "the scatter is not symmetric");
        }
}

} // namespace fuzz
