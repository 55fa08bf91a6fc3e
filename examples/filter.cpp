// The predicate filter: which numbers of an array does a predicate hold for? First by one call, then by the links and
// routers that it is made of: the host streams the array to whichever device has room, and gathers what they keep.
//
// Usage: filter [DEVICES]     for example cpu:2, cuda:0,cpu:1; empty: every GPU, else one CPU device a core
#include <iostream>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/flow/filter.hpp"

namespace {

/// Of any type, as long as devices can call it.
struct is_prime {
    LANEWAY_FN bool operator()(std::uint32_t x) const {
        for (std::uint32_t i = 2; i * i <= x; ++i) {
            if (x % i == 0) return false;
        }
        return x > 1;
    }
};

/// A kernel: each lane looks at every so-manieth number, and adds what it has found to a sum.
struct count_primes {
    const std::uint32_t* numbers;
    std::uint64_t count;
    std::uint64_t* found;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        std::uint64_t mine = 0;
        for (std::uint64_t i = ctx.rank(); i < count; i += ctx.size()) mine += is_prime{}(numbers[i]) ? 1 : 0;
        ctx.fetch_add(found, mine, lw::order::relaxed, lw::scope::device);
    }
};

std::vector<std::uint32_t> first_numbers(std::uint32_t count) {
    std::vector<std::uint32_t> numbers(count);
    for (std::uint32_t i = 0; i < count; ++i) numbers[i] = i;
    return numbers;
}

/// What a device does with the packets of a link: counts, and sends one number for each of them.
void count_packets(lw::flow::context& ctx, const lw::flow::endpoint& device, const lw::flow::link& in,
                   const lw::flow::link& out, lw::device_stream& stream) {
    const auto zero = ctx.allocate<std::uint64_t>(device, 1), sum = ctx.allocate<std::uint64_t>(device, 1);
    while (const auto packet = in.receive().get()) {
        stream.wait(packet.arrived());  // the stream waits, not this thread
        stream.copy(sum.get(), zero.get(), sizeof(std::uint64_t));
        stream.run(count_primes{packet.as<std::uint32_t>(), packet.count<std::uint32_t>(), sum.get()});
        in.release(packet, stream);  // the buffer is free when the kernel has read it
        out.wait(out.send(lw::flow::segment::of(sum.get(), 1), stream));
    }
    out.shutdown();
}

std::uint64_t count_by_links(lw::flow::context& ctx, const std::vector<std::uint32_t>& numbers) {
    const lw::flow::router to_devices(ctx, lw::flow::any_available());
    const lw::flow::router to_host(ctx, lw::flow::any_available());
    const lw::flow::link feed(ctx, ctx.host(), to_devices, {.packet_bytes = 1 << 14});
    const lw::flow::link collect(ctx, to_host, ctx.host());
    for (const auto& device : ctx.devices()) {
        const lw::flow::link in(ctx, to_devices, device, {.packet_bytes = 1 << 14, .buffers = 2});
        const lw::flow::link out(ctx, device, to_host);
        ctx.start_worker(device, [&ctx, device, in, out](lw::device_stream& stream) {
            count_packets(ctx, device, in, out, stream);
        });
    }
    const auto sent = feed.send(lw::flow::segment::of(numbers));
    feed.shutdown();  // receivers get the end when they have had all
    std::uint64_t found = 0;
    while (const auto packet = collect.receive().get()) {
        ctx.wait(packet.arrived());
        found += *packet.as<std::uint64_t>();
        collect.release(packet);
    }
    feed.wait(sent);
    ctx.join();
    return found;
}

int run(int argc, char** argv) {
    lw::options options;
    if (argc > 1) options.devices = argv[1];
    lw::flow::context ctx(options);
    const auto numbers = first_numbers(100'000);
    const auto primes = lw::flow::filter(ctx, numbers, is_prime{});
    std::cout << primes.size() << " primes, the last is " << primes.back() << '\n';
    std::cout << count_by_links(ctx, numbers) << " by links and routers\n";
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "filter: " << e.what() << '\n';
        return 1;
    }
}
