// Tasks that lanes submit, by triggered operations: they go straight to their PE's workers, past the host.
#pragma once

#include "laneway/comm/triggers/trigger_starter.hpp"
#include "laneway/memory/copy_bytes.hpp"
#include "laneway/task/task_node.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// A task that a triggered operation submits: `trigger_operation::nothing(pe).start(lw::task_call<square>{3.0})`.
/// Nobody waits for it. `Type` says `static constexpr bool from_lanes = true;`.
template <class Type>
struct task_call {
    typename Type::arguments arguments;
};

/// Submits tasks of a pool to the PE's own workers: see comm/triggers/trigger_starter.hpp.
template <class... Types>
class task_starter {
    static_assert(((!from_lanes<Types> || devices_of<Types> == task_devices::all) && ...),
                  "a task that lanes submit starts on the device of its tag, which its runs_on may not name");

    static constexpr std::uint32_t number(const void*) { return sizeof...(Types); }
    template <class Type>
    static constexpr std::uint32_t number(const task_call<Type>*) {
        return from_lanes<Type> ? number_of_type<Type, Types...>() : sizeof...(Types);
    }

public:
    static constexpr std::uint32_t count = sizeof...(Types);
    static constexpr std::size_t item_bytes = std::max({sizeof(task_call<Types>)...});
    static constexpr bool forwards = false;
    static constexpr bool stays = true;
    using routes_type = routes<>;
    template <class Item>
    static constexpr bool tells_end = true;

    template <class Item>
    static constexpr std::uint32_t kind = number(static_cast<const Item*>(nullptr));

    task_nodes_ref nodes;

    [[nodiscard]] static routes_type handlers(const trigger_ref&) { return {}; }

    /// False where no node is free: task_pool_options::triggered_tasks of them have not begun.
    template <class Ctx, class Out>
    LANEWAY_FN bool start(Ctx& ctx, Out&, std::uint32_t number, const started_item& what) const {
        const std::uint32_t block = static_cast<std::uint32_t>(ctx.block()) % nodes.n_blocks;
        const std::uint32_t found = nodes.take_for_lanes(ctx, block);
        if (found == 0) return false;
        task_node& node = nodes.at(found - 1);
        node.origin = {};
        node.origin.record = task_origin::nobody;
        node.origin.index = what.tells_end ? what.tag + 1 : 0;
        node.type = number;
        std::uint32_t type = 0;
        ((type++ == number ? copy_bytes(node.arguments(), what.item, sizeof(typename Types::arguments)) : void()), ...);
        go_before(ctx, &node);
        // Before it can be seen, as in task_deques::push; a block finds it when it refreshes.
        ctx.fetch_add(&nodes.blocks[block].spawned, std::uint64_t{1}, order::relaxed, scope::device);
        nodes.push(ctx, nodes.blocks[block].spilled, found - 1);
        return true;
    }
};

}  // namespace laneway
