// A device of a job of several processes, as each of them sees it.
#pragma once

#include <memory>
#include <vector>

#include "laneway/simt/device.hpp"
#include "laneway/simt/exported_memory.hpp"
#include "laneway/simt/process_group.hpp"

namespace laneway {

/// The device that holds PE `pe`, which process `owner` runs. All processes allocate on it together and get addresses
/// of their own for one memory. Copies to it and fills are the owner's: the others do nothing, as they have the same to
/// say. Every process copies from it.
class shared_device final : public device {
public:
    /// `users`: the devices of this process.
    shared_device(device_id id, int pe, int owner, const std::vector<device_id>& users,
                  std::shared_ptr<process_group> group);

    [[nodiscard]] int multiprocessors() const override { return local_->multiprocessors(); }

private:
    void* do_allocate(std::size_t bytes) override;
    void do_copy_in(void* to, const void* host_from, std::size_t bytes) override;
    void do_copy_out(void* host_to, const void* from, std::size_t bytes) override;
    void do_fill(void* memory, int byte, std::size_t bytes) override;
    void free(void* memory) noexcept override;
    [[nodiscard]] bool is_own() const { return owner_ == group_->rank(); }

    int pe_;
    int owner_;
    std::shared_ptr<process_group> group_;
    std::shared_ptr<device> local_;  ///< as this process alone has it: for copies
    std::shared_ptr<exported_memory> memory_;
};

/// Throws usage_error where several processes cannot have these devices, one a PE, whose memory they share: they are
/// CPU devices, numbered in each process by itself, or different GPUs. `owners`: the process of each.
void refuse_unshareable(const std::vector<device_id>& ids, const std::vector<int>& owners);

}  // namespace laneway
