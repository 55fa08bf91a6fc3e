// Stands in for src/simt/cuda where the build has no CUDA compiler.
#if !LANEWAY_HAS_CUDA

#include "laneway/base/cuda_setting.hpp"
#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/profiler_range.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/device_stream.hpp"
#include "laneway/simt/environment.hpp"
#include "laneway/simt/exported_memory.hpp"
#include "laneway/simt/running.hpp"

const char laneway::library_was_built_without_cuda = 0;

laneway::profiler_range::profiler_range(const char*) {}
laneway::profiler_range::~profiler_range() = default;

namespace laneway::cuda_backend {

namespace {
const char* const reason =
    "this build of laneway has no CUDA support: it was built where no driver answered or no nvcc "
    "was found, or with CUDA=0; build it with CUDA=1 (CMake: LANEWAY_CUDA=ON)";
}

gpu_survey survey() { return {{}, reason}; }
std::shared_ptr<device> open_gpu(int) { throw usage_error(reason); }
std::unique_ptr<exported_memory> export_memory_of_gpu(int, const std::vector<int>&) { throw usage_error(reason); }
std::shared_ptr<std::byte> allocate_pinned(std::size_t) { throw usage_error(reason); }
void enable_peer_access(int, int) { throw usage_error(reason); }
bool has_peer_atomics(int, int) { throw usage_error(reason); }
std::string refusal(int) { return {}; }
int resident_blocks(int, const launch_shape&, const void*) { throw usage_error(reason); }
std::unique_ptr<running> launch(int, const pe_environment&, const launch_shape&, const void*, const void*) {
    throw usage_error(reason);
}
int architecture(int) { throw usage_error(reason); }
std::shared_ptr<const void> load_kernel(int, std::span<const std::byte>, const launch_shape&, const void*) {
    throw usage_error(reason);
}
std::shared_ptr<stream_backend> open_stream(const stream_place&) { throw usage_error(reason); }
std::shared_ptr<void> keep_stream_pool(const std::shared_ptr<device>&) { throw usage_error(reason); }
std::shared_ptr<void> mark_stream(int, void*) { throw usage_error(reason); }
void wait_for_mark(void*, const std::shared_ptr<void>&) { throw usage_error(reason); }
peer_finding find_peer(int, int) { throw usage_error(reason); }
std::optional<bool> joined_by_nvlink(int, int) { return std::nullopt; }
bool lanes_reach(int, const void*) { throw usage_error(reason); }
std::optional<int> gpu_of(const void*) { return std::nullopt; }
std::string pci_address(int) { throw usage_error(reason); }
std::optional<double> consumed_joules(int) { return std::nullopt; }
std::shared_ptr<void> pin_host_memory(void*, std::size_t) { throw usage_error(reason); }

}  // namespace laneway::cuda_backend

#endif
