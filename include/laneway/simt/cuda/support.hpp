// What the host asks of CUDA. Implemented twice: with CUDA (src/simt/cuda) and without (src/simt/no_cuda.cpp).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace laneway {
class device;
class running;
struct launch_shape;
struct pe_environment;
class exported_memory;
class stream_backend;
struct stream_place;
}  // namespace laneway

namespace laneway::cuda_backend {

struct gpu_survey {
    std::vector<std::string> gpus;  ///< a description each, by CUDA's number
    std::string why_none;           ///< empty where there are GPUs
};

/// Looks for GPUs; never throws.
gpu_survey survey();

std::shared_ptr<device> open_gpu(int index);
/// See exported_memory.
std::unique_ptr<exported_memory> export_memory_of_gpu(int index, const std::vector<int>& users);
std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes);
void enable_peer_access(int from, int to);
/// Whether lanes of a GPU can do atomics in the memory of another, as over NVLink.
bool has_peer_atomics(int from, int to);

/// Settings of the process's surroundings under which persistent kernels that wait for each other cannot run
/// (CUDA_LAUNCH_BLOCKING, a profiler that replays kernels); empty where there are none.
std::string refusal(int gpus);

/// Loads a kernel on the device, launches it once for nothing, and returns how many blocks of it are resident at once.
/// Must run on every device before the first persistent launch: that may wait for the GPU.
int resident_blocks(int device_index, const launch_shape& shape, const void* kernel);
/// A kernel goes, and another one may have its address.
void forget_kernel(int device_index, const void* kernel);
/// Launches the kernel of a program cooperatively: either all blocks are resident or the launch fails.
std::unique_ptr<running> launch(int device_index, const pe_environment& env, const launch_shape& shape,
                                const void* kernel, const void* program);

/// 90 where the compute capability is 9.0.
int architecture(int index);
/// Loads machine code onto the device, and gives the kernel in it that has the name of `like`: for launch, as long as
/// the owner lives. Throws cuda_error where there is none, where fewer blocks of it than `shape` has are resident, and
/// where its stacks do not fit, or other GPUs would load it as well. Loading waits for kernels that run on the device.
std::shared_ptr<const void> load_kernel(int device_index, std::span<const std::byte> code, const launch_shape& shape,
                                        const void* like);

/// See device_stream.
std::shared_ptr<stream_backend> open_stream(const stream_place& place);
/// What streams of a GPU take from, for as long as the owner lives: with it, opening one allocates nothing and so waits
/// for no kernel.
std::shared_ptr<void> keep_stream_pool(const std::shared_ptr<device>& gpu);
/// A place in a stream that is not the library's, behind all that it has been given so far. A GPU's, by its
/// cudaStream_t.
std::shared_ptr<void> mark_stream(int index, void* stream);
/// What `stream`, as device_stream::call gives it, is given from now on is done behind the mark.
void wait_for_mark(void* stream, const std::shared_ptr<void>& mark);

/// What the driver says of copies and accesses of one GPU to the memory of another.
struct peer_finding {
    bool access = false;
    bool native_atomics = false;  ///< as over NVLink; not over PCIe
    int rank = 0;                 ///< the driver's rating of the path, 0 the best
};
peer_finding find_peer(int from, int to);
/// What NVML says of NVLink from one GPU to another, or by way of a switch; empty where it cannot say.
std::optional<bool> joined_by_nvlink(int one, int other);
/// Whether lanes of a GPU can use an address: memory of its own, of peers, of the host where it is pinned or managed.
bool lanes_reach(int index, const void* memory);
/// The GPU whose memory an address is of; empty for memory of the host, managed memory, and what CUDA does not know.
std::optional<int> gpu_of(const void* memory);
/// "0000:1b:00.0".
std::string pci_address(int index);
/// See simt/energy.hpp.
std::optional<double> consumed_joules(int index);
/// Pins memory of the host for copies, for as long as the owner lives.
std::shared_ptr<void> pin_host_memory(void* memory, std::size_t bytes);

}  // namespace laneway::cuda_backend
