// Rendezvous: messages whose elements are too many for a chunk. The sender asks for a place, the handler names one in
// symmetric memory of its PE, the elements go there by plain stores or in pieces, and then the handler runs.
#pragma once

#include "laneway/base/carry.hpp"
#include "laneway/comm/placing.hpp"
#include "laneway/comm/width.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// In shared memory: what the working warps of a block tell each other of the rendezvous that they share.
struct alignas(16) team_board {
    std::uint64_t asked;  ///< how many had their answer; of the last one:
    std::uint64_t index;  ///< where the place is
    std::uint32_t segment;
    std::uint32_t code;    ///< status
    std::uint64_t stored;  ///< warps that have stored their part, of all so far
};

/// One lane's part in a rendezvous over a box. `Message` is a type whose handler places.
template <class Ctx, class Box, class Message>
class rendezvous {
    using element = typename Box::template element<Message>;
    using place = found_place<element>;

public:
    /// `before`: rendezvous that the block has shared so far.
    LANEWAY_FN rendezvous(Ctx& ctx, Box& box, team_board* board, std::uint64_t before)
        : ctx_(ctx), box_(box), board_(board), before_(before) {}

    /// See box::post.
    LANEWAY_SLOW status send(width lanes, int pe, const Message& head, elements<const element> body) {
        if (lanes == width::lane) return send_alone(pe, head, body);
        return send_together(lanes, pe, head, body);
    }

private:
    LANEWAY_FN status send_alone(int pe, const Message& head, elements<const element> body) {
        const place found = ask(pe, head, body.size);
        if (found.code != status::ok) return found.code;
        const status stored = store(width::lane, pe, found.at, body);
        if (stored != status::ok) return stored;
        return box_.post_placed(ctx_, pe, head, {found.at, body.size});
    }

    LANEWAY_FN status send_together(width lanes, int pe, const Message& head, elements<const element> body) {
        constexpr lane_mask all = full_warp<Ctx>;
        // Lane 0 asks for a place: what its mates say may not differ, and would be stored elsewhere.
        pe = ctx_.shuffle(all, pe, 0);
        body.size = ctx_.shuffle(all, body.size, 0);
        const place found = lanes == width::block ? ask_for_block(pe, head, body.size)
                                                  : for_warp([&] { return ask(pe, head, body.size); });
        status result = found.code;
        if (result == status::ok) result = store(lanes, pe, found.at, body);
        const bool failed = ctx_.ballot(all, result != status::ok) != 0;
        if (failed && result == status::ok) result = status::stopped;  // as a mate: the run is ending
        ctx_.sync(all);                                                // what the mates have stored comes first
        const bool last = lanes == width::warp ? ctx_.lane() == 0 : leave_block(failed && found.code == status::ok);
        if (!failed && last) result = box_.post_placed(ctx_, pe, head, {found.at, body.size});
        return failed ? result : static_cast<status>(ctx_.shuffle(all, static_cast<std::uint32_t>(result), 0));
    }

    /// Asks the PE where the elements may go.
    LANEWAY_FN place ask(int pe, const Message& head, std::uint64_t count) {
        const answered<place> answer = box_.call(ctx_, pe, place_request<Message>{head, count});
        if (answer.code != status::ok) return {{}, answer.code};
        ctx_.fence(scope::system);  // Partner: the fence in serve_place.
        if (answer.value.code == status::bad_address) {
            (void)refuse_address(ctx_, operation::place, pe, answer.value.at);
        }
        return answer.value;
    }

    /// What lane 0 finds, for the whole warp.
    template <class Find>
    LANEWAY_FN place for_warp(Find&& find) {
        constexpr lane_mask all = full_warp<Ctx>;
        place found{};
        if (ctx_.lane() == 0) found = find();
        found.at.segment = ctx_.shuffle(all, found.at.segment, 0);
        found.at.index = ctx_.shuffle(all, found.at.index, 0);
        found.code = static_cast<status>(ctx_.shuffle(all, static_cast<std::uint32_t>(found.code), 0));
        return found;
    }

