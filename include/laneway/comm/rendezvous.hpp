// Rendezvous: messages whose payload is too long for a chunk. The sender asks for memory, the handler allocates some in
// symmetric memory of its PE, the payload goes there by plain stores or in pieces, and then the handler runs.
#pragma once

#include "laneway/base/path.hpp"
#include "laneway/comm/payload_allocation.hpp"
#include "laneway/comm/width.hpp"
#include "laneway/simt/wait.hpp"
#include "laneway/transport/remote_copy.hpp"

namespace laneway {

/// In shared memory: what the working warps of a block tell each other of the rendezvous that they share.
struct alignas(16) rendezvous_state {
    std::uint64_t asked;  ///< how many had their answer; of the last one:
    std::uint64_t index;  ///< where the memory is
    std::uint32_t segment;
    std::uint32_t code;    ///< status
    std::uint64_t stored;  ///< warps that have stored their part, of all so far
};

/// One lane's part in a rendezvous over an endpoint. `Message` is a type whose handler allocates.
template <class Ctx, class Endpoint, class Message>
class rendezvous {
    using element = typename Endpoint::template element<Message>;
    using allocated = allocation<element>;

public:
    /// `before`: rendezvous that the block has shared so far.
    LANEWAY_FN rendezvous(Ctx& ctx, Endpoint& endpoint, rendezvous_state* state, std::uint64_t before)
        : ctx_(ctx), endpoint_(endpoint), state_(state), before_(before) {}

    /// See endpoint::post.
    LANEWAY_SLOW status send(width lanes, int pe, const Message& header, payload<const element> payload) {
        if (lanes == width::lane) return send_alone(pe, header, payload);
        return send_together(lanes, pe, header, payload);
    }

private:
    LANEWAY_FN status send_alone(int pe, const Message& header, payload<const element> payload) {
        const allocated found = ask(pe, header, payload.size);
        if (found.code != status::ok) return found.code;
        const status stored = store(width::lane, pe, found.at, payload);
        if (stored != status::ok) return stored;
        return endpoint_.post_stored(ctx_, pe, header, {found.at, payload.size});
    }

    LANEWAY_FN status send_together(width lanes, int pe, const Message& header, payload<const element> payload) {
        constexpr lane_mask all = full_warp<Ctx>;
        // Lane 0 asks for memory: what its mates say may not differ, and would be stored elsewhere.
        pe = ctx_.shuffle(all, pe, 0);
        payload.size = ctx_.shuffle(all, payload.size, 0);
        const allocated found = lanes == width::block ? ask_for_block(pe, header, payload.size)
                                                      : for_warp([&] { return ask(pe, header, payload.size); });
        status result = found.code;
        if (result == status::ok) result = store(lanes, pe, found.at, payload);
        const bool failed = ctx_.ballot(all, result != status::ok) != 0;
        if (failed && result == status::ok) result = status::stopped;  // as a mate: the run is ending
        ctx_.sync(all);                                                // what the mates have stored comes first
        const bool last = lanes == width::warp ? ctx_.lane() == 0 : leave_block(failed && found.code == status::ok);
        if (!failed && last) result = endpoint_.post_stored(ctx_, pe, header, {found.at, payload.size});
        return failed ? result : static_cast<status>(ctx_.shuffle(all, static_cast<std::uint32_t>(result), 0));
    }

    /// Asks the PE where the payload may go.
    LANEWAY_FN allocated ask(int pe, const Message& header, std::uint64_t count) {
        const answered<allocated> answer = endpoint_.call(ctx_, pe, allocation_request<Message>{header, count});
        if (answer.code != status::ok) return {{}, answer.code};
        ctx_.fence(scope::system);  // Partner: the fence in serve_allocation.
        if (answer.value.code == status::bad_address) {
            (void)refuse_address(ctx_, operation::allocate, pe, answer.value.at);
        }
        return answer.value;
    }

    /// What lane 0 finds, for the whole warp.
    template <class Find>
    LANEWAY_FN allocated for_warp(Find&& find) {
        constexpr lane_mask all = full_warp<Ctx>;
        allocated found{};
        if (ctx_.lane() == 0) found = find();
        found.at.segment = ctx_.shuffle(all, found.at.segment, 0);
        found.at.index = ctx_.shuffle(all, found.at.index, 0);
        found.code = static_cast<status>(ctx_.shuffle(all, static_cast<std::uint32_t>(found.code), 0));
        return found;
    }

