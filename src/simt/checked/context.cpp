#include "laneway/simt/checked/context.hpp"

#include <algorithm>

namespace laneway::checked {

template <>
const char library_with_lanes<warp_lanes>::exists = 0;

namespace {

constexpr std::uint64_t grace_ns = 10'000'000;  // for mates to hear of the end

lane_mask lanes_with(std::uint64_t key, lane_mask mask, const rendezvous::lane_values& values) {
    lane_mask same = 0;
    for (lane_mask rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = context::first_lane(rest);
        if (values[static_cast<std::size_t>(lane)] == key) same |= lane_mask{1} << lane;
    }
    return same;
}

std::string names(lane_mask lanes) {
    std::string text = context::count_lanes(lanes) == 1 ? "lane " : "lanes ";
    for (lane_mask rest = lanes; rest != 0; rest &= rest - 1) {
        text += (rest == lanes ? "" : ", ") + std::to_string(context::first_lane(rest));
    }
    return text;
}

}  // namespace

void* context::find(symmetric_part& part, std::uint64_t max, const call_site& where) const {
    if (part.pe < 0 || part.pe >= n_pes()) {
        throw misuse(history_.position().text() + ": PE " + std::to_string(part.pe) + " named in " + text_of(where) +
                     ", and the job has " + std::to_string(n_pes()));
    }
    void* base = nullptr;
    if (part.segment < env_.n_segments) {
        const auto pes = static_cast<std::size_t>(n_pes());
        base = env_.segments[std::size_t{part.segment} * pes + static_cast<std::size_t>(part.pe)];
        part.elements = std::min(max, env_.segment_bytes[part.segment] / part.element_bytes);
    }
    part.exists = base != nullptr;
    return base;
}

lane_mask context::converged(std::source_location where) {
    // Two calls on one line are two places.
    const auto line = static_cast<int>(where.line() << 10 | where.column() % 1024);
    return my_warp().converge(sched_, where.function_name(), line, lane());
}

void context::sync(lane_mask mask, std::source_location caller) { meet(mask, 0, {"sync", caller}, true); }

void context::sync_block(std::source_location caller) {
    std::uint64_t limit_ns = 0;
    const auto wait = [&](int present) {
        sched_.yield();
        if (!over(limit_ns)) return;
        throw lost_lane{block_name() + ": " + std::to_string(present) + " lanes wait for the other " +
                        std::to_string(shared_block_.lanes - present) + " in " +
                        meeting_site{"sync_block", caller}.text()};
    };
    history_.learn(shared_block_.sync(history_.tell(), wait));
}

lane_mask context::ballot(lane_mask mask, bool predicate, std::source_location caller) {
    return lanes_with(1, mask, meet(mask, predicate ? 1 : 0, {"ballot", caller}));
}

lane_mask context::match_bits(lane_mask mask, std::uint64_t key, const std::source_location& caller) {
    return lanes_with(key, mask, meet(mask, key, {"match", caller}));
}

std::uint64_t context::shuffle_bits(lane_mask mask, std::uint64_t value, int source,
                                    const std::source_location& caller) {
    const meeting_site here{"shuffle", caller};
    check_mask(mask, here);
    if (source < 0 || source >= warp_lanes) {
        refuse(here, "source lane " + std::to_string(source) + ", where a warp has " + std::to_string(warp_lanes));
    }
    if ((mask >> source & 1) == 0) {
        refuse(here, "source lane " + std::to_string(source) + " is not in the mask, " + names(mask));
    }
    return meet(mask, value, here)[static_cast<std::size_t>(source)];
}

void context::refuse(const meeting_site& here, const std::string& why) const {
    throw misuse(history_.position().text() + ": " + here.text() + ": " + why);
}

void context::check_mask(lane_mask mask, const meeting_site& here) const {
    if ((mask & ~full_warp<context>) != 0) {
        refuse(here, "the mask has " + names(mask & ~full_warp<context>) + ", where a warp has " +
                         std::to_string(warp_lanes));
    }
    if ((mask >> lane() & 1) == 0) {
        refuse(here, mask == 0 ? "the mask is empty" : "the lane is not in its own mask, " + names(mask));
    }
}

const rendezvous::lane_values& context::meet(lane_mask mask, std::uint64_t value, const meeting_site& here,
                                             bool orders) {
    check_mask(mask, here);
    auto& meeting = my_warp().meeting(mask);
    std::uint64_t limit_ns = 0;
    const auto& arrived = meeting.meet(
        sched_, count_lanes(mask), lane(), value, here, orders ? history_.tell() : clock{},
        [&](const meeting_site& mates, const meeting_site& own) {
            std::string told = warp_name() + ": lanes of one mask are in different collectives: " + mates.text() +
                               " and " + own.text();
            meeting.give_up();
            if (!stopping()) throw misuse(told);
            // Of a run that ends, lanes hear one after the other: then it is nobody's mistake.
            throw lost_lane(std::string{});
        },
        [&](lane_mask present) {
            sched_.yield();
            if (meeting.given_up()) throw lost_lane(std::string{});
            if (!over(limit_ns)) return;
            throw lost_lane{warp_name() + ": " + names(present) + " wait for " + names(mask & ~present) + " in " +
                            here.text()};
        });
    if (orders) history_.learn(arrived.before);
    return arrived.values;
}

bool context::over(std::uint64_t& limit_ns) const {
    const std::uint64_t now = sched_.now_ns();
    // Later than other waits and the control warp, which say more.
    if (limit_ns == 0 && (stopping() || is_late(env_.timeout_ns / 8))) limit_ns = now + grace_ns;
    return limit_ns != 0 && now > limit_ns;
}

std::string context::block_name() const { return text_of_pe(pe()) + " block " + std::to_string(block()); }
std::string context::warp_name() const { return block_name() + " warp " + std::to_string(warp()); }

warp_state& context::my_warp() { return shared_block_.warps[static_cast<std::size_t>(warp())]; }

}  // namespace laneway::checked
