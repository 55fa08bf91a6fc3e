#include "recursion/uts_node.hpp"

#include <algorithm>
#include <vector>

#include "laneway/base/error.hpp"

namespace laneway::apps {

namespace {

/// Children of a node that have not been looked at. A lane takes up one of them at a time, whose digest it computes,
/// and puts the others back: so a warp's lanes all do the same, and what waits takes little room.
struct uts_siblings {
    sha1_digest parent;   ///< its digest
    std::uint32_t depth;  ///< of the children; 0: the root, whose own digest this is
    std::uint32_t first;
    std::uint32_t left;
};

struct uts_totals {
    symmetric_ref<std::uint64_t> nodes;  ///< one a block, as one word for all lanes would be too hot
    symmetric_ref<std::uint64_t> leaves;
    symmetric_ref<std::uint64_t> depth;

    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, std::uint32_t at_depth, std::uint32_t children) const {
        const std::uint64_t block = static_cast<std::uint64_t>(ctx.block()) % nodes.size();
        // Each call has lanes of its own: those that come together to one would else be taken for those of the other.
        add(ctx, ctx.converged(), nodes[block]);
        if (children == 0) add(ctx, ctx.converged(), leaves[block]);
        const auto deepest = local(ctx, depth[block]);
        if (ctx.load(deepest, order::relaxed, scope::device) < at_depth) {
            ctx.fetch_max(deepest, std::uint64_t{at_depth}, order::relaxed, scope::device);
        }
    }

private:
    /// One for each lane of the mask, by one of them.
    template <class Ctx>
    static LANEWAY_FN void add(Ctx& ctx, lane_mask here, symmetric_ptr<std::uint64_t> to) {
        const auto lanes = static_cast<std::uint64_t>(Ctx::count_lanes(here));
        if (elected(ctx, here)) atomic_add(ctx, to, lanes, scope::device);
    }
};

struct expand {
    using element = uts_siblings;
    static constexpr bool moves = true;
    static constexpr std::uint32_t at_once = 4, few = 8;

    channel<uts_siblings> nodes;
    uts_tree tree;
    uts_totals totals;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, uts_siblings& waiting, channel_node& out) const {
        const std::uint32_t number = waiting.first + waiting.left - 1;
        const sha1_digest node = waiting.depth == 0 ? waiting.parent : uts_child(waiting.parent, number);
        const std::uint32_t children = uts_children(tree, node, waiting.depth);
        if (children != 0) {
            // Many are shared out, as one lane after the other takes up those that wait together.
            const std::uint32_t parts = children <= few ? 1 : at_once;
            const auto next = out.talloc(ctx, nodes, parts);
            if (!next) return outcome::yield;
            for (std::uint32_t i = 0; i < parts; ++i) {
                const std::uint32_t first = children * i / parts, end = children * (i + 1) / parts;
                next[i] = {node, waiting.depth + 1, first, end - first};
            }
            out.enq(ctx, next);
        }
        totals.count(ctx, waiting.depth, children);
        return --waiting.left == 0 ? outcome::done : outcome::again;
    }
};

const uts_sample samples[] = {
    {"T1", {uts_shape::fixed, 4, 10, 0, 0, 19}, {4130071, 3305118, 10}},
    {"T5", {uts_shape::linear, 4, 20, 0, 0, 34}, {4147582, 2181318, 20}},
    {"T2", {uts_shape::cyclic, 6, 16, 0, 0, 502}, {4117769, 2342762, 81}},
    {"T3", {uts_shape::binomial, 2000, 0, 8, 0.124875, 42}, {4112897, 3599034, 1572}},
    {"T4", {uts_shape::hybrid, 6, 16, 4, 0.234375, 1}, {4132453, 3108986, 134}},
    {"T1L", {uts_shape::fixed, 4, 13, 0, 0, 29}, {102181082, 81746377, 13}},
    {"T2L", {uts_shape::cyclic, 7, 23, 0, 0, 220}, {96793510, 53791152, 67}},
    {"T3L", {uts_shape::binomial, 2000, 0, 5, 0.200014, 7}, {111345631, 89076904, 17844}},
    {"T1XL", {uts_shape::fixed, 4, 15, 0, 0, 29}, {1635119272, 1308100063, 15}},
    {"T1XXL", {uts_shape::fixed, 4, 15, 0, 0, 19}, {4230646601, 3384495738, 15}},
    {"T3XXL", {uts_shape::binomial, 2000, 0, 2, 0.499995, 316}, {2793220501, 1396611250, 99049}},
    {"T2XXL", {uts_shape::binomial, 2000, 0, 2, 0.499999995, 0}, {10612052303, 5306027151, 216370}},
    {"T1WL", {uts_shape::fixed, 4, 18, 0, 0, 19}, {270751679750, 216601257283, 18}},
    {"T2WL", {uts_shape::binomial, 2000, 0, 2, 0.4999999995, 559}, {295393891003, 147696946501, 1021239}},
    {"T3WL", {uts_shape::binomial, 2000, 0, 2, 0.4999995, 559}, {157063495159, 78531748579, 758577}},
};

