// A process that is a PE of NVSHMEM, without MPI and without a launcher.
#pragma once

#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdlib>
#include <exception>

#include "gpu.cuh"
#include "processes.hpp"

namespace laneway::bench {

/// Joins the team as a PE on the GPU with the number of its rank; collective, once a process.
class nvshmem_process {
public:
    /// `heap_bytes`: size of the symmetric heap, where it has a fixed one.
    nvshmem_process(team& pes, std::uint64_t heap_bytes) {
        check(cudaSetDevice(pes.rank()), "choosing the GPU");
        // One host: there is nothing to look for on the network. What the user has set stays.
        (void)setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
        // A heap of fixed size: one that grows needs ways to pass memory on that not every host has.
        (void)setenv("NVSHMEM_DISABLE_CUDA_VMM", "1", 0);
        (void)setenv("NVSHMEM_SYMMETRIC_SIZE", std::to_string(heap_bytes + (64u << 20)).c_str(), 0);
        nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
        if (pes.rank() == 0 && nvshmemx_get_uniqueid(&id) != 0) throw system_error("NVSHMEM gives no unique id");
        id = pes.from_first(id);
        nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
        if (nvshmemx_set_attr_uniqueid_args(pes.rank(), pes.size(), &id, &attributes) != 0 ||
            nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0) {
            throw system_error("NVSHMEM cannot be initialized");
        }
        if (nvshmem_my_pe() != pes.rank()) throw system_error("NVSHMEM numbers the PEs in its own way");
    }
    nvshmem_process(const nvshmem_process&) = delete;
    nvshmem_process& operator=(const nvshmem_process&) = delete;
    // Finalizing is collective: after a failure the others might never come, and the process ends anyway.
    ~nvshmem_process() {
        if (std::uncaught_exceptions() == 0) nvshmem_finalize();
    }
};

/// Words of the symmetric heap, zeroed; collective.
class symmetric_words {
public:
    explicit symmetric_words(std::uint64_t count) : data_(static_cast<std::uint64_t*>(nvshmem_calloc(count, 8))) {
        if (data_ == nullptr) throw system_error("NVSHMEM has no memory for " + std::to_string(count) + " words");
    }
    symmetric_words(const symmetric_words&) = delete;
    symmetric_words& operator=(const symmetric_words&) = delete;
    ~symmetric_words() {
        if (std::uncaught_exceptions() == 0) nvshmem_free(data_);  // collective, as above
    }

    [[nodiscard]] std::uint64_t* data() const { return data_; }

private:
    std::uint64_t* data_;
};

}  // namespace laneway::bench
