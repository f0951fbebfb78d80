// Which of the compiled instruction sets this processor, and its system, can run.

#include "kernels.hpp"

// 0: plain, 1: AVX2 as well, 2: AVX-512 as well.
extern "C" PRINCOMP_VISIBLE int princomp_supported() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 1;
#endif
    return 0;
}
