#include "routed_components.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "join_arcs.hpp"
#include "laneway/base/in_threads.hpp"
#include "laneway/flow/router.hpp"
#include "laneway/graph/partition.hpp"
#include "numbering.hpp"
#include "parallel/packet_size.hpp"

namespace laneway::apps {

namespace {

/// One run: two routers, the links of each device to them, and what went over these.
template <class Vertex>
class routed_forests {
    using loose = loose_arc<Vertex>;
    using clock = std::chrono::steady_clock;

public:
    routed_forests(flow::context& ctx, const graph::basic_csr<Vertex>& g, const flow::link_options& sizes)
        : ctx_(ctx), graph_(g), sizes_(sizes), deal_(ctx, flow::any_available(), "arcs"),
          merge_(ctx, flow::tree(), "forests"), feed_(ctx, ctx.host(), deal_, sizes),
          collect_(ctx, merge_, ctx.host(), sizes), room_(sizes.packet_bytes / sizeof(loose)),
          senders_(senders_for(ctx.devices().size(), g.arcs() / room_)),
          packets_(ctx.allocate<loose>(ctx.host(), room_ * own_packets * senders_)),
          traffic_(ctx.devices().size() * ctx.devices().size()) {
        for (const flow::endpoint& at : ctx.devices()) {
            ends_.push_back({flow::link(ctx, deal_, at, sizes), flow::link(ctx, merge_, at, sizes),
                             flow::link(ctx, at, merge_, sizes)});
        }
    }

    cc_result run() {
        const auto start = clock::now();
        for (std::size_t d = 0; d < ends_.size(); ++d) {
            ctx_.start_worker(ctx_.devices()[d], [this, d](device_stream& stream) { work(d, stream); });
        }
        send_arcs();
        const std::vector<Vertex> roots = gather();
        ctx_.join();
        traffic_[0] = sum(traffic_[0], gathered_);
        cc_result result;
        result.report = report(std::chrono::duration<double>(clock::now() - start).count());
        number_components(roots, result);
        return result;
    }

private:
    /// Of one device.
    struct ends {
        flow::link arcs;     ///< from the host
        flow::link forests;  ///< from devices further down the tree
        flow::link up;       ///< its own forest
    };

    static constexpr std::size_t own_packets = 2;  ///< of a thread: one is filled while the other is sent

    /// So many that each device can be sent to, and half of the host's cores, but eight at most; and no more than there
    /// are packets.
    static std::uint64_t senders_for(std::size_t devices, std::uint64_t packets) {
        const std::uint64_t cores = std::clamp(std::thread::hardware_concurrency() / 2, 1u, 8u);
        return std::min<std::uint64_t>(std::max<std::uint64_t>(cores, devices / own_packets + 1), packets + 1);
    }

    static traffic sum(const traffic& a, const traffic& b) {
        return {a.messages + b.messages, a.chunks + b.chunks, a.bytes + b.bytes};
    }
    static traffic of(const flow::pending_segment& part, std::size_t elements) { return {elements, 1, part.bytes()}; }

    /// Threads of the host share out the vertices: one alone takes longer to fill packets than a GPU to join them.
    void send_arcs() {
        std::atomic<std::size_t> started = 0;
        in_threads(graph::equal_arc_ranges(graph_, senders_),
                   [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
                       send_arcs_of(begin, end, packets_.get() + started++ * own_packets * room_, going);
                   });
        feed_.shutdown();
    }
    /// Fills packets in turn, each again when a device has it. Loops join nothing.
    void send_arcs_of(std::uint64_t begin, std::uint64_t end, loose* const packets, keep_going& going) {
        std::array<event, own_packets> sent;
        std::size_t filled = 0, slot = 0;
        const auto send = [&] {
            sent[slot] = feed_.send(flow::segment::of(packets + slot * room_, filled));
            slot = (slot + 1) % own_packets;
            filled = 0;
            feed_.wait(sent[slot]);
        };
        for (std::uint64_t v = begin; v < end; ++v) {
            for (std::uint64_t arc = graph_.offsets[v]; arc < graph_.offsets[v + 1]; ++arc) {
                if (!going) return;
                if (graph_.heads[arc] == v) continue;
                packets[slot * room_ + filled++] = {static_cast<Vertex>(v), graph_.heads[arc]};
                if (filled == room_) send();
            }
        }
        if (filled > 0) send();
        for (const event& one : sent) feed_.wait(one);
    }

    /// On a device's thread.
    void work(std::size_t d, device_stream& stream) {
        const ends& mine = ends_[d];
        const auto parent = ctx_.allocate<Vertex>(ctx_.devices()[d], graph_.vertices());
        const local_forest<Vertex> forest{parent.get(), graph_.vertices()};
        stream.run(begin_forest<Vertex>{forest});
        while (const auto part = mine.arcs.receive().get()) {
            const std::size_t count = part.template count<loose>();
            stream.wait(part.arrived());
            stream.run(join_arcs<Vertex>{forest, part.template as<loose>(), count});
            mine.arcs.release(part, stream);
            add(d, d, of(part, count));
        }
        merge(d, forest, stream);
        stream.run(flatten_forest<Vertex>{forest});
        if (forest.count > 0) mine.up.wait(mine.up.send(flow::segment::of(parent.get(), forest.count), stream));
        mine.up.shutdown();
        ctx_.wait(stream.record(), "joining arcs");
    }

