#include "recursion/strassen.hpp"

#include <algorithm>
#include <bit>

#include "laneway/base/error.hpp"
#include "recursion/strassen_tile.hpp"

namespace laneway::apps {

namespace {

struct multiply {
    using element = product_path;

    channel<product_path> paths;
    channel<product_tile> tiles;  ///< of blocks beyond strassen_block
    strassen_matrices all;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const product_path& path, channel_node& node) const {
        if (path.depth == all.depth && all.block <= strassen_block) {
            multiply_blocks(ctx, path);
            return outcome::done;
        }
        if (path.depth == all.depth) {
            const std::uint32_t count = multiply_tile{all}.tiles();
            const auto next = node.talloc(ctx, tiles, count);
            if (!next) return outcome::yield;
            for (std::uint32_t t = 0; t < count; ++t) next[t] = {path, t};
            node.enq(ctx, next);
            return outcome::done;
        }
        const auto next = node.talloc(ctx, paths, 7);
        if (!next) return outcome::yield;
        for (std::uint32_t p = 0; p < 7; ++p) next[p] = {path.products << 3 | p, path.depth + 1};
        node.enq(ctx, next);
        return outcome::done;
    }

private:
    static constexpr std::uint32_t words = strassen_block * strassen_block;

    template <class Ctx>
    LANEWAY_FN void gather(Ctx& ctx, std::uint32_t operand, const product_path& path,
                           std::uint32_t (&sum)[words]) const {
        const std::uint32_t block = all.block;
        for (std::uint32_t i = 0; i < block * block; ++i) sum[i] = 0;
        const auto from = (operand == 0 ? all.a : all.b).local(ctx);
        for (std::uint32_t choice = 0; choice < all.terms(); ++choice) {
            const block_term one = all.term_of(operand, path, choice);
            if (!one.exists) continue;
            for (std::uint32_t i = 0; i < block * block; ++i) {
                const std::uint32_t word = from[one.first + std::uint64_t{i / block} * all.n + i % block];
                sum[i] += one.is_negative ? 0u - word : word;
            }
        }
    }

    template <class Ctx>
    LANEWAY_FN void multiply_blocks(Ctx& ctx, const product_path& path) const {
        std::uint32_t left[words], right[words];
        gather(ctx, 0, path, left);
        gather(ctx, 1, path, right);
        const std::uint32_t block = all.block;
        for (std::uint32_t i = 0; i < block; ++i) {
            std::uint32_t row[strassen_block] = {};
            for (std::uint32_t k = 0; k < block; ++k) {
                const std::uint32_t one = left[i * block + k];
                for (std::uint32_t j = 0; j < block; ++j) row[j] += one * right[k * block + j];
            }
            add_row(ctx, path, i, row);
        }
    }

    template <class Ctx>
    LANEWAY_FN void add_row(Ctx& ctx, const product_path& path, std::uint32_t i,
                            const std::uint32_t (&row)[strassen_block]) const {
        for (std::uint32_t choice = 0; choice < all.terms(); ++choice) {
            const block_term to = all.term_of(2, path, choice);
            if (!to.exists) continue;
            for (std::uint32_t j = 0; j < all.block; ++j) {
                const std::uint32_t word = to.is_negative ? 0u - row[j] : row[j];
                atomic_add(ctx, all.c[to.first + std::uint64_t{i} * all.n + j], word, scope::device);
            }
        }
    }
};

void check_sizes(std::uint32_t n, std::uint32_t block) {
    if (block > max_strassen_block || !std::has_single_bit(block)) {
        throw usage_error("blocks of " + std::to_string(block) + " rows: a power of two, " +
                          std::to_string(max_strassen_block) + " at most");
    }
    const std::uint32_t most = block <= strassen_block ? 1024 : 1u << multiply_tile::max_depth;
    if (n < block || n % block != 0 || !std::has_single_bit(n / block) || n / block > most) {
        throw usage_error("matrices of " + std::to_string(n) + " rows: " + std::to_string(block) +
                          " times a power of two, " + std::to_string(most) + " at most");
    }
}

/// The channels of products and of tiles, and what warps may keep of them.
struct product_channels {
    channel_options paths, tiles;
    fork_join_plan memory;
};

/// `at_once`: tiles of a block; 0: lanes multiply blocks, and there is no channel of tiles.
product_channels plan_channels(std::uint32_t depth, std::uint32_t at_once, const recursion_options& options,
                               std::uint32_t useful) {
    product_channels made;
    made.paths = {.levels = depth + 1, .at_once = 7, .name = "products"};
    made.tiles = {.levels = depth + 2, .at_once = at_once, .name = "tiles"};
    const auto plan = [&](const std::vector<channel_plan>& of, std::uint64_t bytes) {
        return plan_fork_join(of, {depth + 1, options.width, bytes}, useful);
    };
    if (at_once != 0 && options.width == 0) {
        // A block is busy with a tile for long, so few that wait are enough, and paths get the rest.
        made.tiles.width = std::max(256u, 4 * std::bit_ceil(at_once));
        const std::uint64_t bytes = channel_memory::bytes_of({{made.tiles, sizeof(product_tile)}}, ~0u);
        if (bytes <= options.memory_bytes / 8) {
            made.memory = plan({{made.paths, sizeof(product_path)}}, options.memory_bytes - bytes);
            made.paths.width = made.memory.width;
            return made;
        }
    }
    std::vector<channel_plan> plans{{made.paths, sizeof(product_path)}};
    if (at_once != 0) plans.push_back({made.tiles, sizeof(product_tile)});
    made.memory = plan(plans, options.memory_bytes);
    made.paths.width = made.tiles.width = made.memory.width;
    return made;
}

}  // namespace

