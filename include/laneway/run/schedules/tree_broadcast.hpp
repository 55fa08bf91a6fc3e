// A broadcast down a binary tree of PEs that is prepared once and runs by triggers alone, in any number of rounds.
#pragma once

#include "laneway/run/triggers.hpp"

namespace laneway {

/// Device view of a tree broadcast; the same on every PE. PE 0 is the root, PE p the parent of 2 p + 1 and 2 p + 2.
struct tree_broadcast_ref {
    static constexpr std::uint32_t n_tags = 3;  ///< two children, and what goes up

    symmetric_ref<std::uint64_t> arrived;  ///< rounds; on the root those that all PEs have used
    std::uint32_t first_tag = 0;

    /// One lane of PE 0, when the data is written, and the lanes that wrote it have met this one.
    template <class Ctx, class Triggers>
    LANEWAY_FN status start(Ctx& ctx, Triggers& triggers) const {
        status going = status::ok;
        for (std::uint32_t child = 0; child < 2 && going == status::ok; ++child) {
            if (static_cast<int>(child) + 1 < ctx.n_pes()) going = triggers.trigger(ctx, first_tag + child);
        }
        return going;
    }
    /// Waits until the data of the `round`th broadcast, from 1, is here: on PE 0 nothing. Any lane.
    template <class Ctx, class Triggers>
    LANEWAY_FN status wait(Ctx& ctx, Triggers& triggers, std::uint64_t round) const {
        return ctx.pe() == 0 ? status::ok : triggers.wait_signal(ctx, arrived[0], round);
    }
    /// Says that the PE has used the data: one lane of each PE, once a round.
    template <class Ctx, class Triggers>
    LANEWAY_FN status used(Ctx& ctx, Triggers& triggers) const {
        return triggers.trigger(ctx, first_tag + 2);
    }
    /// On PE 0: waits until all PEs have used the `round`th, so that the data may be changed. Any lane.
    template <class Ctx, class Triggers>
    LANEWAY_FN status wait_used(Ctx& ctx, Triggers& triggers, std::uint64_t round) const {
        return triggers.wait_signal(ctx, arrived[0], round);
    }
};

/// Brings `count` elements of an array of PE 0 to all PEs. Host owner; it must outlive the runs. Uses 3 tags of each
/// PE, from `first_tag` on.
template <remote_word T>
class tree_broadcast {
public:
    /// Throws usage_error as triggers::prepare.
    tree_broadcast(machine& machine, triggers& tags, symmetric_ref<T> data, std::uint64_t count,
                   std::uint32_t first_tag = 0)
        : arrived_(machine, 1), first_tag_(first_tag) {
        for (int pe = 0; pe < machine.n_pes(); ++pe) prepare(tags, machine.n_pes(), pe, data, count);
    }

    [[nodiscard]] tree_broadcast_ref ref() const { return {arrived_.ref(), first_tag_}; }

private:
    void prepare(triggers& tags, int pes, int pe, symmetric_ref<T> data, std::uint64_t count) {
        std::uint32_t children = 0;
        for (int child = 2 * pe + 1; child <= 2 * pe + 2 && child < pes; ++child, ++children) {
            auto down = trigger_operation::put(data, 0, count, data, 0, child).signal(arrived_.ref()[0]);
            for (std::uint32_t next = 0; next < 2; ++next) {
                if (2 * child + 1 + static_cast<int>(next) < pes) down = down.then(child, first_tag_ + next);
            }
            tags.prepare(pe, first_tag_ + children, 1, down, firing::each_round);
        }
        // The PE and all below it have used the data, so what this PE sends has been read as well.
        const auto up = pe == 0 ? trigger_operation::nothing(0).signal(arrived_.ref()[0])
                                : trigger_operation::nothing(pe).then((pe - 1) / 2, first_tag_ + 2);
        tags.prepare(pe, first_tag_ + 2, 1 + children, up, firing::each_round);
    }

    symmetric_array<std::uint64_t> arrived_;
    std::uint32_t first_tag_;
};

}  // namespace laneway
