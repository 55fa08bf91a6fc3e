// The receiving half of a mailbox: warps that take arrived chunks and run their handlers.
//
// A service stripe is a pair of source and residue, and serves the tickets of that source that are congruent to the
// residue. Each belongs to one server warp. Where whole blocks serve it is that warp's alone, and servers need no
// atomics among themselves. Elsewhere any warp may claim its next chunk once that has arrived, by moving the stripe's
// ticket on; so nobody who serves a chunk keeps others from the one behind (docs/design/0103). Handlers must not wait
// for remote space, and servers wait for that of replies only: so servers always drain, and senders always end.
#pragma once

#include "laneway/comm/links.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/comm/routes.hpp"
#include "laneway/simt/message_order.hpp"

namespace laneway {

/// Stripes of a PE. Every source gets the same number; there are at least as many stripes as sources.
struct service_stripes {
    int sources = 0;
    int residues = 0;

    LANEWAY_FN service_stripes(int n_pes, int server_warps)
        : sources(n_pes - 1), residues(sources == 0 ? 0 : (server_warps < sources ? 1 : server_warps / sources)) {}

    [[nodiscard]] LANEWAY_FN int count() const { return sources * residues; }
    [[nodiscard]] LANEWAY_FN int source(int stripe, int me) const {
        const int other = stripe % sources;
        return other < me ? other : other + 1;
    }
    [[nodiscard]] LANEWAY_FN int residue(int stripe) const { return stripe / sources; }
};

/// A chunk that has arrived, and its messages.
struct arrived_chunk {
    const chunk_receiver& ring;
    std::uint64_t ticket;
    chunk_label label;

    /// Takes message i. Any lane; false when the run ends.
    template <class Ctx, class Message>
    [[nodiscard]] LANEWAY_FN bool load(Ctx& ctx, std::uint32_t i, Message& message) const {
        if constexpr (fits_words<Message>(1)) {
            if (label.in_words()) return ring.load_words(ctx, ticket, i, message);
        }
        message = reinterpret_cast<const Message*>(ring.slot(ticket))[i];
        return true;
    }
    /// Calls `use(message)` with message i, large ones where they lie. Any lane; not when the run ends.
    template <class Message, class Ctx, class Use>
    LANEWAY_FN void use(Ctx& ctx, std::uint32_t i, Use&& use) const {
        if constexpr (fits_words<Message>(1)) {
            Message message;
            if (load(ctx, i, message)) use(message);
        } else {
            use(reinterpret_cast<const Message*>(ring.slot(ticket))[i]);
        }
    }
};

/// `Serve` is called by the whole warp for each chunk: serve(source, chunk). It runs the handler of every message and
/// may wait for nothing that depends on this server.
template <class Ctx, class Serve>
class server {
public:
    LANEWAY_FN server(Ctx& ctx, const links_ref& links, const roles& mine, Serve serve)
        : links_(links), serve_(serve), stripes_(ctx.n_pes(), links.server_warps), n_stripes_(stripes_.count()),
          index_(mine.serves ? mine.server_index : n_stripes_),
          first_source_(index_ >= 0 && index_ < n_stripes_ ? stripes_.source(index_, ctx.pe()) : 0),
          claims_(mine.claims && n_stripes_ > 0), other_(claims_ ? mine.server_index % n_stripes_ : 0) {}

    /// Serves what has arrived on this warp's stripes, at most one chunk a stripe, or else, where chunks are claimed,
    /// the next one of another stripe; returns whether there was any. The whole warp, together.
    LANEWAY_FN bool turn(Ctx& ctx) {
        if (links_.deaf) return false;
        bool served = false;
        // A warp with one stripe does little else: how soon it looks again is part of a lone message's time.
        const int own_looks = Ctx::warp_lanes > 1 && n_stripes_ <= links_.server_warps ? 4 : 1;
        for (int look = 0; look < own_looks + (claims_ ? 1 : 0) && !served; ++look) {
            const bool own = look < own_looks;
            int source = first_source_;  // most warps have one stripe at most
            int stripe = index_;
            if (!own) {
                stripe = other_ = other_ + 1 < n_stripes_ ? other_ + 1 : 0;
                source = stripes_.source(stripe, ctx.pe());
            }
            while (stripe < n_stripes_) {
                served = serve(ctx, stripe, source) || served;
                stripe += own ? links_.server_warps : n_stripes_;
                if (stripe < n_stripes_) source = stripes_.source(stripe, ctx.pe());
            }
        }
        return served;
    }

private:
    /// The label of the next chunk of a stripe that is this warp's alone, 0 while it has not arrived.
    LANEWAY_FN chunk_label take(Ctx& ctx, const chunk_receiver& ring, int stripe, std::uint64_t& ticket) {
        ticket = links_.stripe_next[stripe];
        const chunk_label label{once(ctx, full_warp<Ctx>, [&] { return ring.poll(ctx, ticket).bits; })};
        if (label.bits == 0) return label;
        ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read the payload
        // Before the chunk is served: serving may wait, and this stripe may then be looked at again.
        if (ctx.lane() == 0) links_.stripe_next[stripe] = ticket + static_cast<std::uint64_t>(stripes_.residues);
        return label;
    }

