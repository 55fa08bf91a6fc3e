// Host owner of everything the PEs of a machine need to exchange messages: rings, counters, wave words.
#pragma once

#include <memory>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/comm/links.hpp"
#include "laneway/comm/waves.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// Grid of one PE and how its blocks share the roles.
struct pe_grid {
    launch_shape shape;
    int server_blocks = 0;
    bool flushers = false;  ///< the last warp of each working block only flushes, see roles
    bool one_lane = true;   ///< warps of one lane: every warp has all roles

    [[nodiscard]] int server_warps() const;
    [[nodiscard]] int worker_warps() const;
    [[nodiscard]] std::uint32_t worker_blocks() const {
        return static_cast<std::uint32_t>(shape.blocks - server_blocks);
    }
    [[nodiscard]] std::uint64_t worker_lanes(const device& device) const;
};

class post_office {
public:
    /// Allocates rings between all pairs of PEs; `slot_bytes` is the largest payload of a chunk.
    post_office(machine& machine, const options& options, std::uint32_t slot_bytes, const std::vector<pe_grid>& grids);

    /// Sets all rings, counters and waves to their start. Host, before each run.
    void reset();

    [[nodiscard]] links_ref links(int pe) const;
    [[nodiscard]] waves_ref waves(int pe, const threshold_policy& policy) const;

    /// After a run: the account of all messages. Throws device_fault where posted, carried and served do not agree.
    [[nodiscard]] run_report report(double seconds, std::size_t message_bytes) const;
    /// Work items that the application counted, all PEs.
    [[nodiscard]] std::uint64_t items() const;
    /// Fill of each ring that is not empty, for messages: "; ring 0->1: 8 of 8 slots in use".
    [[nodiscard]] std::string ring_fills() const;

private:
    struct ring_memory {
        std::shared_ptr<std::byte> slots_and_flags;  ///< written by the source
        std::shared_ptr<std::byte> credits;          ///< written by the destination
        chunk_ring_layout layout;
    };

    void make_rings(std::uint32_t slot_bytes);
    void make_tables();
    void make_waves();
    [[nodiscard]] std::size_t pair(int source, int destination) const {
        return static_cast<std::size_t>(source) * n_ + static_cast<std::size_t>(destination);
    }

    machine& machine_;
    options options_;
    std::vector<pe_grid> grids_;
    std::size_t n_;
    std::vector<ring_memory> rings_;  ///< [source][destination]
    std::vector<buffer<std::uint64_t>> tails_;
    std::vector<buffer<chunk_sender>> to_;
    std::vector<buffer<chunk_receiver>> from_;
    std::vector<buffer<link_counters>> sent_;
    std::vector<buffer<work_counters>> work_;
    std::vector<buffer<std::uint64_t>> line_next_;
    std::vector<std::shared_ptr<std::byte>> commands_;
    std::vector<std::shared_ptr<std::byte>> replies_;
    buffer<wave_command*> command_table_;
    buffer<const wave_reply*> reply_table_;
    std::vector<buffer<std::uint32_t>> finished_;
    buffer<wave_sample> samples_;
    buffer<std::uint64_t> n_samples_;
};

}  // namespace laneway
