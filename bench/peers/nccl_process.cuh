// A process that is a rank of NCCL.
#pragma once

#include <nccl.h>

#include "gpu.cuh"
#include "processes.hpp"

namespace laneway::bench {

inline void check(ncclResult_t code, const char* what) {
    if (code != ncclSuccess) throw system_error(std::string("NCCL, ") + what + ": " + ncclGetErrorString(code));
}

/// Joins the team as a rank on the GPU with its number. Collective.
inline ncclComm_t start_nccl(team& pes) {
    check(cudaSetDevice(pes.rank()), "choosing the GPU");
    ncclUniqueId id{};
    if (pes.rank() == 0) check(ncclGetUniqueId(&id), "unique id");
    id = pes.from_first(id);
    ncclComm_t nccl = nullptr;
    check(ncclCommInitRank(&nccl, pes.size(), id, pes.rank()), "start");
    return nccl;
}

}  // namespace laneway::bench
