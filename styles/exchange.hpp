// The coprocessor model's exchange: kernels write messages of 8 bytes into their device's memory, the host sorts them
// by destination and moves them between two kernels, and kernels read what has arrived.
#pragma once

#include <memory>

#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway::styles {

/// Device view.
struct exchange_ref {
    symmetric_ref<std::uint64_t> messages;
    symmetric_ref<std::uint16_t> owners;
    symmetric_ref<std::uint64_t> arrived;
    symmetric_ref<std::uint64_t> n_arrived;

    /// Message number i of this PE goes to `pe`. Any lane.
    template <class Ctx>
    LANEWAY_FN void put(Ctx& ctx, std::uint64_t i, int pe, std::uint64_t message) const {
        messages.local(ctx)[i] = message;
        owners.local(ctx)[i] = static_cast<std::uint16_t>(pe);
    }
    /// There is no message number i. Any lane.
    template <class Ctx>
    LANEWAY_FN void skip(Ctx& ctx, std::uint64_t i) const {
        owners.local(ctx)[i] = static_cast<std::uint16_t>(ctx.n_pes());
    }
};

/// Messages of one PE before and after they are sorted, and those that have arrived; all in its memory.
struct exchange_buffers {
    buffer<std::uint64_t> messages;
    buffer<std::uint16_t> owners;
    buffer<std::uint64_t> sorted;
    buffer<std::uint16_t> sorted_owners;
    buffer<std::uint64_t> arrived;
    buffer<std::uint64_t> n_arrived;
};

/// What `pe` sends to whom, in messages, and where it begins.
struct exchange_plan {
    std::vector<std::uint64_t> counts;  ///< [source][destination]
    std::vector<std::uint64_t> starts;  ///< the same, in the sorted messages of the source
    std::vector<std::uint64_t> places;  ///< the same, in what arrives at the destination
};

/// Does the work on one kind of device.
class exchange_carrier {
public:
    virtual ~exchange_carrier() = default;
    /// Sorts the first `count` messages of every PE by owner; counts[source][destination].
    virtual std::vector<std::uint64_t> sort(std::uint64_t count) = 0;
    virtual void move(const exchange_plan& plan) = 0;
};

/// Host owner.
class exchange {
public:
    /// Room for `most` messages a PE, less than 2^31.
    exchange(machine& all, std::uint64_t most, double timeout_seconds);

    [[nodiscard]] exchange_ref ref() const { return ref_; }
    /// Brings the first `count` messages of every PE to their owners. Host, between launches. Throws timeout_error
    /// where GPUs take longer than `timeout_seconds`.
    void run(std::uint64_t count);

private:
    std::vector<exchange_buffers> buffers_;
    std::vector<std::shared_ptr<const std::uint32_t>> names_;  ///< segments of symmetric memory
    std::unique_ptr<exchange_carrier> carrier_;
    exchange_ref ref_;
};

/// A thread a PE, counting sort and plain copies.
std::unique_ptr<exchange_carrier> carry_between_threads(std::vector<exchange_buffers>& buffers);
/// Radix sort of CUB; NCCL's sends and receives in a group where the build has NCCL, else copies between peers.
std::unique_ptr<exchange_carrier> carry_between_gpus(machine& all, std::vector<exchange_buffers>& buffers,
                                                     double timeout_seconds);

}  // namespace laneway::styles
