#include <string>
#include <utility>

#include "graph_of_edges.hpp"
#include "laneway/base/error.hpp"
#include "laneway/graph/generate.hpp"

namespace laneway::graph {
namespace {

// A random permutation of 0..2^bits-1 without a table: each round is a bijection.
class renaming {
public:
    renaming(unsigned bits, std::uint64_t seed)
        : mask_((std::uint64_t{1} << bits) - 1), shift_(bits / 2 + 1), random_(seed, 1) {
        for (auto& [factor, summand] : rounds_) factor = random_.next() | 1, summand = random_.next();
    }

    [[nodiscard]] std::uint32_t operator()(std::uint64_t v) const {
        for (const auto& [factor, summand] : rounds_) {
            v = (v * factor + summand) & mask_;
            v ^= v >> shift_;
        }
        return static_cast<std::uint32_t>(v);
    }

private:
    std::uint64_t mask_;
    unsigned shift_;
    random_sequence random_;
    std::pair<std::uint64_t, std::uint64_t> rounds_[4];
};

// One descent through the levels of the adjacency matrix: each picks a quarter, by 16 random bits.
edge descend(unsigned scale, random_sequence random) {
    constexpr std::uint64_t a = 37356, ab = 49807, abc = 62259;  // 0.57, 0.76 and 0.95 of 2^16
    std::uint32_t tail = 0, head = 0;
    std::uint64_t bits = 0;
    for (unsigned level = 0; level < scale; ++level, bits >>= 16) {
        if (level % 4 == 0) bits = random.next();
        const std::uint64_t r = bits & 0xffff;
        tail = tail << 1 | (r >= ab);
        head = head << 1 | (((r >= a) ^ (r >= ab)) | (r >= abc));
    }
    return {tail, head};
}

}  // namespace

graph generate_kronecker(const kronecker_options& o) {
    if (o.scale > 31) throw usage_error("scale " + std::to_string(o.scale) + " is over the limit of 31");
    const renaming rename(o.scale, o.seed);
    return graph_of_edges({std::uint64_t{1} << o.scale, o.arcs, o.symmetric, o.max_weight, o.seed},
                          [&](const random_sequence& random) {
                              const edge e = descend(o.scale, random);
                              return edge{rename(e.tail), rename(e.head)};
                          });
}

}  // namespace laneway::graph
