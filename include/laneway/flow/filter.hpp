// The elements of an array that a predicate holds for, found by all devices of a context: the host streams the array to
// them in packets, and gathers what they keep. Source: Ben-Nun, Sutton, Pai, Pingali, "Groute", 2020, figure 3.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/flow/router.hpp"
#include "laneway/simt/group.hpp"
#include "laneway/simt/user_code.hpp"

namespace laneway::flow {

struct filter_options {
    std::size_t packet_bytes = 4 << 20;  ///< of the array that a device takes at once
    int buffers = 3;                     ///< packets that a device holds
    routing_policy policy = {};          ///< which device gets a packet; none: whichever has room first
};

/// What each device did.
struct filter_share {
    std::uint64_t elements = 0;  ///< looked at
    std::uint64_t packets = 0;
    std::uint64_t kept = 0;
};

/// Part of an array that one warp looks at. Warps have equal parts, one after the other.
struct warp_part {
    std::uint64_t warp;
    std::uint64_t warps;
    std::uint64_t begin;
    std::uint64_t end;

    template <class Ctx>
    LANEWAY_FN static warp_part of(const Ctx& ctx, std::uint64_t count) {
        const std::uint64_t lanes = static_cast<std::uint64_t>(Ctx::warp_lanes);
        const std::uint64_t warps = ctx.size() / lanes, warp = ctx.rank() / lanes;
        return {warp, warps, count / warps * warp + count % warps * warp / warps,
                count / warps * (warp + 1) + count % warps * (warp + 1) / warps};
    }
};

/// How many elements warps keep, and groups of warps: so that adding up what those before a warp keep takes few steps.
struct kept_counts {
    static constexpr std::uint64_t group = 64;

    std::uint64_t* by_warp;
    std::uint64_t* by_group;  ///< zero before the warps count

    [[nodiscard]] static constexpr std::uint64_t groups_of(std::uint64_t warps) { return (warps + group - 1) / group; }

    /// The whole warp, together.
    template <class Ctx>
    LANEWAY_FN std::uint64_t before(Ctx& ctx, std::uint64_t warp) const {
        std::uint64_t sum = 0;
        const auto lane = static_cast<std::uint64_t>(static_cast<unsigned>(ctx.lane()));
        for (std::uint64_t g = lane; g < warp / group; g += Ctx::warp_lanes) sum += by_group[g];
        for (std::uint64_t w = warp / group * group + lane; w < warp; w += Ctx::warp_lanes) sum += by_warp[w];
        return warp_sum(ctx, sum);
    }
};

/// How many elements of its part each warp keeps: where the next one's begin.
template <class T, class Predicate>
struct count_kept {
    const T* values;
    std::uint64_t count;
    Predicate keeps;
    kept_counts counts;
    std::uint64_t* next_by_group;  ///< of the next packet: the last one that used them is done with

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto part = warp_part::of(ctx, count);
        for (std::uint64_t g = ctx.rank(); g < kept_counts::groups_of(part.warps); g += ctx.size()) {
            next_by_group[g] = 0;
        }
        std::uint64_t mine = 0;
        for (std::uint64_t i = part.begin + static_cast<unsigned>(ctx.lane()); i < part.end; i += Ctx::warp_lanes) {
            mine += call_needs_LANEWAY_FN(keeps, values[i]) ? 1 : 0;
        }
        mine = warp_sum(ctx, mine);
        if (ctx.lane() != 0) return;
        counts.by_warp[part.warp] = mine;
        ctx.fetch_add(counts.by_group + part.warp / kept_counts::group, mine, order::relaxed, scope::device);
    }
};

/// Writes what is kept, in the order of the array, and how many these are.
template <class T, class Predicate>
struct write_kept {
    const T* values;
    std::uint64_t count;
    Predicate keeps;
    kept_counts counts;
    T* kept;  ///< as many as there are values
    std::uint64_t* total;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto part = warp_part::of(ctx, count);
        const std::uint64_t at = Ctx::warp_lanes == 1 && part.warps == 1
                                     ? write_alone()
                                     : write_part(ctx, part, counts.before(ctx, part.warp));
        if (part.warp + 1 == part.warps && ctx.lane() == 0) *total = at;
    }

