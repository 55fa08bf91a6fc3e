// Bulk copies of GPUs: one lane has the multiprocessor's copy hardware load a stage of shared memory from anywhere, and
// store it anywhere else, several stages at a time (PTX ISA, cp.async.bulk). No register and no other lane is needed.
#pragma once

#include "laneway/simt/bulk_staging.hpp"
#include "laneway/simt/cuda/context.cuh"

namespace laneway {

template <>
struct bulk_copier<cuda_backend::context> {
    __device__ static bool available() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        return true;
#else
        return false;
#endif
    }

    __device__ static void open([[maybe_unused]] bulk_staging& staging) {
        staging.owned = 0;
        staging.parities = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        for (std::uint64_t& word : staging.arrived) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&word)) : "memory");
        }
        // The copy hardware comes to shared memory by another way than lanes do.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }

    __device__ static status copy([[maybe_unused]] cuda_backend::context& ctx, [[maybe_unused]] bulk_staging& staging,
                                  [[maybe_unused]] std::byte* to, [[maybe_unused]] const std::byte* from,
                                  [[maybe_unused]] std::uint64_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        // What this lane has acquired was stored by lanes.
        asm volatile("fence.proxy.async;" ::: "memory");
        const std::uint64_t n = (bytes + bulk_stage_bytes - 1) / bulk_stage_bytes;
        const auto length = [&](std::uint64_t i) {
            const std::uint64_t left = bytes - i * bulk_stage_bytes;
            return static_cast<std::uint32_t>(left < bulk_stage_bytes ? left : bulk_stage_bytes);
        };
        for (std::uint64_t i = 0; i < n && i < bulk_stages; ++i) load(staging, i, from, length(i));
        status going = status::ok;
        for (std::uint64_t i = 0; i < n && going == status::ok; ++i) {
            going = await(ctx, staging, i);
            if (going == status::ok) store(staging, i, to, length(i));
            // The stage before has been read once no more than one store still reads: it can be loaded again.
            const std::uint64_t next = i + bulk_stages - 1;
            if (i == 0 || next >= n || going != status::ok) continue;
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
            load(staging, next, from, length(next));
        }
        // Its end makes what was stored visible to this lane as if it had stored it.
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        return going;
#else
        return status::ok;
#endif
    }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
private:
    __device__ static std::uint32_t shared_address(const void* of_block) {
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(of_block));
    }

    /// Has part `i` loaded into its stage.
    __device__ static void load(bulk_staging& staging, std::uint64_t i, const std::byte* from, std::uint32_t bytes) {
        const auto stage = static_cast<std::uint32_t>(i % bulk_stages);
        const std::uint32_t arrived = shared_address(&staging.arrived[stage]);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(staging.stages[stage])),
                     "l"(__cvta_generic_to_global(from + i * bulk_stage_bytes)), "r"(bytes), "r"(arrived)
                     : "memory");
    }
    /// Waits until part `i` has arrived.
    __device__ static status await(cuda_backend::context& ctx, bulk_staging& staging, std::uint64_t i) {
        const auto stage = static_cast<std::uint32_t>(i % bulk_stages);
        const std::uint32_t arrived = shared_address(&staging.arrived[stage]);
        const std::uint32_t parity = staging.parities >> stage & 1;
        staging.parities ^= 1u << stage;
        return wait_until(ctx, {operation::carry, -1, i}, [&] {
            std::uint32_t done = 0;
            asm volatile(
                "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                : "=r"(done)
                : "r"(arrived), "r"(parity)
                : "memory");
            return done != 0;
        });
    }
    __device__ static void store(bulk_staging& staging, std::uint64_t i, std::byte* to, std::uint32_t bytes) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                         __cvta_generic_to_global(to + i * bulk_stage_bytes)),
                     "r"(shared_address(staging.stages[i % bulk_stages])), "r"(bytes)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
#endif
};

}  // namespace laneway
