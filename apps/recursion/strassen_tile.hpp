// Products of blocks that are too large for a lane: a whole block of lanes makes a tile of one, from parts of the
// operands in shared memory, of which each lane keeps some sums in registers.
#pragma once

#include "laneway/channel_graph.hpp"
#include "recursion/strassen_product.hpp"

namespace laneway::apps {

/// A tile of a product, in row-major order.
struct product_tile {
    product_path path;
    std::uint32_t tile;
};

struct multiply_tile {
    using element = product_tile;
    static constexpr task_width width = task_width::block;
    /// Whose lanes have a piece of a large tile each, and registers for its sums.
    static constexpr int block_warps = 16;
    static constexpr bool keeps = false;  ///< it makes nothing to keep

    static constexpr std::uint32_t max_rows = 128, max_columns = 256, max_depth = 7;

    strassen_matrices all;

    /// Of a tile.
    [[nodiscard]] LANEWAY_FN std::uint32_t rows() const { return all.block < max_rows ? all.block : max_rows; }
    [[nodiscard]] LANEWAY_FN std::uint32_t columns() const { return all.block < max_columns ? all.block : max_columns; }
    [[nodiscard]] LANEWAY_FN std::uint32_t tiles() const { return all.block / rows() * (all.block / columns()); }

    template <class Ctx, class Worker>
    LANEWAY_FN outcome operator()(Ctx& ctx, const product_tile& part, channel_node&, Worker& worker) const {
        auto& memory = *reinterpret_cast<tile_memory*>(worker.shared());
        const product_tile mine = part;
        const std::uint32_t across = all.block / columns();
        const place at{mine.tile / across * rows(), mine.tile % across * columns()};
        const auto lane = static_cast<std::uint32_t>(worker.lane()), lanes = static_cast<std::uint32_t>(worker.lanes());
        for (std::uint32_t operand = lane; operand < 3; operand += lanes) find_terms(memory, operand, mine.path);
        if (!worker.sync(ctx)) return outcome::done;
        const std::uint32_t pieces = rows() / sum_rows * (columns() / sum_columns);
        for (std::uint32_t first = 0; first < pieces; first += lanes) {
            const bool has_piece = first + lane < pieces;
            std::uint32_t sums[sum_rows][sum_columns] = {};
            load(ctx, memory, memory.parts[0], at, 0, lane, lanes);
            for (std::uint32_t k = 0; k < all.block; k += depth) {
                // This part is there, and all lanes are through with the other one: of an even number of parts.
                if (!worker.sync(ctx)) return outcome::done;
                const std::uint32_t next = k + depth, number = k / depth % 2;
                if (next < all.block) load(ctx, memory, memory.parts[1 - number], at, next, lane, lanes);
                if (has_piece) add_products(memory.parts[number], first + lane, sums);
            }
            if (has_piece) add_to_result(ctx, memory, at, first + lane, sums);
        }
        return outcome::done;
    }

private:
    static constexpr std::uint32_t depth = 16;                     ///< columns of the left operand in a part
    static constexpr std::uint32_t sum_rows = 8, sum_columns = 8;  ///< that a lane keeps

    struct alignas(16) four_words {
        std::uint32_t words[4];
    };

    struct kept_term {
        std::uint64_t first;
        std::uint32_t factor;  ///< 1, or 1 less than 0
    };
    struct alignas(16) operand_parts {
        std::uint32_t left[depth][max_rows + 4];  ///< by columns of the operand
        std::uint32_t right[depth][max_columns];
    };
    struct alignas(16) tile_memory {
        operand_parts parts[2];              ///< one is loaded while the other one is multiplied
        kept_term terms[3][1 << max_depth];  ///< of both operands and the result
        std::uint32_t n_terms[3];
    };
    /// Of the tile, in its block.
    struct place {
        std::uint32_t row, column;
    };

    LANEWAY_FN void find_terms(tile_memory& memory, std::uint32_t operand, const product_path& path) const {
        std::uint32_t found = 0;
        for (std::uint32_t choice = 0; choice < all.terms(); ++choice) {
            const block_term one = all.term_of(operand, path, choice);
            if (one.exists) memory.terms[operand][found++] = {one.first, one.is_negative ? ~0u : 1u};
        }
        memory.n_terms[operand] = found;
    }

