// Host owner of the rings of one class of traffic, one from each PE to each other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/comm/comm_plan.hpp"
#include "laneway/comm/links.hpp"
#include "laneway/comm/reader_memory.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

class ring_set {
public:
    /// Allocates the rings as the plan says; throws timeout_error past the deadline.
    ring_set(machine& machine, const options& options, const comm_plan& plan, const run_deadline& until);
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
    std::vector<chunk_ring_layout> rings_;  ///< [source][destination]
    std::vector<reader_memory> slots_;
    std::vector<reader_memory> words_;  ///< words, flags and credits
    std::vector<buffer<std::uint64_t>> tails_;
    std::vector<buffer<chunk_sender>> to_;
    std::vector<buffer<chunk_receiver>> from_;
    std::vector<buffer<link_counters>> sent_;
    std::vector<buffer<std::uint64_t>> stripe_next_;
};

}  // namespace laneway
