// Host owner of everything the PEs of a machine need to exchange messages: rings, counters, wave words, answer slots.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "laneway/comm/answers.hpp"
#include "laneway/comm/barrier.hpp"
#include "laneway/comm/office_plan.hpp"
#include "laneway/comm/onward.hpp"
#include "laneway/comm/reader_memory.hpp"
#include "laneway/comm/ring_mesh.hpp"
#include "laneway/comm/waves.hpp"

namespace laneway {

class post_office {
public:
    /// Allocates what the plan says, which was made with the same options; throws timeout_error past the deadline.
    post_office(machine& machine, const options& options, const office_plan& plan, const run_deadline& until);
    post_office(machine& machine, const options& options, const office_plan& plan)
        : post_office(machine, options, plan, options.timeout_seconds) {}
    post_office(const post_office&) = delete;
    post_office& operator=(const post_office&) = delete;

    /// Whether it is what the plan asks for.
    [[nodiscard]] bool suits(const office_plan& plan) const { return plan == plan_; }

    /// Sets all rings, counters and waves to their start. Host, before each run.
    void reset();
    /// Sets the waves to their start: for a program that goes on where it has ended with nothing left.
    void reset_waves();

    [[nodiscard]] links_ref links(int pe) const;
    [[nodiscard]] links_ref replies(int pe) const;
    [[nodiscard]] answers_ref answers(int pe) const;
    [[nodiscard]] onward_ref onward(int pe) const;
    [[nodiscard]] waves_ref waves(int pe, const threshold_policy& policy) const;
    [[nodiscard]] barrier_ref barriers(int pe) const;

    /// After a run: the account of all messages. Throws device_fault where posted, carried and served do not agree.
    [[nodiscard]] run_report report(double seconds) const;
    /// Fill of each ring that is not empty, for messages.
    [[nodiscard]] std::string ring_fills() const;

private:
    /// Words that each PE writes for each other one, and their addresses for both.
    struct pair_words {
        std::vector<reader_memory> memory;
        std::vector<buffer<std::uint64_t*>> to;
        std::vector<buffer<const std::uint64_t*>> from;

        /// Allocates as many bytes for each writer as a reader's words take.
        void place(machine& machine, const std::function<std::size_t(int reader)>& bytes, const run_deadline& until);
    };
    void make_onward();
    void make_waves();
    [[nodiscard]] const std::shared_ptr<device>& device_of(std::size_t p) const {
        return machine_.device(static_cast<int>(p));
    }

    machine& machine_;
    options options_;
    office_plan plan_;
    std::size_t n_;
    ring_mesh requests_;
    std::optional<ring_mesh> replies_;
    std::vector<buffer<work_counters>> work_;
    pair_words answers_;
    pair_words accounts_;                             ///< of PEs at barriers
    std::vector<buffer<std::uint64_t>> onward_ends_;  ///< tail and head, far apart
    std::vector<buffer<std::byte>> onward_slots_;
    std::vector<std::shared_ptr<std::byte>> commands_;  ///< of waves, to each PE but PE 0, which coordinates
    std::vector<std::shared_ptr<std::byte>> wave_replies_;
    buffer<std::uint64_t*> command_table_;
    buffer<const std::uint64_t*> reply_table_;
    std::vector<buffer<std::uint32_t>> finished_;
    buffer<wave_sample> samples_;
    buffer<std::uint64_t> n_samples_;
    buffer<std::uint64_t> rises_;
    std::shared_ptr<std::uint64_t> seen_;  ///< what options.meter reads, if there is one
};

}  // namespace laneway
