// What a host thread gives with a command of a remote queue.
#pragma once

#include <span>
#include <vector>

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

}  // namespace laneway
