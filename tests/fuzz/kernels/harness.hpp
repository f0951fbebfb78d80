// The functions of kernels.cpp that libFuzzer and replay.cpp call.
#pragma once

#include "table.hpp"

namespace fuzz {

// The kernels of a library, or of the program itself if the library is null.
const std::vector<Kernels> &sets(void *library);

// Runs one input; aborts with a message if a kernel is wrong.
void run(const Kernels &set, const std::uint8_t *data, std::size_t size);

} // namespace fuzz
