// Indirect aggregation through the host: lanes hand their messages over to a queue that host threads read, which repack
// them and place chunks for the destination (Gravel: Orr 2016, chapter 5). The lanes' side.
#pragma once

#include "host_aggregator.hpp"

namespace laneway::study {

template <class Message>
struct host_indirect {
    using record = addressed<Message>;
    /// Chunks come through rings of the host threads, which server warps must look at as well.
    static constexpr bool through_host = true;

    static int helper_warps(const study_options&, int) { return 0; }
    static std::size_t shared_bytes(chunk_shape<Message>, int, int) { return 0; }

    /// What the lanes of one PE know; the words are PE memory.
    struct view {
        work_group_sender<record> queue;
        const chunk_receiver* inbox = nullptr;  ///< one a host thread
        std::uint64_t* next = nullptr;          ///< next ticket of each
        int threads = 0;
        work_counters* tally = nullptr;  ///< posted and direct by lanes, served by servers
    };

    class memory {
    public:
        memory(machine& machine, const study_options& options, chunk_shape<Message> shape,
               const std::vector<study_grid>& grids)
            : service_(std::make_shared<host_aggregator<Message>>(machine, options, shape, grids)) {
            const auto threads = static_cast<std::size_t>(options.job.host_threads);
            for (int pe = 0; pe < machine.n_pes(); ++pe) {
                std::vector<chunk_receiver> in(threads);
                for (std::size_t t = 0; t < threads; ++t) {
                    in[t] = chunk_receiver(service_->outlet(static_cast<int>(t), pe).ring());
                }
                inbox_.emplace_back(machine.device(pe), threads).copy_in(in);
                next_.emplace_back(machine.device(pe), threads);
                tally_.emplace_back(machine.device(pe), 1);
            }
            machine.attach(service_);
        }
        void reset() {
            for (auto& next : next_) next.fill_bytes(0);
            for (auto& tally : tally_) tally.fill_bytes(0);
        }
        [[nodiscard]] view view_of(int pe, const comm_resources&) const {
            const auto p = static_cast<std::size_t>(pe);
            return {service_->sender(pe), inbox_[p].data(), next_[p].data(), service_->threads(), tally_[p].data()};
        }
        [[nodiscard]] std::size_t bytes(int pe) const {
            std::size_t bytes = service_->queue_bytes(pe);
            for (int t = 0; t < service_->threads(); ++t) bytes += service_->outlet(t, pe).bytes();
            return bytes;
        }
        /// Adds what went through the host to a report; throws device_fault where something was lost.
        void account(run_report& report) const {
            for (const auto& tally : tally_) {
                const work_counters work = tally.copy_out()[0];
                report.posted += work.posted;
                report.direct += work.direct;
                report.served += work.served;
            }
            report.carried = service_->taken();
            if (report.posted != report.direct + report.carried || report.carried != report.served) {
                throw device_fault("audit mismatch: " + std::to_string(report.posted) + " posted, " +
                                   std::to_string(report.direct) + " direct, " + std::to_string(report.served) +
                                   " served" + service_->account());
            }
        }
        [[nodiscard]] std::uint64_t chunks() const { return service_->chunks(); }

    private:
        std::shared_ptr<host_aggregator<Message>> service_;
        std::vector<buffer<chunk_receiver>> inbox_;
        std::vector<buffer<std::uint64_t>> next_;
        std::vector<buffer<work_counters>> tally_;
    };

    template <class Ctx, class Idle>
    class agent {
    public:
        static constexpr bool meets = false;

        LANEWAY_FN agent(Ctx&, const view& mine, const links_ref& links, chunk_shape<Message>, std::byte*, const place&,
                         Idle idle)
            : view_(mine), links_(links), idle_(idle) {}

        LANEWAY_FN void open(Ctx&) {}

        LANEWAY_FN status post(Ctx& ctx, bool active, int pe, const Message& message) {
            if (!active) return status::ok;
            const lane_mask group = ctx.converged();
            const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(group));
            column_position at;
            const status reserved = once(ctx, group, [&] {
                const status free = view_.queue.reserve(ctx, at, [&] {
                    if constexpr (Ctx::warp_lanes == 1) idle_();  // the host may wait for this PE to serve
                });
                // Before the host can see them: created work, see study_counters.
                ctx.fetch_add(&links_.work->deferred, lanes, order::relaxed, scope::device);
                return free;
            });
            if (reserved != status::ok) return reserved;
            const std::uint32_t slot = ctx.shuffle(group, at.slot, Ctx::first_lane(group));
            view_.queue.write(slot, static_cast<std::uint32_t>(rank_in(ctx, group)),
                              {message, static_cast<std::uint32_t>(pe)});
            view_.queue.publish(ctx, group, at, lanes);
            return status::ok;
        }

        LANEWAY_FN void finish(Ctx&) {}
        LANEWAY_FN void turn(Ctx&) {}
        LANEWAY_FN status drain(Ctx&) { return status::ok; }

    private:
        const view& view_;
        const links_ref& links_;
        Idle idle_;
    };

    /// Serves what host threads have placed, at most a chunk from each of this warp's; returns whether there was
    /// any. Serving warps, whole; `serve` as in server.hpp.
    template <class Ctx, class Serve>
    static LANEWAY_FN bool serve_inbox(Ctx& ctx, const view& mine, const links_ref& links, int server_index,
                                       Serve&& serve) {
        bool any = false;
        for (int t = server_index; t < mine.threads; t += links.server_warps) {
            const std::uint64_t ticket = mine.next[t];
            const chunk_receiver& ring = mine.inbox[t];
            const chunk_label label{once(ctx, full_warp<Ctx>, [&] { return ring.poll(ctx, ticket).bits; })};
            if (label.bits == 0) continue;
            any = true;
            ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read the slot
            serve(ctx.pe(), arrived_chunk{ring, ticket, label});
            ctx.sync(full_warp<Ctx>);
            if (ctx.lane() == 0) {
                mine.next[t] = ticket + 1;
                ctx.fetch_add(&mine.tally->served, label.messages(), order::relaxed, scope::device);
                // Partner: the acquire load in study_counters.
                ctx.fetch_add(&links.work->completed, label.messages(), order::release, scope::device);
            }
            ring.release(ctx, full_warp<Ctx>, ticket);
        }
        return any;
    }
};

}  // namespace laneway::study
