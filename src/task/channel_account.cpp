#include "laneway/task/channel_account.hpp"

#include <algorithm>
#include <sstream>

#include "laneway/base/error.hpp"
#include "laneway/base/fault_text.hpp"
#include "laneway/task/channel_remote_plan.hpp"

namespace laneway {

namespace {

/// What a channel of all PEs holds that is not freed.
struct channel_content {
    std::vector<std::uint64_t> open;  ///< elements of each level
    std::vector<bool> full;           ///< whether it is, on some PE
    std::uint64_t sum = 0;
    std::uint64_t kept = 0;  ///< of these, by warps
};

channel_content content_of(const channel_store& store, std::uint32_t number) {
    channel_content made;
    made.open.resize(store.plans()[number].options.levels);
    made.full.resize(made.open.size());
    for (const auto& memory : store.memories()) {
        const auto part = memory.occupancy(number), kept = memory.unfreed_by_warps(number);
        for (std::size_t level = 0; level < made.open.size(); ++level) {
            made.open[level] += part[level] + kept[level];
            made.full[level] = made.full[level] || part[level] == memory.room(number);
            made.sum += part[level] + kept[level];
            made.kept += kept[level];
        }
    }
    return made;
}

/// ", 60 at level 0 (full), 4 at level 1". `full`: empty where that is of no interest.
std::string levels_text(const std::vector<std::uint64_t>& open, const std::vector<bool>& full = {}) {
    constexpr std::size_t max_levels = 8;  // that are named
    std::ostringstream text;
    std::size_t used = 0, deepest = 0;
    for (std::size_t level = 0; level < open.size(); ++level) {
        if (open[level] == 0) continue;
        deepest = level;
        if (++used > max_levels) continue;
        text << ", " << open[level] << " at level " << level << (!full.empty() && full[level] ? " (full)" : "");
    }
    if (used > max_levels) text << ", and others at " << used - max_levels << " deeper levels, down to " << deepest;
    return text.str();
}

/// Names the channel of a fault, if it has one of this graph and that a name.
std::string name_text(const channel_store& store, const fault_record& fault) {
    if (!names_channel(fault) || fault.code == status::no_room) return {};
    const channel_in_fault told = channel_in_fault::of(fault.number);
    if (told.graph != store.graph() || told.channel >= store.plans().size()) return {};
    const std::string& name = store.plans()[told.channel].options.name;
    if (name.empty()) return {};
    return "; channel " + std::to_string(told.channel) + of_graph(told.graph) + " is \"" + name + "\"";
}

}  // namespace

std::string occupancy_text(const channel_store& store) {
    const auto& plans = store.plans();
    std::ostringstream text;
    for (std::uint32_t c = 0; c < plans.size(); ++c) {
        if (plans[c].rooms_a_pe != 0) continue;  // see remote_text
        const channel_content content = content_of(store, c);
        if (plans[c].is_arrivals && content.sum == 0) continue;
        text << (c == 0 ? "" : "; ") << channel_name(c, plans[c], store.graph()) << ": " << content.sum
             << (content.sum == 1 ? " element" : " elements");
        if (content.kept != 0) text << " (" << content.kept << " kept by warps)";
        text << levels_text(content.open, content.full);
    }
    text << remote_text(store);
    return text.str();
}

std::string failure_text(const channel_store& store, const fault_record* fault) {
    if (fault != nullptr && fault->code != status::timeout) return name_text(store, *fault);
    const auto& all = store.memories();
    if (std::any_of(all.begin(), all.end(), [](const channel_memory& one) { return one.is_lost(); })) return {};
    return "; " + occupancy_text(store);
}

void audit_channels(const channel_store& store) {
    const auto& plans = store.plans();
    std::string text;
    for (std::uint32_t c = 0; c < plans.size(); ++c) {
        const channel_content left = content_of(store, c);
        if (left.sum == 0) continue;
        text += (text.empty() ? "" : "; ") + channel_name(c, plans[c], store.graph()) + ": " +
                std::to_string(left.sum) + (left.sum == 1 ? " element was" : " elements were") +
                " reserved and never freed" + levels_text(left.open);
    }
    std::uint64_t out = 0;
    for (const auto& memory : store.memories()) {
        for (const std::uint64_t of_class : memory.rooms_out()) out += of_class;
    }
    if (out != 0) {
        text += (text.empty() ? "" : "; ") + std::to_string(out) + " of the rooms" + of_graph(store.graph()) +
                " for elements on their way to other PEs have not come back";
    }
    if (!text.empty()) throw device_fault(text);
}

}  // namespace laneway
