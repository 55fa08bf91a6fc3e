// Collectives of groups over large buffers, by shape: how a broadcast in one piece to each compares with pieces that go
// from member to member or down a tree, and the other collectives likewise.
//
//   bench_group_collectives --devices "cuda:0-1;cuda:0-3" --collectives "broadcast;all_reduce"
//       --shapes "direct;ring;tree" --bytes "1048576;67108864" --packet 1048576 --buffers 4 --rounds 5 --json FILE
// Members are the devices, and the host where there is one device. `bytes`: of each member's buffer, of which a block
// is the n-th part; the rate is these bytes over the time. Seconds are the host's, from the call to its return. Results
// are checked before the rounds. Shapes that a collective lacks are left out.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench_support.hpp"
#include "laneway/flow/group.hpp"

namespace {

using namespace laneway;

using words = std::vector<std::uint32_t>;
using pointers = std::vector<std::uint32_t*>;

const std::map<std::string, flow::shape> shapes{
    {"direct", flow::shape::direct}, {"ring", flow::shape::ring}, {"tree", flow::shape::tree}};

/// Of n members' buffers of `n * block` elements; member i's element k is i * 7,919 + k at first.
struct sizes {
    std::size_t n, block;

    [[nodiscard]] static std::uint32_t before(std::size_t i, std::size_t k) {
        return static_cast<std::uint32_t>(i * 7919 + k);
    }
    [[nodiscard]] std::uint32_t sum(std::size_t k) const {
        return static_cast<std::uint32_t>(n * (n - 1) / 2 * 7919 + n * k);
    }
};

struct collective {
    /// Calls it; `to` for what does not leave its result where it finds its data.
    std::function<void(flow::group&, const pointers& data, const pointers& to, const sizes&, flow::shape)> run;
    /// Whether this element of member i is what it should be, or is anything it likes to be.
    std::function<bool(const sizes&, std::size_t i, std::size_t k, std::uint32_t got)> right;
    std::optional<flow::shape> lacks = {};
};

std::map<std::string, collective> all_collectives() {
    return {
        {"broadcast",
         {[](auto& g, auto& b, auto&, auto& s, auto how) { g.broadcast(b, s.n * s.block, 0, how); },
          [](auto&, std::size_t, std::size_t k, std::uint32_t got) { return got == sizes::before(0, k); }}},
        {"scatter",
         {[](auto& g, auto& b, auto&, auto& s, auto how) { g.scatter(b, s.block, 0, how); },
          [](auto& s, std::size_t i, std::size_t k, std::uint32_t got) {
              return k / s.block != i || got == sizes::before(0, k);
          },
          flow::shape::ring}},
        {"gather",
         {[](auto& g, auto& b, auto&, auto& s, auto how) { g.gather(b, s.block, 0, how); },
          [](auto& s, std::size_t i, std::size_t k, std::uint32_t got) {
              return i != 0 || got == sizes::before(k / s.block, k);
          },
          flow::shape::ring}},
        {"all_gather",
         {[](auto& g, auto& b, auto&, auto& s, auto how) { g.all_gather(b, s.block, how); },
          [](auto& s, std::size_t, std::size_t k, std::uint32_t got) { return got == sizes::before(k / s.block, k); }}},
        {"reduce",
         {[](auto& g, auto& b, auto&, auto& s, auto how) { g.reduce(b, s.n * s.block, 0, flow::plus{}, how); },
          [](auto& s, std::size_t i, std::size_t k, std::uint32_t got) { return i != 0 || got == s.sum(k); }}},
        {"reduce_scatter",
         {[](auto& g, auto& b, auto&, auto& s, auto how) { g.reduce_scatter(b, s.block, flow::plus{}, how); },
          [](auto& s, std::size_t i, std::size_t k, std::uint32_t got) {
              return k / s.block != i || got == s.sum(k);
          }}},
        {"all_reduce",
         {[](auto& g, auto& b, auto&, auto& s, auto how) { g.all_reduce(b, s.n * s.block, flow::plus{}, how); },
          [](auto& s, std::size_t, std::size_t k, std::uint32_t got) { return got == s.sum(k); }}},
        {"all_to_all",
         {[](auto& g, auto& b, auto& to, auto& s, auto how) {
              const std::vector<std::vector<std::uint64_t>> counts(s.n, std::vector<std::uint64_t>(s.n, s.block));
              g.all_to_all(std::vector<const std::uint32_t*>(b.begin(), b.end()), to, counts, how);
          },
          [](auto& s, std::size_t i, std::size_t k, std::uint32_t got) {
              return got == sizes::before(k / s.block, i * s.block + k % s.block);
          },
          flow::shape::tree}},
    };
}

/// Members, and two buffers of each.
struct members {
    members(flow::context& c, const bench::arguments& args, std::uint64_t bytes) : ctx(c), ends(c.devices()) {
        if (ends.size() == 1) ends.push_back(ctx.host());
        size = {ends.size(), std::max<std::size_t>(bytes / sizeof(std::uint32_t) / ends.size(), 1)};
        for (const auto& end : ends) {
            for (auto* const all : {&data, &to}) {
                memory.push_back(ctx.allocate<std::uint32_t>(end, size.n * size.block));
                all->push_back(memory.back().get());
            }
        }
        const flow::link_options links{
            args.number("packet", 4), static_cast<int>(args.number("buffers", 1, 64)), {}, {}};
        group = std::make_unique<flow::group>(ctx, ends, links);
    }

