// Hierarchical aggregation: PEs form a square of about sqrt(n) rows and columns, and a message takes two hops, first to
// the PE of its sender's row in the destination's column, then down that column. A PE fills buffers for its row and its
// column only, 2 sqrt(n) of them and not n, so each fills sooner; every message is carried twice.
//
// What a first hop brings for another PE goes into a list in PE memory (comm/forward_queue.hpp), from which helping
// warps put it into aggregation buffers for the second hop. Second hops have rings of their own, those of the library's
// replies: their handlers send nothing, so they always drain, so the list does, and servers may leave first hops
// unserved while it is long. Aggregation buffers and rings for all other PEs exist, but stay empty.
#pragma once

#include "buffer_sets.hpp"
#include "laneway/comm/forward_queue.hpp"
#include "laneway/comm/server.hpp"

namespace laneway::study {

/// PE p stands in row p / columns, column p mod columns; the last row may be short.
struct pe_square {
    int n_pes = 1;
    int columns = 1;

    static pe_square of(int n_pes) {
        int columns = 1;
        while (columns * columns < n_pes) ++columns;
        return {n_pes, columns};
    }

    /// Where a message goes first: the destination itself where it shares a row or column with the sender. From a short
    /// row, whose PEs do not reach all columns, the way leads through the destination's row.
    [[nodiscard]] LANEWAY_FN int first_hop(int from, int to) const {
        if (from / columns == to / columns || from % columns == to % columns) return to;
        const int across = from / columns * columns + to % columns;
        return across < n_pes ? across : to / columns * columns + from % columns;
    }
};

template <class Message>
struct hop {
    Message message;
    std::uint32_t pe;
};

template <class Message>
struct hierarchical {
    using carried = hop<Message>;
    /// Second hops travel apart from first ones.
    static constexpr bool second_hops = true;

    static int helper_warps(const study_options& options, int warps) { return options.aggregators(warps); }
    static std::size_t shared_bytes(chunk_shape<carried>, int, int) { return 0; }

    struct view {
        buffer_sets_view first;
        buffer_sets_view second;
        links_ref second_links;
        forward_queue_ref forward;
        std::uint64_t max_listed = 0;  ///< what servers may add in a turn still fits
        pe_square square;
    };

    class memory {
    public:
        memory(machine& machine, const study_options& options, chunk_shape<carried> shape,
               const std::vector<study_grid>& grids)
            : first_(machine, options, shape, grids), second_(machine, options, shape, grids),
              square_(pe_square::of(machine.n_pes())) {
            for (int pe = 0; pe < machine.n_pes(); ++pe) {
                const service_stripes lines(machine.n_pes(), grids[static_cast<std::size_t>(pe)].grid.server_warps());
                turn_messages_.push_back(static_cast<std::uint64_t>(lines.count()) * shape.messages());
                const std::uint64_t usual = options.job.forward_slots == 0 ? 262'144 : options.job.forward_slots;
                const std::uint64_t slots = std::max(usual, 2 * turn_messages_.back());
                slots_.emplace_back(machine.device(pe), slots * slot_bytes);
                ends_.emplace_back(machine.device(pe), 2 * head_at);
            }
        }
        void reset() {
            first_.reset();
            second_.reset();
            for (auto& slots : slots_) slots.fill_bytes(0);
            for (auto& ends : ends_) ends.fill_bytes(0);
        }
        [[nodiscard]] view view_of(int pe, const comm_resources& resources) const {
            const auto p = static_cast<std::size_t>(pe);
            std::uint64_t* ends = ends_[p].data();
            view made;
            made.first = first_.view_of(pe, resources);
            made.second = second_.view_of(pe, resources);
            made.second_links = resources.replies(pe);
            made.forward = {ends,
                            ends + head_at,
                            &made.second_links.work->replied,
                            slots_[p].data(),
                            slots_[p].size() / slot_bytes,
                            slot_bytes};
            made.max_listed = made.forward.capacity - turn_messages_[p];
            made.square = square_;
            return made;
        }
        [[nodiscard]] std::size_t bytes(int pe) const {
            return first_.bytes(pe) + second_.bytes(pe) + slots_[static_cast<std::size_t>(pe)].size();
        }

