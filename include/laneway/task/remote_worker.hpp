// What a function of a remote queue has of the lanes that run it.
#pragma once

#include "laneway/comm/block_team.hpp"
#include "laneway/simt/group.hpp"
#include "laneway/task/remote_sender.hpp"

namespace laneway {

/// The lanes that run one command together: one lane, those of a warp, or the working warps of a block. Where no whole
/// warp, or block, is free, fewer: a function goes by lanes(), not by the width that it has asked for. One object for
/// each lane.
template <class Ctx, class... Types>
class remote_worker {
public:
    /// `mask`: the lanes of this warp. `team`: null but for a block.
    LANEWAY_FN remote_worker(const Ctx& ctx, const remote_sender<Ctx, Types...>& sender, const remote_names_ref& names,
                             const remote_header& header, int source, lane_mask mask, block_team<Ctx>* team)
        : sender_(sender), names_(names), header_(header), source_(source), mask_(mask), team_(team),
          lane_(rank_in(ctx, mask)) {
        if (team != nullptr) lane_ += team->index() * Ctx::warp_lanes;
    }

    /// Place of this lane among those that run the command.
    [[nodiscard]] LANEWAY_FN int lane() const { return lane_; }
    [[nodiscard]] LANEWAY_FN int lanes() const {
        return team_ == nullptr ? Ctx::count_lanes(mask_) : team_->warps() * Ctx::warp_lanes;
    }
    /// The PE that has posted the command; -1: a host thread.
    [[nodiscard]] LANEWAY_FN int source() const { return source_; }

    /// Barrier among these lanes: what each has stored before is visible to all behind it. All of them, together. False
    /// where the program is ending and others may not come: then the function should return.
    LANEWAY_FN bool sync(Ctx& ctx) const {
        if (team_ != nullptr) return team_->sync(ctx);
        ctx.sync(mask_);
        return true;
    }

    /// What has landed for the command.
    [[nodiscard]] LANEWAY_FN const remote_landed& landed() const { return header_.landed; }
    /// Its elements, landed().count of them, in the own PE's part of the target buffer: as symmetric_ref::local. T is
    /// the type of that array. Where nothing has landed, or something else, the run ends with bad_index or bad_range.
    template <class T>
    [[nodiscard]] LANEWAY_FN auto payload(Ctx& ctx, call_site_of<Ctx> where = call_site_of<Ctx>::current()) const {
        const std::uint32_t index = header_.landed.buffer;
        symmetric_ptr<T> first{names_.ranges[0].segment, 0};  // that exists, for the rest of a run that has failed
        if (index >= names_.n_buffers) {
            (void)fail(ctx, status::bad_index, operation::find_payload, ctx.pe(), index, names_.n_buffers);
        } else if (names_.buffer(ctx, index).first.type() != type_of<T>) {
            (void)fail(ctx, status::bad_range, operation::find_payload, ctx.pe(), index);
        } else {
            first = names_.buffer(ctx, index).first.template element<T>();
            first.index += header_.landed.at;
        }
        return local(ctx, first, where);
    }

    /// Posts a command, as remote_queue_agent::post does, but never waits: no_room where the queue to that PE is full,
    /// and nothing is posted. The function does the work itself then, or leaves it. Any lane; each call is a command.
    template <class Type>
    LANEWAY_FN status post(Ctx& ctx, int pe, task_name<Type>, const typename Type::arguments& arguments,
                           const remote_request& request = {}) const {
        return sender_.template post<Type>(ctx, pe, arguments, request, try_once(ctx));
    }
    /// The same for a kernel.
    LANEWAY_FN status launch(Ctx& ctx, int pe, std::uint32_t kernel, const remote_bytes& arguments,
                             const remote_request& request = {}) const {
        return sender_.launch(ctx, lane_mask{1} << ctx.lane(), pe, kernel, arguments, {}, request, try_once(ctx));
    }

private:
    static LANEWAY_FN auto try_once(Ctx& ctx) {
        return [&ctx](lane_mask, const wait_site&, auto&& try_draw) {
            return try_draw() ? status::ok : stopped(ctx) ? status::stopped : status::no_room;
        };
    }

    const remote_sender<Ctx, Types...>& sender_;
    const remote_names_ref& names_;
    const remote_header& header_;
    int source_;
    lane_mask mask_;
    block_team<Ctx>* team_;
    int lane_;
};

}  // namespace laneway
