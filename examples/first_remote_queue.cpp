// The shortest program with a remote queue: lanes of all PEs send numbers to PE 0, where a function adds them up.
//
// Usage: first_remote_queue [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a
// core
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"
#include "laneway/task/remote_queue.hpp"

/// Runs on the PE that it is posted to.
struct add {
    using arguments = std::uint64_t;
    static constexpr lw::width width = lw::width::lane;  // by one lane
    lw::symmetric_ref<std::uint64_t> sum;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& number) const {
        atomic_add(ctx, sum[0], number);
    }
};

/// Runs once for each number, on lanes of all PEs.
struct send {
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t number, Remote& remote) const {
        (void)remote.post(ctx, 0, lw::task<add>, number);  // to PE 0; what fails ends the run
    }
};

int main(int argc, char** argv) try {
    lw::runtime runtime({.devices = argc > 1 ? argv[1] : ""});
    const auto sum = runtime.allocate<std::uint64_t>(1);
    lw::remote_queue remote(runtime.machine(), add{sum.ref()});
    runtime.for_each(100, send{}, remote);  // returns when all commands have run
    std::cout << "PE 0 has added up " << sum.copy_out(0)[0] << '\n';
} catch (const lw::error& e) {
    std::cerr << "first_remote_queue: " << e.what() << '\n';
    return 1;
}
