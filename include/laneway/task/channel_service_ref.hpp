// A graph of channels in a session: the view of one PE, and what its warps do for the host beside serving channels.
#pragma once

#include "laneway/run/host_inbox_ref.hpp"
#include "laneway/task/channel_graph_ref.hpp"

namespace laneway {

/// The kernel of a channel whose elements are for host threads: it stores them where these read.
template <class T>
struct give_to_host {
    using element = T;

    std::uint32_t channel;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, T& given, channel_node& node) const {
        const channel_result_ring_ref& results = node.set().results;
        std::uint64_t place = 0;
        if (!results.reserve(ctx, ctx.converged(), place)) return outcome::yield;  // until host threads have taken some
        results.fill(ctx, place, channel, reinterpret_cast<const std::byte*>(&given), sizeof(T));
        return outcome::done;
    }
};

template <class Ctx, class Out, class View>
class channel_service_agent;

template <class Policy, class... Kernels>
struct channel_service_ref : channel_graph_ref<Policy, Kernels...> {
    using graph = channel_graph_ref<Policy, Kernels...>;
    static constexpr bool takes_from_host = true;
    static constexpr std::size_t shared_bytes = graph::shared_bytes + sizeof(inbox_shared);

    inbox_ref inbox;  ///< its slots hold elements: `kind` is the channel

    template <class Ctx, class Out>
    LANEWAY_FN channel_service_agent<Ctx, Out, channel_service_ref> agent(Ctx&, Out& out, const roles& mine,
                                                                          std::byte* shared) const {
        return {*this, out, mine, shared};
    }
    template <class Ctx, class Out>
    LANEWAY_FN channel_service_agent<Ctx, Out, channel_service_ref> agent(Ctx&, Out& out, const roles& mine,
                                                                          std::byte* shared, block_team<Ctx>& team,
                                                                          std::uint32_t component) const {
        return {*this, out, mine, shared, &team, component};
    }
    /// What has been passed on from the host is work as well, until it lies in its channel.
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        graph::add_created(ctx, sum);
        inbox.add_created(ctx, sum);
    }
    template <class Ctx>
    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const {
        inbox.take_from_host(ctx, orders);
    }
};

/// Members are called as component.hpp says.
template <class Ctx, class Out, class View>
class channel_service_agent {
public:
    static constexpr bool polls = true;
    static constexpr bool attends = true;

    LANEWAY_FN channel_service_agent(const View& view, Out& out, const roles& mine, std::byte* shared,
                                     block_team<Ctx>* team = nullptr, std::uint32_t component = 0)
        : view_(view), out_(out), shared_(reinterpret_cast<inbox_shared*>(shared + View::graph::shared_bytes)),
          channels_(view, out, mine, shared, team, component) {}

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0) *shared_ = {};
        channels_.open(ctx);
    }
    LANEWAY_FN void close(Ctx& ctx) { channels_.close(ctx); }

    LANEWAY_FN void attend(Ctx& ctx) {
        if (ctx.lane() != 0) return;
        view_.set.results.pass_on(ctx);
        view_.inbox.attend(ctx, *shared_);
    }
    LANEWAY_FN void refresh(Ctx& ctx) {
        channels_.refresh(ctx);
        view_.inbox.refresh(ctx, *shared_);
    }
    LANEWAY_FN bool poll(Ctx& ctx) {
        const bool is_turn = ++turns_ % turns_to_take == 0;
        const bool took = is_turn && take(ctx);
        return channels_.poll(ctx) || took || (!is_turn && take(ctx));
    }

private:
    static constexpr unsigned turns_to_take = 8;  ///< so host threads are heard while there is other work
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    /// Puts what host threads have left into channels, one element for each lane. An element that finds no space stays
    /// with its lane until it does; others go on. The whole warp; whether some found space.
    LANEWAY_FN bool take(Ctx& ctx) {
        if (ctx.ballot(full_warp<Ctx>, slot_ != none) == 0 && !claim(ctx)) return false;
        const bool placed = slot_ != none && place(ctx);
        ctx.sync(full_warp<Ctx>);
        const int count = Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, placed));
        // Counted as elements of their channels by then.
        if (ctx.lane() == 0 && count != 0) out_.complete(ctx, static_cast<std::uint32_t>(count));
        return count != 0;
    }
    LANEWAY_FN bool claim(Ctx& ctx) {
        const std::uint64_t claimed = view_.inbox.claim(ctx, *shared_);
        const auto count = static_cast<std::uint32_t>(claimed % 64);
        if (count == 0) return false;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        if (lane < count) slot_ = claimed / 64 + lane;
        return true;
    }
    /// Moves the element in this lane's slot into the first level of its channel. Any lane.
    LANEWAY_FN bool place(Ctx& ctx) {
        inbox_slot& slot = view_.inbox.slot(slot_);
        const std::uint32_t number = slot.kind;
        // The bytes of an element whose type is not known here.
        const auto room = channels_.talloc(ctx, channel<std::byte>{number});
        if (!room) return false;
        const channel_queue_ref queue = view_.set.queue(room.queue());
        const std::uint32_t at = queue.place_of(room.first());
        copy_bytes(queue.element(at), slot.message<std::byte>(), view_.set.channels[number].element_bytes);
        view_.inbox.give_back(ctx, slot_);
        slot_ = none;
        channels_.enq_place(ctx, room.queue(), at);
        return true;
    }

    const View& view_;
    Out& out_;
    inbox_shared* shared_;
    typename View::graph::template agent_type<Ctx, Out> channels_;
    unsigned turns_ = 0;
    std::uint64_t slot_ = none;  ///< of the inbox, that this lane has claimed
};

}  // namespace laneway
