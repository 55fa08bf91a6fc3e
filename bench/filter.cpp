// Filtering an array over unequal devices: a packet to whoever has room first, against equal parts; and with the first
// device alone, against a plain copy of the array to it.
//
//   bench_filter --devices cpu:2 --bytes 250000000 --packet 4194304 --slow "1;4" --rounds 5 --json FILE
// `--slow`: how many times a device does the work of the predicate, in turn over the list: devices of one kind become
// unequal ones. `available`, `even`, `alone` and `copy` have their turns within each round. Seconds are the host's; the
// array lies in memory that GPUs copy from at full speed. What is kept is compared with a loop of the host's.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "bench_support.hpp"
#include "laneway/flow/filter.hpp"
#include "peak_memory.hpp"

namespace {

using namespace laneway;

/// Keeps even numbers, after work that changes nothing: factors whose product is 1, which no compiler knows.
struct slow_even {
    std::uint32_t rounds;
    std::uint32_t factor;
    std::uint32_t inverse;

    LANEWAY_FN bool operator()(std::uint32_t x) const {
        for (std::uint32_t i = 0; i < rounds; ++i) x = x * factor * inverse;
        return x % 2 == 0;
    }
};

/// The same as flow::filter_into, with a predicate of its own for each device.
std::uint64_t filter_all(flow::context& ctx, const std::vector<flow::endpoint>& devices, const std::uint32_t* values,
                         std::size_t count, const std::vector<std::uint32_t>& slow, const flow::routing_policy& policy,
                         std::size_t packet) {
    const flow::link_options sizes{packet, 3};
    const flow::router scatter(ctx, policy), gather(ctx, flow::any_available());
    const flow::link feed(ctx, ctx.host(), scatter, sizes), collect(ctx, gather, ctx.host(), sizes);
    std::vector<flow::filter_share> shares(devices.size());
    for (std::size_t d = 0; d < devices.size(); ++d) {
        const flow::endpoint at = devices[d];
        const flow::link in(ctx, scatter, at, sizes), out(ctx, at, gather, sizes);
        const slow_even keeps{8 * slow[d % slow.size()], 0x2c9277b5, 0xcc2bfe9d};
        ctx.start_worker(at, [&ctx, at, in, out, packet, keeps, &share = shares[d]](device_stream& stream) {
            flow::filter_packets<std::uint32_t>(ctx, at, in, out, packet / sizeof(std::uint32_t), keeps, share, stream);
        });
    }
    const event sent = feed.send(flow::segment::of(values, count));
    feed.shutdown();
    std::uint64_t kept = 0;
    while (const auto part = collect.receive().get()) {
        ctx.wait(part.arrived());
        kept += part.count<std::uint32_t>();
        collect.release(part);
    }
    feed.wait(sent);
    ctx.join();
    return kept;
}

void copy_all(flow::context& ctx, const flow::endpoint& to, const std::uint32_t* values, std::size_t bytes,
              std::size_t packet) {
    const auto there = ctx.allocate<std::byte>(to, packet);
    device_stream stream = ctx.make_stream(to, "copying");
    const auto* from = reinterpret_cast<const std::byte*>(values);
    for (std::size_t at = 0; at < bytes; at += packet) {
        stream.copy(there.get(), from + at, std::min(packet, bytes - at));
    }
    ctx.wait(stream.record());
}

/// An array in memory that GPUs copy from at full speed, and how many of its numbers are even.
struct input {
    input(flow::context& ctx, std::size_t n) : count(n), values(ctx.allocate<std::uint32_t>(ctx.host(), n)) {
        for (std::size_t i = 0; i < count; ++i) {
            values.get()[i] = static_cast<std::uint32_t>(i * 2654435761u >> 7);
            even += values.get()[i] % 2 == 0 ? 1 : 0;
        }
    }

    std::size_t count;
    std::shared_ptr<std::uint32_t> values;
    std::uint64_t even = 0;
};

using samples = std::map<std::string, std::vector<double>>;

/// One round: each way once.
void run_round(flow::context& ctx, const input& in, const std::vector<std::uint32_t>& slow, std::size_t packet,
               samples& seconds) {
    const auto timed = [&](const std::string& name, auto&& run) {
        const auto start = std::chrono::steady_clock::now();
        const std::uint64_t kept = run();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (kept != in.even) throw device_fault(name + " has kept other numbers than the host");
        seconds[name].push_back(taken.count());
    };
    const auto filtered = [&](const std::vector<flow::endpoint>& devices, const flow::routing_policy& policy) {
        return filter_all(ctx, devices, in.values.get(), in.count, slow, policy, packet);
    };
    timed("available", [&] { return filtered(ctx.devices(), flow::any_available()); });
    timed("even", [&] { return filtered(ctx.devices(), flow::even_split()); });
    timed("alone", [&] { return filtered({ctx.devices()[0]}, flow::any_available()); });
    timed("copy", [&] {
        copy_all(ctx, ctx.devices()[0], in.values.get(), in.count * sizeof(std::uint32_t), packet);
        return in.even;
    });
}

void measure(const bench::arguments& args, const std::string& list, bench::json_lines& json) {
    options o;
    o.devices = list;
    o.timeout_seconds = args.real("timeout");
    flow::context ctx(o);
    const std::size_t count = args.number("bytes") / 4, packet = args.number("packet") / 4 * 4;
    std::vector<std::uint32_t> slow;
    for (const auto& times : args.list("slow")) slow.push_back(static_cast<std::uint32_t>(std::stoul(times)));
    const input in(ctx, count);
    samples seconds;
    bench::forget_host_peak();
    for (std::uint64_t round = 0; round < args.number("rounds"); ++round) run_round(ctx, in, slow, packet, seconds);
    const double available = bench::spread_of(seconds["available"]).median;
    std::uint64_t device_peak = 0;
    for (const auto& device : ctx.devices()) device_peak = std::max(device_peak, ctx.peak_bytes(device));
    const std::uint64_t host_peak = bench::host_peak_bytes();
    for (const auto& [name, taken] : seconds) {
        const auto spread = bench::spread_of(taken);
        std::printf("%-16s %-10s least %8.4f s   median %8.4f s   most %8.4f s   %5.2f times as long as available\n",
                    list.c_str(), name.c_str(), spread.least, spread.median, spread.most, spread.median / available);
        json.write({{"benchmark", "filter"}, {"devices", list}, {"policy", name}, {"slow", args.text("slow")}},
                   {{"bytes", static_cast<double>(count * 4)},
                    {"packet_bytes", static_cast<double>(packet)},
                    {"least_s", spread.least},
                    {"median_s", spread.median},
                    {"most_s", spread.most},
                    {"device_peak_bytes", static_cast<double>(device_peak)},
                    {"host_peak_bytes", static_cast<double>(host_peak)}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"bytes", "250000000"},
                                     {"packet", "4194304"},
                                     {"slow", "1;4"},
                                     {"rounds", "5"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measure(args, devices, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_filter: %s\n", e.what());
        return 1;
    }
}
