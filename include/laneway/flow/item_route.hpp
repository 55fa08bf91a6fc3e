// What an application says of the items of a worklist: the five functions, and where items go.
//
// An application is trivially copyable and has
//   using item = ...;                                       as this PE works on it
//   using packed = ...;                                     as it travels to another one
//   packed pack(ctx, const item&) const;                    before it leaves
//   item unpack(ctx, const packed&) const;                  when it is kept where it has come
//   item_route on_send(ctx, const item&) const;             where an item goes that has just been made
//   item_route on_receive(ctx, const packed&) const;        where one goes that has come from another PE
//   std::uint64_t priority(ctx, const item&) const;         less is sooner; asked only where there are priorities
// and, to work on items, which may make others,
//   item_parts parts(ctx, item&) const;                     of how many independent parts an item's work is; what it
//                                                           writes into the item goes with all of them, and is there
//                                                           where it is asked again
//   void work(ctx, const item&, std::uint32_t part, list&) const;     one of them; list.push(ctx, item) makes an item
// and, where `parts` and `work` are the same on every PE, as they use the item and what every PE has, and change
// nothing but by push and by what is added up over all PEs:
//   static constexpr bool items_move = true;                item_worklist_options.stealing is possible
// All run on any lane, at the same time as others, and none waits: only `push` inside `work` may. on_receive, unpack
// and priority also run inside handlers. item_defaults has those that many applications do not need.
#pragma once

#include <cstdint>

#include "laneway/base/config.hpp"

namespace laneway {

/// What happens to an item; `both` keeps it here and passes it on as well.
enum class item_flags : std::uint32_t { drop = 0, keep = 1, pass = 2, both = 3 };

/// Where an item goes. Passing to the own PE is keeping: `both` with it keeps one.
struct item_route {
    item_flags flags = item_flags::drop;
    /// Of pass and both; with drop the PE that was spared a message that is of no use to it, -1: none.
    int pe = -1;

    [[nodiscard]] static LANEWAY_FN item_route drop() { return {}; }
    [[nodiscard]] static LANEWAY_FN item_route keep() { return {item_flags::keep, -1}; }
    [[nodiscard]] static LANEWAY_FN item_route pass(int pe) { return {item_flags::pass, pe}; }
    [[nodiscard]] static LANEWAY_FN item_route both(int pe) { return {item_flags::both, pe}; }
    /// Drops an item that would have gone to `pe`, which gains nothing by it: counted as suppressed.
    [[nodiscard]] static LANEWAY_FN item_route suppress(int pe) { return {item_flags::drop, pe}; }

    [[nodiscard]] LANEWAY_FN bool keeps(int own) const { return has(item_flags::keep) || (passes() && pe == own); }
    [[nodiscard]] LANEWAY_FN bool leaves(int own) const { return passes() && pe != own; }

private:
    [[nodiscard]] LANEWAY_FN bool has(item_flags flag) const {
        return (static_cast<std::uint32_t>(flags) & static_cast<std::uint32_t>(flag)) != 0;
    }
    [[nodiscard]] LANEWAY_FN bool passes() const { return has(item_flags::pass); }
};

/// Whether an application says that its items may be worked on by any PE.
template <class Application>
inline constexpr bool items_move = [] {
    if constexpr (requires { Application::items_move; }) {
        return bool{Application::items_move};
    } else {
        return false;
    }
}();

/// What work an item is. One that is of no use any more, as a better one has come meanwhile, has no parts.
struct item_parts {
    std::uint32_t count = 0;
    bool useful = false;

    [[nodiscard]] static LANEWAY_FN item_parts none() { return {}; }
    /// Less than 2^32 - 2.
    [[nodiscard]] static LANEWAY_FN item_parts of(std::uint32_t count) { return {count, true}; }
};

/// For applications whose items travel as they are and are kept where they come.
template <class Item>
struct item_defaults {
    using item = Item;
    using packed = Item;

    template <class Ctx>
    LANEWAY_FN Item pack(Ctx&, const Item& made) const {
        return made;
    }
    template <class Ctx>
    LANEWAY_FN Item unpack(Ctx&, const Item& come) const {
        return come;
    }
    template <class Ctx>
    LANEWAY_FN item_route on_receive(Ctx&, const Item&) const {
        return item_route::keep();
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t priority(Ctx&, const Item&) const {
        return 0;
    }
};

}  // namespace laneway
