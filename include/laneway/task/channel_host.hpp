// The host's part of a graph of channels in a session: what host threads produce for channels, and what they take.
// Whatever the graph's kernels.
#pragma once

#include <deque>
#include <functional>

#include "laneway/run/program_access.hpp"
#include "laneway/run/resident_program.hpp"
#include "laneway/task/channel_service_ref.hpp"
#include "laneway/task/channel_table.hpp"

namespace laneway {

struct channel_service_options {
    std::uint32_t inbox_slots = 1024;   ///< elements from host threads that wait at a PE; rounded up to a power of two
    std::uint32_t result_slots = 1024;  ///< elements for host threads that wait at a PE; the same
};

/// Host. Any thread may enqueue and take while the session goes on.
class channel_host : public session_feed {
public:
    /// `plans`: with the channels of arrivals. Throws usage_error for options that cannot be.
    channel_host(machine& machine, channel_table table, std::vector<channel_plan> plans,
                 const channel_service_options& options, channel_scheduler by);

    /// Leaves an element of a channel for a PE. Waits while its inbox is full.
    void enqueue(std::uint32_t channel, const void* element, std::size_t bytes, int pe);
    /// The next element of a channel that host threads consume, of whichever PE; false where there is none, which takes
    /// that nobody waits.
    bool take(std::uint32_t channel, void* element, std::size_t bytes, bool waits);
    /// Waits until `done()`, which may take: for what the program does. Throws as take. `outlasts_stop`: as what was
    /// left for the program before is done, it goes on until the program has ended; then throws usage_error.
    void wait(const std::function<bool()>& done, bool outlasts_stop);
    /// Sessions that the graph has served; each begins with nothing to take.
    [[nodiscard]] std::uint64_t sessions() const;
    [[nodiscard]] channel_statistics statistics() const;

    /// Of the next session, see channel_in_fault.
    void take_place(std::uint32_t place) { graph_ = place; }
    [[nodiscard]] const channel_store& store() const { return store_; }
    [[nodiscard]] inbox_ref inbox(int pe) const { return inboxes_->ref(pe); }

    // As a feed.
    void attach(machine& machine, const comm_plan& plan) override;
    void connect(resident_program& program) override { access_.connect(program); }
    void disconnect(bool) noexcept override { access_.disconnect(); }
    void audit() override;
    void collect() override;
    [[nodiscard]] std::string account() const override;
    [[nodiscard]] std::uint64_t filled() const override;
    [[nodiscard]] bool any_wait() const override;

private:
    /// One PE's ring of results.
    struct result_ring {
        std::shared_ptr<std::byte> slots, taken;
        buffer<std::uint64_t> words;
        std::uint64_t next = 0;  ///< elements that have been read

        [[nodiscard]] channel_result_ring_ref ref(std::uint64_t capacity, std::uint64_t slot_bytes) const;
    };

    void check(std::uint32_t channel, std::size_t bytes) const;
    [[nodiscard]] program_access::use session();
    bool pop(std::uint32_t channel, void* element, std::size_t bytes);
    void hear(result_ring& from);

    machine& machine_;
    channel_table table_;
    std::vector<channel_plan> plans_;
    channel_service_options options_;
    channel_scheduler by_;
    std::size_t element_bytes_ = 0;  ///< of the largest
    channel_store store_;
    std::uint32_t graph_ = 0;  ///< of the next session
    std::unique_ptr<host_inboxes> inboxes_;
    std::vector<result_ring> result_rings_;
    mutable std::mutex hearing_;                             ///< for result_rings_, taken_ and sessions_
    std::vector<std::deque<std::vector<std::byte>>> taken_;  ///< by channel: read, and not yet given to anybody
    std::uint64_t sessions_ = 0;
    program_access access_;
};

}  // namespace laneway
