// The proxied model of a channel: a host thread carries what is published.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/queue/chunk_ring.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/host_service.hpp"

namespace laneway {

/// A ring in two halves, each in memory that its own PE and the host reach: staging, which the source fills, and
/// landing, which the destination drains. The host copies published slots to landing and credits back. Attached to a
/// machine (machine::attach), it does so during every run. Chunks travel in slots, never in words of their own: their
/// tags say nothing to who does not know the message. Host only.
class proxied_channel final : public host_service {
public:
    /// `n_slots`: a power of two; `slot_bytes`: a multiple of 16. Throws system_error or cuda_error without memory.
    proxied_channel(const std::shared_ptr<device>& source, const std::shared_ptr<device>& destination,
                    std::uint32_t n_slots, std::uint32_t slot_bytes);

    /// For lanes of the source, and for those of the destination.
    [[nodiscard]] chunk_sender sender() const { return chunk_sender(staging_); }
    [[nodiscard]] chunk_receiver receiver() const { return chunk_receiver(landing_); }

    [[nodiscard]] int threads() const override { return 1; }
    void open() override;
    bool turn(host_context& ctx, int thread) override;
    [[nodiscard]] std::string account() const override;
    /// Throws device_fault for chunks that were reserved and never carried.
    void audit() const override;

private:
    bool carry_slots(host_context& ctx);
    bool carry_credits(host_context& ctx);

    std::shared_ptr<std::byte> staging_memory_, landing_memory_;
    buffer<std::uint64_t> tail_;
    chunk_ring_layout staging_, landing_;
    std::uint64_t carried_ = 0;           ///< chunks: the next ticket
    std::vector<std::uint64_t> credits_;  ///< by slot: what has been carried back
};

}  // namespace laneway
