// Copies between memory of a device and that of a caller, who may be gone when a copy ends. Host only.
#pragma once

#include <algorithm>
#include <array>
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
/// of it, and one that CUDA refuses harms no other. The host fills or empties one half of that memory while the device
/// is at work with the other. Both the memory between and the device's are kept until nothing of a copy goes on. Any
/// thread; one copy at a time. `Stream`: device_stream, or what stands for it in tests.
template <class Stream = device_stream>
class staged_copies {
public:
    /// `between`: `bytes`, 2 at least, that the stream's device reaches. `device_memory`: owns all that copies may
    /// touch there. Each copy may take `seconds`.
    staged_copies(Stream stream, std::shared_ptr<std::byte> between, std::size_t bytes,
                  std::shared_ptr<const void> device_memory, double seconds)
        : stream_(std::move(stream)), between_(std::move(between)), device_memory_(std::move(device_memory)),
          piece_bytes_(bytes / 2), seconds_(seconds) {}

    /// Both throw timeout_error past the deadline, and what the copy failed with.
    void to_device(void* to, const void* from, std::size_t bytes) {
        piecewise(bytes, [&](std::size_t n_pieces, const auto& piece_at, clock::time_point until) {
            for (std::size_t i = 0; i < n_pieces; ++i) {
                const auto [at, n] = piece_at(i);
                finish(i, until);
                std::memcpy(half(i), static_cast<const std::byte*>(from) + at, n);
                begin(i, static_cast<std::byte*>(to) + at, half(i), n);
            }
            for (std::size_t i = n_pieces; i < n_pieces + 2; ++i) finish(i, until);
        });
    }
    void to_host(void* to, const void* from, std::size_t bytes) {
        piecewise(bytes, [&](std::size_t n_pieces, const auto& piece_at, clock::time_point until) {
            for (std::size_t i = 0; i < n_pieces + 2; ++i) {
                if (i >= 2) {
                    const auto [at, n] = piece_at(i - 2);
                    finish(i, until);
                    std::memcpy(static_cast<std::byte*>(to) + at, half(i), n);
                }
                if (i >= n_pieces) continue;
                const auto [at, n] = piece_at(i);
                begin(i, half(i), static_cast<const std::byte*>(from) + at, n);
            }
        });
    }
    /// Waits until no copy that was late touches the device's memory any more: then pieces of it may be used anew.
    /// Throws timeout_error where one still does after as long as a copy may take.
    void await_late() {
        std::array<event, 2> late;
        {
            const std::lock_guard lock(telling_);
            late = late_;
        }
        const auto until = deadline();
        for (const event& each : late) await(each, until);
    }

private:
    using clock = std::chrono::steady_clock;

    /// What goes on with a half of the memory between.
    struct passage {
        event over;
        std::shared_ptr<std::exception_ptr> thrown;
    };

    [[nodiscard]] clock::time_point deadline() const {
        return clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds_));
    }
    [[noreturn]] static void throw_late() { throw timeout_error("a copy has not ended in time"); }
    static void await(const event& over, clock::time_point until) {
        if (!over.wait_for(std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()))) throw_late();
    }
    [[nodiscard]] std::byte* half(std::size_t i) const { return between_.get() + i % 2 * piece_bytes_; }

    template <class CopyPieces>
    void piecewise(std::size_t bytes, const CopyPieces& copy_pieces) {
        const auto until = deadline();
        const std::unique_lock lock(copying_, until);
        if (!lock.owns_lock()) throw_late();
        for (const passage& earlier : passages_)
            await(earlier.over, until);  // one that was late has the memory between
        passages_ = {};
        const auto piece_at = [&](std::size_t i) {
            return std::pair(i * piece_bytes_, std::min(piece_bytes_, bytes - i * piece_bytes_));
        };
        try {
            copy_pieces((bytes + piece_bytes_ - 1) / piece_bytes_, piece_at, until);
        } catch (...) {
            const std::lock_guard telling(telling_);
            late_ = {passages_[0].over, passages_[1].over};
            throw;
        }
    }
    void begin(std::size_t i, void* to, const void* from, std::size_t n) {
        // Kept from the stream, which an operation that throws would end.
        const auto thrown = std::make_shared<std::exception_ptr>();
        stream_.copies(n, [=](stream_backend& by) {
            try {
                by.copy(to, from, n);
            } catch (...) {
                *thrown = std::current_exception();
            }
        });
        passages_[i % 2] = {stream_.record(), thrown};
        // A GPU goes on with a copy when the operation above has long been forgotten.
        passages_[i % 2].over.then([between = between_, memory = device_memory_] {});
    }
    void finish(std::size_t i, clock::time_point until) {
        const passage& mine = passages_[i % 2];
        await(mine.over, until);
        if (mine.thrown != nullptr && *mine.thrown != nullptr) std::rethrow_exception(*mine.thrown);
        if (const std::exception_ptr why = mine.over.failure()) std::rethrow_exception(why);
    }

    Stream stream_;
    std::shared_ptr<std::byte> between_;
    std::shared_ptr<const void> device_memory_;
    std::size_t piece_bytes_;
    double seconds_;
    std::timed_mutex copying_;
    std::array<passage, 2> passages_;
    std::mutex telling_;
    std::array<event, 2> late_;  ///< of the last copy that did not end well
};

}  // namespace laneway
