// Sessions of many epochs: nothing is lost, and memory stays what it was.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>

#include <barrier>
#include <cstdlib>
#include <random>
#include <thread>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

struct gift {
    std::uint64_t value;
};
/// Every third gift is handed on to the next PE.
struct keep_or_hand_on {
    static constexpr bool forwards = true;
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const gift& g, Forward& forward) const {
        if (g.value % 3 == 0) {
            (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), gift{g.value + 1});
        } else {
            atomic_add(ctx, sum[0], g.value);
        }
    }
};
struct sum_so_far {};
struct tell_sum_so_far {
    using answer = std::uint64_t;
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx& ctx, const sum_so_far&) const {
        return atomic_add(ctx, sum[0], 0);
    }
};

/// Bytes that the process has allocated and not freed: unlike its resident memory, the same under any load. 0 where a
/// sanitizer allocates.
std::uint64_t allocated_bytes() {
    const auto all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

class long_session_test : public testing::TestWithParam<std::string> {
protected:
    /// As many, or what LANEWAY_EPOCHS says (CONTRIBUTING.md).
    [[nodiscard]] static std::uint64_t epochs() {
        const char* const said = std::getenv("LANEWAY_EPOCHS");
        return said != nullptr ? std::stoull(said) : is_checked(GetParam()) ? 20 : 10'000;
    }
};

/// Host threads that post at random, epoch by epoch.
template <class Session>
class givers {
public:
    givers(Session& session, int n_pes, std::uint64_t epochs) : gate_(threads + 1) {
        for (unsigned t = 0; t < threads; ++t) {
            threads_.emplace_back([this, &session, n_pes, epochs, t] {
                std::mt19937 random(t + 1);
                for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
                    for (std::uint64_t left = random() % 8; left > 0; --left) {
                        const std::uint64_t value = random() % 100;
                        session.post(static_cast<int>(random() % static_cast<unsigned>(n_pes)), gift{value});
                        given += value % 3 == 0 ? value + 1 : value;
                        ++posts;
                    }
                    gate_.arrive_and_wait();
                    gate_.arrive_and_wait();
                }
            });
        }
    }
    ~givers() {
        for (auto& t : threads_) t.join();
    }
    /// Between two calls of it everything that the threads have posted stays as it is.
    void meet() { gate_.arrive_and_wait(); }

    std::atomic<std::uint64_t> given = 0, posts = 0;

private:
    static constexpr unsigned threads = 4;
    std::barrier<> gate_;
    std::vector<std::thread> threads_;
};

TEST_P(long_session_test, ManyEpochsLoseNothingAndTakeNoMoreMemory) {
    options o;
    o.devices = GetParam();
    o.timeout_seconds = 120;
    o.lease_seconds = 1e-3;  // now and then the program leaves the devices and comes back
    runtime rt(o);
    const auto sum = rt.allocate<std::uint64_t>(1);
    const auto held = [&] {
        std::uint64_t bytes = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) bytes += rt.machine().device(pe)->held_bytes();
        return bytes;
    };
    auto session = rt.start(rt.mailbox<gift, sum_so_far>(keep_or_hand_on{sum.ref()}, tell_sum_so_far{sum.ref()}));
    std::uint64_t held_before = 0, allocated_before = 0, told = 0, asked = 0, given = 0, posts = 0;
    {
        givers giving(session, rt.n_pes(), epochs());
        for (std::uint64_t epoch = 0; epoch < epochs(); ++epoch) {
            giving.meet();
            told += session.quiesce().posted;
            if (epoch % 16 == 0) {
                std::uint64_t now = 0;
                for (int pe = 0; pe < rt.n_pes(); ++pe) now += session.call(pe, sum_so_far{});
                asked += static_cast<std::uint64_t>(rt.n_pes());
                EXPECT_EQ(now, giving.given) << "epoch " << epoch;
            }
            if (epoch == epochs() / 10) {
                held_before = held();
                allocated_before = allocated_bytes();
            }
            giving.meet();
        }
        given = giving.given;
        posts = giving.posts;
    }
    EXPECT_EQ(held(), held_before);
    // 9,000 epochs may keep less than 8 bytes each.
    if (epochs() >= 1000) {
        EXPECT_LE(allocated_bytes(), allocated_before + (1 << 16));
    }
    told += session.quiesce().posted;
    EXPECT_EQ(told, posts + asked);
    const run_report report = session.stop();
    EXPECT_GE(report.posted, posts + asked);
    EXPECT_EQ(report.posted, report.direct + report.carried);
    std::uint64_t all = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) all += sum.copy_out(pe)[0];
    EXPECT_EQ(all, given);
}

LANEWAY_ON_DEVICES(long_session_test, device_lists(2));

}  // namespace
}  // namespace laneway::test
