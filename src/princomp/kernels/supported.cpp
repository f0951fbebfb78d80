// Which of the compiled instruction sets this processor, and its system, can run.

#include "kernels.hpp"

#if defined(__x86_64__) && defined(_WIN32)
#include <cpuid.h>

namespace {

// Clang on Windows does not link the library behind __builtin_cpu_supports, so ask the processor.
struct Processor {
    unsigned ecx = 0, ebx = 0, kept = 0;
    Processor() {
        unsigned eax, edx, unused;
        if (!__get_cpuid(1, &eax, &unused, &ecx, &edx) || !(ecx >> 27 & 1)) {
            ecx = 0;
            return;
        }
        __get_cpuid_count(7, 0, &eax, &ebx, &unused, &edx);
        // The registers that the system keeps when it changes between threads.
        __asm__("xgetbv" : "=a"(kept), "=d"(edx) : "c"(0));
    }
    bool avx2() const { return (kept & 0x06) == 0x06 && ecx >> 12 & 1 && ebx >> 5 & 1; }
    bool avx512() const {
        constexpr unsigned f = 1u << 16, dq = 1u << 17, vl = 1u << 31, all = f | dq | vl;
        return avx2() && (kept & 0xe6) == 0xe6 && (ebx & all) == all;
    }
};

} // namespace
#endif

// 0: plain; 1: AVX2 and FMA as well; 2: AVX-512 F, VL and DQ as well.
extern "C" PRINCOMP_VISIBLE int princomp_supported() {
#if defined(__x86_64__) && defined(_WIN32)
    const Processor processor;
    return processor.avx512() ? 2 : processor.avx2() ? 1 : 0;
#elif defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 1;
#endif
    return 0;
}
