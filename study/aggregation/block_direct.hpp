// SIMT-direct aggregation at work-group width: the lanes of a block that are still posting meet, sort their messages by
// destination in shared memory, and write each destination's share into the aggregation buffers in PE memory at once
// (Orr 2016, figure 3-6). One claim of positions serves all of them, and neighbouring lanes write neighbouring places.
//
// Who takes part is told by a fine-grain barrier: a lane that posts no more leaves it, so lanes may post from loops of
// different lengths. Messages to the own PE come along as inactive, as other lanes of the warp would wait for theirs.
#pragma once

#include "buffer_sets.hpp"
#include "fine_grain_barrier.hpp"

namespace laneway::study {

template <class Message>
struct block_direct {
    using memory = buffer_sets<Message>;
    using view = buffer_sets_view;

    static int helper_warps(const study_options&, int) { return 1; }

    /// What the lanes of a block share.
    struct alignas(16) board {
        fine_grain_barrier meeting;
        std::uint32_t total;  ///< messages of this meeting
        std::uint64_t most;   ///< see longest
    };
    /// One destination in this meeting.
    struct share {
        std::uint32_t messages;
        std::uint32_t start;  ///< of its messages among the sorted ones
        std::uint32_t first;  ///< position in the aggregation buffer
    };
    struct sorted_message {
        Message message;
        std::uint32_t pe;
    };
    static std::size_t shared_bytes(chunk_shape<Message>, int n_pes, int lanes) {
        return sizeof(board) + shares_bytes(n_pes) + static_cast<std::size_t>(lanes) * sizeof(sorted_message);
    }
    static LANEWAY_FN std::size_t shares_bytes(int n_pes) {
        return (static_cast<std::size_t>(n_pes) * sizeof(share) + 15) / 16 * 16;
    }

    template <class Ctx, class Idle>
    class agent {
    public:
        static constexpr bool meets = true;

        LANEWAY_FN agent(Ctx& ctx, const view& sets, const links_ref& links, chunk_shape<Message> shape,
                         std::byte* shared, const place& mine, Idle idle)
            : sets_(sets), links_(links), shape_(shape),
              buffers_(ctx, links, shape, 0, sets.of_block(mine.worker_block)),
              team_lanes_(static_cast<std::uint32_t>(mine.team_lanes)), board_(*reinterpret_cast<board*>(shared)),
              shares_(reinterpret_cast<share*>(shared + sizeof(board))),
              sorted_(reinterpret_cast<sorted_message*>(shared + sizeof(board) + shares_bytes(ctx.n_pes()))),
              idle_(idle) {}

        LANEWAY_FN void open(Ctx& ctx) {
            const int lanes = ctx.n_warps() * Ctx::warp_lanes;
            for (int pe = ctx.warp() * Ctx::warp_lanes + ctx.lane(); pe < ctx.n_pes(); pe += lanes) shares_[pe] = {};
            if (ctx.warp() != 0 || ctx.lane() != 0) return;
            board_.meeting.open(team_lanes_, 3);
            board_.total = 0;
            board_.most = 0;
        }

        LANEWAY_FN status post(Ctx& ctx, bool active, int pe, const Message& message) {
            const lane_mask mask = ctx.converged();
            const lane_mask senders = ctx.ballot(mask, active);
            const lane_mask peers = ctx.match(mask, active ? static_cast<std::uint32_t>(pe) : ~std::uint32_t{0});
            const std::uint32_t in_share = count(ctx, mask, peers, active, pe);
            const std::uint32_t base = once(ctx, mask, [&]() -> std::uint32_t {
                return ctx.fetch_add(&board_.total, static_cast<std::uint32_t>(Ctx::count_lanes(senders)),
                                     order::relaxed, scope::block);
            });
            status met = board_.meeting.arrive(ctx, mask);
            if (met != status::ok) return met;

            const bool claims = active && in_share == 0;
            if (claims) claim(ctx, pe);
            met = board_.meeting.arrive(ctx, mask);
            if (met != status::ok) return met;

            if (active) sorted_[shares_[pe].start + in_share] = {message, static_cast<std::uint32_t>(pe)};
            if (claims) shares_[pe].messages = 0;
            if (base == 0 && elected(ctx, mask)) board_.total = 0;
            met = board_.meeting.arrive(ctx, mask);
            if (met != status::ok) return met;
            return take(ctx, mask, active, base + static_cast<std::uint32_t>(rank_in(ctx, senders)));
        }

        LANEWAY_FN void finish(Ctx& ctx) { board_.meeting.leave(ctx, 1); }

        LANEWAY_FN status longest(Ctx& ctx, std::uint64_t count, std::uint64_t& most) {
            const lane_mask mask = ctx.converged();
            ctx.fetch_max(&board_.most, count, order::relaxed, scope::block);
            status met = status::ok;
            for (int phase = 0; phase < 3 && met == status::ok; ++phase) met = board_.meeting.arrive(ctx, mask);
            most = ctx.load(&board_.most, order::relaxed, scope::block);
            return met;
        }

        LANEWAY_FN void turn(Ctx& ctx) { (void)buffers_.flush_old(ctx, full_warp<Ctx>, idle_); }
        LANEWAY_FN status drain(Ctx& ctx) { return sets_.drain(ctx, links_, shape_, idle_); }

    private:
        /// Counts the lanes with the same destination and returns this lane's place among them, over the block.
        LANEWAY_FN std::uint32_t count(Ctx& ctx, lane_mask mask, lane_mask peers, bool active, int pe) {
            std::uint32_t before = 0;
            if (active && elected(ctx, peers)) {
                before = ctx.fetch_add(&shares_[pe].messages, static_cast<std::uint32_t>(Ctx::count_lanes(peers)),
                                       order::relaxed, scope::block);
            }
            before = ctx.shuffle(mask, before, Ctx::first_lane(peers));
            return before + static_cast<std::uint32_t>(rank_in(ctx, peers));
        }

        /// Claims the positions of all the block's messages to a PE. The lane that holds the first of them.
        LANEWAY_FN void claim(Ctx& ctx, int pe) {
            share& mine = shares_[pe];
            std::uint32_t start = 0;
            for (int other = 0; other < pe; ++other) start += shares_[other].messages;
            mine.start = start;
            mine.first = buffers_.reserve(ctx, pe, static_cast<int>(mine.messages));
        }

        /// Puts message `index` of the sorted ones into its bin.
        LANEWAY_FN status take(Ctx& ctx, lane_mask mask, bool active, std::uint32_t index) {
            const sorted_message mine = active ? sorted_[index] : sorted_message{};
            const lane_mask peers = ctx.match(mask, active ? mine.pe : ~std::uint32_t{0});
            const share where = active ? shares_[mine.pe] : share{};
            return buffers_.put_at(ctx, mask, peers, active, static_cast<int>(mine.pe),
                                   where.first + index - where.start, mine.message, idle_);
        }

        const view& sets_;
        const links_ref& links_;
        chunk_shape<Message> shape_;
        aggregator<Ctx, Message, scope::device> buffers_;
        std::uint32_t team_lanes_;
        board& board_;
        share* shares_;
        sorted_message* sorted_;
        Idle idle_;
    };
};

}  // namespace laneway::study