    /// Joins the forests of the devices that send to this one, in whichever order their packets come.
    void merge(std::size_t d, const local_forest<Vertex>& forest, device_stream& stream) {
        const flow::link& in = ends_[d].forests;
        for (std::uint64_t left = senders_to(d) * forest.count; left > 0;) {
            const auto part = in.receive().get();
            if (!part) throw device_fault("connected components have lost packets of a forest");
            const std::size_t count = part.template count<Vertex>();
            stream.wait(part.arrived());
            stream.run(
                join_forest<Vertex>{forest, part.info().offset / sizeof(Vertex), part.template as<Vertex>(), count});
            in.release(part, stream);
            add(static_cast<std::size_t>(part.source().device()), d, of(part, count));
            left -= count;
        }
    }

    /// Devices that send to this one by flow::tree().
    [[nodiscard]] std::uint64_t senders_to(std::size_t d) const {
        std::uint64_t senders = 0;
        for (std::size_t step = 1; d + step < ends_.size() && (d & step) == 0; step *= 2) ++senders;
        return senders;
    }

    std::vector<Vertex> gather() {
        std::vector<Vertex> roots(graph_.vertices());
        for (std::size_t left = roots.size(); left > 0;) {
            const auto part = collect_.receive().get();
            if (!part) throw device_fault("connected components have lost packets of a forest");
            ctx_.wait(part.arrived(), "gathering components");
            const std::size_t count = part.template count<Vertex>();
            std::copy_n(part.template as<Vertex>(), count, roots.begin() + part.info().offset / sizeof(Vertex));
            collect_.release(part);
            gathered_ = sum(gathered_, of(part, count));
            left -= count;
        }
        return roots;
    }

    /// Each entry is one worker's until all are over.
    void add(std::size_t from, std::size_t to, const traffic& more) {
        traffic& entry = traffic_[from * ends_.size() + to];
        entry = sum(entry, more);
    }

    [[nodiscard]] run_report report(double seconds) const {
        run_report made;
        made.run_seconds = seconds;
        made.traffic_matrix = traffic_;
        for (const traffic& entry : traffic_) made.posted += entry.messages;
        made.carried = made.served = made.posted;
        for (const flow::endpoint& at : ctx_.devices()) {
            made.devices.push_back(at.name());
            made.buffer_bytes.push_back(2 * sizes_.packet_bytes * static_cast<unsigned>(sizes_.buffers));
            made.device_bytes.push_back(ctx_.peak_bytes(at));
        }
        return made;
    }

    flow::context& ctx_;
    const graph::basic_csr<Vertex>& graph_;
    flow::link_options sizes_;
    flow::router deal_, merge_;
    flow::link feed_, collect_;
    const std::size_t room_;                ///< arcs of a packet
    const std::uint64_t senders_;           ///< threads of the host that fill packets
    const std::shared_ptr<loose> packets_;  ///< of the host, own_packets for each of these
    std::vector<ends> ends_;
    std::vector<traffic> traffic_;  ///< as run_report has it
    traffic gathered_;              ///< from the first device to the host
};

template <class Vertex>
cc_result join_on(flow::context& ctx, const graph::basic_csr<Vertex>& g, const routed_components_options& options) {
    if (options.buffers < 1) throw usage_error("buffers must be above 0");
    constexpr std::size_t least = sizeof(loose_arc<Vertex>);
    const std::size_t bytes = packet_size(options.packet_bytes, 2 * static_cast<std::uint64_t>(options.buffers),
                                          g.arcs() * least, ctx.devices().size(), options.job);
    if (bytes < least) {
        const std::string told = std::to_string(least) + " bytes, an arc's";
        throw usage_error(options.packet_bytes != 0 ? "packet_bytes must be at least " + told
                                                    : "buffer_bytes = " + std::to_string(options.job.buffer_bytes) +
                                                          " is too little: a packet takes at least " + told);
    }
    routed_forests<Vertex> forests(ctx, g, {bytes / least * least, options.buffers});
    try {
        return forests.run();
    } catch (...) {
        ctx.close();  // nothing uses what the run has any more
        throw;
    }
}

cc_result join_on(flow::context& ctx, const graph::graph& graph, const routed_components_options& options) {
    return std::visit([&](const auto& g) { return join_on(ctx, g, options); }, graph.arcs);
}

}  // namespace

cc_result components_by_router(const graph::graph& graph, const routed_components_options& options) {
    flow::context ctx(options.job);
    return join_on(ctx, graph, options);
}

cc_result components_by_router(workspace& devices, const graph::graph& graph, routed_components_options options) {
    options.job = devices.job();
    return devices.stream([&](flow::context& ctx) { return join_on(ctx, graph, options); });
}

}  // namespace laneway::apps
