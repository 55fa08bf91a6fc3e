#include "matching/replay.hpp"

#include <algorithm>
#include <memory>

#include "laneway/comm/matching/matching_memory.hpp"
#include "laneway/runtime.hpp"
#include "matching/replay_program.hpp"

namespace laneway::apps {

namespace {

constexpr std::uint32_t max_events = (1u << 24) - 31;  // a queue has 32 entries at least
constexpr std::uint32_t min_block_events = 256;        // fewer are done as soon by a warp

void require_matchable(std::size_t number, const match_events& events, const match_rules& rules) {
    const std::string queue = "queue " + std::to_string(number);
    if (events.size() >= max_events) {
        throw usage_error(queue + " has " + std::to_string(events.size()) + " events, more than " +
                          std::to_string(max_events - 1));
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
        const std::string event = queue + ", event " + std::to_string(i);
        const match_key& key = events[i].key;
        if (events[i].is_message != 0 && !key.is_exact()) throw usage_error(event + ": a message has no wildcards");
        if (rules.no_any_source && key.source == any_source) {
            throw usage_error(event + ": a receive of any source, where the rules say that there is none");
        }
        if (rules.no_any_tag && key.tag == any_tag) {
            throw usage_error(event + ": a receive of any tag, where the rules say that there is none");
        }
    }
}

/// What one PE replays: every n-th queue.
class replayed_part {
public:
    replayed_part(machine& machine, int pe, const std::vector<match_events>& queues, const match_rules& rules)
        : machine_(machine), pe_(pe) {
        const std::shared_ptr<device> owner = machine.device(pe);
        std::vector<match_event> events;
        std::vector<replayed_queue> refs;
        for (auto q = static_cast<std::size_t>(pe); q < queues.size(); q += static_cast<std::size_t>(machine.n_pes())) {
            const auto messages = static_cast<std::uint32_t>(
                std::count_if(queues[q].begin(), queues[q].end(), [](const auto& e) { return e.is_message != 0; }));
            const auto all = static_cast<std::uint32_t>(queues[q].size());
            // All may wait.
            engines_.emplace_back(owner, matching_options{all - messages + 32, messages + 32, 0, rules});
            refs.push_back({engines_.back().ref(), events.size(), all});
            events.insert(events.end(), queues[q].begin(), queues[q].end());
        }
        queues_ = buffer<replayed_queue>(owner, refs.size());
        events_ = buffer<match_event>(owner, events.size());
        partners_ = buffer<std::uint32_t>(owner, events.size());
        claimed_ = buffer<std::uint32_t>(owner, 1);
        queues_.copy_in(refs);
        events_.copy_in(events);
        partners_.fill_bytes(0xff);
        const device_kind kind = owner->id().kind;
        const int teams = owner->is_gpu() ? 2 * owner->multiprocessors() : kind == device_kind::checked ? 4 : 0;
        const bool any_long = std::any_of(refs.begin(), refs.end(),
                                          [](const replayed_queue& queue) { return queue.events >= min_block_events; });
        by_blocks_ = any_long && refs.size() <= static_cast<std::size_t>(teams);
    }

    /// Few long queues go to blocks, many or short ones to warps.
    [[nodiscard]] bool by_blocks() const { return by_blocks_; }
    template <bool Blocks>
    [[nodiscard]] replay_program<Blocks> program() const {
        return {queues_.data(), static_cast<std::uint32_t>(queues_.size()), events_.data(), partners_.data(),
                claimed_.data()};
    }
    template <bool Blocks>
    [[nodiscard]] launch_shape shape() const {
        using program = replay_program<Blocks>;
        const device& owner = *machine_.device(pe_);
        launch_shape shape{owner.is_gpu() ? 8 * owner.multiprocessors() : 1, owner.is_gpu() ? program::cuda_warps : 1,
                           program::shared_bytes};
        if (owner.id().kind == device_kind::checked) {
            shape.blocks = 2;
            shape.warps_per_block = Blocks ? 3 : 1;
        }
        shape.blocks = std::min(shape.blocks, machine_.resident_blocks<program>(pe_, shape));
        return shape;
    }

    void read(const std::vector<match_events>& queues, matching_replay& replay) const {
        const std::vector<std::uint32_t> partners = partners_.copy_out();
        std::size_t first = 0;
        auto q = static_cast<std::size_t>(pe_);
        for (const matching_engine& engine : engines_) {
            const auto begin = partners.begin() + static_cast<std::ptrdiff_t>(first);
            replay.partners[q].assign(begin, begin + static_cast<std::ptrdiff_t>(queues[q].size()));
            const matching_statistics now = engine.statistics();
            tell_lengths(queues[q], q, engine.ref().rules.no_unexpected, replay);
            replay.matches += now.counts.matches;
            replay.searches += now.counts.messages + now.counts.receives;
            replay.looks += now.counts.looks;
            replay.max_depth = std::max(replay.max_depth, now.counts.max_depth());
            first += queues[q].size();
            q += static_cast<std::size_t>(machine_.n_pes());
        }
    }

private:
    /// What waited at most, had events come one after the other. Where messages must find their receives, none waits.
    static void tell_lengths(const match_events& events, std::size_t q, bool no_unexpected, matching_replay& replay) {
        std::uint32_t waiting[2] = {0, 0};  // receives, messages
        std::uint32_t* const most[2] = {&replay.max_posted[q], &replay.max_unexpected[q]};
        for (std::size_t i = 0; i < events.size(); ++i) {
            const bool is_message = events[i].is_message != 0;
            const std::uint32_t partner = replay.partners[q][i];
            if (partner < i) {
                --waiting[is_message ? 0 : 1];
            } else if (!is_message || !no_unexpected) {
                *most[is_message] = std::max(*most[is_message], ++waiting[is_message]);
            }
        }
    }

    machine& machine_;
    int pe_;
    bool by_blocks_ = false;
    std::vector<matching_engine> engines_;
    buffer<replayed_queue> queues_;
    buffer<match_event> events_;
    buffer<std::uint32_t> partners_;
    buffer<std::uint32_t> claimed_;
};

}  // namespace

matching_replay replay_matches(runtime& devices, const std::vector<match_events>& queues, const match_rules& rules,
                               double timeout_seconds) {
    for (std::size_t q = 0; q < queues.size(); ++q) require_matchable(q, queues[q], rules);
    machine& machine = devices.machine();
    std::vector<replayed_part> parts;
    std::vector<pe_program> programs;
    std::vector<launch_shape> shapes;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        parts.emplace_back(machine, pe, queues, rules);
        const replayed_part& part = parts.back();
        programs.push_back(part.by_blocks() ? pe_program::of(part.program<true>())
                                            : pe_program::of(part.program<false>()));
        shapes.push_back(part.by_blocks() ? part.shape<true>() : part.shape<false>());
    }
    matching_replay replay;
    replay.partners.resize(queues.size());
    replay.max_posted.resize(queues.size());
    replay.max_unexpected.resize(queues.size());
    replay.seconds = machine.run(programs, shapes, run_deadline(timeout_seconds), [] { return std::string{}; });
    for (const replayed_part& part : parts) part.read(queues, replay);
    return replay;
}

}  // namespace laneway::apps
