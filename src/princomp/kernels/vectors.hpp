// Vectors of numbers anywhere in memory, for the kernels that stream rows.
//
// Included by each source once for each instruction set, like tiles.hpp.
#pragma once

#include "kernels.hpp"

namespace PRINCOMP_ISA {
namespace {

using index = std::ptrdiff_t;

// Bytes that memory is fetched by.
constexpr index LINE = PRINCOMP_LINE;

// A vector at any address that its numbers may have, and may be looked at as these.
template <class T, int bytes> struct Vector {
    typedef T type __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
};
template <class V> inline V &at(const void *from, index number) {
    return static_cast<V *>(const_cast<void *>(from))[number];
}

} // namespace
} // namespace PRINCOMP_ISA