private:
    /// Each store is done, so that no branch has to be guessed: the next one overwrites what is not kept.
    LANEWAY_FN std::uint64_t write_alone() const {
        std::uint64_t at = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            kept[at] = values[i];
            at += call_needs_LANEWAY_FN(keeps, values[i]) ? 1 : 0;
        }
        return at;
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t write_part(Ctx& ctx, const warp_part& part, std::uint64_t at) const {
        for (std::uint64_t base = part.begin; base < part.end; base += Ctx::warp_lanes) {
            const std::uint64_t i = base + static_cast<unsigned>(ctx.lane());
            const bool keep = i < part.end && call_needs_LANEWAY_FN(keeps, values[i]);
            const lane_mask keepers = ctx.ballot(full_warp<Ctx>, keep);
            if (keep) kept[at + static_cast<unsigned>(rank_in(ctx, keepers))] = values[i];
            at += static_cast<unsigned>(Ctx::count_lanes(keepers));
        }
        return at;
    }
};

/// Filters the packets of one link into another, until the first ends. A worker's thread. How much a packet leaves to
/// be sent is known when its kernels have ended; meanwhile the next one's are given to the device.
template <class T, class Predicate>
void filter_packets(context& ctx, const endpoint& at, const link& in, const link& out, std::size_t max_elements,
                    const Predicate& keeps, filter_share& share, device_stream& stream) {
    struct output {
        T* kept = nullptr;
        std::uint64_t* total = nullptr;
        std::uint64_t offset = 0;  ///< of the packet, in the array
        event counted, sent;
    };
    constexpr std::size_t n_outputs = 3;  // one is filled, one counted, and one leaves
    const std::uint64_t warps = stream.warps(), groups = kept_counts::groups_of(warps);
    const auto words = ctx.allocate<std::uint64_t>(at, warps + 2 * groups);
    const auto kept = ctx.allocate<T>(at, n_outputs * max_elements);
    const auto totals = ctx.allocate<std::uint64_t>(ctx.host(), n_outputs);
    output outputs[n_outputs];
    for (std::size_t i = 0; i < n_outputs; ++i) {
        outputs[i].kept = kept.get() + i * max_elements;
        outputs[i].total = totals.get() + i;
    }
    output* counting = nullptr;
    const auto send_counted = [&] {
        if (counting == nullptr) return;
        output& full = *std::exchange(counting, nullptr);
        ctx.wait(full.counted, "filtering a packet on " + at.name());
        share.kept += *full.total;
        full.sent = out.send(segment::of<T>(full.kept, *full.total, full.offset));
    };
    for (;;) {
        const pending_receive next = in.receive();
        if (!next.ready()) send_counted();
        const auto part = next.get();
        if (!part) break;
        output& to = outputs[share.packets % n_outputs];
        const std::uint64_t turn = share.packets++ % 2;
        const kept_counts counts{words.get(), words.get() + warps + turn * groups};
        std::uint64_t* const next_by_group = words.get() + warps + (1 - turn) * groups;
        out.wait(to.sent);
        const T* values = part.as<T>();
        const std::uint64_t count = part.count<T>();
        stream.wait(part.arrived());
        if (warps > 1) stream.run(count_kept<T, Predicate>{values, count, keeps, counts, next_by_group});
        stream.run(write_kept<T, Predicate>{values, count, keeps, counts, to.kept, to.total});
        in.release(part, stream);
        to.counted = stream.record();
        to.offset = part.info().offset;
        share.elements += count;
        send_counted();
        counting = &to;
    }
    send_counted();
    for (const auto& o : outputs) out.wait(o.sent);
    out.shutdown();
}

/// Hands pieces on in the order of what they were made from: those that come early wait.
template <class T>
class ordered_pieces {
public:
    /// Piece k is made from the bytes from k * step on.
    explicit ordered_pieces(std::uint64_t step) : step_(step) {}

