// Host owner of one PE's hubs.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "laneway/flow/hub_shards.hpp"
#include "laneway/simt/device.hpp"

namespace laneway {

class hub_shards {
public:
    /// Finds the hubs of rows whose arcs are [offsets[i], offsets[i + 1]). `weights`: what each arc adds; may be empty.
    hub_shards(const std::shared_ptr<device>& owner, const std::vector<std::uint64_t>& offsets,
               std::span<const std::uint32_t> weights = {}) {
        std::vector<std::uint32_t> hubs;
        std::vector<std::uint32_t> first_shard{0};
        std::vector<std::uint64_t> first_arc;
        std::vector<std::uint32_t> arc_count;
        std::vector<std::uint32_t> least;
        for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
            if (offsets[v + 1] - offsets[v] <= shard_arcs) continue;
            hubs.push_back(static_cast<std::uint32_t>(v));
            for (std::uint64_t arc = offsets[v]; arc < offsets[v + 1]; arc += shard_arcs) {
                first_arc.push_back(arc);
                arc_count.push_back(
                    static_cast<std::uint32_t>(std::min<std::uint64_t>(shard_arcs, offsets[v + 1] - arc)));
                if (weights.empty()) continue;
                const auto of_shard = weights.subspan(arc, arc_count.back());
                least.push_back(*std::min_element(of_shard.begin(), of_shard.end()));
            }
            first_shard.push_back(static_cast<std::uint32_t>(first_arc.size()));
        }
        hubs_ = store(owner, hubs);
        first_shard_ = store(owner, first_shard);
        first_arc_ = store(owner, first_arc);
        arc_count_ = store(owner, arc_count);
        least_ = store(owner, least);
    }

    [[nodiscard]] std::uint64_t shards() const { return first_arc_.size(); }
    [[nodiscard]] hub_shards_ref ref() const {
        return {hubs_.data(),
                first_shard_.data(),
                first_arc_.data(),
                arc_count_.data(),
                least_.size() > 0 ? least_.data() : nullptr,
                static_cast<std::uint32_t>(hubs_.size())};
    }

private:
    template <class T>
    static buffer<T> store(const std::shared_ptr<device>& owner, const std::vector<T>& values) {
        buffer<T> made(owner, values.size());
        made.copy_in(values);
        return made;
    }

    buffer<std::uint32_t> hubs_;
    buffer<std::uint32_t> first_shard_;
    buffer<std::uint64_t> first_arc_;
    buffer<std::uint32_t> arc_count_;
    buffer<std::uint32_t> least_;
};

}  // namespace laneway
