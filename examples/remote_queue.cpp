// A histogram by remote queues: lanes send the bins of numbers to the PEs that keep them, as commands that run
// there; PE 0 waits until all have been told as done.
//
// Usage: remote_queue [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"
#include "laneway/task/remote_queue.hpp"

namespace example {

constexpr std::uint64_t numbers = 9'999, bins = 10;

/// Runs on the PE that keeps a bin.
struct count {
    using arguments = std::uint64_t;
    static constexpr lw::width width = lw::width::lane;  // 32 commands fill a warp
    lw::symmetric_ref<std::uint64_t> histogram;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& bin) const {
        atomic_add(ctx, histogram[bin], 1);
    }
};

struct count_all {
    std::uint32_t done;

    template <class Ctx, class Indices, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Indices& indices, Remote& remote) const {
        indices.for_each(ctx, [&](std::uint64_t i) {
            const std::uint64_t bin = i * i % bins;
            const int keeper = static_cast<int>(bin % static_cast<unsigned>(ctx.n_pes()));
            (void)remote.post(ctx, keeper, lw::task<count>, bin, {.signal = {0, done}});  // a failure ends the run
        });
        if (ctx.rank() == 0) (void)remote.wait_signal(ctx, done, numbers);  // PE 0 hears of all
    }
};

void run(const std::string& devices) {
    lw::options options;
    options.devices = devices;
    lw::runtime runtime(options);
    const auto histogram = runtime.allocate<std::uint64_t>(bins), told = runtime.allocate<std::uint64_t>(1);
    lw::remote_queue remote(runtime.machine(), count{histogram.ref()});
    const auto done = remote.signal(told, 0);
    lw::index_space indices(numbers);  // shared out over the lanes of all PEs
    runtime.run(count_all{done}, indices, remote);
    for (std::uint64_t bin = 0; bin < bins; ++bin) {
        std::cout << histogram.copy_out(static_cast<int>(bin) % runtime.n_pes())[bin] << ' ';
    }
    std::cout << "of " << told.copy_out(0)[0] << '\n';
}

}  // namespace example

int main(int argc, char** argv) {
    try {
        example::run(argc > 1 ? argv[1] : "");
    } catch (const lw::error& e) {
        std::cerr << "remote_queue: " << e.what() << '\n';
        return 1;
    }
}
