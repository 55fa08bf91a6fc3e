// What tests of triggered operations share.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {

/// Lists of PEs that can store into each other's memory, one to three.
inline std::vector<std::string> trigger_devices() {
    std::vector<std::string> lists = device_lists();
    std::erase(lists, "cuda:0,cpu:1");
    return lists;
}

/// Values that tell where they come from.
inline std::vector<std::uint32_t> numbered(std::size_t count, std::uint32_t first) {
    std::vector<std::uint32_t> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

inline void says(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" does not say \"" << part << "\"";
}

/// One lane of PE 0 waits until its tag has fired so often.
struct wait_for_rounds {
    std::uint32_t tag;
    std::uint64_t rounds;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.rank() == 0) (void)triggers.wait_fired(ctx, tag, rounds);  // a failure ends the run
    }
};

/// Each lane adds to the count of the tag, so often.
struct trigger_tag {
    std::uint32_t tag;
    std::uint64_t times = 1;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        for (std::uint64_t i = 0; i < times; ++i) {
            if (triggers.trigger(ctx, tag) != status::ok) return;
        }
    }
};

/// One lane of each PE adds to the count of the tag, all at once.
struct trigger_once {
    std::uint32_t tag;
    std::uint32_t n = 1;
    int pe = -1;  ///< only on this one

    template <class Ctx, class Triggers, class... Others>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, Others&...) const {
        if (ctx.local_rank() == 0 && (pe < 0 || pe == ctx.pe())) {
            (void)triggers.trigger(ctx, tag, n);  // a failure ends the run
        }
    }
};

/// A message that triggers a tag.
struct go {
    std::uint32_t tag;
};
struct trigger_handler {
    trigger_ref tags;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const go& m) const {
        (void)trigger(ctx, tags, m.tag);  // a failure ends the run
    }
};

/// A message behind a transfer: its handler counts it, and elements of the target that are not there.
struct word {
    std::uint32_t first;
};
struct count_word {
    symmetric_ref<std::uint32_t> target;
    symmetric_ref<std::uint64_t> counts;  ///< messages, elements that are wrong
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const word& m) const {
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 0; i < target.size(); ++i) wrong += target.local(ctx)[i] != m.first + i ? 1 : 0;
        atomic_add(ctx, counts[0], 1);
        if (wrong != 0) atomic_add(ctx, counts[1], wrong);
    }
};

struct do_nothing {
    template <class Ctx, class... Parts>
    LANEWAY_FN void operator()(Ctx&, Parts&...) const {}
};

}  // namespace laneway::test
