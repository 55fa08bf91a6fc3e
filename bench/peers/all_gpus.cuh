// The GPUs of a peer that is one process: a stream each, copies between them, marks in streams that others wait for.
#pragma once

#include <vector>

#include "gpu.cuh"
#include "processes.hpp"

namespace laneway::bench {

/// GPUs 0 to n - 1, which reach each other's memory where they can.
class all_gpus {
public:
    explicit all_gpus(int n) : streams_(static_cast<std::size_t>(n)), marks_(2 * streams_.size()) {
        for (int pe = 0; pe < n; ++pe) {
            choose(pe);
            check(cudaStreamCreateWithFlags(&streams_[static_cast<std::size_t>(pe)], cudaStreamNonBlocking), "stream");
            for (std::uint64_t turn = 0; turn < 2; ++turn) {
                check(cudaEventCreateWithFlags(&mark_of(pe, turn), cudaEventDisableTiming), "event");
            }
            for (int other = 0; other < n; ++other) reach(pe, other);
        }
    }
    all_gpus(const all_gpus&) = delete;
    all_gpus& operator=(const all_gpus&) = delete;
    ~all_gpus() {  // a failure shows at the next call
        for (const cudaStream_t stream : streams_) (void)cudaStreamDestroy(stream);
        for (const cudaEvent_t mark : marks_) (void)cudaEventDestroy(mark);
    }

    [[nodiscard]] int size() const { return static_cast<int>(streams_.size()); }
    void choose(int pe) const { check(cudaSetDevice(pe), "choosing the GPU"); }
    [[nodiscard]] cudaStream_t stream(int pe) const { return streams_[static_cast<std::size_t>(pe)]; }
    /// In the stream of the GPU that has the source.
    void copy(void* to, int to_pe, const void* from, int from_pe, std::size_t bytes) const {
        check(cudaMemcpyPeerAsync(to, to_pe, from, from_pe, bytes, stream(from_pe)), "copying to another GPU");
    }
    /// What stands in a GPU's stream so far is step `step` of it.
    void mark(int pe, std::uint64_t step) { check(cudaEventRecord(mark_of(pe, step), stream(pe)), "event"); }
    /// The GPU's stream waits for a step of another one, if there is that: its last, or the last but one.
    void hold(int pe, int other, std::uint64_t step) {
        if (other >= 0 && other < size()) check(cudaStreamWaitEvent(stream(pe), mark_of(other, step)), "event");
    }
    void wait(int pe) const { check(cudaStreamSynchronize(stream(pe)), "waiting for a stream"); }
    void wait_for_all() const {
        for (int pe = 0; pe < size(); ++pe) wait(pe);
    }

private:
    [[nodiscard]] cudaEvent_t& mark_of(int pe, std::uint64_t step) {
        return marks_[2 * static_cast<std::size_t>(pe) + step % 2];
    }
    static void reach(int pe, int other) {
        int can = 0;
        if (other == pe) return;
        check(cudaDeviceCanAccessPeer(&can, pe, other), "peers");
        if (can == 0) return;
        const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
        if (code == cudaErrorPeerAccessAlreadyEnabled) {
            (void)cudaGetLastError();  // an earlier list of GPUs
        } else {
            check(code, "reaching another GPU");
        }
    }

    std::vector<cudaStream_t> streams_;
    std::vector<cudaEvent_t> marks_;  ///< two of each, for successive steps
};

}  // namespace laneway::bench
