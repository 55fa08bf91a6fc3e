#include "laneway/simt/shared_device.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "laneway/base/error.hpp"

namespace laneway {

shared_device::shared_device(device_id id, int pe, int owner, const std::vector<device_id>& users,
                             std::shared_ptr<process_group> group)
    : device(id, to_string(id) + " of process " + std::to_string(owner)), pe_(pe), owner_(owner),
      group_(std::move(group)), local_(open_device(id)), memory_(export_memory_of(id, users)) {}

void refuse_unshareable(const std::vector<device_id>& ids, const std::vector<int>& owners) {
    for (std::size_t p = 0; p < ids.size(); ++p) {
        if (ids[p].kind != ids[0].kind || ids[p].kind == device_kind::checked) {
            throw usage_error("several processes have GPUs or CPU devices, all of one kind: not " + to_string(ids[0]) +
                              (ids[p].kind == ids[0].kind ? "" : " and " + to_string(ids[p])));
        }
        const auto first = static_cast<std::size_t>(std::find(ids.begin(), ids.end(), ids[p]) - ids.begin());
        if (ids[p].kind == device_kind::cuda && first != p) {
            throw usage_error("processes " + std::to_string(owners[first]) + " and " + std::to_string(owners[p]) +
                              " both name " + to_string(ids[p]) + ": each has GPUs of its own");
        }
    }
}

void* shared_device::do_allocate(std::size_t bytes) {
    contribution handle;
    std::string failure;
    auto give_up = [this](void* lost) { free(lost); };
    std::unique_ptr<void, decltype(give_up)> held(nullptr, give_up);
    if (is_own()) {
        try {
            held.reset(memory_->allocate(bytes, handle));
        } catch (const std::exception& refused) {
            failure = refused.what();
        }
    }
    // The processes stay in step: where the owner has no memory, all learn it.
    const char* const outcome = failure.empty() ? "+" : "-";
    const contribution mine{is_own() ? outcome + (failure.empty() ? handle.bytes : failure) : "", handle.file};
    auto all = group_->meet("allocating " + std::to_string(bytes) + " bytes on PE " + std::to_string(pe_), mine);
    contribution& given = all[static_cast<std::size_t>(owner_)];
    const bool made = given.bytes.starts_with('+');
    given.bytes.erase(0, 1);
    if (!made) throw system_error("PE " + std::to_string(pe_) + " (" + name() + "): " + given.bytes);
    return is_own() ? held.release() : group_->alone([&] { return memory_->import(given, bytes); });
}

void shared_device::do_copy_in(void* to, const void* host_from, std::size_t bytes) {
    group_->before_write();
    if (is_own()) local_->copy_in(to, host_from, bytes);
}

void shared_device::do_copy_out(void* host_to, const void* from, std::size_t bytes) {
    group_->before_read();
    local_->copy_out(host_to, from, bytes);
}

void shared_device::do_fill(void* memory, int byte, std::size_t bytes) {
    group_->before_write();
    if (is_own()) local_->fill(memory, byte, bytes);
}

void shared_device::free(void* memory) noexcept {
    if (is_own()) {
        group_->free_later([exported = memory_, memory] { exported->free(memory); });
    } else {
        memory_->free(memory);
    }
}

}  // namespace laneway
