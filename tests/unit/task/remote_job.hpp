// What tests of remote queues share.
#pragma once

#include <gtest/gtest.h>

#include <numeric>

#include "laneway/runtime.hpp"
#include "laneway/task/remote_queue.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {

/// Lists of PEs that can store into each other's memory, one to three.
inline std::vector<std::string> remote_devices() {
    std::vector<std::string> lists = device_lists();
    std::erase(lists, "cuda:0,cpu:1");
    return lists;
}

/// Whether this is the one lane of its PE that has a part in a test.
template <class Ctx>
LANEWAY_FN bool is_first_lane(const Ctx& ctx) {
    return ctx.local_rank() == 0;
}

/// A function that says which command has run, and that all lanes that were said to run it did.
template <width Width>
struct mark_as {
    using arguments = std::uint64_t;
    static constexpr lw::width width = Width;
    symmetric_ref<std::uint64_t> marks;  ///< one a command
    symmetric_ref<std::uint64_t> lanes;  ///< that came, and that were said to

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& id, Worker& worker) const {
        atomic_add(ctx, lanes[0], 1);
        if (!worker.sync(ctx) || worker.lane() != 0) return;
        atomic_add(ctx, lanes[1], static_cast<std::uint64_t>(worker.lanes()));
        atomic_add(ctx, marks[id], 1);
    }
};
using mark_lane = mark_as<width::lane>;
using mark_warp = mark_as<width::warp>;
using mark_block = mark_as<width::block>;

struct do_nothing {
    template <class Ctx, class... Agents>
    LANEWAY_FN void operator()(Ctx&, Agents&...) const {}
};

inline void says(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" does not say \"" << part << "\"";
}

/// Tests of sessions; in every second round leases are so short that the program is launched anew all the time.
class remote_sessions : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static options job(std::uint64_t round = 1) {
        options o = options_of(GetParam(), round);
        o.timeout_seconds = 60;
        o.lease_seconds = round % 2 == 0 ? 1e-6 : 0;
        return o;
    }
};

}  // namespace laneway::test