    /// Adds up the blocks that make an operand, `depth` columns of the left one and rows of the right one from k on.
    template <class Ctx>
    LANEWAY_FN void load(Ctx& ctx, const tile_memory& memory, operand_parts& to, const place& at, std::uint32_t k,
                         std::uint32_t lane, std::uint32_t lanes) const {
        const auto a = all.a.local(ctx), b = all.b.local(ctx);
        for (std::uint32_t i = lane; i < rows() * depth / 4; i += lanes) {
            const std::uint32_t row = i / (depth / 4), column = i % (depth / 4) * 4;
            const auto sum = sum_of<Ctx>(memory, 0, a, std::uint64_t{at.row + row} * all.n + k + column);
            for (std::uint32_t j = 0; j < 4; ++j) to.left[column + j][row] = sum.words[j];
        }
        for (std::uint32_t i = lane; i < columns() * depth / 4; i += lanes) {
            const std::uint32_t row = i / (columns() / 4), column = i % (columns() / 4) * 4;
            *reinterpret_cast<four_words*>(&to.right[row][column]) =
                sum_of<Ctx>(memory, 1, b, std::uint64_t{k + row} * all.n + at.column + column);
        }
    }
    /// Of four neighbours; loads of several terms are on their way at once.
    template <class Ctx, class From>
    LANEWAY_FN four_words sum_of(const tile_memory& memory, std::uint32_t operand, const From& from,
                                 std::uint64_t inside) const {
        constexpr std::uint32_t batch = 4;
        const std::uint32_t count = memory.n_terms[operand];
        four_words sum = {};
        for (std::uint32_t t = 0; t < count; t += batch) {
            four_words found[batch];
            for (std::uint32_t i = 0; i < batch; ++i) {
                found[i] = four_words{};
                if (t + i < count) found[i] = four_at<Ctx>(from, memory.terms[operand][t + i].first + inside);
            }
            for (std::uint32_t i = 0; i < batch && t + i < count; ++i) {
                const std::uint32_t factor = memory.terms[operand][t + i].factor;
                for (std::uint32_t j = 0; j < 4; ++j) sum.words[j] += found[i].words[j] * factor;
            }
        }
        return sum;
    }
    template <class Ctx, class From>
    static LANEWAY_FN four_words four_at(const From& from, std::uint64_t first) {
        if constexpr (checks_accesses<Ctx>) {
            four_words found;
            for (std::uint32_t j = 0; j < 4; ++j) found.words[j] = from[first + j];
            return found;
        } else {
            return *reinterpret_cast<const four_words*>(from + first);
        }
    }

    /// Sums of a piece: neighbouring rows, and columns that lie apart, so that lanes side by side read neighbouring
    /// words.
    LANEWAY_FN void add_products(const operand_parts& from, std::uint32_t piece,
                                 std::uint32_t (&sums)[sum_rows][sum_columns]) const {
        const std::uint32_t apart = columns() / sum_columns, y = piece / apart * sum_rows, x = piece % apart;
        for (std::uint32_t d = 0; d < depth; ++d) {
            std::uint32_t of_left[sum_rows], of_right[sum_columns];
            for (std::uint32_t i = 0; i < sum_rows; i += 4) {
                const auto four = *reinterpret_cast<const four_words*>(&from.left[d][y + i]);
                for (std::uint32_t j = 0; j < 4; ++j) of_left[i + j] = four.words[j];
            }
            for (std::uint32_t j = 0; j < sum_columns; ++j) of_right[j] = from.right[d][x + j * apart];
            for (std::uint32_t i = 0; i < sum_rows; ++i) {
                for (std::uint32_t j = 0; j < sum_columns; ++j) sums[i][j] += of_left[i] * of_right[j];
            }
        }
    }
    template <class Ctx>
    LANEWAY_FN void add_to_result(Ctx& ctx, const tile_memory& memory, const place& at, std::uint32_t piece,
                                  const std::uint32_t (&sums)[sum_rows][sum_columns]) const {
        const std::uint32_t apart = columns() / sum_columns, y = piece / apart * sum_rows, x = piece % apart;
        for (std::uint32_t t = 0; t < memory.n_terms[2]; ++t) {
            const kept_term& to = memory.terms[2][t];
            for (std::uint32_t i = 0; i < sum_rows; ++i) {
                const std::uint64_t row = to.first + std::uint64_t{at.row + y + i} * all.n + at.column + x;
                for (std::uint32_t j = 0; j < sum_columns; ++j) {
                    atomic_add(ctx, all.c[row + j * apart], sums[i][j] * to.factor, scope::device);
                }
            }
        }
    }

public:
    static constexpr std::size_t shared_bytes = sizeof(tile_memory);
};

}  // namespace laneway::apps
