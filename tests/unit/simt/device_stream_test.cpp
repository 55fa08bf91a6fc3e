#include "device_stream_suite.hpp"

#include <chrono>
#include <thread>

namespace laneway::test {
namespace {

struct waits_for {
    std::atomic<bool>* go;

    template <class Ctx>
    void operator()(Ctx&) const {
        while (!*go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

TEST(device_stream_of_cpu_test, AKernelOfOneBlockHasTheDeadlineToo) {
    static std::atomic<bool> go = false;  // the kernel outlives the stream
    streams_of streams("cpu:1", 0);
    streams.place.job.timeout_seconds = 0.1;
    device_stream stream = streams.make(), other = streams.make();
    stream.run(waits_for{&go}, 1);
    const event late = stream.record(), next = other.record();
    await(late);
    await(next);
    go = true;
    EXPECT_THROW(std::rethrow_exception(late.failure()), timeout_error);
    EXPECT_FALSE(next.failure());
}

}  // namespace
}  // namespace laneway::test
