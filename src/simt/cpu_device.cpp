#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "laneway/base/error.hpp"
#include "laneway/simt/checked/guarded_pages.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/host_memory.hpp"

namespace laneway {

namespace {

class cpu_device : public device {
public:
    using device::device;
    int multiprocessors() const override { return 1; }

protected:
    void* do_allocate(std::size_t bytes) override { return allocate_zeroed(bytes, name()); }
    void do_copy_in(void* to, const void* from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to, from, bytes);
    }
    void do_copy_out(void* to, const void* from, std::size_t bytes) override { do_copy_in(to, from, bytes); }
    void do_fill(void* memory, int byte, std::size_t bytes) override { std::memset(memory, byte, bytes); }
    void free(void* memory) noexcept override { free_zeroed(static_cast<std::byte*>(memory)); }
};

/// What is allocated on checked devices has a guard behind it, so that a pointer that runs on stops there; the first
/// arrays, where there are thousands.
class checked_device final : public cpu_device {
public:
    using cpu_device::cpu_device;
    ~checked_device() override { guards -= guarded_.size(); }

private:
#if defined(__SANITIZE_ADDRESS__)
    static constexpr std::size_t max_guarded = 0;  // it surrounds what operator new gives more closely
#else
    static constexpr std::size_t max_guarded = 4096;  ///< in the process, whose mappings number 65,000 at most
#endif
    static inline std::atomic<std::size_t> guards{0};

    void* do_allocate(std::size_t bytes) override {
        const std::lock_guard lock(changing_);
        if (guards < max_guarded) {
            checked::guarded_pages pages(bytes, checked::guarded_pages::guard::behind);
            std::byte* const first = pages.data();
            if (pages) {
                ++guards;
                count_held(static_cast<std::ptrdiff_t>(bytes));
                return guarded_.emplace(first, std::move(pages)).first->first;
            }
        }
        return cpu_device::do_allocate(bytes);
    }
    void free(void* memory) noexcept override {
        const std::lock_guard lock(changing_);
        const auto found = guarded_.find(memory);
        if (found == guarded_.end()) return cpu_device::free(memory);
        count_held(-static_cast<std::ptrdiff_t>(found->second.size()));
        guarded_.erase(found);
        --guards;
    }

    std::mutex changing_;
    std::unordered_map<void*, checked::guarded_pages> guarded_;
};

}  // namespace

void keep_for_good(std::shared_ptr<void> memory) {
    static std::mutex mutex;
    static auto& kept = *new std::vector<std::shared_ptr<void>>;  // never destroyed: its users may outlive main
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(memory));
}

std::shared_ptr<device> open_device(device_id id) {
    if (id.kind == device_kind::cuda) return cuda_backend::open_gpu(id.index);
    if (id.kind == device_kind::checked) return std::make_shared<checked_device>(id);
    return std::make_shared<cpu_device>(id);
}

std::shared_ptr<device> open_host() { return std::make_shared<cpu_device>(device_id{}, "host"); }

std::shared_ptr<std::byte> allocate_host_visible(std::size_t bytes, bool with_gpus) {
    if (with_gpus) return cuda_backend::allocate_pinned(bytes);
    return {allocate_zeroed(bytes, "host"), free_zeroed};
}

std::shared_ptr<std::byte> allocate_host_visible(const std::shared_ptr<device>& user, std::size_t bytes) {
    auto memory = allocate_host_visible(bytes, user->is_gpu());
    std::byte* first = memory.get();
    return {first, [user, owner = std::move(memory)](std::byte*) mutable {
                if (user->abandoned()) keep_for_good(std::move(owner));
            }};
}

void connect_gpus(const std::vector<std::shared_ptr<device>>& devices) {
    for (const auto& from : devices) {
        for (const auto& to : devices) {
            if (from->is_gpu() && to->is_gpu() && !(from->id() == to->id())) {
                cuda_backend::enable_peer_access(from->id().index, to->id().index);
            }
        }
    }
}

}  // namespace laneway
