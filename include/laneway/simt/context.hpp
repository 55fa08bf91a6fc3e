// The context concept: all that device code may ask of the device it runs on.
//
// A context stands for one lane. Three models exist: cuda::context, cpu::context (one lane a warp, one warp a block,
// a block an OS thread) and checked::context (fibers under a seeded scheduler). Members that take a mask must be
// called by exactly the lanes of the mask, together, as CUDA's *_sync intrinsics.
#pragma once

#include "laneway/base/config.hpp"
#include "laneway/simt/environment.hpp"
#include "laneway/simt/order.hpp"

namespace laneway {

template <class C>
concept context = requires(C& ctx, const C& cctx, lane_mask mask, std::uint64_t value, std::uint64_t* word) {
    { C::warp_lanes } -> std::convertible_to<int>;
    { C::tagged_order } -> std::convertible_to<order>;  // of stores of tagged words: relaxed, or stronger for nothing
    { C::count_lanes(mask) } -> std::same_as<int>;
    { C::first_lane(mask) } -> std::same_as<int>;  // of a non-empty mask
    // Place of this lane.
    { cctx.pe() } -> std::same_as<int>;
    { cctx.n_pes() } -> std::same_as<int>;
    { cctx.block() } -> std::same_as<int>;
    { cctx.n_blocks() } -> std::same_as<int>;
    { cctx.warp() } -> std::same_as<int>;
    { cctx.n_warps() } -> std::same_as<int>;
    { cctx.lane() } -> std::same_as<int>;
    { cctx.rank() } -> std::same_as<std::uint64_t>;  // among the lanes that run the application, all PEs
    { cctx.size() } -> std::same_as<std::uint64_t>;
    { cctx.local_rank() } -> std::same_as<std::uint64_t>;  // among those of its PE
    { cctx.local_size() } -> std::same_as<std::uint64_t>;
    { cctx.shared() } -> std::same_as<std::byte*>;
    { cctx.environment() } -> std::same_as<const pe_environment&>;
    // Groups.
    { ctx.converged() } -> std::same_as<lane_mask>;  // lanes that arrive here together: any non-empty subset
    {ctx.sync(mask)};                                // barrier and memory order among the mask
    {ctx.sync_block()};
    { ctx.ballot(mask, true) } -> std::same_as<lane_mask>;
    { ctx.match(mask, value) } -> std::same_as<lane_mask>;  // lanes of the mask with the same key
    { ctx.shuffle(mask, value, 0) } -> std::same_as<std::uint64_t>;
    // Atomics. Words in a block's shared memory at block scope only.
    { ctx.load(word, order::acquire, scope::system) } -> std::same_as<std::uint64_t>;
    {ctx.store(word, value, order::release, scope::system)};
    { ctx.fetch_add(word, value, order::relaxed, scope::device) } -> std::same_as<std::uint64_t>;
    { ctx.fetch_min(word, value, order::relaxed, scope::device) } -> std::same_as<std::uint64_t>;
    { ctx.fetch_max(word, value, order::relaxed, scope::device) } -> std::same_as<std::uint64_t>;
    { ctx.fetch_and(word, value, order::relaxed, scope::device) } -> std::same_as<std::uint64_t>;
    { ctx.fetch_xor(word, value, order::relaxed, scope::device) } -> std::same_as<std::uint64_t>;
    { ctx.fetch_or(word, value, order::relaxed, scope::device) } -> std::same_as<std::uint64_t>;
    { ctx.exchange(word, value, order::relaxed, scope::device) } -> std::same_as<std::uint64_t>;
    { ctx.compare_exchange(word, value, value, order::acq_rel, scope::device) } -> std::same_as<bool>;
    {ctx.fence(scope::system)};  // orders this lane's accesses before it against those after it
    // Half of that, for less: a release fence comes before relaxed stores that tell of what was done, an acquire fence
    // behind relaxed loads that have seen such a store.
    {ctx.fence(order::release, scope::system)};
    // Time and waiting.
    { ctx.now_ns() } -> std::same_as<std::uint64_t>;
    { ctx.is_late() } -> std::same_as<bool>;       // whether the run's deadline has passed
    { ctx.is_late(value) } -> std::same_as<bool>;  // more than so many ns ago
    {ctx.pause(6u, true)};  // inside a wait: gives others a chance to run, 0 (briefly) to 6; true from the second on
    {ctx.worked()};         // something was done: what goes on to wait has not waited in vain until now
};

/// All lanes of a warp.
template <class Ctx>
inline constexpr lane_mask full_warp = Ctx::warp_lanes == 32 ? ~lane_mask{0} : (lane_mask{1} << Ctx::warp_lanes) - 1;

}  // namespace laneway
