// What kernels.cpp gives to libFuzzer and to replay.cpp.
#pragma once

#include "table.hpp"

namespace fuzz {

// The kernels of a library, or, where that is null, of the program itself.
const std::vector<Kernels> &sets(void *library);

// One input; aborts with a message where a kernel is wrong.
void run(const Kernels &set, const std::uint8_t *data, std::size_t size);

} // namespace fuzz