    /// The first warp of the team asks, when all have left the rendezvous before; the others read its answer. The whole
    /// warp, together.
    LANEWAY_FN allocated ask_for_block(int pe, const Message& header, std::uint64_t count) {
        const auto team = endpoint_.team();
        const auto warps = static_cast<std::uint64_t>(team.warps);
        const wait_site here{operation::allocate, pe, count};
        const auto help = [&] { (void)endpoint_.help(ctx_, full_warp<Ctx>); };
        const status ready = wait_together(
            ctx_, full_warp<Ctx>, here,
            [&] {
                // Partners: the release add of leave_block, and the release store below.
                if (team.index == 0) return ctx_.load(&state_->stored, order::acquire, scope::block) == before_ * warps;
                return ctx_.load(&state_->asked, order::acquire, scope::block) > before_;
            },
            help);
        if (ready != status::ok) return {{}, ready};
        return for_warp([&]() -> allocated {
            if (team.index != 0) {
                const std::uint32_t code = ctx_.load(&state_->code, order::relaxed, scope::block);
                return {{state_->segment, state_->index}, static_cast<status>(code)};
            }
            const allocated found = ask(pe, header, count);
            state_->segment = found.at.segment;
            state_->index = found.at.index;
            ctx_.store(&state_->code, static_cast<std::uint32_t>(found.code), order::relaxed, scope::block);
            // Partner: the acquire load above, in other warps.
            ctx_.store(&state_->asked, before_ + 1, order::release, scope::block);
            return found;
        });
    }

    /// Tells the block that this warp is through with the rendezvous, or could not store its part. True on one lane of
    /// the last warp, where there was memory and none has failed. The whole warp, together.
    LANEWAY_FN bool leave_block(bool failed) {
        if (ctx_.lane() != 0) return false;
        const auto warps = static_cast<std::uint64_t>(endpoint_.team().warps);
        // Both relaxed: ordered by the add.
        if (failed)
            ctx_.store(&state_->code, static_cast<std::uint32_t>(status::stopped), order::relaxed, scope::block);
        // Partner: itself, in other warps: who is last sends word of what all have stored.
        const std::uint64_t left = ctx_.fetch_add(&state_->stored, 1, order::acq_rel, scope::block) + 1;
        return left % warps == 0 && ctx_.load(&state_->code, order::relaxed, scope::block) == 0;
    }

    /// Stores this lane's share of the payload; on return it is there.
    LANEWAY_FN status store(width lanes, int pe, symmetric_ptr<element> at, payload<const element> payload) {
        const auto* from = reinterpret_cast<const std::byte*>(payload.data);
        const std::uint64_t bytes = payload.size * sizeof(element);
        const copy_share mine = share_of(ctx_, endpoint_, lanes);
        const remote_ptr<element> to = remote_address(ctx_, at, pe);
        if (to && (pe == ctx_.pe() || endpoint_.default_path() != path::aggregated)) {
            remote_copy::put(to.template as<std::byte>(), from, bytes, mine);
            ctx_.fence(order::release, scope::system);  // before the message that says so
            return status::ok;
        }
        const std::uint64_t piece_bytes = longest_piece();
        const symmetric_ptr<std::byte> start{at.segment, at.index * sizeof(element)};
        status sent = status::ok;
        for (std::uint64_t i = mine.first * piece_bytes; i < bytes && sent == status::ok;
             i += mine.step * piece_bytes) {
            const std::uint64_t left = bytes - i;
            sent = endpoint_.post(ctx_, pe, piece{{start.segment, start.index + i}}, from + i,
                                  left < piece_bytes ? left : piece_bytes);
        }
        return sent == status::ok ? endpoint_.quiet(ctx_) : sent;
    }

    /// Bytes of a piece: each lane of a serving warp shall find one in a chunk, unless they would be all headers.
    LANEWAY_FN std::uint64_t longest_piece() {
        constexpr std::uint32_t fair = 256;
        const std::uint32_t most = endpoint_.template longest<piece>() / 16 * 16;
        const std::uint32_t shared = most / Ctx::warp_lanes / 16 * 16;
        return most < fair ? (most == 0 ? 16 : most) : shared < fair ? fair : shared;
    }

    Ctx& ctx_;
    Endpoint& endpoint_;
    rendezvous_state* state_;
    std::uint64_t before_;
};

}  // namespace laneway
