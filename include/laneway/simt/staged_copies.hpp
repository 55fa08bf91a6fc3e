// Copies between memory of a device and that of a caller, who may be gone when a copy ends. Host only.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/simt/device_stream.hpp"

namespace laneway {

/// Copies piece by piece, by memory between: the stream never knows the caller's, so a copy that is late touches none
/// of it, and one that CUDA refuses harms no other. Any thread; one copy at a time. `Stream`: device_stream, or what
/// stands for it in tests.
template <class Stream = device_stream>
class staged_copies {
public:
    /// `between`: `bytes` that the stream's device reaches. Each copy may take `seconds`.
    staged_copies(Stream stream, std::shared_ptr<std::byte> between, std::size_t bytes, double seconds)
        : stream_(std::move(stream)), between_(std::move(between)), bytes_(bytes), seconds_(seconds) {}

    /// Both throw timeout_error past the deadline, and what the copy failed with.
    void to_device(void* to, const void* from, std::size_t bytes) {
        piecewise(bytes, [&](std::size_t at, std::size_t n, clock::time_point until) {
            std::memcpy(between_.get(), static_cast<const std::byte*>(from) + at, n);
            carry_out(static_cast<std::byte*>(to) + at, between_.get(), n, until);
        });
    }
    void to_host(void* to, const void* from, std::size_t bytes) {
        piecewise(bytes, [&](std::size_t at, std::size_t n, clock::time_point until) {
            carry_out(between_.get(), static_cast<const std::byte*>(from) + at, n, until);
            std::memcpy(static_cast<std::byte*>(to) + at, between_.get(), n);
        });
    }

private:
    using clock = std::chrono::steady_clock;

    [[noreturn]] static void throw_late() { throw timeout_error("a copy has not ended in time"); }

    template <class CopyPiece>
    void piecewise(std::size_t bytes, const CopyPiece& copy_piece) {
        const auto until =
            clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds_));
        const std::unique_lock lock(copying_, until);
        if (!lock.owns_lock()) throw_late();
        await(until);  // one that was late still has the memory between
        for (std::size_t at = 0; at < bytes; at += bytes_) copy_piece(at, std::min(bytes_, bytes - at), until);
    }
    void await(clock::time_point until) const {
        if (!last_.wait_for(std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()))) throw_late();
    }
    void carry_out(void* to, const void* from, std::size_t n, clock::time_point until) {
        // Kept from the stream, which an operation that throws would end.
        const auto thrown = std::make_shared<std::exception_ptr>();
        stream_.copies(n, [=, kept = between_](stream_backend& by) {
            try {
                by.copy(to, from, n);
            } catch (...) {
                *thrown = std::current_exception();
            }
        });
        last_ = stream_.record();
        await(until);
        if (*thrown != nullptr) std::rethrow_exception(*thrown);
        if (const std::exception_ptr why = last_.failure()) std::rethrow_exception(why);
    }

    Stream stream_;
    std::shared_ptr<std::byte> between_;
    std::size_t bytes_;
    double seconds_;
    std::timed_mutex copying_;
    event last_;
};

}  // namespace laneway
