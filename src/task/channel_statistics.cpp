#include "laneway/task/channel_statistics.hpp"

#include <algorithm>

#include "laneway/task/channel_memory.hpp"

namespace laneway {

/// Adds what has gone through the queues of a channel of the PE, which may be those of rooms.
void channel_memory::add_queues_to(one_channel_statistics& sum, std::uint32_t number,
                                   const std::vector<channel_words>& words, const std::vector<std::uint64_t>& stalls,
                                   const std::vector<std::uint64_t>& peaks) const {
    const channel_layout& layout = set_.channels[number];
    for (std::uint32_t s = 0; s < set_.n_shards; ++s) {
        for (std::uint32_t l = 0; l < layout.levels; ++l) {
            const std::uint32_t queue = s * set_.queues_a_shard + layout.first_queue + l;
            channel_level_statistics& level = sum.levels[l];
            const channel_words before = before_.empty() ? channel_words{} : before_[queue];
            const std::uint64_t produced = words[queue].reserved - before.reserved;
            const std::uint64_t consumed = words[queue].dispatched - before.dispatched;
            level.produced += produced;
            level.consumed += consumed;
            level.stalls += stalls[queue];
            level.peak = std::max(level.peak, peaks[queue]);
            sum.produced += produced;
            sum.consumed += consumed;
            sum.stalls += stalls[queue];
            sum.peak = std::max(sum.peak, peaks[queue]);
        }
    }
}

void channel_memory::add_to(channel_statistics& sum) const {
    const auto words = words_.copy_out();
    const auto stalls = copy_out(set_.stalls, words_.size());
    const auto peaks = copy_out(set_.peaks, words_.size());
    const auto tallies = copy_out(set_.tallies, set_.n_channels);
    for (std::uint32_t c = 0; c < set_.n_channels; ++c) {
        const channel_plan& plan = plans_[c];
        const std::uint32_t number = plan.rooms_a_pe != 0 ? plan.of_channel : c;
        if (number == sum.channels.size()) sum.channels.emplace_back().name = plan.options.name;
        one_channel_statistics& one = sum.channels[number];
        one.levels.resize(plan.options.levels);
        add_queues_to(one, c, words, stalls, peaks);
        one.dispatches += tallies[c].dispatches;
        one.produced += tallies[c].kept;
        one.consumed += tallies[c].kept_runs;
        one.kept += tallies[c].kept;
    }
    const channel_totals totals = copy_out(set_.totals, 1)[0];
    sum.dispatches += totals.dispatches;
    sum.full_dispatches += totals.full_dispatches;
    sum.yields += totals.yields;
    sum.moved += totals.moved;
    sum.sent += totals.sent;
    sum.received += totals.received;
    sum.given += totals.given;
    sum.idle_turns += totals.idle_turns;
}

channel_statistics statistics_of(const std::vector<channel_memory>& memories) {
    channel_statistics sum;
    for (const auto& memory : memories) memory.add_to(sum);
    for (const auto& one : sum.channels) {
        sum.produced += one.produced;
        sum.consumed += one.consumed;
        sum.stalls += one.stalls;
        sum.peak = std::max(sum.peak, one.peak);
        sum.kept += one.kept;
    }
    return sum;
}

}  // namespace laneway
