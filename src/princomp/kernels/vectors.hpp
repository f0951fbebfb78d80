// Vectors of numbers anywhere in memory, for the kernels that stream rows.
//
// Its sources are compiled once for each instruction set, as those of tiles.hpp.
#pragma once

#include "kernels.hpp"

#include <cstring>

namespace PRINCOMP_ISA {
namespace {

using index = std::ptrdiff_t;

// Bytes of a cache line.
constexpr index LINE = PRINCOMP_LINE;

template <class T, int bytes> struct Vector {
    typedef T type __attribute__((vector_size(bytes)));
};
// The vector with this number in an array at any address. By memcpy, since Clang drops the alignment
// of a type that is a template's argument, and GCC is slow with vectors of low alignment.
template <class V> inline V load(const void *from, index number = 0) {
    V v;
    std::memcpy(&v, static_cast<const char *>(from) + number * index(sizeof(V)), sizeof(V));
    return v;
}
template <class V> inline void store(void *to, V v, index number = 0) {
    std::memcpy(static_cast<char *>(to) + number * index(sizeof(V)), &v, sizeof(V));
}

} // namespace
} // namespace PRINCOMP_ISA
