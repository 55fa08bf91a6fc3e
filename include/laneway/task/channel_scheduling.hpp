// A thread of the host that decides what the warps of all PEs serve. Host only.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "laneway/task/channel_memory.hpp"

namespace laneway {

/// Gives orders from its construction to its end, which is after that of the run.
class channel_scheduling {
public:
    /// As channel_rank, with a policy.
    using rank_function = std::function<std::uint64_t(const channel_load&, std::uint32_t at_least, std::uint32_t queue,
                                                      std::uint32_t all, const dispatch_history&, unsigned turn)>;

    /// `boards` of the memories are those for a thread of the host. Throws system_error where there is no thread.
    channel_scheduling(const std::vector<channel_memory>& memories, rank_function rank);
    ~channel_scheduling();
    channel_scheduling(const channel_scheduling&) = delete;
    channel_scheduling& operator=(const channel_scheduling&) = delete;

private:
    struct part {
        part(const channel_set_ref& of_pe, std::uint32_t lanes) : set(of_pe), warp_lanes(lanes) {}

        channel_set_ref set;
        std::uint32_t warp_lanes;
        std::uint32_t next_slot = 0;
        unsigned turn = 0;
        dispatch_history history;
    };

    void keep();
    bool look_at(part& pe);
    [[nodiscard]] std::uint64_t best_of(part& pe, std::uint32_t shard, std::uint32_t& ready) const;
    static bool give(part& pe, std::uint32_t queue, std::uint32_t warps);

    rank_function rank_;
    std::vector<part> parts_;
    std::atomic<bool> ends_ = false;
    std::thread thread_;
};

}  // namespace laneway
