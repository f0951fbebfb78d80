// What the kernels share. Everything crosses the border to Python as plain C.
//
// Each source is compiled once for each instruction set, with PRINCOMP_ISA as its name,
// PRINCOMP_LANES as the bytes of a vector and PRINCOMP_REGISTERS as the vectors there are.
// All its code lives in the namespace of that name, so that nothing compiled for one processor
// can be linked into the code for another.
#pragma once

#include "exports.hpp"

enum {
    PRINCOMP_DONE = 0,
    PRINCOMP_NOT_FINITE = 1, // a sum or a square is NaN or infinite
    PRINCOMP_LEFT_RANGE = 2, // products of float32 numbers vanished
    PRINCOMP_NO_MEMORY = 3,
};

#if defined(_WIN32)
#define PRINCOMP_VISIBLE __declspec(dllexport)
#else
#define PRINCOMP_VISIBLE __attribute__((visibility("default")))
#endif

#define PRINCOMP_PASTE(isa, name) princomp_##isa##_##name
#define PRINCOMP_NAMED(isa, name) PRINCOMP_PASTE(isa, name)
// The head of an exported function: princomp_ISA_name, which returns one of the codes above.
#define PRINCOMP_EXPORT(name) extern "C" PRINCOMP_VISIBLE int PRINCOMP_NAMED(PRINCOMP_ISA, name)

// Declared here, so that a definition with other arguments does not compile.
#if defined(PRINCOMP_ISA)
#define PRINCOMP_DECLARE(name, ...) PRINCOMP_EXPORT(name)(__VA_ARGS__);
PRINCOMP_FUNCTIONS(PRINCOMP_DECLARE)
#endif

#if defined(PRINCOMP_ISA)
namespace PRINCOMP_ISA {
namespace {

// A compensated sum (Knuth's two-sum). A plain sum of many equal small numbers onto a large one
// rounds the same way each time, so its error grows with their number.
struct Sum {
    double high = 0.0, low = 0.0;
    void add(double x) {
        const double sum = high + x, part = sum - high;
        low += (high - (sum - part)) + (x - part);
        high = sum;
    }
    double value() const { return high + low; }
};

} // namespace
} // namespace PRINCOMP_ISA
#endif
