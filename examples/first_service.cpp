// The shortest program with a service: lanes ask for roots of numbers, which other warps work out, and add them up.
//
// Usage: first_service [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <cmath>
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"
#include "laneway/task/service.hpp"

/// A request: the largest number whose square is no more. Runs in a lane of whoever serves.
struct root {
    using arguments = std::uint64_t;
    using result = std::uint64_t;

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& number) const {
        return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(number)));
    }
};

/// Runs once for each number, on lanes of all PEs.
struct ask {
    lw::symmetric_ref<std::uint64_t> sum;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t number, Service& served) const {
        const auto answer = served.call(ctx, lw::task<root>, number);  // waits for the answer
        if (answer) (void)served.add(ctx, sum[0], 0, answer.value);    // on PE 0, and waits for nothing
    }
};

int main(int argc, char** argv) try {
    lw::runtime runtime({.devices = argc > 1 ? argv[1] : ""});
    const auto sum = runtime.allocate<std::uint64_t>(1);
    lw::service served(runtime.machine(), {.by = lw::service_by::warps}, root{});
    runtime.for_each(100, ask{sum.ref()}, served);  // returns when all requests have been carried out
    std::cout << "the sum of the roots is " << sum.copy_out(0)[0] << '\n';
} catch (const lw::error& e) {
    std::cerr << "first_service: " << e.what() << '\n';
    return 1;
}
