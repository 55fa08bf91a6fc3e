// How host threads that serve reach symmetric memory that they cannot touch, as that of a GPU: by copies in streams of
// their own, beside the kernels that run. Nothing here is a kernel, which would wait for room beside a resident one.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "laneway/comm/memory_operation.hpp"
#include "laneway/simt/device_stream.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// One thread's, for a service. What it has begun is done, and visible, after wait_all(). Words are changed by loading,
/// changing and storing them while no other thread of the service does: atomic among the service's requests alone. All
/// members throw timeout_error past the run's deadline, and cuda_error.
class service_copies {
public:
    /// `changing`: held while a word is changed, by one thread of the service at a time.
    service_copies(machine& job, std::shared_ptr<std::timed_mutex> changing)
        : job_(job), changing_(std::move(changing)) {}
    ~service_copies() { give_up(); }
    service_copies(const service_copies&) = delete;
    service_copies& operator=(const service_copies&) = delete;

    /// Makes the streams. While nothing runs on the devices, as that takes memory of theirs.
    void prepare();
    /// A run begins that must be over in `seconds`.
    void open(double seconds);

    /// Stores words that are given as bits. What follows the words of the put before goes with them, in one copy.
    void put(const memory_target& first, int pe, const std::uint64_t* words, std::uint32_t count);
    /// Loads words, as bits, behind what was put there before.
    void get(const memory_target& first, int pe, std::uint64_t* words, std::uint32_t count);
    /// Copies elements from one PE to another, or to the same.
    void copy(const memory_target& from, int from_pe, const memory_target& to, int pe, std::uint64_t count);
    /// Applies an operation to a word.
    void update(const memory_target& target, int pe, std::uint64_t value);
    /// The same, and says what it held.
    std::uint64_t apply(const memory_target& target, int pe, std::uint64_t value, std::uint64_t expected);
    /// Adds to a signal word, or sets it, behind all that was begun before.
    void signal(const memory_target& word, int pe, std::uint64_t value);
    /// Waits for all that was begun.
    void wait_all();
    /// That have been begun so far.
    [[nodiscard]] std::uint64_t copies() const { return copies_; }
    /// After an error: as wait_all, and what is late keeps what it uses.
    void give_up() noexcept;

private:
    static constexpr std::size_t between_bytes = 64 << 10;

    struct pe_stream {
        std::shared_ptr<stream_backend> backend;
        bool busy = false;  ///< since it was last waited for
    };

    /// Words of puts that have not been begun: next to each other in a PE's memory and in that between.
    struct words_put {
        int pe = 0;
        std::byte* to = nullptr;
        std::byte* room = nullptr;
        std::size_t bytes = 0;
    };

    [[nodiscard]] std::byte* at(const memory_target& place, int pe) const;
    [[nodiscard]] stream_backend& begin_on(int pe);
    void begin_copy(int on, std::byte* to, const std::byte* from, std::size_t bytes);
    void begin_puts();
    [[nodiscard]] std::byte* room_for(std::size_t bytes);
    [[nodiscard]] std::byte* room_to_put(int pe, std::byte* to, std::size_t bytes);
    void copy_within(int pe, std::byte* to, const std::byte* from, std::size_t bytes);
    [[nodiscard]] const std::byte* loaded(const std::byte* from, int pe, std::size_t bytes);
    template <class T>
    [[nodiscard]] T load(const std::byte* word, int pe);
    void change_alone();
    void wait_for(int pe);
    [[noreturn]] void throw_late(int pe);

    machine& job_;
    std::shared_ptr<std::timed_mutex> changing_;
    std::unique_lock<std::timed_mutex> alone_;  ///< until wait_all
    std::vector<pe_stream> streams_;            ///< by PE
    std::shared_ptr<std::byte> between_;        ///< memory of the host that all devices reach
    std::size_t used_ = 0;                      ///< bytes of it since wait_all
    words_put put_;
    std::uint64_t copies_ = 0;
    std::chrono::steady_clock::time_point until_;
    double seconds_ = 0;
};

}  // namespace laneway
