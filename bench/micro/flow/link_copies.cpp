// Packets of links whose elements are side by side, in rows or in pieces, by copy engine, by kernel and by the rule
// that chooses between them (flow/copy_rule.hpp): what the rule's constants should be.
//
//   bench_link_copies --devices "cuda:0;cuda:0-1" --shapes "whole;rows;backwards;pieces" --rows "16;256;4096"
//       --packets "65536;1048576" --bytes 67108864 --buffers 4 --rounds 5 --json FILE
// A message of `bytes` goes from the first device to the last one, where there are several, else to the host. `rows`:
// bytes of a row or piece; rows lie two of them apart, pieces in a shuffled order. The ways have their turns within
// each round; seconds are the host's. What has arrived is checked in the first round.
#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench_support.hpp"
#include "laneway/flow/link.hpp"

namespace {

using namespace laneway;

struct plan {
    std::string shape;
    std::size_t row, packet, bytes;
    int buffers;
};

/// Where the message lies in a memory of twice its bytes.
flow::layout order_of(const plan& p) {
    const std::size_t rows = p.bytes / p.row;
    const auto apart = static_cast<std::int64_t>(2 * p.row);
    if (p.shape == "whole") return flow::layout::strided(p.bytes, {});
    if (p.shape == "rows") return flow::layout::strided(p.row, {{rows, apart}});
    if (p.shape == "backwards") return flow::layout::strided(p.row, {{rows, -apart}});
    if (p.shape != "pieces") throw usage_error("--shapes: whole, rows, backwards or pieces, not " + p.shape);
    std::vector<flow::piece> pieces(rows);
    for (std::size_t i = 0; i < rows; ++i) pieces[i] = {static_cast<std::int64_t>(2 * i), 1};
    std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(1));
    return flow::layout::scattered(p.row, static_cast<std::int64_t>(2 * rows), pieces);
}

/// The first bytes of rows of the memory are their numbers, so that each says where it comes from.
std::vector<std::uint32_t> make_memory(const plan& p) {
    std::vector<std::uint32_t> words(2 * p.bytes / sizeof(std::uint32_t));
    std::iota(words.begin(), words.end(), 0u);
    return words;
}

/// Sends the message, and takes its packets as they come; `check`: compares them with the memory.
double send_once(flow::context& ctx, const flow::link& on, const flow::segment& what, device_stream& stream,
                 std::vector<std::byte>* into) {
    const auto start = std::chrono::steady_clock::now();
    const event sent = on.send(what);
    for (std::uint64_t got = 0; got < what.bytes;) {
        const auto part = on.receive().get();
        stream.wait(part.arrived());
        if (into != nullptr) stream.copy(into->data() + part.info().offset, part.as<std::byte>(), part.bytes());
        got += part.bytes();
        on.release(part, stream);
    }
    on.wait(sent);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    ctx.wait(stream.record());
    return taken.count();
}

void check(const plan& p, const flow::layout& order, const std::vector<std::uint32_t>& words, std::size_t base,
           const std::vector<std::byte>& got) {
    const auto* const memory = reinterpret_cast<const std::byte*>(words.data()) + base;
    bool same = true;
    order.for_each_rows(0, p.bytes, [&](const flow::layout_rows& some) {
        for (std::uint64_t row = 0; row < some.rows; ++row) {
            const auto* const from = memory + some.offset + static_cast<std::ptrdiff_t>(row * some.pitch);
            same = same && std::equal(from, from + some.row_bytes, got.data() + some.packed + row * some.row_bytes);
        }
    });
    if (!same) throw device_fault(p.shape + ": other bytes have arrived than were sent");
}

void measure(const bench::arguments& args, const std::string& list, const plan& p, bench::json_lines& json) {
    options o;
    o.devices = list;
    o.timeout_seconds = args.real("timeout");
    flow::context ctx(o);
    const flow::endpoint from = ctx.devices().front();
    const flow::endpoint to = ctx.devices().size() > 1 ? ctx.devices().back() : ctx.host();
    const std::vector<std::uint32_t> words = make_memory(p);
    const auto memory = ctx.allocate<std::byte>(from, 2 * p.bytes);
    device_stream placing = ctx.make_stream(from, "placing");
    placing.copy(memory.get(), words.data(), 2 * p.bytes);
    ctx.wait(placing.record());
    const flow::layout order = order_of(p);
    const std::size_t base = p.shape == "backwards" ? 2 * (p.bytes / p.row - 1) * p.row : 0;
    flow::segment what = flow::segment::of(memory.get() + base, order);
    what.element_bytes = p.shape == "whole" ? 4 : p.row;

    std::map<std::string, std::vector<double>> seconds;
    const std::map<std::string, flow::copy_path> ways{
        {"engine", flow::copy_path::engine}, {"kernel", flow::copy_path::kernel}, {"rule", flow::copy_path::by_rule}};
    std::map<std::string, flow::link> links;
    for (const auto& [name, way] : ways) {
        const flow::link_options sizes{p.packet, p.buffers, way, {}};
        links.emplace(name, flow::link(ctx, ctx.add_endpoint(from, name), to, sizes));
    }
    device_stream stream = ctx.make_stream(to, "receiving");
    for (std::uint64_t round = 0; round <= args.number("rounds"); ++round) {  // the first one warms up and checks
        for (const auto& [name, on] : links) {
            std::vector<std::byte> got(round == 0 ? p.bytes : 0);
            const double taken = send_once(ctx, on, what, stream, round == 0 ? &got : nullptr);
            if (round == 0) check(p, order, words, base, got);
            if (round > 0) seconds[name].push_back(taken);
        }
    }
    const double by_engine = bench::spread_of(seconds["engine"]).median;
    for (const auto& [name, taken] : seconds) {
        const auto spread = bench::spread_of(taken);
        const auto counted = links.at(name).count();
        std::printf(
            "%-10s %-9s rows %6zu  packets %8zu  %-6s median %9.6f s  %6.2f GB/s  %5.2f x engine  %llu of %llu "
            "packets by kernel\n",
            list.c_str(), p.shape.c_str(), p.row, p.packet, name.c_str(), spread.median,
            static_cast<double>(p.bytes) / spread.median * 1e-9, spread.median / by_engine,
            static_cast<unsigned long long>(counted.by_kernel), static_cast<unsigned long long>(counted.packets));
        json.write({{"benchmark", "link_copies"}, {"devices", list}, {"shape", p.shape}, {"way", name}},
                   {{"row_bytes", static_cast<double>(p.row)},
                    {"packet_bytes", static_cast<double>(p.packet)},
                    {"bytes", static_cast<double>(p.bytes)},
                    {"least_s", spread.least},
                    {"median_s", spread.median},
                    {"most_s", spread.most}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1"},
                                     {"shapes", "whole;rows;backwards;pieces"},
                                     {"rows", "16;256;4096"},
                                     {"packets", "65536;1048576"},
                                     {"bytes", "16777216"},
                                     {"buffers", "4"},
                                     {"rounds", "5"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        const std::uint64_t most = std::uint64_t{1} << 32;
        for (const auto& devices : args.list("devices")) {
            for (const auto& shape : args.list("shapes")) {
                for (const std::uint64_t packet : args.numbers("packets", ';', 16, most)) {
                    for (const std::uint64_t row : args.numbers("rows", ';', 4, packet)) {
                        const std::uint64_t bytes = args.number("bytes", row, most) / (4 * row) * (4 * row);
                        measure(args, devices, {shape, row, packet, bytes, static_cast<int>(args.number("buffers"))},
                                json);
                    }
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_link_copies: %s\n", e.what());
        return 1;
    }
}
