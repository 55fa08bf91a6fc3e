// What a product of Strassen's recursion is made of: which quadrants of the operands are added up, and where the result
// goes.
#pragma once

#include <cstdint>

#include "laneway/memory/symmetric_array.hpp"

namespace laneway::apps {

/// The products that a task has taken, three bits a level, the last one lowest.
struct product_path {
    std::uint32_t products;
    std::uint32_t depth;
};

/// A block of an operand or of the result: its first element, and whether it is subtracted.
struct block_term {
    std::uint64_t first;
    bool is_negative;
    bool exists;
};

/// Two matrices of n rows and their product, c = a b, in which blocks of `block` rows are multiplied `depth` levels
/// down.
struct strassen_matrices {
    symmetric_ref<std::uint32_t> a, b, c;
    std::uint32_t n, depth, block;

    /// How many terms a block of an operand or of the result has at most.
    [[nodiscard]] LANEWAY_FN std::uint32_t terms() const { return 1u << depth; }
    /// Of the left operand (0), the right one (1) or the result (2): the term that takes, at each level, the one that a
    /// bit of `choice` says.
    [[nodiscard]] LANEWAY_FN block_term term_of(std::uint32_t operand, const product_path& path,
                                                std::uint32_t choice) const {
        std::uint64_t row = 0, column = 0;
        bool is_negative = false;
        for (std::uint32_t level = 0; level < depth; ++level) {
            const std::uint32_t p = path.products >> 3 * (depth - 1 - level) & 7;
            const std::uint32_t one = term(operand, p, choice >> level & 1);
            if (one == none) return {0, false, false};
            row = 2 * row + (one >> 1 & 1);
            column = 2 * column + (one & 1);
            is_negative = is_negative != ((one & minus) != 0);
        }
        return {(row * n + column) * block, is_negative, true};
    }

private:
    /// Quadrants of a term, as row * 2 + column; `minus` is added to those that are subtracted, `none` is no quadrant.
    static constexpr std::uint32_t minus = 4, none = 8;

    /// Term t of the sum that product p (0 to 6) makes of the left operand, of the right one, and adds to of the
    /// result.
    static LANEWAY_FN std::uint32_t term(std::uint32_t operand, std::uint32_t p, std::uint32_t t) {
        constexpr std::uint8_t terms[3][7][2] = {
            {{0, 3}, {2, 3}, {0, none}, {3, none}, {0, 1}, {2, 0 + minus}, {1, 3 + minus}},
            {{0, 3}, {0, none}, {1, 3 + minus}, {2, 0 + minus}, {3, none}, {0, 1}, {2, 3}},
            {{0, 3}, {2, 3 + minus}, {1, 3}, {0, 2}, {1, 0 + minus}, {3, none}, {0, none}}};
        return terms[operand][p][t];
    }
};

}  // namespace laneway::apps
