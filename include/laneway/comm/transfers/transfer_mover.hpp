// Moving pieces of one transfer, by the lanes of a warp, by the copy hardware of its multiprocessor or by the host.
#pragma once

#include "laneway/comm/transfers/move_rows.hpp"
#include "laneway/comm/transfers/transfer_slot.hpp"
#include "laneway/simt/bulk_copy.hpp"

namespace laneway {

/// Of a warp, for the pieces of a transfer that it has taken in one turn. All members are called by the lanes of the
/// mask, together.
template <class Ctx>
class transfer_mover {
public:
    /// One warp of a block at a time has its copy hardware; lanes of the others copy beside it.
    LANEWAY_FN transfer_mover(Ctx& ctx, lane_mask mask, const transfers_memory_ref& view, bulk_staging& staging,
                              const transfer_slot& slot)
        : view_(view), staging_(staging), slot_(slot), by_(slot.method) {
        if (by_ != transfer_method::bulk) return;
        const auto taken = once(ctx, mask, [&] {
            // Partner: the release store in end.
            return ctx.exchange(&staging_.owned, 1u, order::acquire, scope::block);
        });
        if (taken != 0) {
            by_ = transfer_method::warps;
        } else if (elected(ctx, mask)) {
            bulk_copier<Ctx>::begin(ctx);
        }
    }

    [[nodiscard]] LANEWAY_FN transfer_method method() const { return by_; }

    /// False where it could not be moved: the run is ending. By copy hardware it is on its way then.
    LANEWAY_FN bool move(Ctx& ctx, lane_mask mask, const transfer_piece& piece) {
        status moved = status::ok;
        if (by_ == transfer_method::warps || by_ == transfer_method::lanes) {
            moved = move_piece(
                ctx, slot_.what, piece,
                {static_cast<std::uint64_t>(rank_in(ctx, mask)), static_cast<std::uint64_t>(Ctx::count_lanes(mask))});
        } else if (elected(ctx, mask)) {
            moved = by_ == transfer_method::engine ? move_by_engine(ctx) : move_in_bulk(ctx, piece);
        }
        return ctx.ballot(mask, moved != status::ok) == 0;
    }

    /// Behind the pieces that were moved: the elected lane sees them. False as above.
    LANEWAY_FN bool end(Ctx& ctx, lane_mask mask) {
        status moved = status::ok;
        if (by_ == transfer_method::bulk && elected(ctx, mask)) {
            moved = bulk_copier<Ctx>::end(ctx, staging_, progress_);
            // A copy that was stopped may have loads under way into the stages: nobody else gets them.
            if (moved == status::ok) ctx.store(&staging_.owned, 0u, order::release, scope::block);
        }
        ctx.sync(mask);
        return ctx.ballot(mask, moved != status::ok) == 0;
    }

private:
    /// Rows follow each other through the stages, also those of the next piece.
    LANEWAY_FN status move_in_bulk(Ctx& ctx, const transfer_piece& piece) {
        const transfer_rows<Ctx> rows(ctx, slot_.what);
        status moved = status::ok;
        for (std::uint64_t i = 0; i < piece.rows && moved == status::ok; ++i) {
            std::uint64_t source = 0, target = 0;
            moved = rows.find(ctx, piece.row + i, source, target);
            if (moved != status::ok) continue;
            moved = remote_copy::by_hardware<bulk_copier<Ctx>>(ctx, staging_, progress_, rows.to(target) + piece.first,
                                                               rows.from(source) + piece.first, piece.bytes);
        }
        return moved;
    }

    /// Has the host copy, and waits for it.
    LANEWAY_FN status move_by_engine(Ctx& ctx) {
        const transfer& t = slot_.what;
        ctx.fence(scope::system);  // what the lane has acquired is there for the host's engine
        const engine_copy asked{remote_address(ctx, t.to(), t.to_pe()),
                                remote_address(ctx, t.from(), t.from_pe()),
                                t.to_pitch(),
                                t.from_pitch(),
                                t.row_bytes(),
                                t.rows(),
                                t.from_pe()};
        return view_.engine.call(ctx, asked).code;
    }

    const transfers_memory_ref& view_;
    bulk_staging& staging_;
    const transfer_slot& slot_;
    transfer_method by_;
    bulk_progress progress_;
};

}  // namespace laneway
