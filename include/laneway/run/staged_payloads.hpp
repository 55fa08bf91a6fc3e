// Payloads of host threads: what a thread gives with a command, and the memory in which it waits for the lanes that
// store it into the target buffer.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "laneway/memory/sub_allocator.hpp"
#include "laneway/run/host_feed.hpp"
#include "laneway/simt/machine.hpp"
#include "laneway/task/remote_command.hpp"

namespace laneway {

/// Data of a host thread that goes with a command: all of `data`, into a target buffer of the PE, from element `at` on.
/// It has been copied when the command has been posted.
class host_payload {
public:
    template <remote_word T>
    static host_payload of(std::span<const T> data, std::uint32_t buffer, std::uint64_t at = 0) {
        return {std::as_bytes(data), type_of<T>, data.size(), buffer, at};
    }
    template <remote_word T>
    static host_payload of(const std::vector<T>& data, std::uint32_t buffer, std::uint64_t at = 0) {
        return of(std::span<const T>(data), buffer, at);
    }

    [[nodiscard]] std::span<const std::byte> data() const { return data_; }
    [[nodiscard]] word_type type() const { return type_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint32_t buffer() const { return buffer_; }
    [[nodiscard]] std::uint64_t at() const { return at_; }

private:
    host_payload(std::span<const std::byte> data, word_type type, std::uint64_t count, std::uint32_t buffer,
                 std::uint64_t at)
        : data_(data), type_(type), count_(count), buffer_(buffer), at_(at) {}

    std::span<const std::byte> data_;
    word_type type_;
    std::uint64_t count_;
    std::uint32_t buffer_;
    std::uint64_t at_;
};

/// Memory of all payloads that have not landed. Any thread.
class host_payloads {
public:
    /// None where `bytes` is 0.
    host_payloads(const machine& machine, std::size_t bytes);

    /// Room for a payload, until lanes have stored it.
    class room {
    public:
        /// Waits for it, and copies the data there; nothing where there is none, or no payload (null). Throws
        /// usage_error for more bytes than there are in all.
        room(host_payloads& all, const host_payload* payload, const while_waiting& waiting);
        ~room();
        room(const room&) = delete;
        room& operator=(const room&) = delete;

        /// As lanes find it; null where there is no data.
        [[nodiscard]] remote_staged* staged() const { return staged_; }
        /// Its command is about to be published: from then on lanes say when it is free.
        void hand_over();

    private:
        host_payloads& all_;
        remote_staged* staged_ = nullptr;
        bool is_mine_ = true;
    };

private:
    [[nodiscard]] void* try_take(std::size_t bytes);

    std::size_t bytes_;
    std::shared_ptr<std::byte> memory_;
    sub_allocator free_;
    std::mutex turn_;  ///< of who waits for room: short payloads do not overtake long ones for ever
    std::mutex mutex_;
    std::vector<remote_staged*> on_their_way_;
};

}  // namespace laneway
