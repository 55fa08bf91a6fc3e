// Seconds of what stands in a stream, by events.
#pragma once

#include "gpu.cuh"

namespace laneway::bench {

/// A stream, and the time between two places in it. An urgent one's blocks come first where there is room for one.
class timed_stream {
public:
    explicit timed_stream(bool urgent = false) {
        int least = 0, greatest = 0;
        check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities of streams");
        check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? greatest : least), "stream");
        for (auto* mark : {&begin_, &end_}) check(cudaEventCreate(mark), "event");
    }
    timed_stream(const timed_stream&) = delete;
    timed_stream& operator=(const timed_stream&) = delete;
    ~timed_stream() {  // a failure shows at the next call
        (void)cudaStreamDestroy(stream_);
        for (auto* mark : {begin_, end_}) (void)cudaEventDestroy(mark);
    }

    [[nodiscard]] cudaStream_t get() const { return stream_; }
    void begin() const { check(cudaEventRecord(begin_, stream_), "event"); }
    void end() const { check(cudaEventRecord(end_, stream_), "event"); }
    [[nodiscard]] double wait() const {
        float ms = 0;
        check(cudaStreamSynchronize(stream_), "waiting for a stream");
        check(cudaEventElapsedTime(&ms, begin_, end_), "event");
        return static_cast<double>(ms) * 1e-3;
    }

private:
    cudaStream_t stream_ = nullptr;
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
};

}  // namespace laneway::bench
