// Checks of the kernels without Python, to be run under sanitizers: `make sanitize`.
//
// Every buffer has exactly the promised length, so that reads and writes out of bounds are noticed.
// Several threads share the input, as in the package. Results are compared with plain sums, closely
// enough to tell a wrong index from rounding.

#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

using std::ptrdiff_t;
using std::vector;

#define DECLARE_PLAIN(name, ...) extern "C" int princomp_plain_##name(__VA_ARGS__);
PRINCOMP_FUNCTIONS(DECLARE_PLAIN)
#if defined(__x86_64__)
#define DECLARE_AVX2(name, ...) extern "C" int princomp_avx2_##name(__VA_ARGS__);
#define DECLARE_AVX512(name, ...) extern "C" int princomp_avx512_##name(__VA_ARGS__);
#define DECLARE_NARROW(name, ...) extern "C" int princomp_narrow_##name(__VA_ARGS__);
PRINCOMP_FUNCTIONS(DECLARE_AVX2)
PRINCOMP_FUNCTIONS(DECLARE_AVX512)
PRINCOMP_FUNCTIONS(DECLARE_NARROW)
#endif
extern "C" int princomp_supported();

namespace {

constexpr int THREADS = 3;

void demand(bool holds, const char *what, ptrdiff_t m, ptrdiff_t p) {
    if (holds)
        return;
    std::fprintf(stderr, "%s is wrong at %td x %td\n", what, m, p);
    std::exit(1);
}

template <class F> void in_threads(F work) {
    vector<std::thread> threads;
    for (int t = 0; t < THREADS; ++t)
        threads.emplace_back(work, t);
    for (auto &thread : threads)
        thread.join();
}

// ---- dense ---------------------------------------------------------------------------------

constexpr ptrdiff_t LONG = 20000; // rows with more chunks than are added sequentially

template <class In, class Kernel>
void dense(const char *what, Kernel kernel, ptrdiff_t m, ptrdiff_t p, bool weighted, double unit) {
    std::mt19937 random(unsigned(m * 1000 + p));
    std::normal_distribution<double> normal(3.0, 1.0);
    vector<In> x(m * p);
    for (auto &value : x)
        value = In(normal(random));
    if (m >= LONG) // the first row is sampled and misleads the first shift
        std::fill(x.begin(), x.begin() + p, In(1e4));
    vector<double> weights(weighted ? m : 0);
    for (auto &weight : weights)
        weight = 0.5 + std::abs(normal(random));
    double total = 0.0;
    vector<double> mean(p), scatter(p * p);
    for (ptrdiff_t r = 0; r < m; ++r)
        total += weighted ? weights[r] : 1.0;
    for (ptrdiff_t r = 0; r < m; ++r)
        for (ptrdiff_t i = 0; i < p; ++i)
            mean[i] += (weighted ? weights[r] : 1.0) / total * double(x[r * p + i]);
    for (ptrdiff_t r = 0; r < m; ++r)
        for (ptrdiff_t i = 0; i < p; ++i)
            for (ptrdiff_t j = 0; j < p; ++j)
                scatter[i * p + j] += (weighted ? weights[r] : 1.0) * (x[r * p + i] - mean[i]) *
                                      (x[r * p + j] - mean[j]);
    in_threads([&](int) {
        vector<double> out(2 * p + p * p);
        demand(kernel(x.data(), m, p, p, weighted ? weights.data() : nullptr, out.data()) == 0,
               what, m, p);
        for (ptrdiff_t i = 0; i < p; ++i)
            for (ptrdiff_t j = 0; j < p; ++j) {
                const double size = std::sqrt(scatter[i * p + i] * scatter[j * p + j]) + total;
                demand(std::abs(out[2 * p + i * p + j] - scatter[i * p + j]) < 1e3 * unit * size,
                       what, m, p);
            }
    });
}

template <class F32, class F32P, class F64> void all_dense(F32 f32, F32P f32_precise, F64 f64) {
    for (ptrdiff_t p : {1, 3, 6, 7, 8, 13, 17, 31, 40, 54, 97, 103, 200})
        for (ptrdiff_t m : {1, 2, 5, 40, 300})
            for (bool weighted : {false, true}) {
                dense<float>("moments_f32", f32, m, p, weighted, 6e-8);
                dense<float>("moments_f32_precise", f32_precise, m, p, weighted, 1e-15);
                dense<double>("moments_f64", f64, m, p, weighted, 1e-15);
            }
    for (ptrdiff_t p : {1, 7, 17, 54}) {
        dense<float>("moments_f32", f32, LONG, p, false, 6e-8);
        dense<double>("moments_f64", f64, LONG, p, p == 17, 1e-15);
    }
    dense<float>("moments_f32", f32, 20, 800, false, 6e-8);
    dense<double>("moments_f64", f64, 20, 800, false, 1e-15);
}

// Packs chunks in parallel, then adds to groups of a scatter's rows in parallel. Small integers are
// exact in every precision. Weights are squares, whose roots are integers.
template <class In, class T, class Pack, class Add, class Mirror>
void wide(const char *what, Pack pack, Add add, Mirror mirror, ptrdiff_t m, ptrdiff_t p,
          bool weighted) {
    const ptrdiff_t rows = 10, chunks = (m + rows - 1) / rows, group = 48;
    const ptrdiff_t step = rows * ((p + 15) / 16 * 16) + 16;
    vector<In> x(m * p);
    for (ptrdiff_t i = 0; i < m * p; ++i)
        x[i] = In(i % 7 + i % 4);
    vector<double> weights(m), delta(p), moved(p), away(p), scatter(p * p), expected(p * p);
    for (ptrdiff_t r = 0; r < m; ++r)
        weights[r] = double(1 + 3 * (r % 2));
    vector<T> shift(p + 16), packed(chunks * step);
    for (ptrdiff_t j = 0; j < p; ++j) {
        shift[j] = T(j % 3);
        delta[j] = double(j % 4);
        moved[j] = double(j % 2);
        away[j] = 2.0 * moved[j];
    }
    vector<double> sums(2 * p * chunks);
    in_threads([&](int t) {
        for (ptrdiff_t chunk = t; chunk < chunks; chunk += THREADS) {
            const ptrdiff_t first = chunk * rows;
            pack(x.data() + first * p, std::min(rows, m - first), p, p, shift.data(),
                 weighted ? weights.data() + first : nullptr, packed.data() + chunk * step,
                 sums.data() + 2 * p * chunk);
        }
    });
    in_threads([&](int t) {
        for (ptrdiff_t begin = t * group; begin < p; begin += THREADS * group)
            add(packed.data(), step, m, rows, p, begin, std::min(begin + group, p), moved.data(),
                away.data(), 3.0, delta.data(), scatter.data());
    });
    in_threads([&](int t) {
        for (ptrdiff_t begin = t * 64; begin < p; begin += THREADS * 64)
            mirror(scatter.data(), p, begin, std::min(begin + 64, p));
    });
    for (ptrdiff_t i = 0; i < p; ++i)
        for (ptrdiff_t j = 0; j < p; ++j) {
            double sum = 3.0 * delta[i] * delta[j] - moved[i] * away[j], plain = 0.0;
            for (ptrdiff_t r = 0; r < m; ++r) {
                const double weight = weighted ? weights[r] : 1.0;
                sum += weight * (x[r * p + i] - shift[i]) * (x[r * p + j] - shift[j]);
                plain += weight * (x[r * p + i] - shift[i]);
            }
            demand(scatter[i * p + j] == sum, what, m, p);
            double found = 0.0, squares = 0.0;
            for (ptrdiff_t chunk = 0; chunk < chunks; ++chunk) {
                found += sums[2 * p * chunk + i];
                squares += sums[2 * p * chunk + p + i];
            }
            demand(found == plain, what, m, p);
            if (i == j)
                demand(squares == sum - 3.0 * delta[i] * delta[i] + moved[i] * away[i], what, m, p);
        }
}

#define ALL_WIDE(isa)                                                                              \
    for (ptrdiff_t p : {1, 7, 16, 33, 49, 96, 97, 150})                                            \
        for (ptrdiff_t m : {1, 9, 10, 25})                                                         \
            for (bool weighted : {false, true}) {                                                  \
                wide<float, float>("wide_f32", princomp_##isa##_wide_pack_f32,                     \
                                   princomp_##isa##_wide_add_f32, princomp_##isa##_wide_mirror, m, \
                                   p, weighted);                                                   \
                wide<float, double>("wide_f32_precise", princomp_##isa##_wide_pack_f32_precise,    \
                                    princomp_##isa##_wide_add_f64, princomp_##isa##_wide_mirror,   \
                                    m, p, weighted);                                               \
                wide<double, double>("wide_f64", princomp_##isa##_wide_pack_f64,                   \
                                     princomp_##isa##_wide_add_f64, princomp_##isa##_wide_mirror,  \
                                     m, p, weighted);                                              \
            }

// Trace and sum of squares equal those of the matrix, and results those of one thread, bit by bit.
template <class Lead, class Help, class Numbers>
void tridiagonal(Lead lead, Help help, Numbers numbers, ptrdiff_t n) {
    std::mt19937 random{unsigned(n)};
    std::normal_distribution<double> normal;
    vector<double> a(n * n);
    double trace = 0.0, squares = 0.0;
    for (ptrdiff_t i = 0; i < n; ++i)
        for (ptrdiff_t j = i; j < n; ++j) {
            a[i * n + j] = normal(random);
            trace += i == j ? a[i * n + j] : 0.0;
            squares += (i == j ? 1.0 : 2.0) * a[i * n + j] * a[i * n + j];
        }
    vector<double> known;
    for (bool helped : {false, true}) {
        vector<double> work = a, diagonal(n), offdiag(n - 1), factors(n - 1);
        vector<double> memory(numbers(n));
        alignas(64) char shared[64] = {};
        const auto all = [&](int t) {
            if (t)
                help(shared);
            else
                lead(work.data(), n, diagonal.data(), offdiag.data(), factors.data(), memory.data(),
                     shared);
        };
        if (helped)
            in_threads(all);
        else
            all(0);
        double sum = 0.0, all_squares = 0.0;
        for (ptrdiff_t i = 0; i < n; ++i) {
            sum += diagonal[i];
            all_squares += diagonal[i] * diagonal[i];
            all_squares += i + 1 < n ? 2.0 * offdiag[i] * offdiag[i] : 0.0;
        }
        demand(std::abs(sum - trace) < 1e-12 * double(n), "tridiagonal_f64", n, n);
        demand(std::abs(all_squares - squares) < 1e-12 * squares, "tridiagonal_f64", n, n);
        diagonal.insert(diagonal.end(), offdiag.begin(), offdiag.end());
        demand(!helped || diagonal == known, "tridiagonal_f64", n, n);
        known = diagonal;
    }
}

// Z += Aᵀ(AQ), and each of its halves, for small integers, which are exact in every precision.
template <class T, class Kernel>
void vectors(const char *what, Kernel kernel, ptrdiff_t m, ptrdiff_t p, ptrdiff_t lines) {
    const ptrdiff_t padded = lines * 64 / ptrdiff_t(sizeof(T)), strips = (m + 7) / 8 * 8;
    const ptrdiff_t tile = 1024 / ptrdiff_t(sizeof(T)), tiles = (p + tile - 1) / tile;
    const ptrdiff_t room = std::max<ptrdiff_t>(512 * tile, 8 * tiles * tile);
    vector<T> x(m * p), high(p), divisor(p, T(2)), roots(m), q(p * padded), taken(padded, T(1));
    for (ptrdiff_t i = 0; i < m * p; ++i)
        x[i] = T(2 * (i % 5));
    for (ptrdiff_t j = 0; j < p; ++j)
        high[j] = T(2 * (j % 3));
    for (ptrdiff_t r = 0; r < m; ++r)
        roots[r] = T(1 + r % 2);
    for (ptrdiff_t i = 0; i < p * padded; ++i)
        q[i] = T(i % 3 - 1);
    vector<double> scores(m * padded), images(p * padded), sums(padded);
    for (ptrdiff_t r = 0; r < m; ++r)
        for (ptrdiff_t c = 0; c < padded; ++c) {
            double &y = scores[r * padded + c];
            for (ptrdiff_t j = 0; j < p; ++j)
                y += double(roots[r]) * double(x[r * p + j] - high[j]) / 2 *
                     double(q[j * padded + c]);
            y -= double(roots[r]);
            sums[c] += double(roots[r]) * y;
            for (ptrdiff_t j = 0; j < p; ++j)
                images[j * padded + c] += double(roots[r]) * double(x[r * p + j] - high[j]) / 2 * y;
        }
    in_threads([&](int) {
        vector<T> rooms(room), y(strips * padded), part(p * padded);
        vector<double> z(p * padded), found(padded);
        const auto call = [&](const T *right, double *into) {
            demand(kernel(x.data(), m, p, p, high.data(), divisor.data(), roots.data(), right,
                          taken.data(), padded, rooms.data(), y.data(), part.data(), into,
                          found.data()) == 0,
                   what, m, p);
        };
        const auto check = [&] {
            for (ptrdiff_t i = 0; i < p * padded; ++i)
                demand(z[i] == images[i], what, m, p);
        };
        call(q.data(), z.data());
        check();
        for (ptrdiff_t c = 0; c < padded; ++c)
            demand(found[c] == sums[c], what, m, p);
        call(q.data(), nullptr);
        for (ptrdiff_t i = 0; i < m * padded; ++i)
            demand(double(y[i]) == scores[i], what, m, p);
        std::fill(z.begin(), z.end(), 0.0);
        call(nullptr, z.data());
        check();
    });
}

// y = A (Aᵀ Q − low summedᵀ), tile by tile, also for small integers.
template <class T, class Kernel>
void row_images(const char *what, Kernel kernel, ptrdiff_t m, ptrdiff_t p) {
    const ptrdiff_t padded = 64 / ptrdiff_t(sizeof(T)), tile = 1024 / ptrdiff_t(sizeof(T));
    const ptrdiff_t strips = (m + 7) / 8 * 8;
    vector<T> x(m * p), high(p, T(1)), q(strips * padded);
    vector<double> low(p), summed(padded), images(m * padded), sums(padded);
    for (ptrdiff_t i = 0; i < m * p; ++i)
        x[i] = T(i % 3);
    for (ptrdiff_t j = 0; j < p; ++j)
        low[j] = double(j % 2);
    for (ptrdiff_t r = 0; r < m; ++r)
        for (ptrdiff_t c = 0; c < padded; ++c)
            summed[c] += double(q[r * padded + c] = T((r + c) % 3 - 1));
    for (ptrdiff_t j = 0; j < p; ++j)
        for (ptrdiff_t c = 0; c < padded; ++c) {
            double weight = -low[j] * summed[c];
            for (ptrdiff_t r = 0; r < m; ++r)
                weight += double(x[r * p + j] - high[j]) * double(q[r * padded + c]);
            sums[c] += low[j] * weight;
            for (ptrdiff_t r = 0; r < m; ++r)
                images[r * padded + c] += double(x[r * p + j] - high[j]) * weight;
        }
    in_threads([&](int) {
        vector<T> room(strips * tile), part(tile * padded), y(strips * padded);
        vector<double> weights(tile * padded), found(padded);
        demand(kernel(x.data(), m, p, p, high.data(), nullptr, nullptr, q.data(), low.data(),
                      summed.data(), padded, room.data(), part.data(), weights.data(), y.data(),
                      found.data()) == 0,
               what, m, p);
        for (ptrdiff_t i = 0; i < m * padded; ++i)
            demand(double(y[i]) == images[i], what, m, p);
        for (ptrdiff_t c = 0; c < padded; ++c)
            demand(found[c] == sums[c], what, m, p);
    });
}

// Sums and squares about a shift, for small integers.
template <class T, class Kernel> void columns(Kernel kernel, ptrdiff_t m, ptrdiff_t p) {
    vector<T> x(m * p);
    vector<double> shift(p), weights(m);
    for (ptrdiff_t i = 0; i < m * p; ++i)
        x[i] = T(i % 7);
    for (ptrdiff_t j = 0; j < p; ++j)
        shift[j] = double(j % 3);
    for (ptrdiff_t r = 0; r < m; ++r)
        weights[r] = double(r % 4);
    const auto centred = [&](ptrdiff_t r, ptrdiff_t j) { return double(x[r * p + j]) - shift[j]; };
    in_threads([&](int) {
        for (const double *share : {static_cast<const double *>(nullptr),
                                    static_cast<const double *>(weights.data())}) {
            vector<double> sums(p), squares(p);
            demand(kernel(x.data(), m, p, p, shift.data(), share, sums.data(), squares.data()) == 0,
                   "columns", m, p);
            for (ptrdiff_t j = 0; j < p; ++j) {
                double sum = 0.0, square = 0.0;
                for (ptrdiff_t r = 0; r < m; ++r) {
                    sum += (share ? share[r] : 1.0) * centred(r, j);
                    square += (share ? share[r] : 1.0) * centred(r, j) * centred(r, j);
                }
                demand(sums[j] == sum && squares[j] == square, "columns", m, p);
            }
        }
    });
}

// Products of rows with each other, and scores, also for small integers.
template <class T, class Across, class Scores>
void sides(Across across, Scores scores, ptrdiff_t m, ptrdiff_t p) {
    vector<T> x(m * p), high(p), low(p, T(1));
    for (ptrdiff_t i = 0; i < m * p; ++i)
        x[i] = T(i % 7);
    for (ptrdiff_t j = 0; j < p; ++j)
        high[j] = T(j % 3);
    const ptrdiff_t k = 5, padded = 64 / ptrdiff_t(sizeof(T));
    vector<T> axes(p * padded);
    for (ptrdiff_t j = 0; j < p; ++j)
        for (ptrdiff_t c = 0; c < k; ++c)
            axes[j * padded + c] = T((j + c) % 3 - 1);
    const auto centred = [&](ptrdiff_t r, ptrdiff_t j) { return double(x[r * p + j] - high[j]); };
    in_threads([&](int) {
        vector<double> products(m * m);
        demand(across(x.data(), m, p, p, high.data(), nullptr, low.data(), nullptr,
                      products.data()) == 0,
               "across", m, p);
        for (ptrdiff_t a = 0; a < m; ++a)
            for (ptrdiff_t b = 0; b < m; ++b) {
                double expected = 0.0;
                for (ptrdiff_t j = 0; j < p; ++j)
                    expected += (centred(a, j) - 1) * (centred(b, j) - 1);
                demand(products[a * m + b] == expected, "across", m, p);
            }
        vector<T> room(8 * std::max<ptrdiff_t>(p, 1024 / sizeof(T))), out(m * k);
        demand(scores(x.data(), m, p, p, high.data(), low.data(), axes.data(), k, padded,
                      room.data(), out.data()) == 0,
               "scores", m, p);
        for (ptrdiff_t r = 0; r < m; ++r)
            for (ptrdiff_t c = 0; c < k; ++c) {
                double expected = 0.0;
                for (ptrdiff_t j = 0; j < p; ++j)
                    expected += (centred(r, j) - 1) * double(axes[j * padded + c]);
                demand(double(out[r * k + c]) == expected, "scores", m, p);
            }
    });
}

template <class A, class B, class C, class D, class E, class F>
void all_sides(A across32, B across64, C columns32, D columns64, E scores32, F scores64) {
    for (ptrdiff_t p : {1, 3, 16, 257, 700})
        for (ptrdiff_t m : {1, 2, 8, 17, 100}) {
            sides<float>(across32, scores32, m, p);
            sides<double>(across64, scores64, m, p);
            columns<float>(columns32, m, p);
            columns<double>(columns64, m, p);
        }
    // More rows than are added sequentially, and more columns than are summed at a time.
    for (ptrdiff_t p : {17, 2100}) {
        columns<float>(columns32, 1030, p);
        columns<double>(columns64, 1030, p);
    }
}

// Rows (m, k) times a matrix (k, n) that is packed as in matmul.py.
template <class T, class Matmul> void matmul(Matmul times, ptrdiff_t m, ptrdiff_t k, ptrdiff_t n) {
    const ptrdiff_t lanes = 64 / ptrdiff_t(sizeof(T)), panels = (n + lanes - 1) / lanes;
    vector<T> x(m * k), packed(panels * k * lanes);
    for (ptrdiff_t i = 0; i < m * k; ++i)
        x[i] = T(i % 7 - 3);
    const auto entry = [&](ptrdiff_t j, ptrdiff_t c) { return T((j + c) % 5 - 2); };
    for (ptrdiff_t j = 0; j < k; ++j)
        for (ptrdiff_t c = 0; c < n; ++c)
            packed[(c / lanes * k + j) * lanes + c % lanes] = entry(j, c);
    in_threads([&](int) {
        vector<T> out(m * n, T(7));
        demand(times(x.data(), m, k, k, packed.data(), n, out.data(), n) == 0, "matmul", m, k);
        for (ptrdiff_t r = 0; r < m; ++r)
            for (ptrdiff_t c = 0; c < n; ++c) {
                double expected = 0.0;
                for (ptrdiff_t j = 0; j < k; ++j)
                    expected += double(x[r * k + j]) * double(entry(j, c));
                demand(double(out[r * n + c]) == expected, "matmul", m, k);
            }
    });
}

template <class A, class B> void all_matmul(A f32, B f64) {
    for (ptrdiff_t k : {1, 5, 384, 385, 900})
        for (ptrdiff_t m : {1, 2, 6, 13})
            for (ptrdiff_t n : {1, 8, 17, 40}) {
                matmul<float>(f32, m, k, n);
                matmul<double>(f64, m, k, n);
            }
}

template <class F32, class F64> void all_vectors(F32 f32, F64 f64) {
    for (ptrdiff_t p : {1, 7, 16, 40, 257, 530})
        for (ptrdiff_t m : {1, 8, 9, 70})
            for (ptrdiff_t lines : {1, 2, 4, 5}) {
                vectors<float>("dense_pass_f32", f32, m, p, lines);
                vectors<double>("dense_pass_f64", f64, m, p, lines);
            }
    vectors<float>("dense_pass_f32", f32, 300, 600, 1);
    vectors<double>("dense_pass_f64", f64, 300, 600, 2);
    // Eight rows do not fit in a panel.
    vectors<float>("dense_pass_f32", f32, 20, 16500, 1);
    vectors<double>("dense_pass_f64", f64, 20, 8300, 1);
}

template <class F32, class F64> void all_row_images(F32 f32, F64 f64) {
    for (ptrdiff_t p : {1, 70, 300, 520})
        for (ptrdiff_t m : {1, 8, 9, 1030}) {
            row_images<float>("row_pass_f32", f32, m, p);
            row_images<double>("row_pass_f64", f64, m, p);
        }
}

// ---- sparse --------------------------------------------------------------------------------

template <class In, class I> struct Rows {
    vector<In> values;
    vector<I> columns, ends{0};
    Rows(ptrdiff_t m, ptrdiff_t p) {
        std::mt19937 random(unsigned(m * 77 + p));
        for (ptrdiff_t r = 0; r < m; ++r) {
            for (ptrdiff_t j = 0; j < p && r % 5; ++j)
                if (random() % 3 == 0) {
                    columns.push_back(I(j));
                    values.push_back(In(int(random() % 9) - 4));
                }
            ends.push_back(I(columns.size()));
        }
        values.shrink_to_fit();
        columns.shrink_to_fit();
        ends.shrink_to_fit();
    }
};

// Z += Bᵀ(BQ) for small integers, exact in every precision. Each thread takes one cache line.
template <class In, class T, class I, class Kernel>
void pass(const char *what, Kernel kernel, ptrdiff_t m, ptrdiff_t p) {
    const ptrdiff_t line = 64 / ptrdiff_t(sizeof(T)), step = THREADS * line;
    const Rows<In, I> rows(m, p);
    vector<T> q(p * step), middle(m * step), into(p * step);
    for (ptrdiff_t i = 0; i < p * step; ++i)
        q[i] = T(i % 7 - 3);
    in_threads([&](int t) {
        const ptrdiff_t at = t * line;
        demand(kernel(rows.values.data(), rows.columns.data(), rows.ends.data(), m, nullptr,
                      nullptr, q.data() + at, nullptr, middle.data() + at, into.data() + at,
                      nullptr, step, 1) == 0,
               what, m, p);
    });
    vector<double> expected(p * step);
    for (ptrdiff_t r = 0; r < m; ++r)
        for (ptrdiff_t v = 0; v < step; ++v) {
            double y = 0.0;
            for (auto e = rows.ends[r]; e < rows.ends[r + 1]; ++e)
                y += double(rows.values[e]) * double(q[rows.columns[e] * step + v]);
            for (auto e = rows.ends[r]; e < rows.ends[r + 1]; ++e)
                expected[rows.columns[e] * step + v] += double(rows.values[e]) * y;
        }
    for (ptrdiff_t i = 0; i < p * step; ++i)
        demand(double(into[i]) == expected[i], what, m, p);
}

template <class In, class I, class Kernel>
void scatter(const char *what, Kernel kernel, ptrdiff_t m, ptrdiff_t p) {
    const Rows<In, I> rows(m, p);
    vector<double> expected(p * p);
    for (ptrdiff_t r = 0; r < m; ++r)
        for (auto e = rows.ends[r]; e < rows.ends[r + 1]; ++e)
            for (auto f = e; f < rows.ends[r + 1]; ++f)
                expected[rows.columns[e] * p + rows.columns[f]] +=
                    double(rows.values[e]) * double(rows.values[f]);
    in_threads([&](int) {
        vector<double> products(p * p), sums(p);
        demand(kernel(rows.values.data(), rows.columns.data(), rows.ends.data(), m, p, nullptr,
                      products.data(), sums.data()) == 0,
               what, m, p);
        for (ptrdiff_t i = 0; i < p; ++i)
            for (ptrdiff_t j = i; j < p; ++j)
                demand(products[i * p + j] == expected[i * p + j], what, m, p);
    });
}

// Number, sum and squares of the entries of each column about 1; small integers are exact.
template <class In, class I, class Kernel>
void stored(const char *what, Kernel kernel, ptrdiff_t m, ptrdiff_t p) {
    const Rows<In, I> rows(m, p);
    const vector<double> ones(p, 1.0), weights(m, 2.0);
    vector<double> expected(4 * p);
    for (size_t e = 0; e < rows.columns.size(); ++e) {
        double *at = expected.data() + 4 * rows.columns[e];
        const double deviation = double(rows.values[e]) - 1.0;
        at[0] += 1.0, at[1] += 2.0, at[2] += 2.0 * deviation, at[3] += 2.0 * deviation * deviation;
    }
    in_threads([&](int) {
        vector<double> found(4 * p);
        demand(kernel(rows.values.data(), rows.columns.data(), rows.ends.data(), m, p, ones.data(),
                      weights.data(), found.data()) == 0 && found == expected,
               what, m, p);
    });
}

template <class A, class B, class C, class D, class E, class F, class G>
void all_sparse(A f64_i32, B f32_f64_i64, C f32_i32, D scatter_f64, E scatter_f32, F columns_f64,
                G columns_f32) {
    for (ptrdiff_t p : {1, 2, 17, 300})
        for (ptrdiff_t m : {1, 4, 130, 600, 5000}) {
            pass<double, double, std::int32_t>("csr_pass_f64_f64_i32", f64_i32, m, p);
            pass<float, double, std::int64_t>("csr_pass_f32_f64_i64", f32_f64_i64, m, p);
            pass<float, float, std::int32_t>("csr_pass_f32_f32_i32", f32_i32, m, p);
            stored<double, std::int32_t>("csr_columns_f64_i32", columns_f64, m, p);
            stored<float, std::int64_t>("csr_columns_f32_i64", columns_f32, m, p);
            scatter<double, std::int32_t>("csr_scatter_f64_i32", scatter_f64, m, p);
            scatter<float, std::int64_t>("csr_scatter_f32_i64", scatter_f32, m, p);
        }
}

// ---- spectra -------------------------------------------------------------------------------

// The scatter times each axis is the variance times the axis.
template <class Spectrum, class Small> void spectra(Spectrum spectrum, Small small) {
    for (ptrdiff_t p : {1, 2, 3, 8, 9, 31, 63, 64})
        for (ptrdiff_t m : {p + 1, 3 * p}) {
            std::mt19937 random(unsigned(m * 1000 + p));
            std::normal_distribution<double> normal(3.0, 1.0);
            vector<double> x(m * p);
            for (auto &value : x)
                value = normal(random);
            in_threads([&](int) {
                vector<double> out(2 * p * p + 3 * p + 3), again(p * p + p + 3);
                demand(small(x.data(), m, p, p, out.data()) == 0, "small_f64", m, p);
                const vector<double> scatter(out.begin() + 2 * p, out.begin() + 2 * p + p * p);
                demand(spectrum(scatter.data(), p, double(m - 1), p, again.data()) == 0,
                       "spectrum_f64", m, p);
                demand(std::equal(again.begin(), again.end(), out.begin() + 2 * p + p * p),
                       "small_f64", m, p);
                for (ptrdiff_t i = 0; i < p; ++i)
                    for (ptrdiff_t j = 0; j < p; ++j) {
                        double image = 0.0;
                        for (ptrdiff_t c = 0; c < p; ++c)
                            image += scatter[j * p + c] * again[p + i * p + c];
                        const double away = image / double(m - 1) - again[i] * again[p + i * p + j];
                        demand(std::abs(away) < 1e-13 * again[0], "spectrum_f64", m, p);
                    }
            });
        }
    vector<double> nothing(65 * 65), out(65 * 65 + 65 + 3);
    demand(spectrum(nothing.data(), 65, 1.0, 65, out.data()) != 0, "spectrum_f64", 65, 65);
    demand(spectrum(nothing.data(), 64, 1.0, 64, out.data()) == 0, "spectrum_f64", 64, 64);
}

} // namespace

