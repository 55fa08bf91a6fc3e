// Host owner of everything the PEs of a machine need to exchange messages: rings, counters, words of termination
// detection, answer slots.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "laneway/comm/answers.hpp"
#include "laneway/comm/barrier.hpp"
#include "laneway/comm/comm_plan.hpp"
#include "laneway/comm/forward_queue.hpp"
#include "laneway/comm/ring_set.hpp"
#include "laneway/comm/termination_ref.hpp"
#include "laneway/transport/peer_memory.hpp"

namespace laneway {

/// What the program of a PE refers to, whatever its type.
struct pe_resources {
    links_ref links;
    links_ref replies;
    answers_ref answers;
    forward_queue_ref forwards;
    termination_ref termination;
    barrier_ref barriers;
};

class comm_resources {
public:
    /// Allocates what the plan says, which was made with the same options; throws timeout_error past the deadline.
    comm_resources(machine& machine, const options& options, const comm_plan& plan, const run_deadline& until);
    comm_resources(machine& machine, const options& options, const comm_plan& plan)
        : comm_resources(machine, options, plan, options.timeout_seconds) {}
    ~comm_resources();
    comm_resources(const comm_resources&) = delete;
    comm_resources& operator=(const comm_resources&) = delete;

    /// Whether it is what the plan asks for.
    [[nodiscard]] bool suits(const comm_plan& plan) const { return plan == plan_; }

    /// After a program that has ended well: notes what the next one goes on from, whose views are made afterwards. All
    /// words and counters stay as they are, as nothing is left anywhere: tickets, rounds and counts run on. Host.
    void commit_pending();
    /// Sets all rings, counters and the termination detector to their start, after a run that did not end well. Host.
    void clear();

    /// Before each program: has the meter of the options follow it.
    void follow_meter();

    [[nodiscard]] links_ref links(int pe) const;
    [[nodiscard]] links_ref replies(int pe) const;
    [[nodiscard]] answers_ref answers(int pe) const;
    [[nodiscard]] forward_queue_ref forward_queue(int pe) const;
    [[nodiscard]] termination_ref termination(int pe, const threshold_policy& policy) const;
    [[nodiscard]] barrier_ref barriers(int pe) const;
    [[nodiscard]] pe_resources of(int pe, const threshold_policy& policy, const epoch_words& epochs) const;

    /// After a run that has ended well: commits what is pending, and gives the account of all messages since the last
    /// one. Throws device_fault where posted, carried and served do not agree.
    [[nodiscard]] run_report report(double seconds);
    /// Fill of each ring and forward queue that is not empty, for messages.
    [[nodiscard]] std::string ring_fills() const;

private:
    /// Words that each PE writes for each other one, and the views of both.
    struct pair_words {
        peer_memory memory;
        std::vector<buffer<word_sender>> to;
        std::vector<buffer<word_receiver>> from;
        buffer<std::byte> unheard;  ///< what the mute PE writes

        /// Allocates as many bytes for each writer as a reader's words take. What the `mute` PE writes nobody reads.
        void allocate(machine& machine, const std::function<std::size_t(int reader)>& bytes, const run_deadline& until,
                      int mute = -1);
    };
    /// What has been counted since counters were cleared last.
    struct totals {
        std::vector<work_counters> work;
        std::vector<traffic> requests;
        std::vector<traffic> replies;  ///< where there are any

        [[nodiscard]] work_before of(std::size_t pe) const;
    };
    [[nodiscard]] totals nothing() const;
    [[nodiscard]] totals count() const;
    [[nodiscard]] std::vector<work_counters> count_work() const;
    termination_outcome commit_pending(const std::vector<work_counters>& now);
    /// What has come since the last report.
    void account(const totals& now, run_report& report) const;
    void clear_answers();
    void make_forward_queues();
    void make_termination();
    /// Words of termination detection that lead to a PE, from its parent and its children.
    void make_termination_words(int pe);
    /// Tables of a PE's words to and from its children. `mute`: they do not hear it.
    void make_children(std::size_t p, bool mute);
    [[nodiscard]] const std::shared_ptr<device>& device_of(std::size_t p) const {
        return machine_.device(static_cast<int>(p));
    }

    machine& machine_;
    options options_;
    comm_plan plan_;
    std::size_t n_;
    std::shared_ptr<proxy> proxy_;  ///< null: what PEs write for each other is mapped
    ring_set requests_;
    std::optional<ring_set> replies_;
    std::vector<buffer<work_counters>> work_;
    pair_words answers_;
    pair_words accounts_;                              ///< of PEs at barriers
    std::vector<buffer<std::uint64_t>> forward_ends_;  ///< tail and head, far apart
    std::vector<buffer<std::byte>> forward_slots_;
    peer_memory termination_words_;
    std::vector<peer_memory::part> commands_;             ///< to each PE but PE 0
    std::vector<peer_memory::part> termination_replies_;  ///< of each PE but PE 0, to its parent
    buffer<std::byte> unheard_;                           ///< what a PE that is mute there writes
    std::vector<buffer<word_sender>> command_tables_;     ///< of each PE, to its children
    std::vector<buffer<word_receiver>> reply_tables_;
    std::vector<buffer<std::uint32_t>> finished_;
    buffer<termination_sample> samples_;
    buffer<termination_outcome> outcome_;
    std::shared_ptr<std::uint64_t> seen_;  ///< what options.meter reads, if there is one
    totals reported_;                      ///< at the last report
    termination_before before_;
    std::uint32_t program_ = 1;        ///< number of the next one
    std::uint64_t calls_ = 0;          ///< highest number of a call so far
    std::uint64_t calls_cleared_ = 0;  ///< the same, when answers were cleared last
};

}  // namespace laneway
