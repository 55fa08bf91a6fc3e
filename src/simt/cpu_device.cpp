#include <cstring>
#include <mutex>

#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/host_memory.hpp"

namespace laneway {

namespace {

class cpu_device final : public device {
public:
    using device::device;
    int multiprocessors() const override { return 1; }

private:
    void* do_allocate(std::size_t bytes) override { return allocate_zeroed(bytes, name()); }
    void do_copy_in(void* to, const void* from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to, from, bytes);
    }
    void do_copy_out(void* to, const void* from, std::size_t bytes) override { do_copy_in(to, from, bytes); }
    void do_fill(void* memory, int byte, std::size_t bytes) override { std::memset(memory, byte, bytes); }
    void free(void* memory) noexcept override { free_zeroed(static_cast<std::byte*>(memory)); }
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
    return std::make_shared<cpu_device>(id);
}

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
            if (from->is_gpu() && to->is_gpu() && from != to) {
                cuda_backend::enable_peer_access(from->id().index, to->id().index);
            }
        }
    }
}

}  // namespace laneway
