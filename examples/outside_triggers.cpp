// Ordinary kernels take part in triggered operations: a kernel on a stream fills an array, and the end of the kernel
// sets off a put that the host has prepared; a stream of another PE waits for the data and goes on with it. No kernel
// waits, and no thread of the host stands between them.
//
// Usage: outside_triggers [DEVICES]     for example cpu:2, cuda, cuda:0-1; empty: every GPU, else one CPU device a core
#include <chrono>
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"

namespace example {

constexpr std::uint64_t words = 1000, rounds = 5;

/// A kernel as any other: it knows nothing of triggers.
struct fill {
    std::uint64_t* to;
    std::uint64_t round;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < words; i += ctx.size()) to[i] = round * i;
    }
};
/// Another one, on the PE where the data arrives.
struct add_up {
    const std::uint64_t* from;
    std::uint64_t* sum;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < words; i += ctx.size()) {
            ctx.fetch_add(sum, from[i], lw::order::relaxed, lw::scope::device);
        }
    }
};

int pass_data(lw::runtime& runtime) {
    const int last = runtime.n_pes() - 1;
    const auto out = runtime.allocate<std::uint64_t>(words), in = runtime.allocate<std::uint64_t>(words);
    const auto arrived = runtime.allocate<std::uint64_t>(2), sum = runtime.allocate<std::uint64_t>(1);
    auto triggers = runtime.triggers({.tags = 2});
    const auto put = lw::trigger_operation::put(out.ref(), 0, words, in.ref(), 0, last).signal(arrived.ref()[0]);
    triggers.prepare(0, 0, 1, put, lw::firing::each_round);
    triggers.prepare(last, 1, 1, lw::trigger_operation::nothing(0).signal(arrived.ref()[1]), lw::firing::each_round);
    const auto filled = triggers.outside(0, 0), used = triggers.outside(last, 1);

    auto near = runtime.stream(0, "near"), far = runtime.stream(last, "far");

    auto session = runtime.start(triggers);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        near.wait_value(arrived.data(0) + 1, round - 1);  // what went before has been used
        near.run(fill{out.data(0), round}, 1);
        filled.trigger(near);  // behind the kernel; a kernel may also add to filled.word() itself
        far.wait_value(arrived.data(last), round);
        far.run(add_up{in.data(last), sum.data(last)}, 1);
        used.trigger(far);
    }
    const auto report = session.stop();  // ends when all that the streams owe has come and is done
    const lw::event end = far.record();
    if (!end.wait_for(std::chrono::seconds(60)) || end.failure()) throw lw::device_fault("the kernels have failed");

    const std::uint64_t wanted = words * (words - 1) / 2 * (rounds * (rounds + 1) / 2);
    const bool right = sum.copy_out(last)[0] == wanted && report.waiting_tags.empty();
    std::cout << rounds << " arrays passed from PE 0 to PE " << last << ", the sum is " << (right ? "right" : "WRONG")
              << '\n';
    return right ? 0 : 1;
}

}  // namespace example

int main(int argc, char** argv) {
    try {
        lw::options options;
        if (argc > 1) options.devices = argv[1];
        options.gpu_blocks = 16;  // of the program that carries the puts out; the kernels need room beside it
        lw::runtime runtime(options);
        return example::pass_data(runtime);
    } catch (const lw::error& error) {
        std::cerr << "outside_triggers: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
