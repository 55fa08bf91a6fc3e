// What tests of runs that cannot end well share: functors that post or hang, and a look at what is thrown.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

struct swallow {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint32_t) const {}
};

/// Every lane posts `count` messages to `pe`, the last of them `message`.
struct post_to {
    int pe;
    std::uint32_t count;
    std::uint32_t message = 0;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.pe() != 0) return;
        for (std::uint32_t i = 1; i <= count; ++i) {
            if (box.post(ctx, pe, i == count ? message : 0) != status::ok) return;
        }
    }
};

/// Polls for ever by loads that say nothing of the end of the run.
struct deaf_lane {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        while (ctx.load(ctx.environment().host_stop, order::relaxed, scope::system) < 2) {
        }
    }
};

/// Runs again where a machine with much to do spent a short deadline before the lanes began: that says nothing of them.
template <class Run>
void run_past_set_up(const Run& run) {
    for (int again = 0;; ++again) {
        try {
            run();
            return;
        } catch (const timeout_error& e) {
            if (again == 20 || std::string(e.what()).find("while the devices were set up") == std::string::npos) throw;
        }
    }
}

/// What the run throws, after a check that it ends by itself: the machine refuses further runs where it left one
/// behind.
template <class Error, class Functor, class Handler>
std::string failure(const options& o, const Functor& functor, const Handler& handler) {
    runtime rt(o);
    std::string what;
    try {
        rt.run(functor, rt.mailbox<std::uint32_t>(handler));
        ADD_FAILURE() << "the run ended as if nothing had happened";
    } catch (const Error& e) {
        what = e.what();
    }
    EXPECT_NO_THROW(rt.run(post_to{0, 0}, rt.mailbox<std::uint32_t>(handler))) << "after " << what;
    EXPECT_EQ(what.find('\n'), std::string::npos);
    EXPECT_EQ(what.rfind("PE ", 0), 0u) << what;
    for (const char* word : {" block ", " warp ", " lane "}) EXPECT_NE(what.find(word), std::string::npos) << what;
    return what;
}

/// One lane of every other warp that works.
template <class Ctx>
LANEWAY_FN bool is_lane_of_every_other_warp(const Ctx& ctx, int lane) {
    return ctx.rank() % (2 * Ctx::warp_lanes) == static_cast<std::uint64_t>(lane);
}
/// "lanes 0, 2, 3": those of a checked warp but one.
inline std::string mates_of(int lane) {
    std::string text = checked::warp_lanes > 2 ? "lanes " : "lane ", between;
    for (int mate = 0; mate < checked::warp_lanes; ++mate) {
        if (mate == lane) continue;
        text += between + std::to_string(mate);
        between = ", ";
    }
    return text;
}

inline void contains(const std::string& text, const std::string& part) {
    if (text.find(part) == std::string::npos) ADD_FAILURE() << "\"" << text << "\" does not say \"" << part << "\"";
}

}  // namespace laneway::test
