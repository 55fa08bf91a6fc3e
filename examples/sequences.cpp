// Messages of different length: every lane follows Collatz sequences and posts each of them, all its numbers, to the
// device that looks after sequences of that length. Short ones travel like any message. Long ones the receiver gives a
// place in its own memory first.
//
// Usage: sequences [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <algorithm>
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"

namespace example {

constexpr std::uint64_t longest_sequence = 262;  // from below 10,000

/// The header of a message; the numbers of the sequence follow as its elements.
struct sequence {
    std::uint64_t start;
};

struct totals {
    std::uint64_t sequences, numbers, wrong, highest, stored;
};

struct look_at_sequence {
    using element = std::uint64_t;
    static constexpr bool allocates = true;
    lw::symmetric_ref<std::uint64_t> sums;  ///< as totals says
    lw::symmetric_ref<std::uint64_t> store;

    /// Where the numbers of a long sequence go.
    template <class Ctx>
    LANEWAY_FN lw::symmetric_ptr<std::uint64_t> allocate(Ctx& ctx, const sequence&, std::uint64_t count) const {
        const std::uint64_t first = lw::atomic_add(ctx, sums[4], count);
        return first + count <= store.size() ? store[first] : lw::rejected<std::uint64_t>();
    }

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const sequence& s, lw::payload<const std::uint64_t> numbers) const {
        std::uint64_t highest = s.start;
        bool right = numbers[0] == s.start && numbers[numbers.size - 1] == 1;
        for (std::uint64_t i = 1; i < numbers.size; ++i) {
            const std::uint64_t before = numbers[i - 1];
            right = right && numbers[i] == (before % 2 == 0 ? before / 2 : 3 * before + 1);
            if (numbers[i] > highest) highest = numbers[i];
        }
        lw::atomic_add(ctx, sums[0], 1);
        lw::atomic_add(ctx, sums[1], numbers.size);
        if (!right) lw::atomic_add(ctx, sums[2], 1);
        ctx.fetch_max(local(ctx, sums[3]), highest, lw::order::relaxed, lw::scope::device);
    }
};

/// Called for each i: posts the sequence from i + 1.
struct post_sequence {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i, Box& box) const {
        std::uint64_t numbers[longest_sequence];
        std::uint64_t count = 0;
        for (std::uint64_t x = i + 1; x != 1; x = x % 2 == 0 ? x / 2 : 3 * x + 1) numbers[count++] = x;
        numbers[count++] = 1;
        const int pe = static_cast<int>(count % static_cast<std::uint64_t>(ctx.n_pes()));
        (void)box.post(ctx, pe, sequence{i + 1}, numbers, count);  // a failure ends the run
    }
};

}  // namespace example

int main(int argc, char** argv) {
    try {
        lw::options options;
        if (argc > 1) options.devices = argv[1];
        options.chunk_bytes = 512;  // so that many sequences are too long for one
        lw::runtime runtime(options);
        const auto sums = runtime.allocate<std::uint64_t>(sizeof(example::totals) / sizeof(std::uint64_t));
        const auto store = runtime.allocate<std::uint64_t>(1'000'000);
        const auto box = runtime.mailbox<example::sequence>(example::look_at_sequence{sums.ref(), store.ref()});
        const auto report = runtime.for_each(9'999, example::post_sequence{}, box);

        example::totals all{};
        for (int pe = 0; pe < runtime.n_pes(); ++pe) {
            const auto part = sums.copy_out(pe);
            all.sequences += part[0];
            all.numbers += part[1];
            all.wrong += part[2];
            all.highest = std::max(all.highest, part[3]);
            all.stored += part[4];
        }
        std::cout << "posted " << report.posted << ", carried " << report.carried << ", " << report.bytes()
                  << " bytes\n";
        std::cout << all.sequences << " sequences, " << all.numbers << " numbers, " << all.wrong << " wrong, highest "
                  << all.highest << ", " << all.stored << " by rendezvous\n";
    } catch (const lw::error& error) {
        std::cerr << "sequences: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
