// What a service keeps: its queues, in symmetric memory or in memory that the host shares with each PE, and the heaps
// that it allocates from. Whatever its request types.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "laneway/memory/device_heap.hpp"
#include "laneway/memory/sub_allocator.hpp"
#include "laneway/memory/symmetric_array.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_feed.hpp"
#include "laneway/task/service_rings_ref.hpp"

namespace laneway {

struct service_options {
    service_by by = service_by::warps;   ///< who carries out the requests
    int pe = 0;                          ///< with service_by::pe: which one
    int threads = 1;                     ///< with service_by::host: they share out the blocks
    bool by_copies = false;              ///< the same: CPU devices' memory too is reached as a GPU's always is
    std::uint32_t slots = 32;            ///< of a block's queue, 1 to 64: groups of requests on their way; rounded up
    std::uint64_t heap_bytes = 4 << 20;  ///< of each heap for allocate; 0: none
    double server_share = 0.06;          ///< of a GPU's blocks that serve, at least one; not where host threads do
};

/// Requests of the last run or session.
struct service_statistics {
    std::uint64_t requests = 0;  ///< that were carried out
    std::uint64_t slots = 0;     ///< that they came in: lanes that post together share one
    std::uint64_t refused = 0;   ///< see service_call::refuse
    std::uint64_t copies = 0;    ///< that host threads began, where they reach memory so: service_copies.hpp
};

/// Queues of a PE that host threads serve.
class service_host_queues {
public:
    service_host_queues(const std::shared_ptr<device>& device, const service_rings_ref& sizes);

    [[nodiscard]] const service_host_rings& ref() const { return ref_; }
    /// What lies in slots is not looked at without the words.
    void clear() const;
    [[nodiscard]] static std::uint64_t bytes(const service_rings_ref& sizes);

private:
    std::shared_ptr<std::byte> memory_;
    std::size_t words_bytes_ = 0;  ///< behind the slots
    service_host_rings ref_;
};

/// Host. Belongs to the thread that owns the runtime.
class service_memory : public session_feed {
public:
    /// Throws usage_error for options that cannot be, and where PEs cannot store into each other's memory.
    service_memory(machine& machine, const service_options& options, std::vector<service_shape> types);

    [[nodiscard]] const service_options& options() const { return options_; }
    [[nodiscard]] laneway::machine& job() const { return machine_; }
    /// Whether host threads serve that cannot touch symmetric memory.
    [[nodiscard]] bool by_copies() const { return by_host() && (options_.by_copies || machine_.has_gpus()); }
    [[nodiscard]] const char* name(std::uint32_t type) const { return types_[type].name; }

    /// The queues are made when the grids are known, and again where a later run has more blocks. Tickets and counters
    /// run on from a run that has ended well; whether they begin anew.
    bool begin(machine& machine, const comm_plan& plan);
    /// After a run without a fault. `by_host`: what host threads have done since all began anew.
    void end(const service_statistics& by_host);
    [[nodiscard]] std::uint64_t held_bytes(int pe) const;
    [[nodiscard]] double server_share(int pe) const;
    [[nodiscard]] service_rings_ref rings(int pe) const;
    [[nodiscard]] device_heap_ref heap(int pe) const;
    [[nodiscard]] sub_allocator* host_heap(int pe) const;
    /// Of the last run or session.
    [[nodiscard]] service_statistics statistics(const service_statistics& by_host) const;
    [[nodiscard]] std::string account(const service_statistics& by_host) const;

    // In a session: what host threads ask comes through its inboxes.
    using session_feed::account;
    [[nodiscard]] symmetric_ref<service_counts> counts() const { return counts_.ref(); }
    [[nodiscard]] std::uint64_t filled() const override { return 0; }
    [[nodiscard]] bool any_wait() const override { return false; }
    void attach(laneway::machine& machine, const comm_plan&) override;
    void connect(resident_program&) override { in_session_ = true; }
    void disconnect(bool) noexcept override { in_session_ = false; }
    void audit() override { ended_ = so_far({}); }

private:
    /// Arrays that depend on the number of blocks.
    struct queues {
        queues(machine& machine, const service_rings_ref& sizes);

        symmetric_array<byte_word<16>> slots;
        symmetric_array<std::uint64_t> flags;
        symmetric_array<std::uint64_t> words;
        symmetric_array<std::uint64_t> answers;
        symmetric_array<std::uint64_t> done;
        symmetric_array<std::uint64_t> heads;
        symmetric_array<std::uint64_t> locks;
    };

    void refuse(const laneway::machine& machine) const;
    void make_queues(std::uint32_t blocks);
    [[nodiscard]] bool has_heap(int pe) const;
    void make_heap(int pe);
    void clear();
    [[nodiscard]] service_statistics so_far(const service_statistics& by_host) const;
    /// Slots, as far as bodies have returned.
    [[nodiscard]] std::uint64_t posted() const;
    [[nodiscard]] bool by_host() const { return options_.by == service_by::host; }

    laneway::machine& machine_;
    service_options options_;
    std::vector<service_shape> types_;
    service_rings_ref sizes_;
    symmetric_array<service_counts> counts_;
    std::vector<std::uint32_t> server_warps_;  ///< by PE
    std::unique_ptr<symmetric_array<std::uint64_t>> posted_;
    std::unique_ptr<queues> queues_;
    std::vector<service_host_queues> host_queues_;     ///< by PE
    std::vector<std::unique_ptr<device_heap>> heaps_;  ///< by PE, null where there is none
    std::vector<buffer<std::byte>> host_regions_;
    std::vector<std::unique_ptr<sub_allocator>> host_heaps_;  ///< by PE, the same
    bool open_ = false;                                       ///< a run has begun and not ended well
    std::atomic<bool> in_session_ = false;
    service_statistics ended_;   ///< when the last run had ended well, since all began anew
    service_statistics before_;  ///< the same, before the last run
};

}  // namespace laneway
