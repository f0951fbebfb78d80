// Crafted calls of the compiled kernels, for libFuzzer and for replay.cpp.
//
// The first byte of an input chooses a family of functions, the second one a function of it and an
// instruction set, and the others sizes, strides, optional arrays and numbers; see input.hpp. Each
// array has exactly the promised length. Results are compared with sums in extended precision, as
// closely as the kernel's arithmetic allows.

#include "harness.hpp"
#include "products.hpp"
#include "scatters.hpp"
#include "sparse.hpp"
#include "spectra.hpp"
#include "wide.hpp"

#include <cerrno>
#include <string>

namespace fuzz {

thread_local bool refuse_memory = false;

#ifdef FUZZING // the linker is told to --wrap both
const bool can_refuse_memory = true;
extern "C" int __real_posix_memalign(void **to, std::size_t line, std::size_t bytes);
extern "C" void *__real_malloc(std::size_t bytes);
extern "C" int __wrap_posix_memalign(void **to, std::size_t line, std::size_t bytes) {
    return refuse_memory ? ENOMEM : __real_posix_memalign(to, line, bytes);
}
extern "C" void *__wrap_malloc(std::size_t bytes) {
    return refuse_memory ? nullptr : __real_malloc(bytes);
}
#else
const bool can_refuse_memory = false;
#endif

namespace {

using std::int32_t;
using std::int64_t;

// Checks that the table of a kernel is never written past the given length.
void table(Input &in, const Kernels &kernels) {
    std::snprintf(label, sizeof(label), "%s table", kernels.set);
    const index room = in.size(0, 4000);
    const Buffer<char> to(in, room);
    const int length = kernels.table(to.data(), room);
    std::string all(std::size_t(length) + 1, '\0');
    demand(kernels.table(&all[0], length + 1) == length, "two lengths of one table");
    for (index i = 0; i + 1 < room && i < length; ++i)
        demand(to[i] == all[std::size_t(i)], "another text where there is less room");
}

#define FUZZ_CALL(family, types, name)                                                             \
    return family<FUZZ_TYPES types>(in, k.set, #name, k.name);
#define FUZZ_TYPES(...) __VA_ARGS__

void call(Input &in, unsigned family, const Kernels &k, unsigned kind) {
    switch (family) {
    case 0:
        switch (kind % 3) {
        case 0: FUZZ_CALL(moments, (float, float), moments_f32)
        case 1: FUZZ_CALL(moments, (float, double), moments_f32_precise)
        default: FUZZ_CALL(moments, (double, double), moments_f64)
        }
    case 1:
        switch (kind % 3) {
        case 0: FUZZ_CALL(small, (float), small_f32)
        case 1: FUZZ_CALL(small, (double), small_f64)
        default: return spectrum(in, k.set, "spectrum_f64", k.spectrum_f64);
        }
    case 2:
        switch (kind % 3) {
        case 0:
            return wide<float, float>(in, k.set, "wide_f32", k.wide_pack_f32, k.wide_add_f32,
                                      k.wide_mirror);
        case 1:
            return wide<float, double>(in, k.set, "wide_f32_precise", k.wide_pack_f32_precise,
                                       k.wide_add_f64, k.wide_mirror);
        default:
            return wide<double, double>(in, k.set, "wide_f64", k.wide_pack_f64, k.wide_add_f64,
                                        k.wide_mirror);
        }
    case 3:
        if (kind % 2)
            FUZZ_CALL(across, (double), across_f64)
        FUZZ_CALL(across, (float), across_f32)
    case 4:
        if (kind % 2)
            FUZZ_CALL(columns, (double), columns_f64)
        FUZZ_CALL(columns, (float), columns_f32)
    case 5:
        if (kind % 2)
            FUZZ_CALL(dense_pass, (double), dense_pass_f64)
        FUZZ_CALL(dense_pass, (float), dense_pass_f32)
    case 6:
        if (kind % 2)
            FUZZ_CALL(row_pass, (double), row_pass_f64)
        FUZZ_CALL(row_pass, (float), row_pass_f32)
    case 7:
        if (kind % 2)
            FUZZ_CALL(scores, (double), scores_f64)
        FUZZ_CALL(scores, (float), scores_f32)
    case 8:
        if (kind % 2)
            FUZZ_CALL(matmul, (double), matmul_f64)
        FUZZ_CALL(matmul, (float), matmul_f32)
    case 9:
        switch (kind % 6) {
        case 0: FUZZ_CALL(csr_pass, (float, float, int32_t), csr_pass_f32_f32_i32)
        case 1: FUZZ_CALL(csr_pass, (float, float, int64_t), csr_pass_f32_f32_i64)
        case 2: FUZZ_CALL(csr_pass, (float, double, int32_t), csr_pass_f32_f64_i32)
        case 3: FUZZ_CALL(csr_pass, (float, double, int64_t), csr_pass_f32_f64_i64)
        case 4: FUZZ_CALL(csr_pass, (double, double, int32_t), csr_pass_f64_f64_i32)
        default: FUZZ_CALL(csr_pass, (double, double, int64_t), csr_pass_f64_f64_i64)
        }
    case 10:
        switch (kind % 4) {
        case 0: FUZZ_CALL(csr_scatter, (float, int32_t), csr_scatter_f32_i32)
        case 1: FUZZ_CALL(csr_scatter, (float, int64_t), csr_scatter_f32_i64)
        case 2: FUZZ_CALL(csr_scatter, (double, int32_t), csr_scatter_f64_i32)
        default: FUZZ_CALL(csr_scatter, (double, int64_t), csr_scatter_f64_i64)
        }
    case 11:
        switch (kind % 4) {
        case 0: FUZZ_CALL(csr_columns, (float, int32_t), csr_columns_f32_i32)
        case 1: FUZZ_CALL(csr_columns, (float, int64_t), csr_columns_f32_i64)
        case 2: FUZZ_CALL(csr_columns, (double, int32_t), csr_columns_f64_i32)
        default: FUZZ_CALL(csr_columns, (double, int64_t), csr_columns_f64_i64)
        }
    case 12: return tridiagonal(in, k);
    default: return table(in, k);
    }
}

} // namespace

const std::vector<Kernels> &sets(void *library) {
    static const std::vector<Kernels> all = sets_of(library);
    return all;
}

void run(const Kernels &set, const std::uint8_t *data, std::size_t size) {
    Input in(data, size);
    const unsigned family = in.byte() % 14;
    call(in, family, set, in.byte());
}

} // namespace fuzz

#ifdef FUZZING
// Fills new memory with NaN, so that reads of uninitialized memory are noticed.
extern "C" const char *__asan_default_options() {
    return "malloc_fill_byte=255:max_malloc_fill_size=1073741824";
}
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto &all = fuzz::sets(nullptr);
    fuzz::run(all[size > 1 ? data[1] / 6 % all.size() : 0], data, size);
    return 0;
}
#endif
