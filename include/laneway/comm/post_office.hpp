// Host owner of everything the PEs of a machine need to exchange messages: rings, counters, wave words, answer slots.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "laneway/comm/answers.hpp"
#include "laneway/comm/onward.hpp"
#include "laneway/comm/ring_mesh.hpp"
#include "laneway/comm/waves.hpp"

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
    friend bool operator==(const pe_grid&, const pe_grid&) = default;
};

/// What a program needs of its post office, beside rings for requests.
struct office_needs {
    std::uint32_t slot_bytes = 0;    ///< largest payload of a chunk
    bool replies = false;            ///< rings for replies as well
    std::uint32_t answer_words = 0;  ///< words of 32 bits of the longest answer to a call; 0: no calls
    std::size_t onward_bytes = 0;    ///< largest message that handlers post onward; 0: none
    friend bool operator==(const office_needs&, const office_needs&) = default;
};

class post_office {
public:
    post_office(machine& machine, const options& options, const office_needs& needs, const std::vector<pe_grid>& grids);

    /// Whether it serves a program with these needs and grids as well.
    [[nodiscard]] bool suits(const office_needs& needs, const std::vector<pe_grid>& grids) const {
        return needs == needs_ && grids == grids_;
    }

    /// Sets all rings, counters and waves to their start. Host, before each run.
    void reset();

    [[nodiscard]] links_ref links(int pe) const;
    [[nodiscard]] links_ref replies(int pe) const;
    [[nodiscard]] answers_ref answers(int pe) const;
    [[nodiscard]] onward_ref onward(int pe) const;
    [[nodiscard]] waves_ref waves(int pe, const threshold_policy& policy) const;

    /// After a run: the account of all messages. Throws device_fault where posted, carried and served do not agree.
    [[nodiscard]] run_report report(double seconds) const;
    /// Work items that the application counted, all PEs.
    [[nodiscard]] std::uint64_t items() const;
    /// Fill of each ring that is not empty, for messages.
    [[nodiscard]] std::string ring_fills() const;

private:
    void make_answers();
    void make_onward();
    void make_waves();
    [[nodiscard]] const std::shared_ptr<device>& device_of(std::size_t p) const {
        return machine_.device(static_cast<int>(p));
    }
    [[nodiscard]] std::size_t answer_bytes(std::size_t reader) const;

    machine& machine_;
    options options_;
    office_needs needs_;
    std::vector<pe_grid> grids_;
    std::size_t n_;
    ring_mesh requests_;
    std::optional<ring_mesh> replies_;
    std::vector<buffer<work_counters>> work_;
    std::vector<std::shared_ptr<std::byte>> answers_;  ///< [writer][reader]
    std::vector<buffer<std::uint64_t*>> answers_to_;
    std::vector<buffer<const std::uint64_t*>> answers_from_;
    std::vector<buffer<std::uint64_t>> onward_ends_;  ///< tail and head, far apart
    std::vector<buffer<std::byte>> onward_slots_;
    std::vector<std::shared_ptr<std::byte>> commands_;
    std::vector<std::shared_ptr<std::byte>> wave_replies_;
    buffer<std::uint64_t*> command_table_;
    buffer<const std::uint64_t*> reply_table_;
    std::vector<buffer<std::uint32_t>> finished_;
    buffer<wave_sample> samples_;
    buffer<std::uint64_t> n_samples_;
};

}  // namespace laneway
