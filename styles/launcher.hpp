// Plain kernels on every device: what a program launches that has no mailbox.
#pragma once

#include <functional>
#include <memory>

#include "laneway/runtime.hpp"
#include "styles/study.hpp"

namespace laneway::styles {

/// One run of a program in one style, from data on the devices to a result there. Host.
using work = std::function<void()>;

template <class Body>
struct kernel {
    static constexpr int cuda_warps = 32;
    Body body;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        body(ctx);
    }
};

/// The devices of a study. Host only.
class launcher {
public:
    /// Opens the devices. Throws usage_error where they do not share memory, or are checked ones: block-wide calls
    /// need blocks whose lanes run side by side.
    explicit launcher(const study_options& options)
        : timeout_seconds_(options.job.timeout_seconds), round_messages_(options.round_messages),
          runtime_(options.job) {
        const machine& all = runtime_.machine();
        for (int pe = 0; pe < all.n_pes(); ++pe) {
            const device& d = *all.device(pe);
            if (d.id().kind == device_kind::checked) throw usage_error(d.name() + ": styles do not run on this device");
            if (!all.shares_memory(0, pe)) {
                throw usage_error(all.device(0)->name() + " and " + d.name() + " do not share memory");
            }
        }
    }

    [[nodiscard]] laneway::runtime& runtime() { return runtime_; }
    [[nodiscard]] int n_pes() const { return runtime_.n_pes(); }

    [[nodiscard]] double timeout_seconds() const { return timeout_seconds_; }
    /// Most messages of a PE between two kernels, in styles that buffer them.
    [[nodiscard]] std::uint64_t round_messages() const { return round_messages_; }

    /// So many indices of each PE.
    [[nodiscard]] std::shared_ptr<index_space> indices(std::uint64_t each, const index_space_options& options) const {
        return std::make_shared<index_space>(std::vector<std::uint64_t>(static_cast<std::size_t>(n_pes()), each),
                                             options);
    }

    /// Runs `body(ctx)` on all lanes of all devices and waits for them. Throws timeout_error and device_fault.
    template <class Body>
    void launch(const Body& body) {
        static_assert(trivially_copyable<Body>);
        machine& all = runtime_.machine();
        std::vector<launch_shape> shapes(static_cast<std::size_t>(n_pes()));
        for (int pe = 0; pe < n_pes(); ++pe) {
            if (!all.device(pe)->is_gpu()) continue;
            launch_shape& shape = shapes[static_cast<std::size_t>(pe)];
            shape.warps_per_block = kernel<Body>::cuda_warps;
            shape.blocks = all.resident_blocks<kernel<Body>>(pe, shape);
        }
        const std::vector<kernel<Body>> kernels(shapes.size(), {body});
        all.run(kernels, shapes, timeout_seconds_, [] { return std::string(); });
    }

private:
    double timeout_seconds_;
    std::uint64_t round_messages_;
    laneway::runtime runtime_;
};

/// Calls `body(i)` for every i below `total` once on this PE; neighbouring lanes take neighbouring i. All lanes of a
/// launch.
template <class Ctx, class Body>
LANEWAY_FN void for_each_index(Ctx& ctx, std::uint64_t total, Body&& body) {
    const auto lanes = static_cast<std::uint64_t>(ctx.n_blocks() * ctx.n_warps() * Ctx::warp_lanes);
    const int warp = ctx.block() * ctx.n_warps() + ctx.warp();
    for (auto i = static_cast<std::uint64_t>(warp * Ctx::warp_lanes + ctx.lane()); i < total; i += lanes) body(i);
}

}  // namespace laneway::styles
