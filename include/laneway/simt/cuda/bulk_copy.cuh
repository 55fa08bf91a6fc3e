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

    __device__ static void begin([[maybe_unused]] cuda_backend::context& ctx) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        // What this lane has acquired was stored by lanes.
        asm volatile("fence.proxy.async;" ::: "memory");
#endif
    }

    __device__ static status copy([[maybe_unused]] cuda_backend::context& ctx, [[maybe_unused]] bulk_staging& staging,
                                  [[maybe_unused]] bulk_progress& now, [[maybe_unused]] std::byte* to,
                                  [[maybe_unused]] const std::byte* from, [[maybe_unused]] std::uint64_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        for (std::uint64_t first = 0; first < bytes; first += bulk_stage_bytes) {
            if (now.loaded - now.stored == max_loads) {
                const status stored = store_next(ctx, staging, now);
                if (stored != status::ok) return stored;
            }
            // The stage is free once no more than the stores behind its last one still read theirs.
            if (now.loaded >= bulk_stages) asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
            const std::uint64_t left = bytes - first;
            const auto part = static_cast<std::uint32_t>(left < bulk_stage_bytes ? left : bulk_stage_bytes);
            load(staging, now.loaded++ % bulk_stages, to + first, from + first, part);
        }
#endif
        return status::ok;
    }

    __device__ static status end([[maybe_unused]] cuda_backend::context& ctx, [[maybe_unused]] bulk_staging& staging,
                                 [[maybe_unused]] bulk_progress& now) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        while (now.stored != now.loaded) {
            const status stored = store_next(ctx, staging, now);
            if (stored != status::ok) return stored;
        }
        // Its end makes what was stored visible to this lane as if it had stored it.
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
        return status::ok;
    }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
private:
    __device__ static std::uint32_t shared_address(const void* of_block) {
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(of_block));
    }

    /// Parts that may be on their way into stages; two more stages may be on theirs out.
    static constexpr std::uint32_t max_loads = bulk_stages - 2;

    /// Has a part loaded into a stage.
    __device__ static void load(bulk_staging& staging, std::uint32_t stage, std::byte* to, const std::byte* from,
                                std::uint32_t bytes) {
        staging.targets[stage] = to;
        staging.lengths[stage] = bytes;
        const std::uint32_t arrived = shared_address(&staging.arrived[stage]);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(staging.stages[stage])),
                     "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(arrived)
                     : "memory");
    }
    /// Waits until the oldest part that has not been stored has arrived, and has it stored.
    __device__ static status store_next(cuda_backend::context& ctx, bulk_staging& staging, bulk_progress& now) {
        const std::uint32_t stage = now.stored % bulk_stages;
        const std::uint32_t arrived = shared_address(&staging.arrived[stage]);
        const std::uint32_t parity = staging.parities >> stage & 1;
        const status here = wait_until(ctx, {operation::carry, -1, now.stored}, [&] {
            std::uint32_t done = 0;
            asm volatile(
                "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                : "=r"(done)
                : "r"(arrived), "r"(parity)
                : "memory");
            return done != 0;
        });
        if (here != status::ok) return here;
        staging.parities ^= 1u << stage;
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                         __cvta_generic_to_global(staging.targets[stage])),
                     "r"(shared_address(staging.stages[stage])), "r"(staging.lengths[stage])
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        ++now.stored;
        return status::ok;
    }
#endif
};

}  // namespace laneway
