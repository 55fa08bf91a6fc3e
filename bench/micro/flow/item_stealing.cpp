// Items that idle PEs take from a busy one: trees whose roots are all given to PE 0, with and without
// item_worklist_options.stealing.
//
//   bench_item_stealing --devices "cpu:4;cuda:0-3" --roots 1000 --depth 8 --work 2000 --rounds 5 --json FILE
// An item has two children, and a leaf one result, which goes to one of the PEs and is added up there; `work`: steps of
// a loop for each part. Both ways have their turns within each round, seconds are the run's own, and results are
// compared with those of one thread.
#include <exception>
#include <map>
#include <vector>

#include "bench_support.hpp"
#include "laneway/flow/item_worklist.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

struct node {
    std::uint64_t key = 0;
    std::uint32_t depth = 0;
    std::uint32_t is_result = 0;
};

LANEWAY_FN std::uint64_t stir(std::uint64_t x, std::uint32_t steps) {
    for (std::uint32_t i = 0; i < steps; ++i) {
        x = (x ^ (x >> 31)) * 0x94d049bb133111ebu + 1;
    }
    return x;
}

struct tree_search : item_defaults<node> {
    static constexpr bool items_move = true;
    std::uint32_t steps = 1;
    std::uint64_t* sum = nullptr;  ///< on the PE

    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx& ctx, const node& made) const {
        if (made.is_result == 0) return item_route::keep();
        const int home = static_cast<int>(made.key % static_cast<unsigned>(ctx.n_pes()));
        return home == ctx.pe() ? on_receive(ctx, made) : item_route::pass(home);
    }
    template <class Ctx>
    LANEWAY_FN item_route on_receive(Ctx& ctx, const node& come) const {
        ctx.fetch_add(sum, come.key, order::relaxed, scope::device);
        return item_route::drop();
    }
    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx&, const node& one) const {
        return item_parts::of(one.depth == 0 ? 1 : 2);
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, const node& one, std::uint32_t part, List& list) const {
        node made{stir(one.key + part, steps), 0, 1};
        if (one.depth > 0) made = {made.key, one.depth - 1, 0};
        (void)list.push(ctx, made);  // a failure ends the run
    }
};

std::uint64_t sum_below(const node& one, std::uint32_t steps) {
    if (one.depth == 0) return stir(one.key, steps);
    std::uint64_t sum = 0;
    for (std::uint32_t part = 0; part < 2; ++part) {
        sum += sum_below({stir(one.key + part, steps), one.depth - 1, 0}, steps);
    }
    return sum;
}

void measure(const bench::arguments& args, const std::string& list, bench::json_lines& json) {
    options o;
    o.devices = list;
    o.timeout_seconds = args.real("timeout");
    runtime rt(o);
    const auto steps = static_cast<std::uint32_t>(args.number("work", 1, 1 << 30));
    std::vector<node> roots(args.number("roots", 1, 1 << 20));
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < roots.size(); ++i) {
        roots[i] = {i, static_cast<std::uint32_t>(args.number("depth", 0, 30)), 0};
        expected += sum_below(roots[i], steps);
    }
    std::map<bool, std::vector<double>> seconds;
    std::map<bool, item_work> work;
    for (std::uint64_t round = 0; round < args.number("rounds", 1); ++round) {
        for (const bool stealing : {false, true}) {
            std::vector<buffer<std::uint64_t>> sums;
            std::vector<tree_search> all(static_cast<std::size_t>(rt.n_pes()));
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                sums.emplace_back(rt.machine().device(pe), 1);
                all[static_cast<std::size_t>(pe)].steps = steps;
                all[static_cast<std::size_t>(pe)].sum = sums.back().data();
            }
            item_worklist_options options;
            options.priorities = false;
            options.stealing = stealing;
            item_worklist<tree_search> items(rt.machine(), all, options);
            items.start_with(0, roots);
            seconds[stealing].push_back(run_items(rt, items).run_seconds);
            work[stealing] = items.work();
            std::uint64_t found = 0;
            for (const auto& sum : sums) found += sum.copy_out()[0];
            if (found != expected) throw device_fault("results differ from those of one thread");
        }
    }
    const double without = bench::spread_of(seconds[false]).median;
    for (const auto& [stealing, taken] : seconds) {
        const auto spread = bench::spread_of(taken);
        const item_work& of = work[stealing];
        std::printf("%-10s stealing %-3s median %9.6f s   %5.2f x without   %llu items, %llu stolen, %llu returned\n",
                    list.c_str(), stealing ? "on" : "off", spread.median, spread.median / without,
                    static_cast<unsigned long long>(of.done), static_cast<unsigned long long>(of.stolen),
                    static_cast<unsigned long long>(of.returned));
        json.write({{"benchmark", "item_stealing"}, {"devices", list}, {"stealing", stealing ? "on" : "off"}},
                   {{"items", static_cast<double>(of.done)},
                    {"stolen", static_cast<double>(of.stolen)},
                    {"returned", static_cast<double>(of.returned)},
                    {"least_s", spread.least},
                    {"median_s", spread.median},
                    {"most_s", spread.most}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"roots", "100"},
                                     {"depth", "8"},
                                     {"work", "2000"},
                                     {"rounds", "5"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measure(args, devices, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_item_stealing: %s\n", e.what());
        return 1;
    }
}
