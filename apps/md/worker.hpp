// Who works on one task: a group of lanes that run the same function together.
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway::apps {

/// Lane `lane()` of `lanes()`, all of one block; sync() is a barrier of all of them and orders their memory accesses.
template <class W>
concept lane_worker = requires(const W& worker) {
    { worker.lane() } -> std::same_as<std::uint32_t>;
    { worker.lanes() } -> std::same_as<std::uint32_t>;
    {worker.sync()};
};

/// A warp.
template <class Ctx>
class warp_worker {
public:
    LANEWAY_FN explicit warp_worker(Ctx& ctx) : ctx_(ctx) {}
    [[nodiscard]] LANEWAY_FN std::uint32_t lane() const { return static_cast<std::uint32_t>(ctx_.lane()); }
    [[nodiscard]] LANEWAY_FN std::uint32_t lanes() const { return static_cast<std::uint32_t>(Ctx::warp_lanes); }
    LANEWAY_FN void sync() const { ctx_.sync(full_warp<Ctx>); }

private:
    Ctx& ctx_;
};

/// All warps of a block.
template <class Ctx>
class block_worker {
public:
    LANEWAY_FN explicit block_worker(Ctx& ctx) : ctx_(ctx) {}
    [[nodiscard]] LANEWAY_FN std::uint32_t lane() const {
        return static_cast<std::uint32_t>(ctx_.warp() * Ctx::warp_lanes + ctx_.lane());
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t lanes() const {
        return static_cast<std::uint32_t>(ctx_.n_warps() * Ctx::warp_lanes);
    }
    LANEWAY_FN void sync() const { ctx_.sync_block(); }

private:
    Ctx& ctx_;
};

}  // namespace laneway::apps
