// Triggers of a session: what host threads prepare and take back while its program runs, which its PEs do for them.
#include <algorithm>

#include "laneway/base/error.hpp"
#include "laneway/run/triggers.hpp"

namespace laneway {

/// The PE has told that the tag has lost its operation, or got another one.
void trigger_memory::forget_prepared(int pe, std::uint32_t tag) {
    for (std::size_t i = prepared_.size(); i-- > 0;) {
        if (prepared_[i].pe != pe || prepared_[i].tag != tag) continue;
        if (i < applied_) --applied_;
        prepared_.erase(prepared_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void trigger_memory::prepare_in_session(const preparation& p) {
    const host_preparation what{.operation = p.operation, .threshold = p.threshold, .how = p.how};
    // While no other thread's answer can come between, so that the list is as the tags are.
    const auto told = [this, p](const host_answer& answer) {
        if (static_cast<status>(answer.result) != status::ok) return;
        const std::lock_guard lock(preparing_);
        forget_prepared(p.pe, p.tag);
        prepared_.insert(prepared_.begin() + static_cast<std::ptrdiff_t>(applied_++), p);
    };
    const host_answer found = host_.ask(p.pe, {host_trigger::prepare, p.tag, 0}, what, p.item, told);
    switch (const auto result = static_cast<status>(found.result)) {
        case status::ok: return;
        case status::prepared_twice: refuse_second(p);
        case status::no_room: refuse_chain(p, found.pe);
        case status::too_many_triggers: refuse_count(p, found.number);
        default: refuse(p, to_string(result));
    }
}

bool trigger_memory::disarm_in_session(int pe, std::uint32_t tag) {
    const auto told = [this, pe, tag](const host_answer& answer) {
        if (answer.result == 0) return;
        const std::lock_guard lock(preparing_);
        forget_prepared(pe, tag);
    };
    return host_.ask(pe, {host_trigger::disarm, tag, 0}, {}, {}, told).result != 0;
}

}  // namespace laneway
