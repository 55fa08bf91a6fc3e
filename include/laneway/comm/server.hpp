// The receiving half of a mailbox: warps that take arrived chunks and run their handlers.
//
// Tickets are shared out beforehand, so servers need no atomics among themselves: a service line is a pair of source
// and residue, it serves the tickets of that source that are congruent to the residue, and it belongs to one warp.
// Handlers must not wait for remote space, and servers wait for that of replies only: so servers always drain, and
// senders always end.
#pragma once

#include "laneway/comm/links.hpp"
#include "laneway/comm/routes.hpp"

namespace laneway {

/// Lines of a PE. Every source gets the same number; there are at least as many lines as sources.
struct service_lines {
    int sources = 0;
    int residues = 0;

    LANEWAY_FN service_lines(int n_pes, int server_warps)
        : sources(n_pes - 1), residues(sources == 0 ? 0 : (server_warps < sources ? 1 : server_warps / sources)) {}

    [[nodiscard]] LANEWAY_FN int count() const { return sources * residues; }
    [[nodiscard]] LANEWAY_FN int source(int line, int me) const {
        const int other = line % sources;
        return other < me ? other : other + 1;
    }
    [[nodiscard]] LANEWAY_FN int residue(int line) const { return line / sources; }
};

/// `Serve` is called by the whole warp for each chunk: serve(source, label, payload). It runs the handler of every
/// message and may wait for nothing that depends on this server.
template <class Ctx, class Serve>
class server {
public:
    /// `index`: number of this warp among the PE's server warps.
    LANEWAY_FN server(Ctx& ctx, const links_ref& links, int index, Serve serve)
        : links_(links), serve_(serve), lines_(ctx.n_pes(), links.server_warps), index_(index) {}

    /// Serves what has arrived on this warp's lines, at most one chunk a line; returns whether there was any. The whole
    /// warp, together.
    LANEWAY_FN bool turn(Ctx& ctx) {
        bool served = false;
        if (links_.deaf) return false;
        for (int line = index_; line < lines_.count(); line += links_.server_warps) {
            const int source = lines_.source(line, ctx.pe());
            const chunk_receiver& ring = links_.from[source];
            const std::uint64_t ticket = links_.line_next[line];
            const chunk_label label{once(ctx, full_warp<Ctx>, [&] { return ring.arrived(ctx, ticket).bits; })};
            if (label.bits == 0) continue;
            ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read the payload
            served = true;
            // Before the chunk is served: serving may wait, and this line may then be looked at again.
            if (ctx.lane() == 0) links_.line_next[line] = ticket + static_cast<std::uint64_t>(lines_.residues);
            serve_(source, label, ring.slot(ticket));
            ctx.sync(full_warp<Ctx>);
            if (ctx.lane() == 0) {
                // Partner: the acquire load in ledger. Whoever counts these as served has counted what their handlers
                // made.
                ctx.fetch_add(links_.served, label.messages(), order::release, scope::device);
            }
            if (!links_.keeps_credits) ring.give_back(ctx, full_warp<Ctx>, ticket);
        }
        return served;
    }

private:
    const links_ref& links_;
    Serve serve_;
    service_lines lines_;
    int index_;
};

/// Runs the handlers of a chunk's messages, which answer nothing. The whole warp, together.
template <class Ctx, class Message, class Routes>
LANEWAY_FN void serve_plain(Ctx& ctx, const delivery<Routes>& handlers, chunk_label label, const std::byte* payload) {
    const auto* messages = reinterpret_cast<const Message*>(payload);
    for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < label.messages(); i += Ctx::warp_lanes) {
        handlers.run(ctx, messages[i]);
    }
}

}  // namespace laneway
