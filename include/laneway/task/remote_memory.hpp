// What a remote queue keeps: its rings in symmetric memory, the tables of its indices, its launch threads, and in a
// session the inboxes of host threads. Whatever its functions.
#pragma once

#include <optional>

#include "laneway/memory/symmetric_array.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_inbox.hpp"
#include "laneway/run/program_access.hpp"
#include "laneway/run/staged_payloads.hpp"
#include "laneway/task/host_payload.hpp"
#include "laneway/task/remote_kernels.hpp"
#include "laneway/task/remote_queue_ref.hpp"

namespace laneway {

struct remote_queue_options {
    std::vector<int> priorities = {0};  ///< of the queues, at most 8; those of the highest are served first
    std::uint32_t slots = 64;           ///< of each ring: commands on their way, or groups of them; rounded up
    std::uint32_t shards = 0;           ///< rings of a queue from a PE to another; 0: on GPUs up to 31 into each PE
    std::uint32_t host_slots = 256;     ///< the same from host threads
    std::uint32_t launches = 64;        ///< kernels that a PE's launch thread has been asked for
    std::size_t host_payload_bytes = 1 << 20;  ///< for payloads of host threads that have not landed, of the whole job
};

/// Sizes of a function's commands.
struct remote_shape {
    std::size_t record_bytes;
    std::uint32_t batch;
};

/// Commands of the last run, or of the session so far, by all PEs.
struct remote_statistics {
    std::uint64_t run = 0;       ///< functions and kernels, posted by lanes or host threads
    std::uint64_t launched = 0;  ///< kernels among them
};

/// Host. Registration and runs belong to the thread that owns the runtime; any thread may post in a session.
class remote_memory : public session_feed {
public:
    /// Throws usage_error for options that cannot be.
    remote_memory(machine& machine, const remote_queue_options& options, std::vector<remote_shape> functions);

    std::uint32_t add_signal(const symmetric_array<std::uint64_t>& words, std::uint64_t element);
    std::uint32_t add_buffer(const remote_range& range);
    std::uint32_t add_kernel(std::string name, remote_kernels::function called);

    void begin(machine& machine);
    /// After a run that has ended well. Throws device_fault where some command was not run.
    void end();
    [[nodiscard]] remote_statistics statistics() const;
    [[nodiscard]] std::uint64_t held_bytes() const;
    [[nodiscard]] remote_rings_ref rings() const;
    [[nodiscard]] remote_names_ref names() const;
    [[nodiscard]] remote_launches_ref launches(int pe) const;
    [[nodiscard]] remote_inboxes<true> inboxes(int pe) const;

    /// A command of a host thread; `record` is the beginning of one of so many bytes. Waits while the inbox of the PE
    /// is full, or the room for payloads, and, with `ends`, until the command is done.
    void post(int pe, std::uint32_t kind, remote_header& record, std::size_t bytes, const host_payload* payload,
              const remote_request& request, bool ends);
    void refuse_kernel(std::uint32_t kernel) const;

    [[nodiscard]] std::uint64_t filled() const override;
    [[nodiscard]] bool any_wait() const override;
    void attach(machine& machine, const comm_plan& plan) override;
    void connect(resident_program& program) override { access_.connect(program); }
    void disconnect(bool) noexcept override { access_.disconnect(); }

private:
    void clear();
    void refuse(int pe, const remote_request& request) const;
    void refuse_payload(int pe, const host_payload* payload) const;
    void refuse_in_session() const;
    void compare_processes();
    [[nodiscard]] std::vector<remote_range> table() const;
    [[nodiscard]] std::uint64_t rings_of_a_pe() const;
    [[nodiscard]] std::uint64_t slots_of_a_pe() const { return rings_of_a_pe() * options_.slots; }

    machine& machine_;
    remote_queue_options options_;
    std::vector<remote_shape> functions_;
    std::uint32_t slot_bytes_ = 0;
    std::uint32_t by_priority_[max_remote_queues] = {};
    symmetric_array<byte_word<16>> slots_;
    symmetric_array<std::uint64_t> flags_;
    symmetric_array<std::uint64_t> words_;
    symmetric_array<std::uint64_t> credits_;
    symmetric_array<remote_counter> tails_;
    symmetric_array<remote_counter> heads_;
    symmetric_array<remote_counts> counts_;
    symmetric_array<remote_range> ranges_;
    std::vector<remote_range> signals_;
    std::vector<remote_range> buffers_;
    std::vector<remote_range> told_;  ///< what the devices have of both
    bool open_ = false;               ///< a run or session has begun, and no run has ended well since
    std::uint64_t run_so_far_ = 0;    ///< commands since words and counters were cleared last,
    std::uint64_t run_before_ = 0;    ///< and of these, before the last run
    std::shared_ptr<remote_kernels> kernels_;
    std::vector<std::unique_ptr<host_inboxes>> inboxes_;  ///< of a session, one a queue
    std::unique_ptr<staged_payloads> payloads_;           ///< of a session
    program_access access_;
};

}  // namespace laneway
