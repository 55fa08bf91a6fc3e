// Square numbers by a service: lanes ask for the roots of numbers, and have the squares counted on PE 0.
//
// Usage: service [DEVICES [SERVERS]]     DEVICES: cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core.
//                                        SERVERS: warps, host, pe; who carries out the requests
#include <iostream>
#include <string>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"
#include "laneway/task/service.hpp"

namespace example {

constexpr std::uint64_t numbers = 10'000;

/// A request type of this program's own: the largest number whose square is no more.
struct root {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    static constexpr const char* name = "root";

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& number) const {
        std::uint64_t found = 0;
        while ((found + 1) * (found + 1) <= number) ++found;
        return found;
    }
};

/// Called for each number.
struct count_square {
    lw::symmetric_ref<std::uint64_t> found;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i, Service& served) const {
        const auto answer = served.call(ctx, lw::task<root>, i);                      // waits for the answer
        if (!answer) return;                                                          // the run is ending
        if (answer.value * answer.value == i) (void)served.add(ctx, found[0], 0, 1);  // and this for nothing
    }
};

lw::service_by servers(const std::string& name) {
    if (name == "warps") return lw::service_by::warps;
    if (name == "host") return lw::service_by::host;
    if (name == "pe") return lw::service_by::pe;
    throw lw::usage_error("servers are warps, host or pe, not " + name);
}

void run(const std::string& devices, const std::string& by) {
    lw::options options;
    options.devices = devices;
    lw::runtime runtime(options);
    const auto found = runtime.allocate<std::uint64_t>(1);
    lw::service served(runtime.machine(), {.by = servers(by)}, root{});
    runtime.for_each(numbers, count_square{found.ref()}, served);
    std::cout << found.copy_out(0)[0] << " squares below " << numbers << ", " << served.statistics().requests
              << " requests\n";
}

}  // namespace example

int main(int argc, char** argv) {
    try {
        example::run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "warps");
    } catch (const lw::error& e) {
        std::cerr << "service: " << e.what() << '\n';
        return 1;
    }
}
