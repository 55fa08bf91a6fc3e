// Hierarchical aggregation: PEs form a square of about sqrt(n) rows and columns, and a message takes two hops, first to
// the PE of its sender's row in the destination's column, then down that column. A PE fills buffers for its row and its
// column only, 2 sqrt(n) of them and not n, so each fills sooner; every message is carried twice.
//
// Built on the library's mailbox: the first hop's handler posts onward. The library's bins and rings for the other PEs
// exist, but stay empty.
#pragma once

#include "laneway/runtime.hpp"

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

/// Serves a message that has arrived, and sends others on.
template <class Message, class Handler>
struct forward_hop {
    static constexpr bool posts_onward = true;
    Handler handler;

    template <class Ctx, class Next>
    LANEWAY_FN void operator()(Ctx& ctx, const hop<Message>& m, Next& next) const {
        if (static_cast<int>(m.pe) == ctx.pe()) {
            handler(ctx, m.message);
        } else {
            (void)next.post(ctx, static_cast<int>(m.pe), m);  // a list that is full ends the run
        }
    }
};

/// What a functor posts into.
template <class Ctx, class Box>
class two_hop_box {
public:
    LANEWAY_FN two_hop_box(Box& box, const pe_square& square) : box_(box), square_(square) {}

    /// As outbox::post.
    template <class Message>
    LANEWAY_FN status post(Ctx& ctx, int pe, const Message& message) {
        if (Ctx::warp_lanes == 1 && ++posts_ % 16 == 0) (void)box_.send_onward(ctx);  // here no other warp does
        const bool exists = pe >= 0 && pe < ctx.n_pes();
        const int first = exists ? square_.first_hop(ctx.pe(), pe) : pe;
        return box_.post(ctx, first, hop<Message>{message, static_cast<std::uint32_t>(pe)});
    }

private:
    Box& box_;
    const pe_square& square_;
    unsigned posts_ = 0;
};

/// Runs a functor over the two-hop box.
template <class Functor>
struct over_two_hops {
    Functor functor;
    pe_square square;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        two_hop_box<Ctx, Box> two_hops(box, square);
        functor(ctx, two_hops);
    }
};

/// As runtime::run with a mailbox of `handler`. Of a run's messages options::onward_slots may wait on a PE to be sent
/// on.
template <class Message, class Handler, class Functor>
run_report run_hierarchy(runtime& runtime, const Handler& handler, const Functor& functor) {
    const auto box = runtime.mailbox<hop<Message>>(forward_hop<Message, Handler>{handler});
    return runtime.run(over_two_hops<Functor>{functor, pe_square::of(runtime.n_pes())}, box);
}

}  // namespace laneway::study