#define ALL(isa)                                                                                   \
    all_dense(princomp_##isa##_moments_f32, princomp_##isa##_moments_f32_precise,                  \
              princomp_##isa##_moments_f64);                                                       \
    for (ptrdiff_t n : {2, 3, 33, 97, 400})                                                        \
        tridiagonal(princomp_##isa##_tridiagonal_f64, princomp_##isa##_tridiagonal_help,           \
                    princomp_##isa##_tridiagonal_numbers, n);                                      \
    ALL_WIDE(isa)                                                                                  \
    all_sides(princomp_##isa##_across_f32, princomp_##isa##_across_f64,                            \
              princomp_##isa##_columns_f32, princomp_##isa##_columns_f64,                          \
              princomp_##isa##_scores_f32, princomp_##isa##_scores_f64);                           \
    all_matmul(princomp_##isa##_matmul_f32, princomp_##isa##_matmul_f64);                          \
    spectra(princomp_##isa##_spectrum_f64, princomp_##isa##_small_f64);                            \
    all_vectors(princomp_##isa##_dense_pass_f32, princomp_##isa##_dense_pass_f64);                 \
    all_row_images(princomp_##isa##_row_pass_f32, princomp_##isa##_row_pass_f64);                  \
    all_sparse(princomp_##isa##_csr_pass_f64_f64_i32, princomp_##isa##_csr_pass_f32_f64_i64,       \
               princomp_##isa##_csr_pass_f32_f32_i32, princomp_##isa##_csr_scatter_f64_i32,        \
               princomp_##isa##_csr_scatter_f32_i64, princomp_##isa##_csr_columns_f64_i32,         \
               princomp_##isa##_csr_columns_f32_i64);                                              \
    std::puts(#isa ": all right");

int main() {
    ALL(plain)
#if defined(__x86_64__)
    ALL(narrow)
    if (princomp_supported() >= 1) {
        ALL(avx2)
    }
    if (princomp_supported() >= 2) {
        ALL(avx512)
    }
#endif
}
