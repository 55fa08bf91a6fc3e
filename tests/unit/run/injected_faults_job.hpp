// What tests of injected faults share: messages, and runs with a fault and without.
#pragma once

#include <gtest/gtest.h>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

struct note {
    std::uint64_t hops;
};
struct read_note {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const note&) const {}
};
struct enquiry {
    std::uint64_t value;
};
struct reply_to {
    using answer = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const enquiry& e) const {
        return e.value + 1;
    }
};

class with_faults : public testing::TestWithParam<std::string> {
protected:
    /// Whose deadline passes: that of host threads is real, also on checked devices.
    enum class late { lanes, host_threads };

    [[nodiscard]] static options with(injected_fault fault, int pe, late who) {
        options o;
        o.devices = GetParam();
        o.timeout_seconds = is_checked(GetParam()) && who == late::lanes ? 0.02 : 1;
        o.fault = fault;
        o.fault_pe = pe;
        return o;
    }

    /// `use(runtime)` does not end in time where the PE has the fault, and the error says each of the `parts`; it ends
    /// well without.
    template <class Use>
    static void ends(injected_fault fault, int pe, const std::vector<std::string>& parts, Use&& use,
                     late who = late::lanes) {
        {
            runtime rt(with(fault, pe, who));
            try {
                use(rt);
                ADD_FAILURE() << "it ended as if nothing had happened";
            } catch (const timeout_error& e) {
                const std::string what = e.what();
                for (const auto& part : parts) EXPECT_NE(what.find(part), std::string::npos) << part << ": " << what;
            }
        }
        options o = with(injected_fault::none, 0, who);
        o.timeout_seconds = 60;
        runtime rt(o);
        EXPECT_NO_THROW(use(rt));
    }
};

}  // namespace
}  // namespace laneway::test
