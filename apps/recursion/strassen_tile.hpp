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

    static constexpr std::uint32_t max_tile = 128, max_depth = 7;

    strassen_matrices all;

    /// Rows of a tile.
    [[nodiscard]] LANEWAY_FN std::uint32_t rows() const { return all.block < max_tile ? all.block : max_tile; }
    [[nodiscard]] LANEWAY_FN std::uint32_t tiles() const { return all.block / rows() * (all.block / rows()); }

    template <class Ctx, class Worker>
    LANEWAY_FN outcome operator()(Ctx& ctx, const product_tile& part, channel_node&, Worker& worker) const {
        auto& memory = *reinterpret_cast<tile_memory*>(worker.shared());
        const product_tile mine = part;
        const std::uint32_t tile = rows(), across = all.block / tile;
        const place at{mine.tile / across * tile, mine.tile % across * tile};
        const auto lane = static_cast<std::uint32_t>(worker.lane()), lanes = static_cast<std::uint32_t>(worker.lanes());
        for (std::uint32_t operand = lane; operand < 3; operand += lanes) find_terms(memory, operand, mine.path);
        if (!worker.sync(ctx)) return outcome::done;
        const std::uint32_t pieces = tile / sum_rows * (tile / sum_columns);
        for (std::uint32_t first = 0; first < pieces; first += lanes) {
            const bool has_piece = first + lane < pieces;
            std::uint32_t sums[sum_rows][sum_columns] = {};
            for (std::uint32_t k = 0; k < all.block; k += depth) {
                load(ctx, memory, at, k, lane, lanes);
                if (!worker.sync(ctx)) return outcome::done;
                if (has_piece) add_products(memory, first + lane, sums);
                if (!worker.sync(ctx)) return outcome::done;
            }
            if (has_piece) add_to_result(ctx, memory, at, first + lane, sums);
        }
        return outcome::done;
    }

private:
    static constexpr std::uint32_t depth = 16;                     ///< columns of the left operand in a part
    static constexpr std::uint32_t sum_rows = 8, sum_columns = 4;  ///< that a lane keeps

    struct kept_term {
        std::uint64_t first;
        std::uint32_t factor;  ///< 1, or 1 less than 0
    };
    struct alignas(16) tile_memory {
        std::uint32_t left[depth][max_tile + 4];  ///< by columns of the operand
        std::uint32_t right[depth][max_tile];
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
    LANEWAY_FN void load(Ctx& ctx, tile_memory& memory, const place& at, std::uint32_t k, std::uint32_t lane,
                         std::uint32_t lanes) const {
        const std::uint32_t tile = rows();
        const auto a = all.a.local(ctx), b = all.b.local(ctx);
        for (std::uint32_t i = lane; i < tile * depth; i += lanes) {
            const std::uint32_t row = i / depth, column = i % depth;
            memory.left[column][row] = sum_of(memory, 0, a, std::uint64_t{at.row + row} * all.n + k + column);
        }
        for (std::uint32_t i = lane; i < tile * depth; i += lanes) {
            const std::uint32_t row = i / tile, column = i % tile;
            memory.right[row][column] = sum_of(memory, 1, b, std::uint64_t{k + row} * all.n + at.column + column);
        }
    }
    template <class From>
    LANEWAY_FN std::uint32_t sum_of(const tile_memory& memory, std::uint32_t operand, const From& from,
                                    std::uint64_t inside) const {
        std::uint32_t sum = 0;
        for (std::uint32_t t = 0; t < memory.n_terms[operand]; ++t) {
            const kept_term& one = memory.terms[operand][t];
            const std::uint32_t word = from[one.first + inside];
            sum += word * one.factor;
        }
        return sum;
    }

    /// Sums of a piece: neighbouring rows, and columns that lie apart, so that lanes side by side read neighbouring
    /// words.
    LANEWAY_FN void add_products(const tile_memory& memory, std::uint32_t piece,
                                 std::uint32_t (&sums)[sum_rows][sum_columns]) const {
        const std::uint32_t apart = rows() / sum_columns, y = piece / apart * sum_rows, x = piece % apart;
        for (std::uint32_t d = 0; d < depth; ++d) {
            std::uint32_t of_left[sum_rows], of_right[sum_columns];
            for (std::uint32_t i = 0; i < sum_rows; ++i) of_left[i] = memory.left[d][y + i];
            for (std::uint32_t j = 0; j < sum_columns; ++j) of_right[j] = memory.right[d][x + j * apart];
            for (std::uint32_t i = 0; i < sum_rows; ++i) {
                for (std::uint32_t j = 0; j < sum_columns; ++j) sums[i][j] += of_left[i] * of_right[j];
            }
        }
    }
    template <class Ctx>
    LANEWAY_FN void add_to_result(Ctx& ctx, const tile_memory& memory, const place& at, std::uint32_t piece,
                                  const std::uint32_t (&sums)[sum_rows][sum_columns]) const {
        const std::uint32_t apart = rows() / sum_columns, y = piece / apart * sum_rows, x = piece % apart;
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
