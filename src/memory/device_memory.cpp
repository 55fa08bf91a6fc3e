#include "laneway/memory/device_memory.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr std::size_t max_leaks_told = 4;

std::string counted_pieces(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " piece" : " pieces"); }

}  // namespace

device_memory_heaps::device_memory_heaps(machine& machine, const device_heap_options& options)
    : refs_(machine, std::max<std::size_t>(options.quotas.size(), 1)) {
    if (machine.n_processes() > 1) throw usage_error("device memory belongs to a job of one process");
    for (const memory_quota& quota : options.quotas) {
        if (std::find(names_.begin(), names_.end(), quota.name) != names_.end()) {
            throw usage_error("device memory: two quotas \"" + quota.name + "\"");
        }
        names_.push_back(quota.name);
    }
    std::vector<void*> regions;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        heaps_.push_back(std::make_unique<device_heap>(machine.device(pe), options));
        regions.push_back(heaps_.back()->region());
        std::vector<device_heap_ref> refs;
        for (std::uint32_t i = 0; i < refs_.size(); ++i) refs.push_back(heaps_.back()->ref(i));
        refs_.copy_in(pe, refs);
    }
    region_ = machine.add_segment(regions, heaps_.front()->ref().layout().bytes());
}

std::uint32_t device_memory_heaps::number_of(const std::string& quota) const {
    const auto found = std::find(names_.begin(), names_.end(), quota);
    if (found != names_.end()) return static_cast<std::uint32_t>(found - names_.begin());
    std::string all;
    for (const std::string& name : names_) all += (all.empty() ? "\"" : ", \"") + name + "\"";
    throw usage_error("device memory: no quota \"" + quota + "\"; there are " + (all.empty() ? "none" : all));
}

const device_heap& device_memory_heaps::heap(int pe) const {
    if (pe >= 0 && static_cast<std::size_t>(pe) < heaps_.size()) return *heaps_[static_cast<std::size_t>(pe)];
    throw usage_error("device memory: no PE " + std::to_string(pe) + "; the runtime has " +
                      std::to_string(heaps_.size()));
}

std::vector<memory_held> device_memory_heaps::held() const {
    std::vector<memory_held> all;
    for (std::size_t pe = 0; pe < heaps_.size(); ++pe) {
        for (const quota_statistics& quota : heaps_[pe]->quotas()) {
            if (quota.live_allocations() == 0) continue;
            all.push_back({static_cast<int>(pe), quota.name, quota.live_allocations(), quota.held_bytes});
        }
    }
    return all;
}

/// Quotas that have refused something.
std::string device_memory_heaps::account() const {
    std::string text;
    for (std::size_t pe = 0; pe < heaps_.size(); ++pe) {
        const auto quotas = heaps_[pe]->quotas();
        for (std::size_t i = 0; i < quotas.size(); ++i) {
            const quota_statistics& one = quotas[i];
            if (one.refused_requests == 0) continue;
            text += "; device memory of PE " + std::to_string(pe) + ", quota " + std::to_string(i) + " \"" + one.name +
                    "\": " + std::to_string(one.held_bytes) + " of " + std::to_string(one.allowed_bytes) +
                    " bytes in use, " + counted_pieces(one.live_allocations()) + ", " +
                    std::to_string(one.refused_requests) + " refused";
        }
    }
    return text;
}

void device_memory::refuse_leaks() const {
    std::string text;
    for (const memory_held& held : heaps_->held()) {
        text += (text.empty() ? "" : "; ") + std::string("PE ") + std::to_string(held.pe) + ", quota \"" + held.quota +
                "\": " + counted_pieces(held.pieces);
        const auto pieces = live(held.pe);
        std::size_t told = 0;
        for (const held_piece& piece : pieces) {
            if (quotas(held.pe)[piece.quota].name != held.quota) continue;
            if (told++ == max_leaks_told) break;
            const auto at = static_cast<std::byte*>(piece.address) - heaps_->heap(held.pe).region();
            text += (told == 1 ? ", " : " and ") + std::to_string(piece.bytes) + " bytes at " + std::to_string(at);
        }
    }
    if (!text.empty()) throw device_fault("device memory has not been released: " + text);
}

}  // namespace laneway