/// More than the depth of trees of this shape, but for draws that nobody has seen.
std::uint32_t levels_of(const uts_tree& tree) {
    switch (tree.shape) {
        case uts_shape::binomial:
        case uts_shape::hybrid: return 2048;
        case uts_shape::cyclic: return 5 * tree.depth + 2;
        case uts_shape::exponential: return 16 * tree.depth + 2;
        default: return tree.depth + 2;
    }
}

/// How wide the levels of a tree are. Where the usual share of the memory leaves them less than `enough`, as it does
/// with the 17,845 levels of T3L, they get more of it: narrower ones are full so often that warps look for others most
/// of their time, along all levels.
fork_join_plan plan_levels(const channel_plan& nodes, std::uint32_t levels, const recursion_options& options,
                           std::uint32_t useful) {
    constexpr std::uint32_t enough = 64;
    const fork_join_plan usual = plan_fork_join({nodes}, {levels, options.width, options.memory_bytes}, useful);
    if (options.width != 0 || usual.width >= enough) return usual;
    const fork_join_plan wider = plan_fork_join({nodes}, {levels, enough, options.memory_bytes}, useful);
    return wider.stack_bytes >= options.memory_bytes / 8 ? wider : usual;
}

}  // namespace

const uts_sample& uts_sample_of(const std::string& name) {
    std::string known;
    for (const auto& sample : samples) {
        if (name == sample.name) return sample;
        known += (known.empty() ? "" : ", ") + std::string(sample.name);
    }
    throw usage_error("no tree of the benchmark is called '" + name + "': there are " + known);
}

uts_count uts_by_stack(const uts_tree& tree) {
    struct place {
        sha1_digest digest;
        std::uint32_t depth;
    };
    uts_count count;
    std::vector<place> open{{uts_root(tree), 0}};
    while (!open.empty()) {
        const place here = open.back();
        open.pop_back();
        const std::uint32_t children = uts_children(tree, here.digest, here.depth);
        ++count.nodes;
        if (children == 0) ++count.leaves;
        count.depth = std::max<std::uint64_t>(count.depth, here.depth);
        for (std::uint32_t i = 0; i < children; ++i) open.push_back({uts_child(here.digest, i), here.depth + 1});
    }
    return count;
}

uts_result uts(const uts_tree& tree, const recursion_options& options, std::uint32_t levels) {
    runtime rt(options.job);
    return uts(rt, tree, options, levels);
}

uts_result uts(runtime& rt, const uts_tree& tree, const recursion_options& options, std::uint32_t levels) {
    constexpr std::uint64_t blocks = 1024;
    const auto nodes = rt.allocate<std::uint64_t>(blocks), leaves = rt.allocate<std::uint64_t>(blocks),
               depth = rt.allocate<std::uint64_t>(blocks);
    const std::uint32_t deep = levels != 0 ? levels : levels_of(tree);
    channel_plan plan{{.width = 0, .levels = deep, .at_once = expand::at_once, .name = "nodes"}, sizeof(uts_siblings)};
    uts_result made;
    const fork_join_plan memory = plan_levels(plan, deep, options, rt.machine().has_gpus() ? 1 << 20 : 1 << 10);
    made.report.width = plan.options.width = memory.width;
    channel_graph graph(rt, {.stack_bytes = memory.stack_bytes});
    const auto waiting = graph.channel<uts_siblings>(plan.options);
    const auto kernel = graph.kernel(expand{waiting, tree, {nodes.ref(), leaves.ref(), depth.ref()}});
    graph.connect(waiting, kernel);
    graph.init(waiting, {uts_siblings{uts_root(tree), 0, 0, 1}});
    made.report.run = run_by(options.scheduler, [&](const auto& policy) { return graph.run_with(policy, kernel); });
    made.report.channels = graph.statistics();
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        for (const std::uint64_t n : nodes.copy_out(pe)) made.count.nodes += n;
        for (const std::uint64_t n : leaves.copy_out(pe)) made.count.leaves += n;
        for (const std::uint64_t n : depth.copy_out(pe)) made.count.depth = std::max(made.count.depth, n);
    }
    return made;
}

}  // namespace laneway::apps
