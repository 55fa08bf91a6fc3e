// Indirect aggregation on the device: lanes hand their messages over in groups, whatever the destinations, through a
// producer/consumer queue in PE memory; aggregating warps repack them into aggregation buffers by destination (Orr
// 2016, section 3.3, figure 3-7, with warps in place of the network card's threads).
//
// The queue is a chunk ring whose two ends lie on one PE: a group's ticket names a slot, and ticket t belongs to
// aggregating warp t mod helpers. Its flags have system scope, which on one device is more than would be needed.
#pragma once

#include <bit>

#include "aggregation_agent.hpp"
#include "laneway/comm/aggregator.hpp"

namespace laneway::study {

/// A message on its way to an aggregator.
template <class Message>
struct addressed {
    Message message;
    std::uint32_t pe;
};

template <class Message>
struct device_indirect {
    using record = addressed<Message>;

    static int helper_warps(const study_options& options, int warps) { return options.aggregators(warps); }
    /// The aggregation buffers of the block's aggregating warps.
    static std::size_t shared_bytes(chunk_shape<Message> shape, int n_pes, int) { return shape.shared_bytes(n_pes); }

    /// One PE's queue; all words are PE memory.
    struct view {
        chunk_ring_layout ring;
        std::uint64_t* closed = nullptr;   ///< 1 + groups handed over, once all are
        std::uint64_t* drained = nullptr;  ///< aggregating warps that have sent everything
    };

    class memory {
    public:
        memory(machine& machine, const study_options& options, chunk_shape<Message>,
               const std::vector<study_grid>& grids) {
            for (int pe = 0; pe < machine.n_pes(); ++pe) {
                const study_grid& grid = grids[static_cast<std::size_t>(pe)];
                chunk_ring_layout ring;
                ring.n_slots = std::bit_ceil(options.queue_slots * static_cast<std::uint32_t>(grid.helpers));
                ring.slot_bytes =
                    static_cast<std::uint32_t>((static_cast<std::size_t>(grid.lanes) * sizeof(record) + 15) / 16 * 16);
                payload_.emplace_back(machine.device(pe), std::size_t{ring.n_slots} * ring.slot_bytes);
                words_.emplace_back(machine.device(pe), 2 * ring.n_slots + 3 * stride);
                std::uint64_t* words = words_.back().data();
                ring.slots = payload_.back().data();
                ring.tail = words;
                ring.flags = words + 3 * stride;
                ring.credits = ring.flags + ring.n_slots;
                views_.push_back({ring, words + stride, words + 2 * stride});
            }
        }
        void reset() {
            for (auto& words : words_) words.fill_bytes(0);
        }
        [[nodiscard]] view view_of(int pe, const comm_resources&) const { return views_[static_cast<std::size_t>(pe)]; }
        [[nodiscard]] std::size_t bytes(int pe) const {
            return payload_[static_cast<std::size_t>(pe)].size() + words_[static_cast<std::size_t>(pe)].size() * 8;
        }

    private:
        static constexpr std::size_t stride = destructive_bytes / sizeof(std::uint64_t);
        std::vector<buffer<std::byte>> payload_;
        std::vector<buffer<std::uint64_t>> words_;
        std::vector<view> views_;
    };

    template <class Ctx, class Idle>
    class agent {
    public:
        static constexpr bool meets = false;

        LANEWAY_FN agent(Ctx& ctx, const view& queue, const links_ref& links, chunk_shape<Message> shape,
                         std::byte* shared, const place& mine, Idle idle)
            : queue_(queue), buffers_(ctx, links, shape, 0, shared),
              next_(static_cast<std::uint64_t>(mine.helper_index)), helpers_(static_cast<std::uint64_t>(mine.helpers)),
              idle_(idle) {
            in_ = chunk_sender(queue.ring);
            out_ = chunk_receiver(queue.ring);
        }

        LANEWAY_FN void open(Ctx& ctx) { buffers_.open(ctx); }

        LANEWAY_FN status post(Ctx& ctx, bool active, int pe, const Message& message) {
            const lane_mask arrived = ctx.converged();
            const lane_mask group = ctx.ballot(arrived, active);
            if (!active) return status::ok;
            std::uint64_t ticket = 0;
            const status reserved = in_.reserve(ctx, group, ctx.pe(), ticket, [&] { help(ctx); });
            if (reserved != status::ok) return reserved;
            auto* records = reinterpret_cast<record*>(in_.slot(ticket));
            records[rank_in(ctx, group)] = {message, static_cast<std::uint32_t>(pe)};
            in_.publish(ctx, group, ticket, static_cast<std::uint32_t>(Ctx::count_lanes(group)));
            return status::ok;
        }

        LANEWAY_FN void finish(Ctx&) {}

        /// Repacks a group, or looks after what waits.
        LANEWAY_FN void turn(Ctx& ctx) {
            constexpr lane_mask all = full_warp<Ctx>;
            const chunk_label label{once(ctx, all, [&] { return out_.poll(ctx, next_).bits; })};
            if (label.bits == 0) {
                (void)buffers_.flush_old(ctx, all, idle_);
                return end_if_closed(ctx);
            }
            ctx.sync(all);  // what lane 0 acquired is visible to the lanes that read the group
            const auto lane = static_cast<std::uint32_t>(ctx.lane());
            const bool has = lane < label.messages();
            const record mine = has ? reinterpret_cast<const record*>(out_.slot(next_))[lane] : record{};
            out_.release(ctx, all, next_);
            next_ += helpers_;
            (void)buffers_.put(ctx, all, has, static_cast<int>(mine.pe), mine.message, idle_);
        }

        LANEWAY_FN status drain(Ctx& ctx) {
            if (ctx.lane() == 0) {
                const std::uint64_t groups = ctx.load(queue_.ring.tail, order::relaxed, scope::device);
                // Partner: the acquire load in end_if_closed.
                ctx.store(queue_.closed, groups + 1, order::release, scope::device);
            }
            return wait_together(
                ctx, full_warp<Ctx>, {operation::flush, ctx.pe(), next_},
                // Partner: the release add in end_if_closed.
                [&] { return ctx.load(queue_.drained, order::acquire, scope::device) == helpers_; },
                [&] { help(ctx); });
        }

    private:
        /// While this lane waits for aggregators: where a warp has one lane it is one of them.
        LANEWAY_FN void help(Ctx& ctx) {
            idle_();
            if constexpr (Ctx::warp_lanes == 1) turn(ctx);
        }

        LANEWAY_FN void end_if_closed(Ctx& ctx) {
            if (ended_) return;
            const std::uint64_t closed = once(ctx, full_warp<Ctx>, [&] {
                // Partner: the release store in drain.
                return ctx.load(queue_.closed, order::acquire, scope::device);
            });
            if (closed == 0 || next_ < closed - 1) return;
            ended_ = true;
            status left = buffers_.flush(ctx, full_warp<Ctx>, idle_);
            if (left == status::ok) left = buffers_.await_left(ctx, full_warp<Ctx>, idle_);
            if (left != status::ok || ctx.lane() != 0) return;
            // Partner: the acquire load in drain.
            ctx.fetch_add(queue_.drained, 1, order::release, scope::device);
        }

        const view& queue_;
        aggregator<Ctx, Message> buffers_;
        chunk_sender in_;
        chunk_receiver out_;
        std::uint64_t next_;
        std::uint64_t helpers_;
        Idle idle_;
        bool ended_ = false;
    };
};

}  // namespace laneway::study
