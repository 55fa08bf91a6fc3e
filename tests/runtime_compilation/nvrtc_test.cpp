// Device headers under NVRTC: handlers and tasks will come as source text, so nothing they include may need a host.
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <sstream>
#include <string>
#include <vector>

namespace {

const char* const source = R"(
#include "laneway/comm/host_calls_ref.hpp"
#include "laneway/comm/mailbox.hpp"
#include "laneway/flow/index_space_ref.hpp"
#include "laneway/flow/worklist_ref.hpp"
#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/cuda/context.cuh"

struct add_one {
    lw::symmetric_ref<std::uint64_t> table;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t index) const { atomic_add(ctx, table[index], 1); }
};
struct post_ranks {
    lw::host_calls_ref<std::uint64_t, std::uint64_t> host;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.lane() % 3 == 0) (void)box.post(ctx, static_cast<int>(ctx.rank()) % ctx.n_pes(), ctx.rank());
        (void)box.quiet(ctx);
        if (const auto answer = host.call(ctx, ctx.rank())) (void)host.post(ctx, answer.value);
    }
};
struct ring_arcs {
    LANEWAY_FN lw::arc_range arcs(std::uint32_t id) const { return {id, 1}; }
    template <class Ctx>
    LANEWAY_FN lw::proposal<std::uint32_t> visit(Ctx&, std::uint64_t arc, std::uint32_t key) const {
        return {arc + 1, key + 1};
    }
};

extern "C" __global__ void mail(lw::program<post_ranks, lw::mailbox_ref<lw::routes<lw::route<std::uint64_t, add_one>>>> program,
                                lw::pe_environment env) {
    lw::cuda_backend::context ctx(env);
    program(ctx);
}
extern "C" __global__ void flow(lw::program<lw::no_body, lw::worklist_ref<std::uint32_t, ring_arcs>> program, lw::pe_environment env) {
    lw::cuda_backend::context ctx(env);
    program(ctx);
}
)";

std::string log_of(nvrtcProgram program) {
    std::size_t bytes = 0;
    nvrtcGetProgramLogSize(program, &bytes);
    std::string log(bytes, '\0');
    nvrtcGetProgramLog(program, log.data());
    return log;
}

TEST(nvrtc_test, DeviceHeadersCompileWithoutAHost) {
    nvrtcProgram program = nullptr;
    ASSERT_EQ(nvrtcCreateProgram(&program, source, "user_code.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
    std::vector<std::string> options{"-std=c++20", "-arch=compute_90", "-default-device"};
    int major = 0, minor = 0;
    ASSERT_EQ(nvrtcVersion(&major, &minor), NVRTC_SUCCESS);
    if (major * 100 + minor >= 1209) options.push_back("-Ofc=max");  // code that never runs is made in half of the time
    std::istringstream folders(LANEWAY_INCLUDE_FOLDERS);
    for (std::string folder; std::getline(folders, folder, ':');) options.push_back("-I" + folder);
    std::vector<const char*> arguments;
    for (const auto& o : options) arguments.push_back(o.c_str());
    const nvrtcResult result = nvrtcCompileProgram(program, static_cast<int>(arguments.size()), arguments.data());
    EXPECT_EQ(result, NVRTC_SUCCESS) << log_of(program);
    std::size_t bytes = 0;
    if (result == NVRTC_SUCCESS) {
        EXPECT_EQ(nvrtcGetPTXSize(program, &bytes), NVRTC_SUCCESS);
        EXPECT_GT(bytes, 10'000u) << "the programs were compiled away";
    }
    nvrtcDestroyProgram(&program);
}

}  // namespace
