// An MPI program's first two patterns, inside a kernel: a token that goes round all ranks, and an exchange of borders
// with both neighbours, in which whole blocks share each message.
//
// Usage: ring [DEVICES]     for example cpu:3, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/run/communicator.hpp"
#include "laneway/runtime.hpp"

namespace example {

constexpr std::int64_t token_tag = 1, left_tag = 2, right_tag = 3;
constexpr std::uint64_t width = 512;  ///< of a border
constexpr int laps = 100;

/// One lane of each rank. Rank 0 starts the token and gets it back from whoever is last.
struct pass_token {
    lw::symmetric_ref<std::uint64_t> result;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() != 0) return;
        const std::uint32_t me = world.rank(ctx), next = (me + 1) % world.size(ctx);
        std::uint64_t token = 0;
        for (int lap = 0; lap < laps; ++lap) {
            // What fails ends the run.
            if (me == 0 && world.send(ctx, &token, 1, next, token_tag) != lw::status::ok) return;
            if (world.recv(ctx, &token, 1, lw::any_source, token_tag) != lw::status::ok) return;
            ++token;
            if (me != 0 && world.send(ctx, &token, 1, next, token_tag) != lw::status::ok) return;
        }
        if (me == 0) result.local(ctx)[0] = token;
    }
};

/// The last block of each rank has a row of numbers, and gets the borders of its neighbours.
struct exchange_borders {
    lw::symmetric_ref<std::uint64_t> row;    ///< left border, right border
    lw::symmetric_ref<std::uint64_t> ghost;  ///< of the neighbours: on the left, on the right
    lw::symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.block() != ctx.n_blocks() - 1) return;
        constexpr auto all = lw::width::block;
        const std::uint32_t me = world.rank(ctx), n = world.size(ctx), left = (me + n - 1) % n, right = (me + 1) % n;
        const lw::copy_share mine = world.share(ctx, all);
        for (std::uint64_t i = mine.first; i < 2 * width; i += mine.step) row.local(ctx)[i] = me * 10'000 + i;
        lw::message_request requests[4];
        if (world.irecv(ctx, ghost[0], width, left, right_tag, requests[0], all) != lw::status::ok) return;
        if (world.irecv(ctx, ghost[width], width, right, left_tag, requests[1], all) != lw::status::ok) return;
        if (world.isend(ctx, row[0], width, left, left_tag, requests[2], all) != lw::status::ok) return;
        if (world.isend(ctx, row[width], width, right, right_tag, requests[3], all) != lw::status::ok) return;
        if (world.wait_all(ctx, requests, 4, nullptr, all) != lw::status::ok) return;
        for (std::uint64_t i = mine.first; i < width; i += mine.step) {
            const std::uint64_t from_left = ghost.local(ctx)[i], from_right = ghost.local(ctx)[width + i];
            const bool right_ones = from_left == left * 10'000 + width + i && from_right == right * 10'000 + i;
            if (!right_ones) lw::atomic_add(ctx, wrong[0], 1);
        }
    }
};

void show(lw::runtime& runtime) {
    const auto result = runtime.allocate<std::uint64_t>(1), wrong = runtime.allocate<std::uint64_t>(1);
    const auto row = runtime.allocate<std::uint64_t>(2 * width), ghost = runtime.allocate<std::uint64_t>(2 * width);
    auto world = runtime.communicator();
    runtime.run(pass_token{result.ref()}, world);
    std::cout << "the token took " << result.copy_out(0)[0] / static_cast<unsigned>(runtime.n_pes()) << " laps\n";
    runtime.run(exchange_borders{row.ref(), ghost.ref(), wrong.ref()}, world);
    std::uint64_t differ = 0;
    for (int pe = 0; pe < runtime.n_pes(); ++pe) differ += wrong.copy_out(pe)[0];
    std::cout << "borders exchanged, " << differ << " words wrong\n";
}

}  // namespace example

int main(int argc, char** argv) {
    try {
        lw::options options;
        options.devices = argc > 1 ? argv[1] : "";
        lw::runtime runtime(options);
        example::show(runtime);
    } catch (const lw::usage_error& e) {
        std::cerr << "ring: " << e.what() << "\n";
        return 2;
    } catch (const lw::error& e) {
        std::cerr << "ring: " << e.what() << "\n";
        return 1;
    }
}
