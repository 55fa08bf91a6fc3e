// A component of one's own: lanes of any device count keys, and each key is counted on the device that owns it. The
// host half holds the counts, the device view names the message and its handler, and the agent is what a lane calls.
// How often does each digit stand at the end of the squares of the numbers below 10,000? The answer is the same on any
// devices.
//
// Usage: tally [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <cstdlib>
#include <iostream>

#include "laneway/runtime.hpp"

namespace {

struct tally_message {
    std::uint64_t index;  ///< of the owner's part of the counts
};

struct count_key {
    lw::symmetric_ref<std::uint64_t> counts;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const tally_message& message) const {
        lw::atomic_add(ctx, counts[message.index], 1);
    }
};

/// Device view.
struct tally_ref {
    using routes_type = lw::routes<lw::route<tally_message, count_key>>;

    lw::symmetric_ref<std::uint64_t> counts;

    [[nodiscard]] routes_type handlers() const { return {{count_key{counts}}}; }

    /// What a lane of the body holds.
    template <class Ctx, class Out>
    struct tally_agent {
        Out& out;

        /// Any lane, also in divergent code; does not wait for the count.
        LANEWAY_FN lw::status add(Ctx& ctx, std::uint64_t key) const {
            const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
            return out.post(ctx, static_cast<int>(key % pes), tally_message{key / pes});
        }
    };
    template <class Ctx, class Out>
    LANEWAY_FN tally_agent<Ctx, Out> agent(Ctx&, Out& out, const lw::roles&, std::byte*) const {
        return {out};
    }
};

/// Host half: how often each key has been counted.
class tally {
public:
    using ref_type = tally_ref;

    tally(lw::runtime& runtime, std::uint64_t keys)
        : n_pes_(static_cast<std::uint64_t>(runtime.n_pes())), counts_(runtime.allocate<std::uint64_t>(keys)) {}

    [[nodiscard]] ref_type ref(int) const { return {counts_.ref()}; }
    [[nodiscard]] std::uint64_t count(std::uint64_t key) const {
        return counts_.copy_out(static_cast<int>(key % n_pes_))[key / n_pes_];
    }

private:
    std::uint64_t n_pes_;
    lw::symmetric_array<std::uint64_t> counts_;
};

struct count_last_digits {
    template <class Ctx, class Agent>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i, Agent& digits) const {
        (void)digits.add(ctx, i * i % 10);  // a failure ends the run
    }
};

}  // namespace

int main(int argc, char** argv) try {
    constexpr std::uint64_t numbers = 10'000, keys = 10;
    lw::options options;
    if (argc > 1) options.devices = argv[1];
    lw::runtime runtime(options);
    tally digits(runtime, keys);
    runtime.for_each(numbers, count_last_digits{}, digits);

    std::uint64_t counted = 0;
    for (std::uint64_t key = 0; key < keys; ++key) {
        std::cout << digits.count(key) << (key + 1 < keys ? ' ' : '\n');
        counted += digits.count(key);
    }
    return counted == numbers ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const lw::error& error) {
    std::cerr << "tally: " << error.what() << '\n';
    return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
}
