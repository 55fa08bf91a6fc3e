// Tasks that tasks have spawned, in the memory of their PE.
//
// A node holds one of them: it waits in the deque of the warp that has spawned it (task_deques.hpp), which takes the
// newest first, so that workers go deep before they go wide. A task that spawns others holds a second node, its join,
// which counts its body and its children. Whoever brings that count to zero goes on with the task: runs what shall
// follow, in the same node, or tells the task's own parent. Nothing here waits, and all nodes are there from the
// beginning: a task that finds none is told so.
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

/// Where a task's end is told, and its failure. The same for all that a submitted task spawns, but for `join`.
struct task_origin {
    std::uint32_t join = 0;    ///< of the parent: 1 more than the number of its node; 0: the host submitted the task
    std::uint32_t record = 0;  ///< where the host keeps the task; nobody: a lane submitted it, and is told nothing
    /// In its batch; of a part of a range, its tasks; of a task from a lane, 1 more than the tag that waits for its
    /// end.
    std::uint32_t index = 0;
    std::uint16_t can_spawn = 1;
    std::uint16_t range = 0;          ///< 1 more than the number of the range that it is a part of; 0: of none
    std::uint32_t* status = nullptr;  ///< host-visible
    std::byte* result = nullptr;      ///< of the task itself; null: nowhere

    static constexpr std::uint32_t nobody = ~0u;
};

struct task_node {
    alignas(16) task_origin origin;
    std::uint32_t next;     ///< in a stack: 1 more than the number of the node below; 0: none
    std::uint32_t type;     ///< of the task that waits, or, in a join, of the one that follows
    std::uint32_t open;     ///< of a join: 1 for the body while it runs, and 1 for each child that is not done
    std::uint32_t follows;  ///< of a join: whether a task follows

    static constexpr std::size_t header_bytes = 48;
    [[nodiscard]] LANEWAY_FN std::byte* arguments() { return reinterpret_cast<std::byte*>(this) + header_bytes; }
};
static_assert(sizeof(task_node) == task_node::header_bytes);

/// Words of one block, in PE memory. A head of a stack is 1 more than the number of a node, or 0, and in its upper half
/// how often it has changed, so that a node that has gone and come back is seen.
struct task_block_words {
    alignas(destructive_bytes) std::uint64_t free;
    alignas(destructive_bytes) std::uint64_t free_for_lanes;  ///< nodes for tasks that lanes submit
    alignas(destructive_bytes) std::uint64_t spilled;         ///< tasks that found no place in a deque
    alignas(destructive_bytes) std::uint64_t spawned;         ///< tasks that have ever been pushed
};

/// Tasks that a warp has spawned, in PE memory: in each place 1 more than the number of a node, or 0. Only the warp
/// fills places; whoever takes a task exchanges it for 0.
struct task_deque {
    static constexpr std::uint32_t n_places = 32;
    alignas(destructive_bytes) std::uint32_t places[n_places];
};

/// All nodes of a PE. Any lane may call these; none waits.
struct task_nodes_ref {
    std::byte* nodes = nullptr;
    task_block_words* blocks = nullptr;  ///< of the working blocks
    task_deque* deques = nullptr;        ///< max_warps of each of these
    std::uint64_t* hints = nullptr;      ///< of each block: its warps that seem to have tasks, see task_deques
    std::uint64_t node_bytes = 0;
    std::uint32_t n_blocks = 1;
    std::uint32_t cached = 0;  ///< free nodes that each warp may keep for itself
    /// Nodes from this number on are for tasks that lanes submit, who spill them; none: none is. So triggers never
    /// take the room of tasks that spawn.
    std::uint32_t first_for_lanes = none;

    static constexpr std::uint32_t none = ~0u;
    static constexpr std::uint32_t max_warps = 32;  ///< of a block

    [[nodiscard]] LANEWAY_FN task_node& at(std::uint32_t number) const {
        return *reinterpret_cast<task_node*>(nodes + number * node_bytes);
    }
    [[nodiscard]] LANEWAY_FN task_deque& deque(std::uint32_t block, std::uint32_t warp) const {
        return deques[block * max_warps + warp];
    }

    [[nodiscard]] LANEWAY_FN bool from_lanes() const { return first_for_lanes != none; }

    /// 1 more than the number of a node that nobody has, of the block if it has one; 0: there is none.
    template <class Ctx>
    LANEWAY_FN std::uint32_t take(Ctx& ctx, std::uint32_t block) const {
        return take_from(ctx, block, &task_block_words::free);
    }
    /// The same for a task that a lane submits.
    template <class Ctx>
    LANEWAY_FN std::uint32_t take_for_lanes(Ctx& ctx, std::uint32_t block) const {
        return take_from(ctx, block, &task_block_words::free_for_lanes);
    }
    template <class Ctx>
    LANEWAY_FN void give_back(Ctx& ctx, std::uint32_t block, std::uint32_t number) const {
        task_block_words& words = blocks[block];
        push(ctx, number < first_for_lanes ? words.free : words.free_for_lanes, number);
    }

    template <class Ctx>
    LANEWAY_FN void push(Ctx& ctx, std::uint64_t& head, std::uint32_t number) const {
        std::uint64_t top = ctx.load(&head, order::relaxed, scope::device);
        for (;;) {
            ctx.store(&at(number).next, static_cast<std::uint32_t>(top), order::relaxed, scope::device);
            const std::uint64_t changed = (top / one_change + 1) * one_change + number + 1;
            // Partner: the acquire exchange in pop. What the node holds comes before.
            if (ctx.compare_exchange(&head, top, changed, order::release, scope::device)) return;
        }
    }
    template <class Ctx>
    LANEWAY_FN std::uint32_t pop(Ctx& ctx, std::uint64_t& head) const {
        // Partner: the release exchange in push: the word of the node below was stored before it.
        std::uint64_t top = ctx.load(&head, order::acquire, scope::device);
        for (;;) {
            const auto found = static_cast<std::uint32_t>(top);
            if (found == 0) return 0;
            // Another lane may have taken the node meanwhile; then the head has changed.
            const std::uint32_t below = ctx.load(&at(found - 1).next, order::relaxed, scope::device);
            const std::uint64_t changed = (top / one_change + 1) * one_change + below;
            if (ctx.compare_exchange(&head, top, changed, order::acq_rel, scope::device)) return found;
            top = ctx.load(&head, order::acquire, scope::device);  // what the exchange saw it has not acquired
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN std::uint32_t take_from(Ctx& ctx, std::uint32_t block, std::uint64_t task_block_words::*stack) const {
        for (std::uint32_t i = 0; i < n_blocks; ++i) {
            const std::uint32_t b = block + i < n_blocks ? block + i : block + i - n_blocks;
            const std::uint32_t found = pop(ctx, blocks[b].*stack);
            if (found != 0) return found;
        }
        return 0;
    }

    static constexpr std::uint64_t one_change = std::uint64_t{1} << 32;
};

}  // namespace laneway
