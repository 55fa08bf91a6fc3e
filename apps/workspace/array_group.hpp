// Reductions over the buffers of a group, where the type of elements and the operator are known while the program runs:
// for Python above all. The host's view.
#pragma once

#include <cstdint>
#include <vector>

#include "laneway/flow/group.hpp"

namespace laneway::apps {

enum class element_type { int32, uint32, int64, uint64, float32, float64 };
enum class reduction { sum, min, max };

/// What the elements of all buffers are, and how they are combined.
struct array_reduction {
    element_type type = element_type::float64;
    reduction how = reduction::sum;
};

/// As those of flow::group.
void reduce(flow::group& all, const std::vector<void*>& buffers, std::uint64_t count, std::size_t root,
            const array_reduction& what, flow::shape how);
void reduce_scatter(flow::group& all, const std::vector<void*>& buffers, std::uint64_t count,
                    const array_reduction& what, flow::shape how);
void all_reduce(flow::group& all, const std::vector<void*>& buffers, std::uint64_t count, const array_reduction& what,
                flow::shape how);

}  // namespace laneway::apps
