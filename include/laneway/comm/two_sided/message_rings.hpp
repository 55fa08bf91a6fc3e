// Host owner of the rings of a communicator: for each shard one from each PE to each, the own one as well.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/queue/chunk_ring.hpp"
#include "laneway/simt/machine.hpp"
#include "laneway/transport/peer_memory.hpp"

namespace laneway {

class message_rings {
public:
    /// `slots`: of each ring, a power of two; `slot_bytes`: a multiple of 16; `carrier`: as peer_memory has it.
    message_rings(machine& machine, std::uint32_t slots, std::uint32_t slot_bytes, std::shared_ptr<proxy> carrier);

    /// A PE's n_pes ends.
    [[nodiscard]] const chunk_sender* to(int pe) const { return to_[static_cast<std::size_t>(pe)].data(); }
    [[nodiscard]] const chunk_receiver* from(int pe) const { return from_[static_cast<std::size_t>(pe)].data(); }
    /// Empties all rings. Host, between runs.
    void reset();
    /// Tickets that lanes of a PE have drawn, by destination. Host, between runs.
    [[nodiscard]] std::vector<std::uint64_t> drawn(int pe) const;
    /// Of the ring from one PE to another. Host, between runs.
    [[nodiscard]] std::vector<std::uint64_t> flags(int source, int destination) const;
    /// What a PE's rings take beside what bytes() tells.
    [[nodiscard]] std::uint64_t staging_bytes(int pe) const { return memory_.staging_bytes(pe); }
    /// What one PE's rings take.
    [[nodiscard]] static std::uint64_t bytes(int n_pes, std::uint32_t slots, std::uint32_t slot_bytes);

private:
    static constexpr std::size_t tail_stride = destructive_bytes / sizeof(std::uint64_t);

    void connect_to_itself(int pe, std::uint32_t slots, std::uint32_t slot_bytes);
    [[nodiscard]] std::size_t number(int source, int destination) const {
        return static_cast<std::size_t>(source * machine_.n_pes() + destination);
    }

    machine& machine_;
    peer_memory memory_;
    std::vector<peer_ring> rings_;        ///< [source][destination]
    std::vector<buffer<std::byte>> own_;  ///< of the rings from each PE to itself
    std::vector<buffer<std::uint64_t>> tails_;
    std::vector<buffer<chunk_sender>> to_;
    std::vector<buffer<chunk_receiver>> from_;
};

}  // namespace laneway
