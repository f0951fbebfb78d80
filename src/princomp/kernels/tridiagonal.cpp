// A symmetric matrix reduced to tridiagonal form by Householder reflectors, by several threads.
//
// Compiled once for each instruction set. As LAPACK's dsytrd: a panel of columns is reduced one
// after the other, each with a product of the matrix, and what they do to the rest is added at once
// (Dongarra, Sorensen & Hammarling 1989). Half of the work is those products, which wait for
// memory, and LAPACK gives them to one thread.
//
// One thread leads; the others help where there are pieces to claim. Pieces are the same however
// many help, and a thread that comes late, or never, is not waited for.

#include "tiles.hpp"

#include <atomic>
#include <cmath>
#include <thread>

namespace PRINCOMP_ISA {
namespace {

constexpr int bytes = PRINCOMP_LANES;
constexpr index lanes = bytes / index(sizeof(double));
typedef typename Vector<double, bytes>::type V;

// Columns of a panel. Rows that a product reads together. Pieces of a product at most, and numbers
// of the matrix for which one pays; entries of a vector in a piece, and dot products.
constexpr index PANEL = 32, ROWS_TOGETHER = 8, MAX_SPANS = 16, SPAN_NUMBERS = 32768;
constexpr index ENTRIES = 512, DOTS_PER_PIECE = 8;
// Rows of the rest in a piece: the first panel of tiles.hpp begins there for every set.
constexpr index GROUP = 48;
// Shorter columns are not worth a piece of their own: the leader does them alone.
constexpr index MIN_SHARED = 320;
// Rows are padded with zeros to a multiple of PADDING numbers, and products read groups of rows
// that begin at a multiple of ROWS_TOGETHER, so that no vector crosses a cache line.
constexpr index PADDING = PRINCOMP_LINE / index(sizeof(double));
static_assert(PADDING % lanes == 0 && ROWS_TOGETHER % lanes == 0, "a row has whole vectors");
// Squares below this have lost digits: so short a column is taken for zero. The caller keeps the
// matrix within a range where that is less than rounding.
constexpr double TINY_SQUARES = 1e-280;

// Numbers of a padded row and of a packed panel of the rest of a matrix; pieces of a column.
index padded(index n) { return (n + PADDING - 1) / PADDING * PADDING; }
index packed_numbers(index n) { return 2 * PANEL * ((n + lanes - 1) / lanes * lanes) + 2 * lanes; }
index entry_pieces(index n) { return (n + ENTRIES - 1) / ENTRIES; }

double dot(const double *x, const double *y, index count) {
    V sums[4] = {};
    index i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes)
        for (int v = 0; v < 4; ++v)
            sums[v] += load<V>(x + i + v * lanes) * load<V>(y + i + v * lanes);
    const V all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double sum = 0.0;
    for (index v = 0; v < lanes; ++v)
        sum += all[v];
    for (; i < count; ++i)
        sum += x[i] * y[i];
    return sum;
}

// Some rows of the upper triangle of a padded matrix times v, those as columns too, added to y.
template <int rows>
void product(const double *a, index stride, index first, const double *v, double *y) {
    const double *row[rows];
    V sums[rows];
    double ahead[rows], short_sums[rows];
    for (int r = 0; r < rows; ++r) {
        row[r] = a + (first + r) * stride;
        sums[r] = V{};
        ahead[r] = v[first + r];
        // The triangle on the diagonal.
        short_sums[r] = row[r][first + r] * v[first + r];
        for (index i = first + r + 1; i < first + rows; ++i) {
            short_sums[r] += row[r][i] * v[i];
            y[i] += row[r][i] * ahead[r];
        }
    }
    index i = first + rows;
    for (; i % lanes; ++i)
        for (int r = 0; r < rows; ++r) {
            short_sums[r] += row[r][i] * v[i];
            y[i] += row[r][i] * ahead[r];
        }
    for (; i < stride; i += lanes) {
        const V here = load<V>(v + i);
        V image = load<V>(y + i);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            const V numbers = load<V>(row[r] + i);
            sums[r] += numbers * here;
            image += numbers * ahead[r];
        }
        store(y + i, image);
    }
    for (int r = 0; r < rows; ++r) {
        for (index u = 0; u < lanes; ++u)
            short_sums[r] += sums[r][u];
        y[first + r] += short_sums[r];
    }
}

