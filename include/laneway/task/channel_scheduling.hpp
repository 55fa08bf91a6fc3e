// A thread of the host that decides what the warps of all PEs serve. Host only.
#pragma once

#include <functional>
#include <utility>

#include "laneway/simt/host_service.hpp"
#include "laneway/task/channel_memory.hpp"

namespace laneway {

/// Gives orders during one run of the machine that it is attached to, the next. What a policy throws ends the run.
class channel_scheduling : public host_service {
public:
    /// As channel_rank, with a policy.
    using rank_function = std::function<std::uint64_t(const channel_load&, const dispatch_rule&, std::uint32_t queue,
                                                      std::uint32_t all, const dispatch_history&, unsigned turn)>;

    /// `boards` of the memories are those for a thread of the host.
    channel_scheduling(const std::vector<channel_memory>& memories, rank_function rank);

    [[nodiscard]] int threads() const override { return 1; }
    void open() override { is_on_ = !std::exchange(has_run_, true); }
    bool turn(host_context& ctx, int) override;
    [[nodiscard]] std::string account() const override { return {}; }  // the graph tells it
    void audit() const override {}                                     // the same

private:
    struct part {
        part(const channel_set_ref& of_pe, std::uint32_t lanes) : set(of_pe), warp_lanes(lanes) {}

        channel_set_ref set;
        std::uint32_t warp_lanes;
        std::uint32_t next_slot = 0;
        unsigned turn = 0;
        dispatch_history history;
    };

    bool look_at(host_context& ctx, part& pe);
    [[nodiscard]] std::uint64_t best_of(host_context& ctx, part& pe, std::uint32_t shard, std::uint32_t& ready) const;
    static bool give(host_context& ctx, part& pe, std::uint32_t queue, std::uint32_t warps);

    rank_function rank_;
    std::vector<part> parts_;
    bool has_run_ = false, is_on_ = false;
};

}  // namespace laneway