    /// The first warp of the team asks, when all have left the rendezvous before; the others read its answer. The whole
    /// warp, together.
    LANEWAY_FN place ask_for_block(int pe, const Message& head, std::uint64_t count) {
        const auto team = box_.team();
        const auto warps = static_cast<std::uint64_t>(team.warps);
        const wait_site here{operation::place, pe, count};
        const auto help = [&] { (void)box_.help(ctx_, full_warp<Ctx>); };
        const status ready = wait_together(
            ctx_, full_warp<Ctx>, here,
            [&] {
                // Partners: the release add of leave_block, and the release store below.
                if (team.index == 0) return ctx_.load(&board_->stored, order::acquire, scope::block) == before_ * warps;
                return ctx_.load(&board_->asked, order::acquire, scope::block) > before_;
            },
            help);
        if (ready != status::ok) return {{}, ready};
        return for_warp([&]() -> place {
            if (team.index != 0) {
                const std::uint32_t code = ctx_.load(&board_->code, order::relaxed, scope::block);
                return {{board_->segment, board_->index}, static_cast<status>(code)};
            }
            const place found = ask(pe, head, count);
            board_->segment = found.at.segment;
            board_->index = found.at.index;
            ctx_.store(&board_->code, static_cast<std::uint32_t>(found.code), order::relaxed, scope::block);
            // Partner: the acquire load above, in other warps.
            ctx_.store(&board_->asked, before_ + 1, order::release, scope::block);
            return found;
        });
    }

    /// Tells the block that this warp is through with the rendezvous, or could not store its part. True on one lane of
    /// the last warp, where there was a place and none has failed. The whole warp, together.
    LANEWAY_FN bool leave_block(bool failed) {
        if (ctx_.lane() != 0) return false;
        const auto warps = static_cast<std::uint64_t>(box_.team().warps);
        // Both relaxed: ordered by the add.
        if (failed)
            ctx_.store(&board_->code, static_cast<std::uint32_t>(status::stopped), order::relaxed, scope::block);
        // Partner: itself, in other warps: who is last sends word of what all have stored.
        const std::uint64_t left = ctx_.fetch_add(&board_->stored, 1, order::acq_rel, scope::block) + 1;
        return left % warps == 0 && ctx_.load(&board_->code, order::relaxed, scope::block) == 0;
    }

    /// Stores this lane's share of the elements; on return they are there.
    LANEWAY_FN status store(width lanes, int pe, symmetric_ptr<element> at, elements<const element> body) {
        const auto* from = reinterpret_cast<const std::byte*>(body.data);
        const std::uint64_t bytes = body.size * sizeof(element);
        const copy_share mine = share_of(ctx_, box_, lanes);
        element* const to = address(ctx_, at, pe);
        if (to != nullptr && (pe == ctx_.pe() || box_.default_carry() != carry::gathered)) {
            copy_bytes(reinterpret_cast<std::byte*>(to), from, bytes, mine);
            ctx_.fence(scope::system);  // before the message that says so
            return status::ok;
        }
        const std::uint64_t piece_bytes = longest_piece();
        const symmetric_ptr<std::byte> start{at.segment, at.index * sizeof(element)};
        status sent = status::ok;
        for (std::uint64_t i = mine.first * piece_bytes; i < bytes && sent == status::ok;
             i += mine.step * piece_bytes) {
            const std::uint64_t left = bytes - i;
            sent = box_.post(ctx_, pe, piece{{start.segment, start.index + i}}, from + i,
                             left < piece_bytes ? left : piece_bytes);
        }
        return sent == status::ok ? box_.quiet(ctx_) : sent;
    }

    /// Bytes of a piece: each lane of a serving warp shall find one in a chunk, unless they would be all heads.
    LANEWAY_FN std::uint64_t longest_piece() {
        constexpr std::uint32_t fair = 256;
        const std::uint32_t most = box_.template longest<piece>() / 16 * 16;
        const std::uint32_t shared = most / Ctx::warp_lanes / 16 * 16;
        return most < fair ? (most == 0 ? 16 : most) : shared < fair ? fair : shared;
    }

    Ctx& ctx_;
    Box& box_;
    team_board* board_;
    std::uint64_t before_;
};

}  // namespace laneway
