// Host owner of memory that lanes allocate and release: a device heap on every PE, whose quotas have names.
//
//   auto memory = runtime.device_memory({.bytes = 1 << 30, .quotas = {{"nodes", 256 << 20}, {"edges"}}});
//   runtime.run(body{memory.ref("nodes"), memory.ref("edges")}, box);
//   // in the body, and in handlers: void* node = nodes.allocate(ctx, bytes); nodes.release(ctx, node);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/base/report.hpp"
#include "laneway/memory/device_heap.hpp"
#include "laneway/memory/device_memory_ref.hpp"
#include "laneway/memory/symmetric_array.hpp"

namespace laneway {

/// The heaps of a device_memory.
class device_memory_heaps {
public:
    device_memory_heaps(machine& machine, const device_heap_options& options);

    [[nodiscard]] device_memory_ref ref(std::uint32_t quota) const { return {refs_.ref(), *region_, quota}; }
    [[nodiscard]] std::uint32_t number_of(const std::string& quota) const;
    [[nodiscard]] const device_heap& heap(int pe) const;
    [[nodiscard]] std::vector<memory_held> held() const;
    [[nodiscard]] std::string account() const;

private:
    std::vector<std::unique_ptr<device_heap>> heaps_;  ///< by PE
    std::vector<std::string> names_;
    symmetric_array<device_heap_ref> refs_;  ///< one a quota
    std::shared_ptr<const std::uint32_t> region_;
};

/// Made by runtime::device_memory. A handle: copies are the same memory, which must outlive the runs that use it. What
/// lanes hold stays theirs from run to run; a run's report says what that is. Host, between runs.
class device_memory {
public:
    /// Throws usage_error for sizes and quotas that cannot be, and two of one name.
    device_memory(machine& machine, const device_heap_options& options)
        : heaps_(std::make_shared<device_memory_heaps>(machine, options)) {}

    /// For functors and handlers: the first quota, or the one of this name; throws usage_error where there is none.
    [[nodiscard]] device_memory_ref ref() const { return heaps_->ref(0); }
    [[nodiscard]] device_memory_ref ref(const std::string& quota) const {
        return heaps_->ref(heaps_->number_of(quota));
    }

    /// Of a PE; these throw usage_error where there is none.
    [[nodiscard]] device_heap_statistics statistics(int pe) const { return heaps_->heap(pe).statistics(); }
    [[nodiscard]] std::vector<quota_statistics> quotas(int pe) const { return heaps_->heap(pe).quotas(); }
    /// What lanes have allocated and not released, by address.
    [[nodiscard]] std::vector<held_piece> live(int pe) const { return heaps_->heap(pe).live(); }
    /// Throws device_fault that names what has not been released, by PE and quota, if anything: for programs at whose
    /// end nothing should be.
    void refuse_leaks() const;

    [[nodiscard]] const std::shared_ptr<device_memory_heaps>& heaps() const { return heaps_; }

private:
    std::shared_ptr<device_memory_heaps> heaps_;
};

}  // namespace laneway
