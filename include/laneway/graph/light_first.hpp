// Long rows with their lightest arcs first.
#pragma once

#include <memory>

#include "laneway/graph/split.hpp"

namespace laneway::graph {

/// A copy of a slice's arcs in which those of rows with more than some number of arcs rise in weight, but for arcs of
/// like weight: in any order where weights differ by less than 1/256 of the row's greatest.
template <class Vertex>
class light_first {
public:
    light_first(const csr_slice<Vertex>& rows, std::uint64_t more_than);

    [[nodiscard]] const csr_slice<Vertex>& rows() const { return rows_; }

private:
    std::unique_ptr<Vertex[]> heads_;
    std::unique_ptr<std::uint32_t[]> weights_;
    csr_slice<Vertex> rows_;
};

extern template class light_first<std::uint32_t>;
extern template class light_first<std::uint64_t>;

}  // namespace laneway::graph
