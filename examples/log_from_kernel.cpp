// A log file written from inside a kernel: lanes call a function of the host while they work. Every lane follows the
// Collatz sequences of some numbers below a million and has those logged that take more than 400 steps. The lane that
// meets 837,799, whose sequence is the longest, waits until its line is written and learns where it stands.
//
// Usage: log_from_kernel FILE [DEVICES]     for example log_from_kernel collatz.log cpu:2
#include <fstream>
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"

namespace {

struct finding {
    std::uint32_t number;
    std::uint32_t steps;
};

/// What the host answers: the number of the line that it has written.
struct receipt {
    std::uint64_t line;
};

/// Counts findings on the PE that messages go to.
struct count {
    lw::symmetric_ref<std::uint64_t> results;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t found) const {
        lw::atomic_add(ctx, results[0], found);
    }
};

/// Called for each i.
struct log_long_sequences {
    std::uint32_t awaited;
    lw::host_calls_ref<finding, receipt> log;
    lw::symmetric_ref<std::uint64_t> results;  ///< [0] findings, [1] line of the awaited number

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i, Box& box) const {
        const finding found{static_cast<std::uint32_t>(i + 1), length_of(i + 1)};
        if (found.steps <= 400) return;
        if (found.number != awaited) {
            if (log.post(ctx, found) != lw::status::ok) return;  // written some time before the run is over
        } else {
            const auto answer = log.call(ctx, found);
            if (!answer) return;
            lw::atomic_add(ctx, results[1], answer.value.line);
        }
        (void)box.post(ctx, 0, 1u);  // a failure ends the run
    }

private:
    LANEWAY_FN static std::uint32_t length_of(std::uint64_t n) {
        std::uint32_t steps = 0;
        for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        return steps;
    }
};

void run(const std::string& path, const std::string& devices) {
    lw::options options;
    options.devices = devices;
    lw::runtime runtime(options);
    std::ofstream file(path);
    if (!file) throw lw::usage_error(path + ": cannot be written");

    std::uint64_t lines = 0;
    const auto log = runtime.host_calls<finding, receipt>("log", [&](const finding& found) -> receipt {
        // One host thread calls this, so nothing here needs a lock. What it throws would end the run.
        if (!(file << found.number << ' ' << found.steps << '\n')) throw lw::system_error(path + ": cannot be written");
        return {++lines};
    });
    const auto results = runtime.allocate<std::uint64_t>(2);
    const auto box = runtime.mailbox<std::uint32_t>(count{results.ref()});
    runtime.for_each(999'999, log_long_sequences{837'799, log.ref(), results.ref()}, box);

    if (!file.flush()) throw lw::system_error(path + ": cannot be written");
    std::uint64_t awaited_line = 0;
    for (int pe = 0; pe < runtime.n_pes(); ++pe) awaited_line += results.copy_out(pe)[1];
    std::cout << lines << " lines for " << results.copy_out(0)[0] << " findings, 837799 on line " << awaited_line
              << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2) throw lw::usage_error("usage: log_from_kernel FILE [DEVICES]");
        run(argv[1], argc > 2 ? argv[2] : "");
    } catch (const lw::error& error) {
        std::cerr << "log_from_kernel: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
