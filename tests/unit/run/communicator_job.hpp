// What suites of two-sided messages share.
#pragma once

#include "laneway/run/communicator.hpp"
#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {

/// Lists of PEs that reach each other's memory, as long messages need.
inline std::vector<std::string> communicator_devices() {
    std::vector<std::string> lists = device_lists();
    std::erase(lists, "cuda:0,cpu:1");
    return lists;
}

/// Small rings and queues, so that what is scarce runs out now and then; room for two requests of every lane.
inline communicator_options small_options(const options& round) {
    communicator_options o;
    o.requests = round.devices.starts_with("cuda") ? 16384 : 128;
    o.ring_slots = 1u << round.seed % 4;
    o.unexpected = 1 + static_cast<std::uint32_t>(round.seed % 40) * 8;
    o.eager_bytes = 64u << round.seed % 3;
    o.team_load = round.seed % 4 == 1 ? 0 : 1;    // free warps of a block never match together, or always
    o.ring_looks = round.seed % 3 == 0 ? 64 : 0;  // messages that come later are received from their rings as well
    return o;
}

/// Promises that differ from round to round: none, those that share messages out among engines, those that leave them
/// no order.
inline match_rules rules_of(const options& round) {
    match_rules rules;
    rules.no_any_source = round.seed % 4 != 0;
    rules.no_any_tag = round.seed % 4 > 1;
    rules.allow_overtaking = round.seed % 4 == 3;
    return rules;
}

/// So many share messages out, where they may: by source, or by source and tag.
inline std::uint32_t engines_of(const match_rules& rules) {
    return !rules.no_any_source ? 1 : rules.no_any_tag ? 8 : 2;
}

}  // namespace laneway::test
