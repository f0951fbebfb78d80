// The exported functions of an instruction set, found by name in a library.
#pragma once

#include "input.hpp"

#include <dlfcn.h>
#include <string>
#include <thread>
#include <vector>

namespace fuzz {

struct Kernels {
    const char *set = "";
    int (*table)(char *, index) = nullptr;
#define FUZZ_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
    PRINCOMP_FUNCTIONS(FUZZ_MEMBER)
#undef FUZZ_MEMBER
};

template <class F> bool find(void *library, const std::string &name, F &function) {
    void *found = dlsym(library, name.c_str());
    std::memcpy(&function, &found, sizeof(found));
    return found;
}

// The instruction sets that were compiled and that this processor supports.
inline std::vector<Kernels> sets_of(void *library) {
    int (*supported)() = nullptr;
    demand(find(library, "princomp_supported", supported), "there are no kernels");
    std::vector<Kernels> sets;
    const char *names[] = {"plain", "avx2", "avx512", "narrow"}; // narrow: only in sanitized builds
    for (int i = 0; i < 4; ++i) {
        Kernels kernels;
        kernels.set = names[i];
        const std::string prefix = std::string("princomp_") + names[i] + "_";
        if ((i < 3 && i > supported()) || !find(library, prefix + "table", kernels.table))
            continue;
        bool all = true;
#define FUZZ_FIND(name, ...) all = find(library, prefix + #name, kernels.name) && all;
        PRINCOMP_FUNCTIONS(FUZZ_FIND)
#undef FUZZ_FIND
        demand(all, "a kernel is missing");
        sets.push_back(kernels);
    }
    demand(!sets.empty(), "there are no kernels");
    return sets;
}

// If the linker wraps the allocators, memory requests of kernels can be refused.
extern const bool can_refuse_memory;
extern thread_local bool refuse_memory;

// In a new thread, the memory that a kernel keeps per thread has exactly the requested length.
template <class Work> int in_new_thread(Work work) {
    int answer = 0;
    std::thread([&] { answer = work(); }).join();
    return answer;
}

constexpr int DONE = 0, NOT_FINITE = 1, LEFT_RANGE = 2, NO_MEMORY = 3; // as in kernels.hpp

} // namespace fuzz
