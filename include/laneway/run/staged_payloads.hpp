// Payloads of host threads: the memory in which they wait for the lanes that use them.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "laneway/memory/sub_allocator.hpp"
#include "laneway/run/host_feed.hpp"
#include "laneway/run/staged_payload.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// Memory of all payloads that lanes have not used yet. Any thread.
class staged_payloads {
public:
    /// None where `bytes` is 0. `bounded_by`: for messages, who posts and which option says how many bytes there are.
    staged_payloads(const machine& machine, std::size_t bytes, std::string bounded_by);

    /// Room for a payload, until lanes have used it.
    class room {
    public:
        /// Waits for it, and copies the data there; nothing where there is none. Throws usage_error for more bytes than
        /// there are in all.
        room(staged_payloads& all, std::span<const std::byte> data, const while_waiting& waiting);
        ~room();
        room(const room&) = delete;
        room& operator=(const room&) = delete;

        /// As lanes find it; null where there is no data.
        [[nodiscard]] staged_payload* staged() const { return staged_; }
        /// What it goes with is about to be published: from then on lanes say when it is free.
        void hand_over();

    private:
        staged_payloads& all_;
        staged_payload* staged_ = nullptr;
        bool is_mine_ = true;
    };

private:
    [[nodiscard]] void* try_take(std::size_t bytes);

    std::size_t bytes_;
    std::string bounded_by_;
    std::shared_ptr<std::byte> memory_;
    sub_allocator free_;
    std::mutex turn_;  ///< of who waits for room: short payloads do not overtake long ones for ever
    std::mutex mutex_;
    std::vector<staged_payload*> on_their_way_;
};

}  // namespace laneway
