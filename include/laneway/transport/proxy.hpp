// The proxied transport: a thread of the host carries what lanes of one PE have left in memory of their own into memory
// of another PE, as a network would.
//
// What PEs write for each other is staged in memory that its writer and the host reach, laid out as the reader has it
// in memory that the reader and the host reach (peer_memory.hpp). Each word of 8 bytes has one writer and says by
// itself what it is of: the tag of a value (queue/tagged_words.hpp), the ticket of a flag or a credit. So words are
// carried when they have changed, in any order; but the slot of a chunk comes before its flag. Lanes cannot tell it
// from memory that is mapped, and the proxy waits for nothing: whatever they have stored is carried in its next turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "laneway/queue/chunk_ring.hpp"
#include "laneway/simt/host_service.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// Attached to a machine (machine::attach), it carries during every run. Where a job has several processes, each has a
/// proxy for what its own PEs write. Host only.
class proxy final : public host_service {
public:
    /// Words that one PE writes, and as another one reads them. Of the flags of a ring, its slots as well.
    struct direction {
        const std::uint64_t* from = nullptr;
        std::uint64_t* to = nullptr;
        std::size_t words = 0;
        const std::byte* slots_from = nullptr;  ///< null: the words are no flags
        std::byte* slots_to = nullptr;
        std::uint32_t slot_bytes = 0;
        int writer = 0;
        int reader = 0;
    };

    /// A proxy that carries in all runs of the machine; null where its PEs reach each other without one.
    static std::shared_ptr<proxy> of(machine& machine);

    /// Words that are 0 on both sides. Returns a number for forget. Between runs.
    std::size_t add(const direction& added);
    /// The words of a direction are 0 again, on both sides. Between runs.
    void forget(std::size_t number);
    /// Memory that directions lie in lives as long as the proxy, whose thread may outlast a run.
    void keep(std::shared_ptr<std::byte> memory) { memory_.push_back(std::move(memory)); }

    [[nodiscard]] int threads() const override { return 1; }
    void open() override { chunks_ = words_ = 0; }
    bool turn(host_context& ctx, int thread) override;
    [[nodiscard]] std::string account() const override;
    /// Throws device_fault for words that were written and never carried.
    void audit() const override;
    [[nodiscard]] std::vector<checked::carried_memory> carries() const override;

private:
    struct carried_direction {
        direction at;
        std::vector<std::uint64_t> carried;  ///< by word: as it was carried last
    };
    bool carry(host_context& ctx, carried_direction& one);

    std::vector<std::shared_ptr<std::byte>> memory_;
    std::vector<carried_direction> all_;
    std::uint64_t chunks_ = 0;  ///< of the run, carried
    std::uint64_t words_ = 0;
};

}  // namespace laneway
