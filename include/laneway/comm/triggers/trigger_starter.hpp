// What triggered operations start beside their transfer: messages of a mailbox, tasks of a pool. A component that takes
// such items has `starter_type` and `starter_type starter(int pe) const`. A *starter* is trivially copyable, lies in
// the view of a PE, and has these members:
//
// - `count`: how many types of item it takes.
// - `kind<Item>`: the number of a type; `count` for those that it does not take.
// - `item_bytes`: size of the largest item.
// - `forwards`: whether it leaves messages in the forward queue.
// - `stays`: whether items are for the tag's own PE alone.
// - `bool start(ctx, out, number, pe, item) const`: starts an item; false where there is no room now. One lane calls
//   it, any but a handler's, and it does not wait.
#pragma once

#include "laneway/comm/routes.hpp"
#include "laneway/comm/triggers/trigger_operation.hpp"

namespace laneway {

/// Posts messages of a mailbox. They go the way of what handlers forward: whoever takes a round from the queue may be
/// inside a wait of its own, and cannot wait for room.
template <class Routes>
struct message_starter {
    using list = route_list<Routes>;
    static constexpr std::uint32_t count = list::count;
    static constexpr std::size_t item_bytes = list::message_bytes;
    static constexpr bool forwards = true;
    static constexpr bool stays = false;

    template <class Item>
    static constexpr std::uint32_t kind = [] {
        if constexpr (list::template has<Item>) {
            return list::template takes_payload<Item> ? count : list::template kind<Item>;
        } else {
            return count;
        }
    }();

    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx& ctx, Out& out, std::uint32_t number, int pe, const std::byte* item) const {
        bool started = false;
        list::visit(number, [&]<class Message, class Handler>() {
            if constexpr (!taking_payload<Handler>) {
                static_assert(Out::template carries<Message>,
                              "the mailbox whose messages triggers post is part of the same run or session");
                started = out.try_forward(ctx, pe, *reinterpret_cast<const Message*>(item));
            }
        });
        return started;
    }
};

/// All that the triggers of a component start; types of item are numbered through.
template <class... Starters>
struct starter_list {
    static constexpr std::uint32_t count = 0;
    static constexpr std::size_t item_bytes = 0;
    static constexpr bool forwards = false;
    template <class Item>
    static constexpr std::uint32_t kind = 0;
    template <class Item>
    static constexpr bool stays = false;

    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx&, Out&, std::uint32_t, int, const std::byte*) const {
        return true;
    }
};

template <class First, class... Rest>
struct starter_list<First, Rest...> {
    using others = starter_list<Rest...>;
    static constexpr std::uint32_t count = First::count + others::count;
    static constexpr std::size_t item_bytes = greatest(First::item_bytes, others::item_bytes);
    static constexpr bool forwards = First::forwards || others::forwards;
    static_assert(count < 255, "triggers start 254 types of message and task at most");
    template <class Item>
    static constexpr bool is_first = First::template kind<Item> != First::count;
    template <class Item>
    static constexpr std::uint32_t kind =
        is_first<Item> ? First::template kind<Item> : First::count + others::template kind<Item>;
    template <class Item>
    static constexpr bool stays = is_first<Item> ? First::stays : others::template stays<Item>;

    First first;
    others rest;

    /// Starts an item of this kind; false where there is no room for it now. One lane that runs no handler.
    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx& ctx, Out& out, std::uint32_t number, int pe, const std::byte* item) const {
        if (number < First::count) return first.start(ctx, out, number, pe, item);
        return rest.start(ctx, out, number - First::count, pe, item);
    }
};

inline starter_list<> starters_of() { return {}; }
template <class First, class... Rest>
starter_list<First, Rest...> starters_of(const First& first, const Rest&... rest) {
    return {first, starters_of(rest...)};
}

/// Of what is kept for a tag.
struct alignas(16) item_word {
    std::byte bytes[16];
};

/// The items of all PEs' tags, and who starts them: part of a component's view.
template <class Starters>
struct trigger_items {
    static constexpr std::size_t words = (Starters::item_bytes + sizeof(item_word) - 1) / sizeof(item_word);

    Starters starters;
    symmetric_ref<item_word> kept;  ///< `words` for each tag

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::byte* at(Ctx& ctx, std::uint32_t tag) const {
        return address(ctx, kept[tag * words], ctx.pe())->bytes;
    }
    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx& ctx, Out& out, std::uint32_t tag, const trigger_operation& op) const {
        return starters.start(ctx, out, op.starts() - 1, op.pe(), at(ctx, tag));
    }
};
/// Where nothing is started.
template <>
struct trigger_items<starter_list<>> {
    static constexpr std::size_t words = 0;

    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx&, Out&, std::uint32_t, const trigger_operation&) const {
        return true;
    }
};

/// The operation, with the number of what it starts.
template <class Starters, class Item>
LANEWAY_FN trigger_operation numbered_operation(const starting_operation<Item>& op) {
    constexpr std::uint32_t number = Starters::template kind<Item>;
    static_assert(
        number < Starters::count,
        "no mailbox that these triggers were made with carries messages of this type (without a payload), and "
        "no pool has tasks of it that lanes may submit: triggers.with(box, pool)");
    return op.operation.starting(number);
}

}  // namespace laneway
