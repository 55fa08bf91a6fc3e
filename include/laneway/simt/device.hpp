// Host view of one device: its memory and its limits. Launching stands in launch.hpp.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/held_mutex.hpp"
#include "laneway/simt/device_list.hpp"

namespace laneway {

/// Keeps memory until the process ends, and in sight of leak checkers: something that did not end may still use it.
void keep_for_good(std::shared_ptr<void> memory);

/// An opened device. Host only; not thread-safe. Allocation and copies must not happen while a kernel of the device
/// runs, as on a GPU they may wait for it: during a run they throw usage_error. All sizes are in bytes.
class device {
public:
    explicit device(device_id id) : device(id, to_string(id)) {}
    device(device_id id, std::string name) : id_(id), name_(std::move(name)) {}
    virtual ~device() = default;
    device(const device&) = delete;
    device& operator=(const device&) = delete;

    [[nodiscard]] device_id id() const { return id_; }
    [[nodiscard]] bool is_gpu() const { return id_.kind == device_kind::cuda; }
    [[nodiscard]] const std::string& name() const { return name_; }

    /// Zeroed memory aligned to 256 bytes; throws system_error or cuda_error naming the size and the device.
    [[nodiscard]] void* allocate(std::size_t bytes) {
        const auto mine = refuse_during_run();
        void* const memory = do_allocate(bytes);
        count_allocated(bytes);
        return memory;
    }
    /// Frees what allocate(bytes) gave; memory of a device whose kernel did not end is kept, and during a run it is
    /// freed when that ends. Any thread.
    void release(void* memory, std::size_t bytes) noexcept;
    void copy_in(void* to, const void* host_from, std::size_t bytes) {
        const auto mine = refuse_during_run();
        do_copy_in(to, host_from, bytes);
        copied_in_bytes_ += bytes;
    }
    void copy_out(void* host_to, const void* from, std::size_t bytes) {
        const auto mine = refuse_during_run();
        do_copy_out(host_to, from, bytes);
    }
    /// Sets every byte.
    void fill(void* memory, int byte, std::size_t bytes) {
        const auto mine = refuse_during_run();
        do_fill(memory, byte, bytes);
        ++fills_;
    }
    [[nodiscard]] virtual int multiprocessors() const = 0;
    /// Allocated and not yet released. Any thread.
    [[nodiscard]] std::uint64_t held_bytes() const noexcept { return held_bytes_; }
    /// The most that it has held at once so far. Any thread.
    [[nodiscard]] std::uint64_t peak_bytes() const noexcept { return peak_bytes_; }
    /// Copied from the host so far. Any thread.
    [[nodiscard]] std::uint64_t copied_in_bytes() const noexcept { return copied_in_bytes_; }
    /// How often memory has been filled since it was allocated. Any thread.
    [[nodiscard]] std::uint64_t fills() const noexcept { return fills_; }

    /// Whether a run goes on. What refuse_during_run and release look at, on any thread.
    void set_running(bool running) noexcept;
    /// While one of these lives, nothing that stays on the device comes back to it.
    using hold = std::unique_lock<held_mutex>;
    /// `give_back` ends what stays on the device, where the calling thread may do so, and holds the device for it;
    /// refuse_during_run calls it first. Null: nothing stays. Any thread; waits for calls of the one before to end.
    void set_give_back(std::function<hold()> give_back);
    /// Throws usage_error while a run goes on. What the caller does with the device afterwards it does under the hold.
    [[nodiscard]] hold refuse_during_run() const {
        hold mine = give_back();
        if (running_) {
            throw usage_error(name() +
                              ": a run goes on; host functions and lanes can neither start another one on its devices "
                              "nor allocate, copy or clear their memory");
        }
        return mine;
    }