    void copy(std::size_t i, void* into, const void* from) const {
        device_stream stream = ctx.make_stream(ends[i], "filling");
        stream.copy(into, from, size.n * size.block * sizeof(std::uint32_t));
        ctx.wait(stream.record());
    }
    void fill() const {
        words values(size.n * size.block);
        for (std::size_t i = 0; i < size.n; ++i) {
            for (std::size_t k = 0; k < values.size(); ++k) values[k] = sizes::before(i, k);
            copy(i, data[i], values.data());
        }
    }
    void check(const std::string& name, const collective& one) const {
        words got(size.n * size.block);
        for (std::size_t i = 0; i < size.n; ++i) {
            copy(i, got.data(), name == "all_to_all" ? to[i] : data[i]);
            for (std::size_t k = 0; k < got.size(); ++k) {
                if (!one.right(size, i, k, got[k])) throw device_fault(name + ": a wrong result");
            }
        }
    }

    flow::context& ctx;
    std::vector<flow::endpoint> ends;
    sizes size{};
    std::vector<std::shared_ptr<std::uint32_t>> memory;
    pointers data, to;
    std::unique_ptr<flow::group> group;
};

void measure(const bench::arguments& args, const std::string& list, std::uint64_t bytes, bench::json_lines& json) {
    options o;
    o.devices = list;
    o.timeout_seconds = args.real("timeout");
    flow::context ctx(o);
    const members all(ctx, args, bytes);
    const auto known = all_collectives();
    for (const auto& name : args.list("collectives")) {
        if (known.count(name) == 0) throw usage_error("--collectives: no collective " + name);
        const collective& one = known.at(name);
        for (const auto& shape : args.list("shapes")) {
            if (shapes.count(shape) == 0) throw usage_error("--shapes: direct, ring or tree, not " + shape);
            if (one.lacks == shapes.at(shape)) continue;
            const auto run = [&] { one.run(*all.group, all.data, all.to, all.size, shapes.at(shape)); };
            all.fill();
            run();
            all.check(name, one);
            std::vector<double> seconds;
            for (std::uint64_t round = 0; round < args.number("rounds", 1); ++round) {
                const auto start = std::chrono::steady_clock::now();
                run();
                seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            }
            const auto spread = bench::spread_of(seconds);
            const auto moved = static_cast<double>(all.size.n * all.size.block * sizeof(std::uint32_t));
            std::printf("%-10s %-14s %-6s %10.0f bytes  median %9.6f s  %6.2f GB/s\n", list.c_str(), name.c_str(),
                        shape.c_str(), moved, spread.median, moved / spread.median * 1e-9);
            json.write({{"benchmark", "group_collectives"}, {"devices", list}, {"collective", name}, {"shape", shape}},
                       {{"members", static_cast<double>(all.size.n)},
                        {"bytes", moved},
                        {"packet_bytes", static_cast<double>(args.number("packet"))},
                        {"least_s", spread.least},
                        {"median_s", spread.median},
                        {"most_s", spread.most}});
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(
            argc, argv,
            {{"devices", "cpu:2"},
             {"collectives", "broadcast;scatter;gather;all_gather;reduce;reduce_scatter;all_reduce;all_to_all"},
             {"shapes", "direct;ring;tree"},
             {"bytes", "1048576"},
             {"packet", "1048576"},
             {"buffers", "4"},
             {"rounds", "5"},
             {"timeout", "60"},
             {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const std::uint64_t bytes : args.numbers("bytes", ';', 4, std::uint64_t{1} << 34))
                measure(args, devices, bytes, json);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_group_collectives: %s\n", e.what());
        return 1;
    }
}
