// The operations of streams of CPU devices, done at once on the engine's thread.
#pragma once

#include "laneway/simt/device_stream.hpp"

namespace laneway {

class host_stream final : public stream_backend {
public:
    explicit host_stream(const stream_place& place);

    void copy(void* to, const void* from, std::size_t bytes) override;
    void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
                   std::size_t rows) override;
    /// Throws lane_error for what a lane threw, device_fault or timeout_error for what it reported.
    void launch(const pe_program& program, const launch_shape& shape) override;
    void write_value(std::uint64_t* word, std::uint64_t value) override;
    void record(const event& mark, const std::exception_ptr& failed) override {
        failed ? mark.fail(failed) : mark.complete();
    }

private:
    struct scene;
    void run_threads(const pe_program& program, const launch_shape& shape);
    void run_fibers(const pe_program& program, const launch_shape& shape);

    stream_place place_;
    std::shared_ptr<scene> scene_;
    std::uint64_t launches_ = 0;
};

}  // namespace laneway
