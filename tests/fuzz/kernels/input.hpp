// Decodes the bytes of an input into sizes, numbers and buffers of exactly the promised length.
#pragma once

#include "exports.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#ifdef FUZZING // in a program with AddressSanitizer
#include <sanitizer/asan_interface.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace fuzz {

using index = std::ptrdiff_t;

// The call being checked, for messages.
inline char label[256] = "";

inline void demand(bool holds, const char *what) {
    if (holds)
        return;
    std::fprintf(stderr, "%s: %s\n", label, what);
    std::abort();
}

// How the numbers of an array are chosen.
enum Kind { INTEGERS, UNIFORM, FAR, WIDE, CONSTANT, SPECIAL, TINY, GREAT, RAW, KINDS };

class Input {
    const std::uint8_t *at, *end;
    std::uint64_t state;
    unsigned bits = 1;

  public:
    Input(const std::uint8_t *data, std::size_t size) : at(data), end(data + size), state(0) {}

    // The next byte, or zero after the last one.
    unsigned byte() { return at < end ? *at++ : 0; }
    bool flag() {
        if (bits == 1)
            bits = 256 | byte();
        const bool set = bits & 1;
        bits >>= 1;
        return set;
    }
    // Small sizes are as frequent as large ones.
    index size(index least, index most) {
        const unsigned low = byte(), value = low | byte() << 8;
        const index ranges[] = {9, 40, 300, most - least + 1}, range = ranges[value & 3];
        return least + index(value >> 2) % (range <= most - least ? range : most - least + 1);
    }
    Kind kind() { return Kind(byte() % KINDS); }
    // Seeds the random numbers with the next two bytes.
    void seed() {
        const unsigned low = byte();
        state = low | byte() << 8;
    }
    std::uint64_t random() {
        std::uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    // In [−1, 1).
    double uniform() { return std::ldexp(double(std::int64_t(random())), -63); }
    double power(int most) { return std::ldexp(1.0, int(random() % (2 * most + 1)) - most); }

    template <class T> T number(Kind kind) {
        typedef std::numeric_limits<T> Of;
        const int range = sizeof(T) == 4 ? 20 : 60; // squares of sums stay in range
        switch (kind) {
        case INTEGERS: return T(int(random() % 9) - 4);
        case FAR: return T(1e5 + uniform());
        case WIDE: return T(uniform() * power(range));
        case CONSTANT: return T(3);
        case TINY: return T(uniform()) * Of::min() * T(random() % 9);
        case GREAT: return T(uniform()) * Of::max();
        case SPECIAL: {
            const T all[] = {Of::quiet_NaN(), Of::infinity(), -Of::infinity(), Of::max(),
                             -Of::max(),      Of::min(),      Of::denorm_min(), T(-0.0)};
            const std::uint64_t one = random();
            return one % 61 ? T(uniform()) : all[one / 61 % 8];
        }
        case RAW: {
            if (at == end)
                return T(int(random() % 9) - 4);
            unsigned char bytes[sizeof(T)];
            for (auto &each : bytes)
                each = std::uint8_t(byte());
            T value;
            std::memcpy(&value, bytes, sizeof(T));
            return value;
        }
        default: return T(uniform());
        }
    }
    // Positive and finite, for weights, divisors and roots.
    template <class T> T positive(unsigned kind) {
        switch (kind % 5) {
        case 0: return T(1);
        case 1: return T(1 + random() % 4);
        case 2: return T(1 + 0.5 * uniform());
        case 3: return T((1 + 0.5 * uniform()) * power(20));
        default: return T(power(sizeof(T) == 4 ? 100 : 500));
        }
    }
};

// An array of exactly this length: AddressSanitizer reports accesses out of its bounds. Without it,
// an inaccessible page follows the array. All bits are initially set, which is NaN. The array
// begins anywhere, or at a cache line.
template <class T> class Buffer {
    void *memory = nullptr;
    std::size_t bytes = 0;
    T *first = nullptr;

  public:
    index count = 0;

    Buffer() = default; // a null pointer
    Buffer(Input &in, index numbers, bool line = false) : count(numbers) {
        const std::size_t used = sizeof(T) * std::size_t(numbers);
#ifdef FUZZING
        const std::size_t offset = line ? 0 : in.random() % 16 * sizeof(T);
        bytes = offset + used;
        demand(!posix_memalign(&memory, 64, bytes ? bytes : 1), "no memory for the harness");
        char *start = static_cast<char *>(memory) + offset;
        ASAN_POISON_MEMORY_REGION(memory, offset / 8 * 8);
#else
        (void)in;
        const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
        const std::size_t held = line ? (used + 63) / 64 * 64 : used;
        const std::size_t pages = (held + page - 1) / page * page;
        bytes = pages + page;
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        demand(memory != MAP_FAILED, "no memory for the harness");
        char *start = static_cast<char *>(memory) + pages - held;
        mprotect(static_cast<char *>(memory) + pages, page, PROT_NONE);
#endif
        if (used)
            std::memset(start, 0xff, used);
        first = reinterpret_cast<T *>(start);
    }
    Buffer(Buffer &&other) noexcept
        : memory(other.memory), bytes(other.bytes), first(other.first), count(other.count) {
        other.memory = nullptr;
    }
    Buffer &operator=(Buffer &&) = delete;
    ~Buffer() {
        if (!memory)
            return;
#ifdef FUZZING
        ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
        std::free(memory);
#else
        munmap(memory, bytes);
#endif
    }
    T *data() const { return first; }
    T &operator[](index i) const { return first[i]; }
    explicit operator bool() const { return first; }

    void fill(Input &in, Kind kind) const {
        for (index i = 0; i < count; ++i)
            first[i] = in.number<T>(kind);
    }
    void fill(T value) const {
        for (index i = 0; i < count; ++i)
            first[i] = value;
    }
};

template <class T> Buffer<T> filled(Input &in, index count, Kind kind) {
    Buffer<T> made(in, count);
    made.fill(in, kind);
    return made;
}
template <class T> Buffer<T> positive(Input &in, index count, unsigned kind) {
    Buffer<T> made(in, count);
    for (index i = 0; i < count; ++i)
        made[i] = in.positive<T>(kind);
    return made;
}
template <class T> Buffer<T> copy(Input &in, const Buffer<T> &other) {
    Buffer<T> made(in, other.count);
    if (other.count)
        std::memcpy(made.data(), other.data(), sizeof(T) * std::size_t(other.count));
    return made;
}

// Rows with any stride of NumPy: longer or shorter than a row, zero or negative.
template <class T> struct Rows {
    index m, p, stride;
    Buffer<T> memory;
    const T *x;

    static index chosen(Input &in, index p) {
        switch (in.byte() % 6) {
        case 0: return 0;
        case 1: return -p - index(in.byte() % 20);
        case 2: return p + 1 + index(in.byte() % 20);
        case 3: return (p + 1) / 2;
        default: return p;
        }
    }
    Rows(Input &in, index rows, index columns)
        : m(rows), p(columns), stride(chosen(in, columns)),
          memory(in, m && p ? (m - 1) * std::abs(stride) + p : 0),
          x(memory.data() + (m && p && stride < 0 ? (1 - m) * stride : 0)) {
        const Kind kind = in.kind();
        for (index r = 0; r < m; ++r)
            for (index j = 0; j < p; ++j)
                const_cast<T &>(at(r, j)) = in.number<T>(kind);
        if (kind == FAR && in.flag()) // the first sampled row is an outlier
            for (index j = 0; j < p && m; ++j)
                const_cast<T &>(at(0, j)) = T(-1e6);
    }
    const T &at(index r, index j) const { return x[r * stride + j]; }
};

} // namespace fuzz
