// What the suites of links, routers and collectives share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "laneway/flow/link.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {

using flow::segment;

inline std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first = 0) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), first);
    return all;
}

/// Copies a vector to memory of the endpoint.
template <class T>
std::shared_ptr<T> place(flow::context& ctx, const flow::endpoint& on, const std::vector<T>& values) {
    auto memory = ctx.allocate<T>(on, values.size());
    device_stream stream = ctx.make_stream(on, "placing");
    stream.copy(memory.get(), values.data(), values.size() * sizeof(T));
    ctx.wait(stream.record(), "placing");
    return memory;
}

template <class T>
std::vector<T> fetch(flow::context& ctx, const flow::endpoint& on, const T* from, std::size_t count) {
    std::vector<T> values(count);
    device_stream stream = ctx.make_stream(on, "fetching");
    stream.copy(values.data(), from, count * sizeof(T));
    ctx.wait(stream.record(), "fetching");
    return values;
}

/// Receives until the end, on the host's thread; where a packet lies tells its offset.
template <class T>
std::vector<T> receive_all(flow::context& ctx, const flow::link& in, const flow::endpoint& at, std::size_t count) {
    std::vector<T> values(count);
    device_stream stream = ctx.make_stream(at, "receiving");
    while (const auto packet = in.receive().get()) {
        stream.wait(packet.arrived());
        stream.copy(values.data() + packet.info().offset / sizeof(T), packet.as<T>(), packet.bytes());
        in.release(packet, stream);
    }
    ctx.wait(stream.record(), "receiving");
    return values;
}

inline options dataflow_options(const std::string& devices, std::uint64_t round) {
    options o = options_of(devices, round);
    o.timeout_seconds = 60;  // of the host's clock, as its threads wait for each other
    return o;
}

/// The same with a deadline beyond the test runner's own limit: a wait that lasts until it ends the test.
inline options patient_options(const std::string& devices) {
    options o = dataflow_options(devices, 0);
    o.timeout_seconds = 3600;
    return o;
}

/// Rounds of a piece: several host threads take part in each, so that few are enough where nothing is seeded.
template <class Body>
void dataflow_rounds(const std::string& devices, Body&& body) {
    const std::uint64_t rounds = is_checked(devices) ? (chosen_seeds() + 5) / 6 : 10;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE("devices " + devices + ", seed " + std::to_string(round + 1));
        ASSERT_NO_THROW(body(dataflow_options(devices, round)));
        if (testing::Test::HasFailure()) return;
    }
}

}  // namespace laneway::test