std::uint32_t strassen_grain(std::uint32_t n, bool on_gpus) {
    const std::uint32_t rows = std::bit_floor(std::max(n, 1u));
    if (!on_gpus) return std::min(rows, strassen_block);
    constexpr std::uint64_t enough_tiles = 256;  // a GPU has half as many multiprocessors, and a block on each
    strassen_matrices all{};
    all.block = std::min(rows, max_strassen_block);
    std::uint64_t products = 1;
    for (std::uint32_t part = all.block; part < rows; part *= 2) products *= 7;
    while (all.block > 2 * strassen_block && products * multiply_tile{all}.tiles() < enough_tiles) {
        all.block /= 2;
        products *= 7;
    }
    return all.block;
}

strassen_result strassen(const word_matrix& a, const word_matrix& b, std::uint32_t n,
                         const recursion_options& options) {
    runtime rt(options.job);
    return strassen(rt, a, b, n, options);
}

strassen_result strassen(runtime& rt, const word_matrix& a, const word_matrix& b, std::uint32_t n,
                         const recursion_options& options) {
    const std::uint32_t block = options.grain != 0 ? options.grain : strassen_grain(n, rt.machine().has_gpus());
    const std::uint64_t words = std::uint64_t{n} * n;
    check_sizes(n, block);
    if (a.size() != words || b.size() != words) throw usage_error("a matrix has n rows of n elements");
    const auto depth = static_cast<std::uint32_t>(std::countr_zero(n / block));
    auto left = rt.allocate<std::uint32_t>(words), right = rt.allocate<std::uint32_t>(words);
    const auto product = rt.allocate<std::uint32_t>(words);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        left.copy_in(pe, a);
        right.copy_in(pe, b);
    }
    const strassen_matrices all{left.ref(), right.ref(), product.ref(), n, depth, block};
    const bool in_tiles = block > strassen_block;
    const product_channels channels = plan_channels(depth, in_tiles ? multiply_tile{all}.tiles() : 0, options,
                                                    rt.machine().has_gpus() ? 1 << 20 : 1 << 10);
    strassen_result made;
    made.report.width = channels.memory.width;
    channel_graph graph(rt, {.stack_bytes = channels.memory.stack_bytes});
    const auto paths = graph.channel<product_path>(channels.paths);
    const auto tiles = in_tiles ? graph.channel<product_tile>(channels.tiles) : channel<product_tile>{};
    const auto kernel = graph.kernel(multiply{paths, tiles, all});
    graph.connect(paths, kernel);
    for (std::uint32_t p = 0; p < (depth == 0 ? 1u : 7u); ++p) {
        graph.init(paths, {product_path{p, depth == 0 ? 0u : 1u}}, static_cast<int>(p) % rt.n_pes());
    }
    if (in_tiles) {
        const auto tile_kernel = graph.kernel(multiply_tile{all});
        graph.connect(tiles, tile_kernel);
        made.report.run = graph.run(kernel, tile_kernel);
    } else {
        made.report.run = graph.run(kernel);
    }
    made.report.channels = graph.statistics();
    made.product.resize(words);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const word_matrix part = product.copy_out(pe);
        for (std::uint64_t i = 0; i < words; ++i) made.product[i] += part[i];
    }
    return made;
}

word_matrix product_by_definition(const word_matrix& a, const word_matrix& b, std::uint32_t n) {
    word_matrix c(std::uint64_t{n} * n);
    for (std::uint64_t i = 0; i < n; ++i) {
        for (std::uint64_t k = 0; k < n; ++k) {
            for (std::uint64_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
    }
    return c;
}

}  // namespace laneway::apps