    template <class Sink>
    void add(std::uint64_t offset, const T* elements, std::size_t count, Sink&& sink) {
        if (offset != next_) {
            early_.emplace(offset, std::vector<T>(elements, elements + count));
            return;
        }
        sink(elements, count);
        next_ += step_;
        for (auto first = early_.begin(); first != early_.end() && first->first == next_; next_ += step_) {
            sink(first->second.data(), first->second.size());
            first = early_.erase(first);
        }
    }
    /// Whether all pieces have been handed on of what was made from so many bytes.
    [[nodiscard]] bool complete(std::uint64_t bytes) const { return early_.empty() && next_ >= bytes; }

private:
    std::uint64_t step_;
    std::uint64_t next_ = 0;
    std::map<std::uint64_t, std::vector<T>> early_;
};

/// A policy that may not send a packet to several devices, as each of them would filter it.
inline routing_policy to_one_device(routing_policy policy) {
    if (!policy) return any_available();
    return [policy = std::move(policy)](const packet_info& packet, const endpoint& source,
                                        const std::vector<endpoint>& outputs) {
        route chosen = policy(packet, source, outputs);
        if (chosen.to_all && chosen.outputs.size() > 1) {
            throw usage_error("a filter sends each packet to one device, not to " +
                              std::to_string(chosen.outputs.size()));
        }
        return chosen;
    };
}

/// Calls `sink(elements, n)` on this thread for the elements that `keeps(x)` holds for, piece by piece, in their order.
/// `keeps` is copied to the devices and called by their lanes. Returns what each device did. A GPU takes memory that
/// context::pin or context::allocate has given at full speed, other memory more slowly. Host only; several at once, of
/// several threads, have a context each, in which no other worker runs. Throws what the dataflow's first error was, and
/// the context is closed then.
template <class T, class Predicate, class Sink>
std::vector<filter_share> filter_into(context& ctx, const T* values, std::size_t count, const Predicate& keeps,
                                      const filter_options& options, Sink&& sink) {
    static_assert(trivially_copyable<T> && trivially_copyable<Predicate>, "both are copied to the devices");
    const std::size_t step = options.packet_bytes / sizeof(T) * sizeof(T);
    const link_options sizes{options.packet_bytes, options.buffers};
    std::vector<filter_share> shares(ctx.devices().size());
    try {
        const router scatter(ctx, to_one_device(options.policy), "filter, to devices");
        const router gather(ctx, any_available(), "filter, to the host");
        const link feed(ctx, ctx.host(), scatter, sizes), collect(ctx, gather, ctx.host(), sizes);
        for (std::size_t d = 0; d < shares.size(); ++d) {
            const endpoint at = ctx.devices()[d];
            const link in(ctx, scatter, at, sizes), out(ctx, at, gather, sizes);
            ctx.start_worker(at, [&ctx, at, in, out, step, keeps, &share = shares[d]](device_stream& stream) {
                filter_packets<T>(ctx, at, in, out, step / sizeof(T), keeps, share, stream);
            });
        }
        const event sent = feed.send(segment::of(values, count));
        feed.shutdown();
        ordered_pieces<T> pieces(step);
        while (const auto part = collect.receive().get()) {
            ctx.wait(part.arrived(), "gathering what was kept");
            pieces.add(part.info().tag, part.template as<T>(), part.template count<T>(), sink);
            collect.release(part);
        }
        feed.wait(sent);
        ctx.join();
        if (!pieces.complete(count * sizeof(T))) throw device_fault("a filter has lost packets of its array");
    } catch (...) {
        ctx.close();  // nothing reads the caller's memory any more
        throw;
    }
    return shares;
}

/// The elements that `keeps(x)` holds for, in their order; as filter_into.
template <class T, class Predicate>
[[nodiscard]] std::vector<T> filter(context& ctx, const std::vector<T>& values, const Predicate& keeps,
                                    const filter_options& options = {}) {
    std::vector<T> kept;
    filter_into(ctx, values.data(), values.size(), keeps, options,
                [&](const T* elements, std::size_t count) { kept.insert(kept.end(), elements, elements + count); });
    return kept;
}

}  // namespace laneway::flow
