#include "recursion/strassen.hpp"

#include <bit>

#include "laneway/base/error.hpp"

namespace laneway::apps {

namespace {

/// Quadrants of a term, as row * 2 + column; `minus` is added to those that are subtracted, `none` is no quadrant.
constexpr std::uint32_t minus = 4, none = 8;

/// Term t of the sum that product p (0 to 6) makes of the left operand, of the right one, and adds to of the result.
LANEWAY_FN std::uint32_t term(std::uint32_t operand, std::uint32_t p, std::uint32_t t) {
    constexpr std::uint8_t terms[3][7][2] = {
        {{0, 3}, {2, 3}, {0, none}, {3, none}, {0, 1}, {2, 0 + minus}, {1, 3 + minus}},
        {{0, 3}, {0, none}, {1, 3 + minus}, {2, 0 + minus}, {3, none}, {0, 1}, {2, 3}},
        {{0, 3}, {2, 3 + minus}, {1, 3}, {0, 2}, {1, 0 + minus}, {3, none}, {0, none}}};
    return terms[operand][p][t];
}

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

struct multiply {
    using element = product_path;

    channel<product_path> paths;
    symmetric_ref<std::uint32_t> a, b, c;
    std::uint32_t n, depth, block;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const product_path& path, channel_node& node) const {
        if (path.depth == depth) {
            multiply_blocks(ctx, path);
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

    /// The term of an operand that takes, at each level, the one that a bit of `choice` says.
    LANEWAY_FN block_term term_of(std::uint32_t operand, const product_path& path, std::uint32_t choice) const {
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

    template <class Ctx>
    LANEWAY_FN void gather(Ctx& ctx, std::uint32_t operand, const product_path& path,
                           std::uint32_t (&sum)[words]) const {
        for (std::uint32_t i = 0; i < block * block; ++i) sum[i] = 0;
        const auto from = (operand == 0 ? a : b).local(ctx);
        for (std::uint32_t choice = 0; choice < 1u << depth; ++choice) {
            const block_term one = term_of(operand, path, choice);
            if (!one.exists) continue;
            for (std::uint32_t i = 0; i < block * block; ++i) {
                const std::uint32_t word = from[one.first + std::uint64_t{i / block} * n + i % block];
                sum[i] += one.is_negative ? 0u - word : word;
            }
        }
    }

    template <class Ctx>
    LANEWAY_FN void multiply_blocks(Ctx& ctx, const product_path& path) const {
        std::uint32_t left[words], right[words];
        gather(ctx, 0, path, left);
        gather(ctx, 1, path, right);
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
        for (std::uint32_t choice = 0; choice < 1u << depth; ++choice) {
            const block_term to = term_of(2, path, choice);
            if (!to.exists) continue;
            for (std::uint32_t j = 0; j < block; ++j) {
                const std::uint32_t word = to.is_negative ? 0u - row[j] : row[j];
                atomic_add(ctx, c[to.first + std::uint64_t{i} * n + j], word, scope::device);
            }
        }
    }
};

}  // namespace

strassen_result strassen(const word_matrix& a, const word_matrix& b, std::uint32_t n,
                         const recursion_options& options) {
    runtime rt(options.job);
    return strassen(rt, a, b, n, options);
}

strassen_result strassen(runtime& rt, const word_matrix& a, const word_matrix& b, std::uint32_t n,
                         const recursion_options& options) {
    const std::uint32_t block = options.grain != 0 ? options.grain : strassen_block;
    const std::uint64_t words = std::uint64_t{n} * n;
    if (block > strassen_block || !std::has_single_bit(block)) {
        throw usage_error("blocks of " + std::to_string(block) + " rows: a power of two, " +
                          std::to_string(strassen_block) + " at most");
    }
    if (n < block || n % block != 0 || !std::has_single_bit(n / block) || n / block > 1024) {
        throw usage_error("matrices of " + std::to_string(n) + " rows: " + std::to_string(block) +
                          " times a power of two, 1,024 at most");
    }
    if (a.size() != words || b.size() != words) throw usage_error("a matrix has n rows of n elements");
    const auto depth = static_cast<std::uint32_t>(std::countr_zero(n / block));
    auto left = rt.allocate<std::uint32_t>(words), right = rt.allocate<std::uint32_t>(words);
    const auto product = rt.allocate<std::uint32_t>(words);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        left.copy_in(pe, a);
        right.copy_in(pe, b);
    }
    channel_plan plan{{.width = 0, .levels = depth + 1, .at_once = 7, .name = "products"}, sizeof(product_path)};
    strassen_result made;
    const fork_join_plan memory = plan_fork_join({plan}, {depth + 1, options.width, options.memory_bytes},
                                                 rt.machine().has_gpus() ? 1 << 20 : 1 << 10);
    made.report.width = plan.options.width = memory.width;
    channel_graph graph(rt, {.stack_bytes = memory.stack_bytes});
    const auto paths = graph.channel<product_path>(plan.options);
    const auto kernel = graph.kernel(multiply{paths, left.ref(), right.ref(), product.ref(), n, depth, block});
    graph.connect(paths, kernel);
    for (std::uint32_t p = 0; p < (depth == 0 ? 1u : 7u); ++p) {
        graph.init(paths, {product_path{p, depth == 0 ? 0u : 1u}}, static_cast<int>(p) % rt.n_pes());
    }
    made.report.run = graph.run(kernel);
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