// What all threads see. `ticket` says of what is going on: its number, how many pieces it has, and
// which is the next; a piece is claimed by counting that on, and nothing changes before all are
// done.
struct Reduction;
struct Shared {
    std::atomic<std::uint64_t> ticket;
    std::atomic<std::int64_t> done;
    std::int64_t work;
    const Reduction *reduction;
};
// Python gives it a cache line.
static_assert(sizeof(Shared) <= PRINCOMP_LINE, "what threads share is larger than a line");
constexpr std::uint64_t NEXT = 1, COUNT = 1 << 20, NUMBER = std::uint64_t(1) << 40;
constexpr std::uint64_t OVER = ~std::uint64_t(0);

struct Reduction {
    enum Work { UPDATE, MULTIPLY, COMBINE, PACK, REST };

    double *a; // (n, stride), as `w` and `spans`
    index n, stride;
    double *w, *spans, *left, *right;          // PANEL rows, MAX_SPANS rows, two packed panels
    double *sums;                              // of pieces
    double *image_factors, *reflector_factors; // coefficients of a panel's columns, twice (PANEL)
    // What is being done: the panel's first column, those of it that are done, and this one.
    index panel = 0, count = 0, column = 0;
    // `pending` times its reflector is still to be added to the last of w.
    double tau = 0.0, pending = 0.0;

    const double *reflector(index s) const { return a + (panel + s) * stride; }
    double *image(index s) const { return w + s * stride; }

    // ---- pieces ------------------------------------------------------------------------

    // Subtract the products of the reflectors and images of some columns of the panel from entries.
    template <int columns> void subtract(index s, double *x, index begin, index end) const {
        const double *v[columns], *z[columns];
        double one[columns], other[columns];
        for (int c = 0; c < columns; ++c) {
            v[c] = reflector(s + c);
            z[c] = image(s + c);
            one[c] = image_factors[s + c];
            other[c] = reflector_factors[s + c];
        }
        for (index i = begin; i < end; ++i) {
            double sum = 0.0;
#pragma GCC unroll 8
            for (int c = 0; c < columns; ++c)
                sum += v[c][i] * one[c] + z[c][i] * other[c];
            x[i] -= sum;
        }
    }
    // All columns of the panel, four at a time, so that x is read and written less often.
    void subtract_panel(double *x, index begin, index end) const {
        index s = 0;
        for (; s + 4 <= count; s += 4)
            subtract<4>(s, x, begin, end);
        for (; s < count; ++s)
            subtract<1>(s, x, begin, end);
    }

    // Entries of this column: what the panel's reflectors before it did to them, and their squares.
    void update(index piece) const {
        const index begin = column + piece * ENTRIES;
        const index end = begin + ENTRIES < n ? begin + ENTRIES : n;
        double *x = a + column * stride;
        if (count) {
            double *last = image(count - 1);
            const double *v = reflector(count - 1);
            for (index i = begin; i < end; ++i)
                last[i] += pending * v[i];
        }
        subtract_panel(x, begin, end);
        const index from = begin > column + 2 ? begin : column + 2;
        sums[piece] = from < end ? dot(x + from, x + from, end - from) : 0.0;
    }

    index size() const { return n - column - 1; }
    index product_pieces() const {
        const index wanted = size() * size() / 2 / SPAN_NUMBERS;
        return wanted < 1 ? 1 : wanted > MAX_SPANS ? MAX_SPANS : wanted;
    }
    // First row of a piece of the product: all have about as many numbers of the triangle.
    index span(index piece) const {
        if (piece == product_pieces())
            return n;
        const double share = 1.0 - std::sqrt(1.0 - double(piece) / double(product_pieces()));
        const index row = column + 1 + index(share * double(size()));
        return piece ? row / ROWS_TOGETHER * ROWS_TOGETHER : row;
    }

    void multiply(index piece) const {
        const double *v = a + column * stride;
        if (piece < product_pieces()) {
            double *y = spans + piece * stride;
            index row = span(piece);
            const index end = span(piece + 1);
            std::memset(y + row, 0, sizeof(double) * (stride - row));
            for (; row % ROWS_TOGETHER && row < end; ++row)
                product<1>(a, stride, row, v, y);
            for (; row + ROWS_TOGETHER <= end; row += ROWS_TOGETHER)
                product<ROWS_TOGETHER>(a, stride, row, v, y);
            for (; row < end; ++row)
                product<1>(a, stride, row, v, y);
            return;
        }
        const index first = (piece - product_pieces()) * DOTS_PER_PIECE;
        for (index s = first; s < first + DOTS_PER_PIECE && s < count; ++s) {
            image_factors[s] = dot(image(s) + column + 1, v + column + 1, size());
            reflector_factors[s] = dot(reflector(s) + column + 1, v + column + 1, size());
        }
    }

