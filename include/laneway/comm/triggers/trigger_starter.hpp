// What triggered operations start beside their transfer: messages of a mailbox, tasks of a pool. A component that takes
// such items has `starter_type` and `starter_type starter(int pe) const`. A *starter* is trivially copyable, lies in
// the view of a PE, and has these members:
//
// - `count`: how many types of item it takes.
// - `kind<Item>`: the number of a type; `count` for those that it does not take.
// - `item_bytes`: size of the largest item.
// - `forwards`: whether it leaves messages in the forward queue.
// - `stays`: whether items are for the tag's own PE alone.
// - `tells_end<Item>`: whether it can tell when what an item starts is done.
// - `handlers(tags)`: routes of messages that it posts itself, of type `routes_type`; routes<> for none.
// - `bool start(ctx, out, number, what) const`: starts an item; false where there is no room now. One lane calls it,
//   any but a handler's, and it does not wait. Where what.tells_end, it has the tag's round ended later, by
//   trigger_arrivals::tell_end.
#pragma once

#include "laneway/comm/triggers/followed_messages.hpp"

namespace laneway {

/// What a round of a tag starts.
struct started_item {
    const std::byte* item;
    std::uint32_t tag;
    std::int32_t pe;
    bool tells_end;
};

/// Posts messages of a mailbox. They go the way of what handlers forward: whoever takes a piece of a round may be
/// inside a wait of its own, and cannot wait for room.
template <class Routes, bool Followed>
struct message_starter;

/// The same for messages whose end nobody waits for.
template <class Routes>
struct message_starter<Routes, false> {
    using routes_type = routes<>;
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

    template <class Item>
    static constexpr bool tells_end = false;

    [[nodiscard]] static routes_type handlers(const trigger_ref&) { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx& ctx, Out& out, std::uint32_t number, const started_item& what) const {
        bool started = false;
        list::visit(number, [&]<class Message, class Handler>() {
            if constexpr (!taking_payload<Handler>) {
                static_assert(Out::template carries<Message>,
                              "the mailbox whose messages triggers post is part of the same run or session");
                started = out.try_forward(ctx, what.pe, *reinterpret_cast<const Message*>(what.item));
            }
        });
        return started;
    }
};

/// And for those that may have somebody wait.
template <class Routes>
struct message_starter<Routes, true> : message_starter<Routes, false> {
    using posted = message_starter<Routes, false>;
    using carried = followed_message<Routes>;
    using routes_type = laneway::routes<route<carried, serve_followed<Routes>>>;

    template <class Item>
    static constexpr bool tells_end = [] {
        if constexpr (posted::list::template has<Item>) {
            return has_an_end<typename posted::list, typename posted::list::template handler<Item>>;
        }
        return false;
    }();

    Routes served;

    [[nodiscard]] routes_type handlers(const trigger_ref& tags) const { return {{{served, tags}}}; }

    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx& ctx, Out& out, std::uint32_t number, const started_item& what) const {
        if (!what.tells_end) return posted::start(ctx, out, number, what);
        carried message;
        message.kind = number;
        message.tag = what.tag;
        message.pe = ctx.pe();
        posted::list::visit(
            number, [&]<class Message, class Handler>() { copy_bytes(message.message, what.item, sizeof(Message)); });
        return out.try_forward(ctx, what.pe, message);
    }
};

/// All that the triggers of a component start; types of item are numbered through.
template <class... Starters>
struct starter_list {
    static constexpr std::uint32_t count = 0;
    static constexpr std::size_t item_bytes = 0;
    static constexpr bool forwards = false;
    using routes_type = routes<>;
    template <class Item>
    static constexpr std::uint32_t kind = 0;
    template <class Item>
    static constexpr bool stays = false;
    template <class Item>
    static constexpr bool tells_end = false;

    [[nodiscard]] static routes_type handlers(const trigger_ref&) { return {}; }
    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx&, Out&, std::uint32_t, const started_item&) const {
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

    template <class Item>
    static constexpr bool tells_end =
        is_first<Item> ? First::template tells_end<Item> : others::template tells_end<Item>;
    using routes_type = decltype(std::declval<const typename First::routes_type&>() +
                                 std::declval<const typename others::routes_type&>());

    First first;
    others rest;

    [[nodiscard]] routes_type handlers(const trigger_ref& tags) const {
        return first.handlers(tags) + rest.handlers(tags);
    }

    /// Starts an item of this kind; false where there is no room for it now. One lane that runs no handler.
    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx& ctx, Out& out, std::uint32_t number, const started_item& what) const {
        if (number < First::count) return first.start(ctx, out, number, what);
        return rest.start(ctx, out, number - First::count, what);
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
        return address(ctx, kept[tag * words])->bytes;
    }
    /// For the tag's next operation: an item of any type, of which there are as many bytes as of the largest.
    template <class Ctx>
    LANEWAY_FN void keep(Ctx& ctx, std::uint32_t tag, const std::byte* item) const {
        copy_bytes(at(ctx, tag), item, Starters::item_bytes);
    }
    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx& ctx, Out& out, std::uint32_t tag, const trigger_operation& op) const {
        return starters.start(ctx, out, op.starts() - 1, {at(ctx, tag), tag, op.pe(), op.when_done()});
    }
    [[nodiscard]] auto handlers(const trigger_ref& tags) const { return starters.handlers(tags); }
};
/// Where nothing is started.
template <>
struct trigger_items<starter_list<>> {
    static constexpr std::size_t words = 0;

    template <class Ctx>
    LANEWAY_FN void keep(Ctx&, std::uint32_t, const std::byte*) const {}
    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx&, Out&, std::uint32_t, const trigger_operation&) const {
        return true;
    }
    [[nodiscard]] static routes<> handlers(const trigger_ref&) { return {}; }
};

/// The operation, with the number of what it starts.
template <class Starters, class Item, bool WhenDone>
LANEWAY_FN trigger_operation numbered_operation(const starting_operation<Item, WhenDone>& op) {
    constexpr std::uint32_t number = Starters::template kind<Item>;
    static_assert(
        number < Starters::count,
        "no mailbox that these triggers were made with carries messages of this type (without a payload), and "
        "no pool has tasks of it that lanes may submit: triggers.with(box, pool)");
    static_assert(!WhenDone || Starters::template tells_end<Item>,
                  "when_done() is for tasks, and for messages of mailboxes that triggers were made with as followed: "
                  "triggers.with(lw::followed(box)); none that has a payload, or is answered by a message");
    return op.operation.starting(number);
}

}  // namespace laneway
