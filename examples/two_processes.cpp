// PEs of several processes: each process has devices of its own, and lanes post to all PEs of the job. The program is
// started once for each process; all make the same calls, and each gets the whole answer.
//
// Usage: LANEWAY_JOB=primes LANEWAY_SIZE=2 LANEWAY_RANK=0 two_processes [DEVICES] &
//        LANEWAY_JOB=primes LANEWAY_SIZE=2 LANEWAY_RANK=1 two_processes [DEVICES]
// for example with cpu:2 in both, or cuda:0 in one and cuda:1 in the other. Without the variables it runs alone.
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"

namespace {

constexpr std::uint64_t digits = 10;

/// Runs on the PE that counts the primes that end in a digit.
struct count_prime {
    lw::symmetric_ref<std::uint64_t> counts;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t prime) const {
        lw::atomic_add(ctx, counts[prime % digits], 1);
    }
};

struct find_primes {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t number, Box& box) const {
        for (std::uint64_t d = 2; d * d <= number; ++d) {
            if (number % d == 0) return;
        }
        if (number < 2) return;
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        (void)box.post(ctx, static_cast<int>(number % digits % pes), number);  // a failure ends the run
    }
};

}  // namespace

int main(int argc, char** argv) {
    try {
        lw::options options;
        options.processes = lw::processes_of_environment();
        if (argc > 1) options.devices = argv[1];
        lw::runtime runtime(options);
        const auto counts = runtime.allocate<std::uint64_t>(digits);
        const auto report =
            runtime.for_each(100'000, find_primes{}, runtime.mailbox<std::uint64_t>(count_prime{counts.ref()}));
        std::uint64_t primes = 0, ending_in_7 = 0;
        for (int pe = 0; pe < runtime.n_pes(); ++pe) {
            const auto part = counts.copy_out(pe);
            for (const std::uint64_t count : part) primes += count;
            ending_in_7 += part[7];
        }
        std::cout << "process " << options.processes->rank() << " of " << options.processes->size() << ": "
                  << runtime.n_pes() << " PEs, " << report.posted << " messages, " << primes << " primes, "
                  << ending_in_7 << " of them end in 7\n";
    } catch (const lw::error& error) {
        std::cerr << "two_processes: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
