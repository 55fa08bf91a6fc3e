// gups, what all styles share: random values in the memory of each PE, and the table that they update.
#pragma once

#include "gups/table_map.hpp"
#include "styles/launcher.hpp"

namespace laneway::styles {

/// Device view. Update `value` does table[value mod words] ^= value; apps/gups/README.md tells whose word it is.
struct gups_data {
    symmetric_ref<std::uint64_t> updates;  ///< the PE's own
    symmetric_ref<std::uint64_t> table;
    apps::table_map map;
    symmetric_ptr<std::uint64_t> taken;  ///< 0 when a run begins; free for its use

    [[nodiscard]] LANEWAY_FN int owner(std::uint64_t value) const { return map.owner(map.index(value)); }
    /// The word that the value updates, in the memory of its owner.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t* word(const Ctx& ctx, std::uint64_t value) const {
        return table.at(ctx, owner(value)) + map.place(map.index(value));
    }
};

work gups_coprocessor(launcher& on, const gups_data& data);
work gups_direct(launcher& on, const gups_data& data);
work gups_coalesced(launcher& on, const gups_data& data);
work gups_coalesced_aggregated(launcher& on, const gups_data& data);
work gups_laneway(launcher& on, const gups_data& data);

}  // namespace laneway::styles