    /// From now on release() keeps the memory: a kernel that did not end may still use it.
    void abandon() noexcept { abandoned_ = true; }
    [[nodiscard]] bool abandoned() const noexcept { return abandoned_; }

private:
    virtual void* do_allocate(std::size_t bytes) = 0;
    virtual void do_copy_in(void* to, const void* host_from, std::size_t bytes) = 0;
    virtual void do_copy_out(void* host_to, const void* from, std::size_t bytes) = 0;
    virtual void do_fill(void* memory, int byte, std::size_t bytes) = 0;
    virtual void free(void* memory) noexcept = 0;
    [[nodiscard]] hold give_back() const;
    void count_allocated(std::size_t bytes) noexcept;
    /// Frees memory, or keeps what a kernel that did not end may use.
    void let_go(void* memory) noexcept;

    device_id id_;
    std::string name_;
    mutable std::mutex giving_back_;
    mutable std::condition_variable gave_back_;
    mutable int calls_ = 0;  ///< of give_back_ that go on
    std::function<hold()> give_back_;
    std::mutex releasing_;
    std::vector<void*> released_;  ///< during the run
    std::atomic<std::uint64_t> held_bytes_{0};
    std::atomic<std::uint64_t> peak_bytes_{0};
    std::atomic<std::uint64_t> copied_in_bytes_{0};
    std::atomic<std::uint64_t> fills_{0};
    std::atomic<bool> running_{false};
    std::atomic<bool> abandoned_{false};
};

/// Whether a kernel of one device can use memory of the other.
inline bool share_memory(const device& one, const device& other) { return one.is_gpu() == other.is_gpu(); }

/// Opens a device; throws usage_error where it does not exist or this build has no support for it.
std::shared_ptr<device> open_device(device_id id);
/// The host's own memory as that of a device, which is called so in messages.
std::shared_ptr<device> open_host();

/// Lets each GPU of the list store into the others' memory; throws usage_error naming the pair that cannot.
void connect_gpus(const std::vector<std::shared_ptr<device>>& devices);

/// Zeroed host memory that every device of the job can read and write while kernels run.
std::shared_ptr<std::byte> allocate_host_visible(std::size_t bytes, bool with_gpus);
/// The same for one device; kept for good where a kernel of the device did not end.
std::shared_ptr<std::byte> allocate_host_visible(const std::shared_ptr<device>& user, std::size_t bytes);

/// Memory of a device as an owning, typed array.
template <class T>
class buffer {
public:
    buffer() = default;
    buffer(std::shared_ptr<device> owner, std::size_t count)
        : count_(count), memory_(static_cast<T*>(owner->allocate(bytes_of(count))),
                                 [owner, count](T* memory) { owner->release(memory, count * sizeof(T)); }),
          owner_(std::move(owner)) {}

    [[nodiscard]] T* data() const { return memory_.get(); }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] const std::shared_ptr<device>& owner() const { return owner_; }

    void copy_in(const T* host, std::size_t count, std::size_t at = 0) {
        owner_->copy_in(data() + at, host, count * sizeof(T));
    }
    void copy_in(const std::vector<T>& host) { copy_in(host.data(), host.size()); }
    void fill_bytes(int byte) { owner_->fill(data(), byte, count_ * sizeof(T)); }
    /// To host memory for all elements.
    void copy_out(T* host) const { owner_->copy_out(host, data(), count_ * sizeof(T)); }
    [[nodiscard]] std::vector<T> copy_out() const {
        std::vector<T> host(count_);
        if (count_ > 0) copy_out(host.data());
        return host;
    }

private:
    static std::size_t bytes_of(std::size_t count) {
        if (count > ~std::size_t{0} / sizeof(T)) {
            throw usage_error("no memory holds " + std::to_string(count) + " elements of " + std::to_string(sizeof(T)) +
                              " bytes");
        }
        return count * sizeof(T);
    }

    std::size_t count_ = 0;
    std::shared_ptr<T> memory_;
    std::shared_ptr<device> owner_;
};

}  // namespace laneway
