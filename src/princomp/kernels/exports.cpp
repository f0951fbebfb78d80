// The table of exports.hpp as text: a line "name arguments" for each function, with a letter for each
// argument, and a line "name value" for each size.

#include "kernels.hpp"

#include <cstdio>

namespace PRINCOMP_ISA {
namespace {

template <class T> constexpr char letter = 'p'; // a pointer
template <> constexpr char letter<princomp_size> = 'n';
template <> constexpr char letter<double> = 'd';
template <class... T> constexpr char letters[] = {letter<T>..., 0};

struct Line {
    const char *name, *arguments;
    long long value;
};
#define PRINCOMP_FUNCTION(name, ...) {#name, letters<__VA_ARGS__>, 0},
#define PRINCOMP_SIZE(name, value) {#name, nullptr, value},
const Line table[] = {PRINCOMP_FUNCTIONS(PRINCOMP_FUNCTION) PRINCOMP_SIZES(PRINCOMP_SIZE)};

} // namespace
} // namespace PRINCOMP_ISA

// Writes as much of the table as there is room for, and returns how long all of it is.
PRINCOMP_EXPORT(table)(char *to, princomp_size capacity) {
    princomp_size at = 0;
    for (const auto &line : PRINCOMP_ISA::table) {
        char *const from = at < capacity ? to + at : nullptr;
        const std::size_t left = at < capacity ? std::size_t(capacity - at) : 0;
        at += line.arguments ? std::snprintf(from, left, "%s %s\n", line.name, line.arguments)
                             : std::snprintf(from, left, "%s %lld\n", line.name, line.value);
    }
    return int(at);
}
