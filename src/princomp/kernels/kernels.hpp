// What the kernels share. Everything crosses the border to Python as plain C.
//
// Each source is compiled once for each instruction set, with PRINCOMP_ISA as its name,
// PRINCOMP_LANES as the bytes of a vector and PRINCOMP_REGISTERS as the vectors there are.
// All its code lives in the namespace of that name, so that nothing compiled for one processor
// can be linked into the code for another.
#pragma once

#include <cstddef>
#include <cstdint>

enum {
    PRINCOMP_DONE = 0,
    PRINCOMP_NOT_FINITE = 1, // a sum or a square is NaN or infinite
    PRINCOMP_LEFT_RANGE = 2, // products of float32 numbers vanished
    PRINCOMP_NO_MEMORY = 3,
};

// Bytes of a cache line: buffers from Python are padded to, and begin at, multiples of it.
#define PRINCOMP_LINE 64

#if defined(_WIN32)
#define PRINCOMP_VISIBLE __declspec(dllexport)
#else
#define PRINCOMP_VISIBLE __attribute__((visibility("default")))
#endif

#define PRINCOMP_PASTE(isa, name) princomp_##isa##_##name
#define PRINCOMP_NAMED(isa, name) PRINCOMP_PASTE(isa, name)
// The head of an exported function: princomp_ISA_name, which answers one of the codes above.
#define PRINCOMP_EXPORT(name) extern "C" PRINCOMP_VISIBLE int PRINCOMP_NAMED(PRINCOMP_ISA, name)

// An exported function that copies the sizes by which Python makes buffers, at most `room` of them,
// and returns how many there are. Python compares them with its own before it calls a kernel.
#define PRINCOMP_SIZES(name, ...)                                                                  \
    PRINCOMP_EXPORT(name)(std::ptrdiff_t *to, std::ptrdiff_t room) {                               \
        using namespace PRINCOMP_ISA;                                                              \
        const std::ptrdiff_t sizes[] = {__VA_ARGS__};                                              \
        const std::ptrdiff_t count = sizeof(sizes) / sizeof(sizes[0]);                             \
        for (std::ptrdiff_t i = 0; i < count && i < room; ++i)                                     \
            to[i] = sizes[i];                                                                      \
        return int(count);                                                                         \
    }