    void combine(index piece) const {
        const index begin = column + 1 + piece * ENTRIES;
        const index end = begin + ENTRIES < n ? begin + ENTRIES : n;
        double *y = image(count);
        std::memset(y + begin, 0, sizeof(double) * (end - begin));
        for (index s = 0; s < product_pieces(); ++s) {
            const double *part = spans + s * stride;
            const index known = span(s), from = begin > known ? begin : known;
            for (index i = from; i < end; ++i)
                y[i] += part[i];
        }
        subtract_panel(y, begin, end);
        for (index i = begin; i < end; ++i)
            y[i] *= tau;
        sums[piece] = dot(y + begin, a + column * stride + begin, end - begin);
    }

    // Reflectors and images of a panel side by side, and the same with the other first, negated.
    void pack(index piece) const {
        constexpr index width = panel_width<double, bytes>();
        const index first = panel + count, rest = n - first,
                    padded = (rest + lanes - 1) / lanes * lanes;
        const index begin = piece * width, step = padded - begin < width ? padded - begin : width;
        double *one = left + begin * 2 * count, *other = right + begin * 2 * count;
        for (index s = 0; s < count; ++s) {
            const double *v = reflector(s) + first + begin, *z = image(s) + first + begin;
            double *v_one = one + s * step, *z_one = one + (count + s) * step;
            double *z_other = other + s * step, *v_other = other + (count + s) * step;
            for (index i = 0; i < step; ++i) {
                const bool there = begin + i < rest;
                const double v_here = there ? v[i] : 0.0, z_here = there ? z[i] : 0.0;
                v_one[i] = -v_here;
                z_one[i] = -z_here;
                z_other[i] = z_here;
                v_other[i] = v_here;
            }
        }
    }

    void add_rest(index piece) const {
        const index first = panel + count, rest = n - first;
        const Columns<double, bytes> columns(rest, false);
        Ahead no_prefetch = Ahead::none(left);
        static_assert(GROUP % panel_width<double, bytes>() == 0, "a group begins with a panel");
        add_group<double, bytes>(left, right, 2 * count, columns, piece * GROUP,
                                 (piece + 1) * GROUP, no_prefetch,
                                 {a + first * stride + first, stride, false});
    }

    void run_piece(std::int64_t work, index number) const {
        switch (work) {
        case UPDATE: return update(number);
        case MULTIPLY: return multiply(number);
        case COMBINE: return combine(number);
        case PACK: return pack(number);
        default: return add_rest(number);
        }
    }

    // ---- who does them -----------------------------------------------------------------

    // Claims a piece of what is going on and does it; whether there was one.
    static bool claim(Shared &shared) {
        std::uint64_t ticket = shared.ticket.load(std::memory_order_acquire);
        for (;;) {
            if (ticket == OVER || ticket % COUNT >= ticket / COUNT % COUNT)
                return false;
            if (shared.ticket.compare_exchange_weak(ticket, ticket + NEXT,
                                                    std::memory_order_acq_rel,
                                                    std::memory_order_acquire))
                break;
        }
        shared.reduction->run_piece(shared.work, index(ticket % COUNT));
        shared.done.fetch_add(1, std::memory_order_release);
        return true;
    }

    static void wait(int &turns) {
        if (++turns > 512)
            std::this_thread::yield();
#if defined(__x86_64__)
        else
            __builtin_ia32_pause();
#endif
    }

    void run(Shared &shared, Work work, index pieces) const {
        if (pieces == 1 || size() < MIN_SHARED) {
            for (index i = 0; i < pieces; ++i)
                run_piece(work, i);
            return;
        }
        shared.work = work;
        shared.reduction = this;
        shared.done.store(0, std::memory_order_relaxed);
        const std::uint64_t number = shared.ticket.load(std::memory_order_relaxed) / NUMBER + 1;
        shared.ticket.store(number * NUMBER + std::uint64_t(pieces) * COUNT,
                            std::memory_order_release);
        while (claim(shared)) {
        }
        for (int turns = 0; shared.done.load(std::memory_order_acquire) < pieces;)
            wait(turns);
    }

    // ---- the whole ---------------------------------------------------------------------

    double total(index pieces) const {
        double sum = 0.0;
        for (index i = 0; i < pieces; ++i)
            sum += sums[i];
        return sum;
    }

