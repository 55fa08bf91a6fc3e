#include "laneway/task/channel_remote_plan.hpp"

#include <algorithm>
#include <sstream>

#include "laneway/base/error.hpp"
#include "laneway/base/fault_text.hpp"

namespace laneway {

void add_remote(std::vector<channel_plan>& plans, std::size_t of_user, const std::vector<bool>& receives, int pes,
                std::uint32_t rooms) {
    std::size_t bytes = 1;
    for (std::size_t c = 0; c < of_user; ++c) {
        if (receives[plans[c].consumer]) bytes = std::max(bytes, plans[c].element_bytes);
    }
    bytes = (bytes + 15) / 16 * 16;  // each may be aligned so
    for (std::size_t c = 0; c < of_user; ++c) {
        if (!receives[plans[c].consumer]) continue;
        channel_plan plan = plans[c];
        plan.options.width = rooms * static_cast<std::uint32_t>(pes);
        plan.element_bytes = bytes;
        plan.rooms_a_pe = rooms;
        plan.of_channel = static_cast<std::uint32_t>(c);
        plans.push_back(plan);
    }
    if (plans.size() > max_channels) {
        throw usage_error("a graph has at most " + std::to_string(max_channels) +
                          " channels, another one for each whose kernel receives among them");
    }
}

std::string remote_text(const channel_store& store) {
    const auto& plans = store.plans();
    const auto& memories = store.memories();
    std::ostringstream text;
    for (std::uint32_t c = 0; c < plans.size(); ++c) {
        if (plans[c].rooms_a_pe == 0) continue;
        for (std::size_t pe = 0; pe < memories.size(); ++pe) {
            const std::uint64_t waiting = memories[pe].unfreed(c);
            if (waiting == 0) continue;
            text << "; sent to " << channel_name(plans[c].of_channel, plans[c], store.graph()) << " of PE " << pe
                 << " and not consumed: " << waiting;
        }
    }
    for (std::size_t pe = 0; pe < memories.size(); ++pe) {
        const auto out = memories[pe].rooms_out();
        const std::uint64_t rooms = memories[pe].ref().rooms.a_pe;
        for (std::size_t number = 0; number < out.size(); ++number) {
            if (out[number] == 0) continue;
            text << "; PE " << pe << " has " << out[number] << " of " << rooms << " rooms" << of_graph(store.graph())
                 << " out";
            if (number != 0) text << " for level " << number - 1;
            if (out[number] == rooms) text << " (all)";
        }
    }
    return text.str();
}

}  // namespace laneway
