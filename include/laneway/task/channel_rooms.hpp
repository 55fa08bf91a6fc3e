// Room for elements that travel between PEs. A PE has so many rooms, and each of them is a place on every PE of the
// job: whoever holds a room may leave an element at its place on any PE, and nobody else uses these places meanwhile.
// So an element that has left its PE always finds space, and a PE that has no room left waits before it sends, not
// after.
//
// Rooms have a class for each level, and one for channels of a single level: what is deeper never waits for what is
// less deep.
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway {

/// The rooms of a PE that it holds itself, as bits, in PE memory; trivially copyable. All members: any lane.
struct channel_rooms_ref {
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    std::uint32_t* free = nullptr;  ///< words_a_class() a class
    std::uint32_t a_pe = 0;         ///< rooms of a class that each PE has; a power of two
    std::uint32_t classes = 0;

    [[nodiscard]] LANEWAY_FN std::uint32_t words_a_class() const { return (a_pe + 31) / 32; }
    /// Class of the rooms for a level of a channel.
    [[nodiscard]] static LANEWAY_FN std::uint32_t class_of(std::uint32_t levels, std::uint32_t level) {
        return levels == 1 ? 0 : level + 1;
    }

    /// Takes a room of a class for each lane of the mask; exactly these lanes, together. False for those for which none
    /// is left. Does not wait. `start`: where to look first.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool take(Ctx& ctx, lane_mask mask, std::uint32_t number, std::uint32_t start,
                                       std::uint32_t& room) const {
        const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        const auto mine = static_cast<std::uint32_t>(rank_in(ctx, mask));
        const std::uint32_t words = words_a_class();
        std::uint32_t given = 0;
        bool has_room = false;
        for (std::uint32_t i = 0; i < words && given < lanes; ++i) {
            const std::uint32_t at = (start + i) % words;
            std::uint32_t bits = once(ctx, mask, [&] { return claim(ctx, free + number * words + at, lanes - given); });
            const auto found = static_cast<std::uint32_t>(Ctx::count_lanes(bits));
            if (mine >= given && mine < given + found) {
                for (std::uint32_t skip = mine - given; skip != 0; --skip) bits &= bits - 1;
                room = at * 32 + static_cast<std::uint32_t>(Ctx::first_lane(bits));
                has_room = true;
            }
            given += found;
        }
        ctx.sync(mask);  // what the leader acquired holds for all
        return has_room;
    }
    /// Tells a class apart from all others of the PE, as channel_set_ref::identity_of does a queue.
    [[nodiscard]] LANEWAY_FN std::uint64_t identity_of(std::uint32_t number) const {
        return reinterpret_cast<std::uint64_t>(free + number * words_a_class());
    }
    /// A room has come back, whose place on no PE is in use.
    template <class Ctx>
    LANEWAY_FN void put(Ctx& ctx, std::uint32_t number, std::uint32_t room) const {
        // Partner: the acquire operation in claim. Who read the last element comes before who writes the next.
        ctx.fetch_or(free + number * words_a_class() + room / 32, std::uint32_t{1} << room % 32, order::release,
                     scope::device);
    }

private:
    /// Up to `most` of the bits of a word. One lane.
    template <class Ctx>
    static LANEWAY_FN std::uint32_t claim(Ctx& ctx, std::uint32_t* word, std::uint32_t most) {
        std::uint32_t seen = ctx.load(word, order::relaxed, scope::device);
        while (seen != 0) {
            std::uint32_t rest = seen;
            for (std::uint32_t i = 0; i < most && rest != 0; ++i) rest &= rest - 1;
            const std::uint32_t some = seen & ~rest;
            // Partner: the release operation in put.
            const std::uint32_t before = ctx.fetch_and(word, ~some, order::acquire, scope::device);
            if ((before & some) != 0) return before & some;
            seen = before;
        }
        return 0;
    }
};

}  // namespace laneway
