// Items that make others in a tree whose shape follows from their keys, and what must become of them, computed by one
// thread: for the suites of item worklists.
#pragma once

#include <utility>
#include <vector>

#include "laneway/flow/item_worklist.hpp"

namespace laneway::test {

struct tree_item {
    std::uint64_t key;
    std::uint32_t depth;
};
/// As it travels: of another size, and not readable as an item.
struct packed_tree_item {
    std::uint64_t mixed;
    std::uint32_t depth_plus_7;
    std::uint32_t checks;
    std::uint64_t checked;
};

LANEWAY_FN std::uint64_t hash_of(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// The rules that both the devices and the one thread follow.
struct tree_rules {
    std::uint32_t fan_out = 3;  ///< parts of most items,
    std::uint32_t at_root = 3;  ///< and of those that the host gives
    std::uint32_t depth = 4;    ///< of these

    /// Every kind of route there is.
    static LANEWAY_FN item_route on_send(const tree_item& item, int pe, int n_pes) {
        const std::uint64_t h = hash_of(item.key + 1);
        const int next = (pe + 1) % n_pes;
        switch (h % 16) {
            case 0: return item_route::drop();
            case 1: return item_route::suppress(next);
            case 2: return item_route::both(next);
            case 3: return item_route::pass(pe);
            case 4:
            case 5: return item_route::keep();
            default: return item_route::pass(static_cast<int>((h >> 8) % static_cast<unsigned>(n_pes)));
        }
    }
    /// On from PE to PE until the one that the key names; some stay on the way as well.
    static LANEWAY_FN item_route on_receive(const tree_item& item, int pe, int n_pes) {
        const std::uint64_t h = hash_of(item.key + 2);
        if (static_cast<int>(item.key % static_cast<unsigned>(n_pes)) == pe)
            return h % 8 == 0 ? item_route::drop() : item_route::keep();
        const int next = (pe + 1) % n_pes;
        return h % 8 == 1 ? item_route::both(next) : item_route::pass(next);
    }
    [[nodiscard]] LANEWAY_FN item_parts parts(const tree_item& item) const {
        if (item.depth == 0 || item.key % 5 == 0) return item_parts::none();
        return item_parts::of(item.depth == depth ? at_root : fan_out);
    }
    static LANEWAY_FN tree_item child(const tree_item& item, std::uint32_t part) {
        return {hash_of(item.key * 1000003 + part), item.depth - 1};
    }
    static LANEWAY_FN std::uint64_t priority(const tree_item& item) { return hash_of(item.key + 3) % 50; }
};

/// What a PE's lanes add up.
struct tree_sums {
    std::uint64_t keys = 0;     ///< of items that were looked at whole, on the PE
    std::uint64_t parts = 0;    ///< that were done
    std::uint64_t damaged = 0;  ///< packed items that came in another form than they left
};

struct tree_application {
    using item = tree_item;
    using packed = packed_tree_item;

    tree_rules rules;
    tree_sums* sums = nullptr;

    template <class Ctx>
    LANEWAY_FN packed pack(Ctx&, const item& made) const {
        return {~made.key, made.depth + 7, 0x5eed, hash_of(made.key)};
    }
    template <class Ctx>
    LANEWAY_FN item unpack(Ctx& ctx, const packed& come) const {
        if (come.checks != 0x5eed || come.checked != hash_of(~come.mixed))
            ctx.fetch_add(&sums->damaged, std::uint64_t{1}, order::relaxed, scope::device);
        return {~come.mixed, come.depth_plus_7 - 7};
    }
    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx& ctx, const item& made) const {
        return tree_rules::on_send(made, ctx.pe(), ctx.n_pes());
    }
    template <class Ctx>
    LANEWAY_FN item_route on_receive(Ctx& ctx, const packed& come) const {
        return tree_rules::on_receive({~come.mixed, 0}, ctx.pe(), ctx.n_pes());
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t priority(Ctx&, const item& one) const {
        return tree_rules::priority(one);
    }
    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx& ctx, const item& one) const {
        const item_parts all = rules.parts(one);
        // Some parts of an item are asked for again: what is added here must not depend on how often.
        if (all.count <= max_parts_at_once) ctx.fetch_add(&sums->keys, one.key, order::relaxed, scope::device);
        return all;
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, const item& one, std::uint32_t part, List& list) const {
        ctx.fetch_add(&sums->parts, std::uint64_t{1}, order::relaxed, scope::device);
        (void)list.push(ctx, tree_rules::child(one, part));  // a failure ends the run
    }
};

/// What one thread finds.
struct expected_tree {
    item_work work;
    std::vector<tree_sums> sums;

    expected_tree(const tree_rules& rules, const std::vector<std::pair<int, tree_item>>& starts, int n_pes)
        : sums(static_cast<std::size_t>(n_pes)) {
        std::vector<std::pair<int, tree_item>> open = starts;
        work.started = starts.size();
        while (!open.empty()) {
            const auto [pe, item] = open.back();
            open.pop_back();
            ++work.done;
            const item_parts parts = rules.parts(item);
            tree_sums& here = sums[static_cast<std::size_t>(pe)];
            if (parts.count <= max_parts_at_once) here.keys += item.key;
            work.useful += parts.useful ? 1 : 0;
            here.parts += parts.count;
            for (std::uint32_t part = 0; part < parts.count; ++part) {
                send(tree_rules::child(item, part), pe, n_pes, open);
            }
        }
    }

private:
    void send(const tree_item& made, int pe, int n_pes, std::vector<std::pair<int, tree_item>>& open) {
        const item_route route = tree_rules::on_send(made, pe, n_pes);
        const bool keeps = route.keeps(pe), leaves = route.leaves(pe), spared = route.pe >= 0 && route.pe != pe;
        work.kept += keeps ? 1 : 0;
        work.sent += leaves ? 1 : 0;
        work.suppressed += !keeps && !leaves && spared ? 1 : 0;
        work.dropped += !keeps && !leaves && !spared ? 1 : 0;
        if (keeps) open.emplace_back(pe, made);
        if (leaves) receive(made, route.pe, n_pes, open);
    }
    void receive(const tree_item& come, int pe, int n_pes, std::vector<std::pair<int, tree_item>>& open) {
        for (;;) {
            ++work.arrived;
            const item_route route = tree_rules::on_receive(come, pe, n_pes);
            const bool keeps = route.keeps(pe), leaves = route.leaves(pe);
            if (keeps) open.emplace_back(pe, come);
            work.accepted += keeps ? 1 : 0;
            work.refused += !keeps && !leaves ? 1 : 0;
            if (!leaves) return;
            ++work.passed_on;
            pe = route.pe;
        }
    }
};

}  // namespace laneway::test
