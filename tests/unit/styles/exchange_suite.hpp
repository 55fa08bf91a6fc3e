// The coprocessor's exchange: every message that is there comes to its owner, once.
#pragma once

#include <algorithm>

#include "styles/exchange.hpp"
#include "styles/launcher.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

using styles::exchange;
using styles::exchange_ref;

/// Message i of PE p says so. Every third place has none, and PE 0 has none where there are others. All go to `only`,
/// if that is a PE.
struct write_messages {
    exchange_ref messages;
    std::uint64_t count;
    int only;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        styles::for_each_index(ctx, count, [&](std::uint64_t i) {
            if (i % 3 == 1 || (ctx.pe() == 0 && ctx.n_pes() > 1)) return messages.skip(ctx, i);
            messages.put(ctx, i, owner(ctx.n_pes(), i), static_cast<std::uint64_t>(ctx.pe()) << 32 | i);
        });
    }
    [[nodiscard]] LANEWAY_FN int owner(int n_pes, std::uint64_t i) const {
        return only >= 0 ? only : static_cast<int>(i / 3 % static_cast<unsigned>(n_pes));
    }
};

/// Brings what has arrived to where the host reads it: its number, then the messages.
struct copy_arrived {
    exchange_ref messages;
    symmetric_ref<std::uint64_t> to;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const std::uint64_t n = *messages.n_arrived.local(ctx);
        styles::for_each_index(ctx, n, [&](std::uint64_t i) { to.local(ctx)[i + 1] = messages.arrived.local(ctx)[i]; });
        to.local(ctx)[0] = n;
    }
};

class exchange_test : public testing::TestWithParam<std::string> {
protected:
    void carries(std::uint64_t most, std::uint64_t count, int only) {
        styles::study_options o;
        o.job.devices = GetParam();
        styles::launcher on(o);
        const auto pes = static_cast<std::uint64_t>(on.n_pes());
        const auto arrived = on.runtime().allocate<std::uint64_t>(most * pes + 1);
        exchange between(on.runtime().machine(), most, 20);
        const write_messages program{between.ref(), count, only};
        for (int repeat = 0; repeat < 2; ++repeat) {
            on.launch(program);
            between.run(count);
            on.launch(copy_arrived{between.ref(), arrived.ref()});
            for (int pe = 0; pe < on.n_pes(); ++pe) {
                std::vector<std::uint64_t> expected;
                for (std::uint64_t from = pes > 1 ? 1 : 0; from < pes; ++from) {
                    for (std::uint64_t i = 0; i < count; ++i) {
                        if (i % 3 != 1 && program.owner(on.n_pes(), i) == pe) expected.push_back(from << 32 | i);
                    }
                }
                auto found = arrived.copy_out(pe);
                ASSERT_EQ(found[0], expected.size()) << "PE " << pe;
                found = {found.begin() + 1, found.begin() + 1 + static_cast<std::ptrdiff_t>(expected.size())};
                std::sort(found.begin(), found.end());
                EXPECT_EQ(found, expected) << "PE " << pe;
            }
        }
    }
};

TEST_P(exchange_test, EveryMessageComesToItsOwner) { carries(5000, 5000, -1); }
TEST_P(exchange_test, FewerMessagesThanThereIsRoomFor) { carries(1000, 37, -1); }
TEST_P(exchange_test, AllMessagesToOnePe) { carries(3000, 3000, 0); }
TEST_P(exchange_test, NoMessages) { carries(10, 0, -1); }

inline std::vector<std::string> exchange_devices() {
    std::vector<std::string> lists = device_lists(1, false);
    std::erase(lists, "cuda:0,cpu:1");
    return lists;
}

LANEWAY_ON_DEVICES(exchange_test, exchange_devices());

}  // namespace laneway::test
