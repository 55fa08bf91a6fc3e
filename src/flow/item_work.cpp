#include "laneway/flow/item_work.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"

namespace laneway {

void item_work::add(item_counters& sum, const item_counters& more) {
    sum.started += more.started;
    sum.kept += more.kept;
    sum.sent += more.sent;
    sum.suppressed += more.suppressed;
    sum.dropped += more.dropped;
    sum.arrived += more.arrived;
    sum.accepted += more.accepted;
    sum.refused += more.refused;
    sum.to_pass += more.to_pass;
    sum.passed_on += more.passed_on;
    sum.lent += more.lent;
    sum.stolen += more.stolen;
    sum.returned += more.returned;
    sum.done += more.done;
    sum.useful += more.useful;
}

void item_work::take(const item_counters& sum) {
    kept = sum.kept;
    sent = sum.sent;
    suppressed = sum.suppressed;
    dropped = sum.dropped;
    arrived = sum.arrived;
    accepted = sum.accepted;
    refused = sum.refused;
    passed_on = sum.passed_on;
    done = sum.done;
    useful = sum.useful;
    stolen = sum.stolen;
    returned = sum.returned;
    to_pass_ = sum.to_pass;
    lent_ = sum.lent;
}

void item_work::audit(const waiting_items& left) const {
    if (done == started + kept + accepted && arrived == sent + passed_on && passed_on == to_pass_ && stolen == lent_ &&
        left.all() == 0) {
        return;
    }
    throw device_fault("audit mismatch; items: " + std::to_string(started) + " started, " + std::to_string(kept) +
                       " kept, " + std::to_string(accepted) + " accepted, " + std::to_string(done) + " done, " +
                       std::to_string(sent) + " sent, " + std::to_string(passed_on) + " of " +
                       std::to_string(to_pass_) + " passed on, " + std::to_string(arrived) + " arrived, " +
                       std::to_string(stolen) + " of " + std::to_string(lent_) + " lent stolen" + told_of(-1, left));
}

void add(waiting_items& sum, const waiting_items& more) {
    sum.near += more.near;
    sum.far += more.far;
    sum.reserve += more.reserve;
    sum.overflow += more.overflow;
    sum.spilled += more.spilled;
    sum.overflowed += more.overflowed;
    sum.min_far = std::min(sum.min_far, more.min_far);
    sum.ended_ns = std::max(sum.ended_ns, more.ended_ns);
}

std::string told_of(int pe, const waiting_items& waiting) {
    if (waiting.all() == 0) return {};
    return (pe < 0 ? std::string("; waiting") : "; items waiting on PE " + std::to_string(pe)) + ": " +
           std::to_string(waiting.near) + " near, " + std::to_string(waiting.far) + " far, " +
           std::to_string(waiting.reserve) + " in the reserve, " + std::to_string(waiting.overflow) +
           " kept by the host";
}

void add_run(run_report& sum, const run_report& next) {
    sum.run_seconds += next.run_seconds;
    sum.posted += next.posted;
    sum.direct += next.direct;
    sum.carried += next.carried;
    sum.served += next.served;
    sum.replies += next.replies;
    sum.items += next.items;
    sum.rises += next.rises;
    for (std::size_t i = 0; i < sum.traffic_matrix.size(); ++i) {
        sum.traffic_matrix[i].messages += next.traffic_matrix[i].messages;
        sum.traffic_matrix[i].chunks += next.traffic_matrix[i].chunks;
        sum.traffic_matrix[i].bytes += next.traffic_matrix[i].bytes;
    }
    sum.progress = next.progress;
    sum.device_bytes = next.device_bytes;
}

}  // namespace laneway