    private:
        static constexpr std::size_t slot_bytes = forward_queue_ref::bytes_of_slot(sizeof(carried));
        static constexpr std::size_t head_at = destructive_bytes / sizeof(std::uint64_t);
        buffer_sets<carried> first_;
        buffer_sets<carried> second_;
        pe_square square_;
        std::vector<std::uint64_t> turn_messages_;  ///< first hops that all servers of a PE serve in a turn, at most
        std::vector<buffer<std::byte>> slots_;
        std::vector<buffer<std::uint64_t>> ends_;
    };

    /// Serves a message that has come to its end, and lists others to be sent on.
    template <class Ctx, class Handler>
    static LANEWAY_FN void serve(Ctx& ctx, const view& way, const Handler& handler, const carried& m) {
        if (static_cast<int>(m.pe) == ctx.pe()) {
            handler(ctx, m.message);
        } else {
            (void)way.forward.put(ctx, static_cast<int>(m.pe), 0, m);  // see may_serve
        }
    }

    /// Whether first hops may be served. The whole warp, together.
    template <class Ctx>
    static LANEWAY_FN bool may_serve(Ctx& ctx, const view& way) {
        const std::uint64_t listed = once(ctx, full_warp<Ctx>, [&] {
            const std::uint64_t taken = ctx.load(way.forward.head, order::relaxed, scope::device);
            return ctx.load(way.forward.tail, order::relaxed, scope::device) - taken;
        });
        return listed <= way.max_listed;
    }

    template <class Ctx, class Idle>
    class agent {
    public:
        static constexpr bool meets = false;

        LANEWAY_FN agent(Ctx& ctx, const view& way, const links_ref& links, chunk_shape<carried> shape, std::byte*,
                         const place& mine, Idle idle)
            : way_(way), links_(links), shape_(shape),
              first_(ctx, links, shape, 0, way.first.of_block(mine.worker_block)),
              second_(ctx, way.second_links, shape, 0, way.second.of_block(mine.worker_block)), idle_(idle) {}

        LANEWAY_FN void open(Ctx&) {}
        LANEWAY_FN status post(Ctx& ctx, bool active, int pe, const Message& message) {
            const int to = active ? way_.square.first_hop(ctx.pe(), pe) : pe;
            return first_.put(ctx, ctx.converged(), active, to, {message, static_cast<std::uint32_t>(pe)},
                              [&] { help(ctx); });
        }
        LANEWAY_FN void finish(Ctx&) {}

        LANEWAY_FN void turn(Ctx& ctx) {
            if (send_on(ctx)) return;
            (void)second_.flush_old(ctx, full_warp<Ctx>, idle_);
            // A first hop may wait until lists are shorter, this PE's among them.
            (void)first_.flush_old(ctx, full_warp<Ctx>, [&] {
                idle_();
                send_on(ctx);
            });
        }
        LANEWAY_FN status drain(Ctx& ctx) {
            return way_.first.drain(ctx, links_, shape_, [&] { help(ctx); });
        }

    private:
        /// While this lane waits: where a warp has one lane nobody else sends on.
        LANEWAY_FN void help(Ctx& ctx) {
            idle_();
            if constexpr (Ctx::warp_lanes == 1) send_on(ctx);
        }

        /// Puts what is to be sent on into the aggregation buffers, one message a lane at most; returns whether there
        /// was any. The whole warp, together.
        LANEWAY_FN bool send_on(Ctx& ctx) {
            constexpr lane_mask all = full_warp<Ctx>;
            carried next{};
            std::uint64_t listed = 0;
            const bool taken = way_.forward.claim(ctx, listed);
            if (taken) {
                next = *way_.forward.slot(listed).template message<carried>();
                way_.forward.give_back(ctx, listed);
            }
            if (ctx.ballot(all, taken) == 0) return false;
            (void)second_.put(ctx, all, taken, static_cast<int>(next.pe), next, idle_);
            return true;
        }

        const view& way_;
        const links_ref& links_;
        chunk_shape<carried> shape_;
        aggregator<Ctx, carried, scope::device> first_;
        aggregator<Ctx, carried, scope::device> second_;
        Idle idle_;
    };
};

}  // namespace laneway::study
