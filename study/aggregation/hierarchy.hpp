// Hierarchical aggregation: PEs form a square of about sqrt(n) rows and columns, and a message takes two hops, first to
// the PE of its sender's row in the destination's column, then down that column. A PE fills buffers for its row and its
// column only, 2 sqrt(n) of them and not n, so each fills sooner; every message is carried twice.
//
// What a first hop brings for another PE goes into the onward list (comm/onward.hpp), from which helping warps put it
// into the bins that the PE's own messages gather in. Bins and rings for all other PEs exist, but stay empty.
#pragma once

#include "bin_sets.hpp"
#include "laneway/comm/onward.hpp"

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

    static int helper_warps(const study_options& options, int warps) { return options.aggregators(warps); }
    static std::size_t shared_bytes(chunk_shape<carried>, int, int) { return 0; }

    struct view {
        bin_sets_view sets;
        onward_ref onward;
        pe_square square;
    };

    class memory {
    public:
        memory(machine& machine, const study_options& options, chunk_shape<carried> shape,
               const std::vector<study_grid>& grids)
            : sets_(machine, options, shape, grids), square_(pe_square::of(machine.n_pes())) {
            if (options.job.onward_slots == 0) throw usage_error("onward_slots: expected a number above 0");
            for (int pe = 0; pe < machine.n_pes(); ++pe) {
                slots_.emplace_back(machine.device(pe), options.job.onward_slots * slot_bytes);
                ends_.emplace_back(machine.device(pe), 2 * head_at);
            }
        }
        void reset() {
            sets_.reset();
            for (auto& slots : slots_) slots.fill_bytes(0);
            for (auto& ends : ends_) ends.fill_bytes(0);
        }
        [[nodiscard]] view view_of(int pe, const links_ref& links) const {
            const auto p = static_cast<std::size_t>(pe);
            std::uint64_t* ends = ends_[p].data();
            return {sets_.view_of(pe, links),
                    {ends, ends + head_at, &links.work->deferred, slots_[p].data(), slots_[p].size() / slot_bytes,
                     slot_bytes},
                    square_};
        }
        [[nodiscard]] std::size_t bytes(int pe) const {
            return sets_.bytes(pe) + slots_[static_cast<std::size_t>(pe)].size();
        }

    private:
        static constexpr std::size_t slot_bytes = onward_ref::bytes_of_slot(sizeof(carried));
        static constexpr std::size_t head_at = destructive_bytes / sizeof(std::uint64_t);
        bin_sets<carried> sets_;
        pe_square square_;
        std::vector<buffer<std::byte>> slots_;
        std::vector<buffer<std::uint64_t>> ends_;
    };

    /// Serves a message that has come to its end, and lists others to be sent on; a list that is full ends the run.
    template <class Ctx, class Handler>
    static LANEWAY_FN void serve(Ctx& ctx, const view& way, const Handler& handler, const carried& m) {
        if (static_cast<int>(m.pe) == ctx.pe()) {
            handler(ctx, m.message);
        } else {
            (void)way.onward.put(ctx, static_cast<int>(m.pe), 0, m);
        }
    }

    template <class Ctx, class Idle>
    class agent {
    public:
        static constexpr bool meets = false;

        LANEWAY_FN agent(Ctx& ctx, const view& way, const links_ref& links, chunk_shape<carried> shape, std::byte*,
                         const place& mine, Idle idle)
            : way_(way), links_(links), shape_(shape),
              bins_(ctx, links, shape, 0, way.sets.of_block(mine.worker_block)), idle_(idle) {}

        LANEWAY_FN void open(Ctx&) {}
        LANEWAY_FN status post(Ctx& ctx, bool active, int pe, const Message& message) {
            const lane_mask mask = ctx.converged();
            const status free = await_room(ctx, mask);
            if (free != status::ok) return free;
            const int first = active ? way_.square.first_hop(ctx.pe(), pe) : pe;
            return bins_.put(ctx, mask, active, first, {message, static_cast<std::uint32_t>(pe)}, idle_);
        }
        LANEWAY_FN void finish(Ctx&) {}

        /// Puts what is to be sent on into the bins, one message a lane at most.
        LANEWAY_FN void turn(Ctx& ctx) {
            constexpr lane_mask all = full_warp<Ctx>;
            carried next{};
            std::uint64_t listed = 0;
            const bool taken = way_.onward.claim(ctx, listed);
            if (taken) {
                next = *way_.onward.slot(listed).template message<carried>();
                way_.onward.give_back(ctx, listed);
            }
            const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(ctx.ballot(all, taken)));
            if (lanes == 0) {
                (void)bins_.flush_old(ctx, all, idle_);
                return complete(ctx);
            }
            open_ += lanes;
            if (ctx.lane() == 0) ctx.fetch_add(&links_.work->posted, lanes, order::relaxed, scope::device);
            (void)bins_.put(ctx, all, taken, static_cast<int>(next.pe), next, idle_);
        }
        LANEWAY_FN status drain(Ctx& ctx) { return way_.sets.drain(ctx, links_, shape_, idle_); }

    private:
        /// Lanes do not add to the traffic of PEs while their own has much to send on: the list's servers cannot wait.
        LANEWAY_FN status await_room(Ctx& ctx, lane_mask mask) {
            if (ctx.ballot(mask, ++posts_ % 8 == 0) == 0) return status::ok;
            const auto has_room = [&] {
                const std::uint64_t taken = ctx.load(way_.onward.head, order::relaxed, scope::device);
                const std::uint64_t listed = ctx.load(way_.onward.tail, order::relaxed, scope::device);
                return listed - taken <= way_.onward.capacity / 2;
            };
            return wait_together(ctx, mask, {operation::post_onward, ctx.pe(), way_.onward.capacity}, has_room, [&] {
                idle_();
                if constexpr (Ctx::warp_lanes == 1) turn(ctx);
            });
        }

        /// Counts what this warp has sent on as done, once it has left.
        LANEWAY_FN void complete(Ctx& ctx) {
            if (open_ == 0 || !bins_.all_left(ctx, full_warp<Ctx>)) return;
            // Partner: the acquire load in study_ledger.
            if (ctx.lane() == 0) ctx.fetch_add(&links_.work->completed, open_, order::release, scope::device);
            open_ = 0;
        }

        const view& way_;
        const links_ref& links_;
        chunk_shape<carried> shape_;
        packer<Ctx, carried, scope::device> bins_;
        Idle idle_;
        unsigned posts_ = 0;
        std::uint64_t open_ = 0;  ///< messages sent on and not yet counted as done; the same in all lanes
    };
};

}  // namespace laneway::study
