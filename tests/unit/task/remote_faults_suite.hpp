// What of a remote queue's reaches memory that is not there, a function or a kernel of the user's, ends the run with
// CUDA's error. In processes of their own: behind it no call of CUDA succeeds in a process.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "laneway/simt/cuda/check.hpp"
#include "remote_job.hpp"

namespace laneway::test {
namespace {

constexpr int told = 3;

__global__ void store_nowhere(std::uint64_t* nowhere) { *nowhere = 1; }

struct function_that_faults {
    using arguments = std::uint64_t;  ///< an address
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const arguments& nowhere) const {
        *reinterpret_cast<std::uint64_t*>(nowhere) = 1;
    }
};

constexpr std::uint64_t nowhere = 64;

struct post_a_fault {
    bool kernel;
    std::uint64_t address;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.pe() != 0 || !is_first_lane(ctx)) return;
        if (kernel) {
            (void)remote.launch(ctx, 0, 0, {});
        } else {
            (void)remote.post(ctx, 0, task<function_that_faults>, address);
        }
    }
};

/// Launches it beside the resident one, of which options_of makes few blocks.
void launch_a_fault(const launch_request&) {
    cudaStream_t stream{};
    cuda_backend::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    store_nowhere<<<1, 1, 0, stream>>>(reinterpret_cast<std::uint64_t*>(nowhere));
    cuda_backend::check(cudaGetLastError(), "launching a kernel that faults");
}

/// Writes what a run throws, and ends the process.
[[noreturn]] void tell_fault(bool kernel) {
    runtime rt(options_of("cuda:0", 0));
    remote_queue remote(rt.machine(), function_that_faults{});
    cudaFuncAttributes loaded{};  // a first launch would wait for the resident kernel
    cuda_backend::check(cudaFuncGetAttributes(&loaded, store_nowhere), "loading a kernel");
    (void)remote.kernel("faults", launch_a_fault);
    const std::string text = thrown<error>([&] { rt.run(post_a_fault{kernel, nowhere}, remote); });
    std::fprintf(stderr, "%s\n", text.c_str());
    std::_Exit(told);
}

class remote_faults_test : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }  // a process that has not opened CUDA
};

TEST_P(remote_faults_test, AFunctionThatFaultsEndsTheRun) {
    EXPECT_EXIT(tell_fault(false), testing::ExitedWithCode(told), "cuda:0: an illegal memory access was encountered");
}

TEST_P(remote_faults_test, AKernelThatFaultsEndsTheRun) {
    EXPECT_EXIT(
        tell_fault(true), testing::ExitedWithCode(told),
        "cuda:0: an illegal memory access was encountered; .*kernel 0 'faults'.*launch 0 there, posted by PE 0");
}

LANEWAY_ON_DEVICES(remote_faults_test, lone_device());

}  // namespace
}  // namespace laneway::test