    // The reflector that leaves one entry of this column off the diagonal; that entry.
    double reflect(double squares) {
        double *x = a + column * stride;
        const double alpha = x[column + 1];
        if (!(squares > TINY_SQUARES)) {
            tau = 0.0;
            return alpha;
        }
        const double beta = -std::copysign(std::sqrt(alpha * alpha + squares), alpha);
        const double scale = 1.0 / (alpha - beta);
        tau = (beta - alpha) / beta;
        for (index i = column + 2; i < n; ++i)
            x[i] *= scale;
        x[column + 1] = 1.0;
        return beta;
    }

    void lead(Shared &shared, double *diagonal, double *off_diagonal, double *factors) {
        for (column = 0; column < n; ++column) {
            if (count == PANEL) {
                finish_panel(shared);
                panel = column;
                count = 0;
            }
            for (index s = 0; s < count; ++s) {
                reflector_factors[s] = reflector(s)[column];
                image_factors[s] =
                    image(s)[column] + (s + 1 == count ? pending * reflector_factors[s] : 0.0);
            }
            const index entries = (n - column + ENTRIES - 1) / ENTRIES;
            run(shared, UPDATE, entries);
            diagonal[column] = a[column * stride + column];
            if (column + 1 == n)
                return;
            off_diagonal[column] = reflect(total(entries));
            factors[column] = tau;
            pending = 0.0;
            if (tau == 0.0) {
                std::memset(image(count) + column + 1, 0, sizeof(double) * size());
                std::memset(a + column * stride + column + 1, 0, sizeof(double) * size());
            } else {
                run(shared, MULTIPLY,
                    product_pieces() + (count + DOTS_PER_PIECE - 1) / DOTS_PER_PIECE);
                const index rest = (size() + ENTRIES - 1) / ENTRIES;
                run(shared, COMBINE, rest);
                pending = -0.5 * tau * total(rest);
            }
            ++count;
        }
    }

    // Apply a panel's reflectors to the rest of the matrix.
    void finish_panel(Shared &shared) {
        const index rest = n - panel - count, width = panel_width<double, bytes>();
        double *last = image(count - 1);
        for (index i = panel + count; i < n; ++i)
            last[i] += pending * reflector(count - 1)[i];
        const index padded = (rest + lanes - 1) / lanes * lanes;
        run(shared, PACK, (padded + width - 1) / width);
        run(shared, REST, (rest + GROUP - 1) / GROUP);
    }
};

} // namespace
} // namespace PRINCOMP_ISA

// Numbers of the memory that tridiagonal_f64 takes for a matrix of order n.
PRINCOMP_EXPORT(tridiagonal_numbers)(std::ptrdiff_t n) {
    using namespace PRINCOMP_ISA;
    return int((PANEL + MAX_SPANS) * padded(n) + 2 * packed_numbers(n) + entry_pieces(n) +
               2 * PANEL);
}

// a (n, n padded with zeros): of a symmetric matrix the upper triangle; written over by the
// reflectors, row by row off the diagonal, as dsytrd leaves them in the lower triangle of columns.
// diagonal (n), off_diagonal and factors (n − 1); memory: `tridiagonal_numbers`; shared: a cache
// line of zeros, the one of those who help. Returns when all is done, and lets them go.
PRINCOMP_EXPORT(tridiagonal_f64)
(double *a, std::ptrdiff_t n, double *diagonal, double *off_diagonal, double *factors,
 double *memory, void *shared) {
    using namespace PRINCOMP_ISA;
    const std::ptrdiff_t packed = packed_numbers(n), stride = padded(n);
    double *images = memory, *spans = images + PANEL * stride, *left = spans + MAX_SPANS * stride;
    double *right = left + packed, *sums = right + packed;
    double *image_factors = sums + entry_pieces(n), *reflector_factors = image_factors + PANEL;
    Shared &state = *static_cast<Shared *>(shared);
    Reduction reduction{a,    n,     stride, images, spans, left,
                        right, sums, image_factors, reflector_factors};
    reduction.lead(state, diagonal, off_diagonal, factors);
    state.ticket.store(OVER, std::memory_order_release);
    return PRINCOMP_DONE;
}

// Does what another thread's tridiagonal_f64 has to give away, until that is done.
PRINCOMP_EXPORT(tridiagonal_help)(void *shared) {
    using namespace PRINCOMP_ISA;
    Shared &state = *static_cast<Shared *>(shared);
    for (int turns = 0; state.ticket.load(std::memory_order_acquire) != OVER;)
        if (Reduction::claim(state))
            turns = 0;
        else
            Reduction::wait(turns);
    return PRINCOMP_DONE;
}
