// What suites of transfers share.
#pragma once

#include <random>

#include "laneway/run/transfers.hpp"
#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

class transfers_test : public testing::TestWithParam<std::string> {};

/// PEs that can store into each other's memory; of CPU devices one and three, of checked ones two.
inline std::vector<std::string> transfer_devices() {
    std::vector<std::string> lists = device_lists();
    for (const char* other : {"cuda:0,cpu:1", "cpu:2", "checked:1", "checked:3"}) std::erase(lists, other);
    return lists;
}

struct post_nothing {
    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx&, Transfers&) const {}
};

inline void says_so(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" does not say \"" << part << "\"";
}

/// Options that change from round to round, so that all kinds of service and methods are met.
transfer_options transfer_options_of(const options& o) {
    transfer_options made;
    made.by = o.seed / 2 % 2 == 0 ? transfer_service::supervised : transfer_service::static_blocks;
    made.server_share = 0.001;  // one block
    made.slots = 64;
    made.keys = 8;
    made.method = static_cast<transfer_method>(o.seed % n_transfer_methods);
    made.lane_bytes = 32;
    made.bulk_bytes = 64;
    made.piece_bytes = 512;
    made.engine_bytes = 1024;
    return made;
}

}  // namespace
}  // namespace laneway::test
