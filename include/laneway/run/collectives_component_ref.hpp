// Collectives as a component of a program: the device view.
#pragma once

#include "laneway/comm/collective/collectives.hpp"
#include "laneway/run/component.hpp"

namespace laneway {

/// What a warp does while it waits for others. Where it is one lane with all roles, nobody else serves or sends.
/// Elsewhere others do. Its type does not name the program, so that programs share the code of collectives.
template <class Ctx>
struct help_while_waiting {
    template <class Out>
    LANEWAY_FN help_while_waiting(Ctx&, Out&) {}
    LANEWAY_FN void operator()() const {}
};

template <class Ctx>
requires(Ctx::warp_lanes == 1) struct help_while_waiting<Ctx> {
    template <class Out>
    LANEWAY_FN help_while_waiting(Ctx& ctx, Out& out) : ctx_(ctx), out_(&out), help_(help_with<Out>) {}
    LANEWAY_FN void operator()() const { help_(ctx_, out_); }

private:
    template <class Out>
    static LANEWAY_FN void help_with(Ctx& ctx, void* out) {
        (void)static_cast<Out*>(out)->help(ctx, full_warp<Ctx>);  // the wait sees the end itself
    }

    Ctx& ctx_;
    void* out_;
    void (*help_)(Ctx&, void*);
};

template <class Ctx>
struct collectives_agent : collectives<Ctx, help_while_waiting<Ctx>> {
    using base = collectives<Ctx, help_while_waiting<Ctx>>;
    static constexpr bool meets = true;
    using base::barrier;
    using base::collectives;

    /// A barrier with a value: waits as `box.barrier`, until everything that was posted before has been served
    /// everywhere, with all that followed, and gives all lanes what one value of every working lane makes, or of those
    /// of the team. Values are those of before the barrier. The barrier, and an all-reduce behind it: two meetings. All
    /// lanes of the grid together; fails as either.
    template <class Box, class T, reduces<T> Op>
    [[nodiscard]] LANEWAY_FN answered<T> barrier(Ctx& ctx, Box& box, T value, Op op) {
        answered<T> none;
        none.code = box.barrier(ctx);
        return none ? this->all_reduce(ctx, value, op) : none;
    }
    /// The same with an array of each PE, of `count` elements in memory that all its working lanes reach, combined in
    /// place as all_reduce does. Its elements are those behind the barrier: what handlers have done to them counts. A
    /// second barrier ends it, so that what is posted next finds the results everywhere: three meetings.
    template <class Box, points Pointer, reduces<pointed<Pointer>> Op>
    LANEWAY_FN status barrier(Ctx& ctx, Box& box, Pointer values, std::uint64_t count, Op op) {
        return between_barriers(ctx, box, [&] { return this->all_reduce(ctx, values, count, op); });
    }
    /// The same with elements of a symmetric array, from `first` on.
    template <class Box, class T, reduces<T> Op>
    LANEWAY_FN status barrier(Ctx& ctx, Box& box, symmetric_ptr<T> first, std::uint64_t count, Op op,
                              call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        return between_barriers(ctx, box, [&] { return this->all_reduce(ctx, first, count, op, group::grid, where); });
    }

private:
    /// Of all PEs, also those of other teams: a PE that went on could post to elements that another is yet to write.
    template <class Box, class Combine>
    static LANEWAY_FN status between_barriers(Ctx& ctx, Box& box, const Combine& combine) {
        status going = box.barrier(ctx);
        if (going == status::ok) going = combine();
        return going == status::ok ? box.barrier(ctx) : going;
    }
};

struct collectives_component_ref : collectives_ref {
    using routes_type = routes<>;
    static constexpr std::size_t shared_bytes = sizeof(collective_state);

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN collectives_agent<Ctx> agent(Ctx& ctx, Out& out, const roles& role, std::byte* shared) const {
        const group_position position{role.team_number, role.team_index, role.team_warps, role.worker_index};
        return {*this, position, shared, help_while_waiting<Ctx>(ctx, out)};
    }
};

}  // namespace laneway