    /// The same where others may claim it as well; 0 also where another warp was faster.
    LANEWAY_FN chunk_label claim(Ctx& ctx, const chunk_receiver& ring, int stripe, std::uint64_t& ticket) {
        std::uint64_t* const next = links_.stripe_next + stripe;
        const chunk_label label{once(ctx, full_warp<Ctx>, [&]() -> std::uint32_t {
            // No order between claims of a stripe: who has a chunk acquires it, and nothing else.
            ticket = ctx.load(next, order::relaxed, scope::device);
            const std::uint64_t seen = ring.peek(ctx, ticket);
            if (chunk_receiver::label_of(seen, ticket).bits == 0) return 0;
            std::uint64_t expected = ticket;
            const std::uint64_t behind = ticket + static_cast<std::uint64_t>(stripes_.residues);
            if (!ctx.compare_exchange(next, expected, behind, order::relaxed, scope::device)) return 0;
            return ring.poll(ctx, ticket, seen).bits;
        })};
        if (label.bits == 0) return label;
        ctx.sync(full_warp<Ctx>);  // as in take
        ticket = ctx.shuffle(full_warp<Ctx>, ticket, 0);
        return label;
    }

    /// Serves a stripe's next chunk, if it has arrived.
    LANEWAY_FN bool serve(Ctx& ctx, int stripe, int source) {
        const chunk_receiver& ring = links_.from[source];
        std::uint64_t ticket = 0;
        const chunk_label label = claims_ ? claim(ctx, ring, stripe, ticket) : take(ctx, ring, stripe, ticket);
        if (label.bits == 0) return false;
        tell_history(ctx, [&](auto& history) { history.arrive(ring.slot(ticket), source); });
        serve_(source, arrived_chunk{ring, ticket, label});
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) {
            // Partner: the acquire load in pe_counters. Who counts these as served counts what their handlers made, in
            // the next round at the latest.
            ctx.fetch_add(links_.served, label.messages(), order::release, scope::device);
        }
        if (!links_.keeps_credits) ring.release(ctx, full_warp<Ctx>, ticket);
        return true;
    }

    const links_ref& links_;
    Serve serve_;
    service_stripes stripes_;
    int n_stripes_;
    int index_;  ///< its first stripe; as many as there are: none
    int first_source_;
    bool claims_;
    int other_;  ///< the stripe of others that it has looked at last
};

/// Runs the handlers of a chunk's messages, which answer nothing. The whole warp, together.
template <class Ctx, class Message, class Routes>
LANEWAY_FN void serve_plain(Ctx& ctx, const delivery<Routes>& handlers, int source, const arrived_chunk& chunk) {
    constexpr auto stride = static_cast<std::uint32_t>(Ctx::warp_lanes);
    const auto lane = static_cast<std::uint32_t>(ctx.lane());
    if constexpr (stride == 1 || sizeof(Message) > 16 || !fits_words<Message>(1)) {
        for (std::uint32_t i = lane; i < chunk.label.messages(); i += stride) {
            chunk.use<Message>(ctx, i, [&](const Message& message) { handlers.run(ctx, source, message); });
        }
    } else {
        // Several loads are on the way at once, while registers hold what they bring.
        constexpr std::uint32_t batch = 4;
        for (std::uint32_t i = lane; i < chunk.label.messages(); i += stride * batch) {
            const std::uint32_t left = (chunk.label.messages() - i - 1) / stride + 1;
            Message loaded[batch];
            bool here = true;
            for (std::uint32_t k = 0; k < batch; ++k) {
                if (k < left) here = chunk.load(ctx, i + k * stride, loaded[k]) && here;
            }
            for (std::uint32_t k = 0; here && k < batch && k < left; ++k) {
                // Chosen by comparing, not by indexing: so the messages stay in registers.
                Message message = loaded[0];
                for (std::uint32_t j = 1; j < batch; ++j) message = j == k ? loaded[j] : message;
                handlers.run(ctx, source, message);
            }
        }
    }
}

}  // namespace laneway
