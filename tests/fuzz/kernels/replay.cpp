// Runs corpus files on all instruction sets of a kernel library. Works with any C++ compiler.

#include "harness.hpp"

#include <csignal>
#include <fstream>
#include <iterator>

// Called when a kernel accessed the page after an array.
static void beyond(int) {
    std::fprintf(stderr, "%s: a read or write past the end of an array\n", fuzz::label);
    std::_Exit(1);
}

int main(int count, char **arguments) {
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!library) {
        std::fprintf(stderr, "usage: replay LIBRARY FILE…\n%s\n", count > 1 ? dlerror() : "");
        return 2;
    }
    std::signal(SIGSEGV, beyond);
    std::signal(SIGBUS, beyond);
    for (int i = 2; i < count; ++i) {
        std::ifstream file(arguments[i], std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        std::printf("%s\n", arguments[i]);
        std::fflush(stdout); // the last line names the file that failed
        for (const auto &set : fuzz::sets(library))
            fuzz::run(set, reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
    }
}
