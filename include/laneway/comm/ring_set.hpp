// Host owner of the rings of one class of traffic, one from each PE to each other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/comm/comm_plan.hpp"
#include "laneway/comm/links.hpp"
#include "laneway/simt/machine.hpp"
#include "laneway/transport/peer_memory.hpp"

namespace laneway {

class ring_set {
public:
    /// Allocates the rings as the plan says, over `carrier` as peer_memory has it; throws timeout_error past the
    /// deadline.
    ring_set(machine& machine, const options& options, const comm_plan& plan, std::shared_ptr<proxy> carrier,
             const run_deadline& until);
    ~ring_set();
    ring_set(const ring_set&) = delete;
    ring_set& operator=(const ring_set&) = delete;

    /// Empties all rings and clears the counters, of a run that did not end well. Others leave rings empty, and tickets
    /// run on. Host, between runs.
    void clear();

    /// The PE's view; counters of served messages and work are left to the caller.
    [[nodiscard]] links_ref links(int pe) const;
    /// What has left since counters were cleared last, row-major [source][destination]. Host, between runs.
    [[nodiscard]] std::vector<traffic> traffic_matrix() const;
    /// Fill of each ring that is not empty, for people: "; ring 0->1: 8 of 8 slots in use".
    [[nodiscard]] std::string fills(const std::string& name) const;

private:
    void make_rings(const comm_plan& plan, const run_deadline& until);
    void make_tables(const run_deadline& until);
    /// Lets each stripe of a PE begin with its first ticket.
    void set_stripes(std::size_t pe);
    [[nodiscard]] std::size_t pair(int source, int destination) const {
        return static_cast<std::size_t>(source) * n_ + static_cast<std::size_t>(destination);
    }

    machine& machine_;
    options options_;
    std::vector<int> server_warps_;
    std::size_t n_;
    peer_memory memory_;
    std::vector<peer_ring> rings_;  ///< [source][destination]
    std::vector<buffer<std::uint64_t>> tails_;
    std::vector<buffer<chunk_sender>> to_;
    std::vector<buffer<chunk_receiver>> from_;
    std::vector<buffer<link_counters>> sent_;
    std::vector<buffer<std::uint64_t>> stripe_next_;
};

}  // namespace laneway
