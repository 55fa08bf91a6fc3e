// The exchange of borders of a 1-D stencil that is prepared once and runs by triggers alone, in any number of rounds.
#pragma once

#include "laneway/run/triggers.hpp"

namespace laneway {

struct halo_exchange_options {
    std::uint32_t first_tag = 0;
    /// By how many parts a border is written; see halo_exchange_ref::wrote_left.
    std::uint32_t parts = 1;
    /// Whether a border waits until the neighbour has freed its halo. Without a wait the halo is free when the
    /// neighbour's own border comes the other way: right where only who has read the halo writes that border, as with
    /// two arrays of which each step reads one and writes the other.
    bool waits_for_free = true;
};

/// Device view of a halo exchange; the same on every PE.
struct halo_exchange_ref {
    static constexpr std::uint32_t n_tags = 3;  ///< to the left, to the right, and word that the halo has been read

    symmetric_ref<std::uint64_t> arrived;  ///< borders that have come, of all rounds
    std::uint32_t first_tag = 0;

    /// Says that the PE's halo may be written: once before the first round, and once in each round when it has been
    /// read. One lane of each PE, which has met those that read.
    template <class Ctx, class Triggers>
    LANEWAY_FN status free(Ctx& ctx, Triggers& triggers) const {
        return triggers.trigger(ctx, first_tag + 2);
    }
    /// Says that the PE's borders are written: one lane of each PE, which has met those that wrote, once a round.
    template <class Ctx, class Triggers>
    LANEWAY_FN status send(Ctx& ctx, Triggers& triggers) const {
        status going = status::ok;
        if (has_left(ctx)) going = triggers.trigger(ctx, first_tag);
        if (going == status::ok && has_right(ctx)) going = triggers.trigger(ctx, first_tag + 1);
        return going;
    }
    /// The same of the left border, by all who write it: this warp has written so many of its parts, 0 for none. All
    /// lanes of the warp, together.
    template <class Ctx, class Triggers>
    LANEWAY_FN status wrote_left(Ctx& ctx, Triggers& triggers, std::uint32_t parts) const {
        return parts != 0 && has_left(ctx) ? triggers.trigger_warp(ctx, first_tag, parts) : status::ok;
    }
    template <class Ctx, class Triggers>
    LANEWAY_FN status wrote_right(Ctx& ctx, Triggers& triggers, std::uint32_t parts) const {
        return parts != 0 && has_right(ctx) ? triggers.trigger_warp(ctx, first_tag + 1, parts) : status::ok;
    }
    /// Waits until the halo of the `round`th exchange, from 1, is here, and the PE's own borders have been read. Any
    /// lane.
    template <class Ctx, class Triggers>
    LANEWAY_FN status wait(Ctx& ctx, Triggers& triggers, std::uint64_t round) const {
        const std::uint64_t neighbours = (has_left(ctx) ? 1u : 0u) + (has_right(ctx) ? 1u : 0u);
        status going = triggers.wait_signal(ctx, arrived[0], round * neighbours);
        if (going == status::ok && has_left(ctx)) going = triggers.wait_fired(ctx, first_tag, round);
        if (going == status::ok && has_right(ctx)) going = triggers.wait_fired(ctx, first_tag + 1, round);
        return going;
    }

private:
    template <class Ctx>
    static LANEWAY_FN bool has_left(const Ctx& ctx) {
        return ctx.pe() > 0;
    }
    template <class Ctx>
    static LANEWAY_FN bool has_right(const Ctx& ctx) {
        return ctx.pe() + 1 < ctx.n_pes();
    }
};

/// Each PE's array has `width` elements of halo, `cells` of its own, and `width` of halo; neighbours in number exchange
/// their `width` outermost cells. Host owner; it must outlive the runs. Uses 3 tags of each PE, from first_tag on.
template <remote_word T>
class halo_exchange {
public:
    /// Throws usage_error as triggers::prepare.
    halo_exchange(machine& machine, triggers& tags, symmetric_ref<T> array, std::uint64_t cells, std::uint64_t width,
                  const halo_exchange_options& options = {})
        : arrived_(machine, 1), first_tag_(options.first_tag) {
        const int last = machine.n_pes() - 1;
        // The border is written, and the neighbour's halo has been read.
        const std::uint32_t threshold = options.parts + (options.waits_for_free ? 1 : 0);
        for (int pe = 0; pe <= last; ++pe) {
            auto read = trigger_operation::nothing(pe);
            if (pe > 0) {
                tags.prepare(pe, first_tag_, threshold, border(array, width, cells + width, width, pe - 1),
                             firing::each_round);
                read = read.then(pe - 1, first_tag_ + 1);
            }
            if (pe < last) {
                tags.prepare(pe, first_tag_ + 1, threshold, border(array, cells, 0, width, pe + 1), firing::each_round);
                read = read.then(pe + 1, first_tag_);
            }
            if (options.waits_for_free) tags.prepare(pe, first_tag_ + 2, 1, read, firing::each_round);
        }
    }

    [[nodiscard]] halo_exchange_ref ref() const { return {arrived_.ref(), first_tag_}; }

private:
    [[nodiscard]] trigger_operation border(symmetric_ref<T> array, std::uint64_t from, std::uint64_t to,
                                           std::uint64_t width, int pe) const {
        return trigger_operation::put(array, from, width, array, to, pe).signal(arrived_.ref()[0]);
    }

    symmetric_array<std::uint64_t> arrived_;
    std::uint32_t first_tag_;
};

}  // namespace laneway
