#include "workspace/array_group.hpp"

namespace laneway::apps {

namespace {

/// Calls `use(buffers, combine)` with buffers of elements of the type, and the operator.
template <class T, class Use>
void with_operator(const std::vector<void*>& buffers, reduction how, const Use& use) {
    std::vector<T*> typed;
    for (void* const buffer : buffers) typed.push_back(static_cast<T*>(buffer));
    switch (how) {
        case reduction::sum: return use(typed, flow::plus{});
        case reduction::min: return use(typed, flow::minimum{});
        case reduction::max: return use(typed, flow::maximum{});
    }
}

template <class Use>
void with_types(const std::vector<void*>& buffers, const array_reduction& what, const Use& use) {
    switch (what.type) {
        case element_type::int32: return with_operator<std::int32_t>(buffers, what.how, use);
        case element_type::uint32: return with_operator<std::uint32_t>(buffers, what.how, use);
        case element_type::int64: return with_operator<std::int64_t>(buffers, what.how, use);
        case element_type::uint64: return with_operator<std::uint64_t>(buffers, what.how, use);
        case element_type::float32: return with_operator<float>(buffers, what.how, use);
        case element_type::float64: return with_operator<double>(buffers, what.how, use);
    }
}

}  // namespace

void reduce(flow::group& all, const std::vector<void*>& buffers, std::uint64_t count, std::size_t root,
            const array_reduction& what, flow::shape how) {
    with_types(buffers, what,
               [&](const auto& typed, const auto& combine) { all.reduce(typed, count, root, combine, how); });
}

void reduce_scatter(flow::group& all, const std::vector<void*>& buffers, std::uint64_t count,
                    const array_reduction& what, flow::shape how) {
    with_types(buffers, what,
               [&](const auto& typed, const auto& combine) { all.reduce_scatter(typed, count, combine, how); });
}

void all_reduce(flow::group& all, const std::vector<void*>& buffers, std::uint64_t count, const array_reduction& what,
                flow::shape how) {
    with_types(buffers, what,
               [&](const auto& typed, const auto& combine) { all.all_reduce(typed, count, combine, how); });
}

}  // namespace laneway::apps
