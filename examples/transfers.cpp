// Transfers: each device writes a tile, sends its last column to the next device, and fetches the rows of that device's
// tile in reverse, while other warps do the copying.
//
// Usage: transfers [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <iostream>
#include <numeric>

#include "laneway/base/error.hpp"
#include "laneway/run/transfers.hpp"
#include "laneway/runtime.hpp"

namespace example {

constexpr std::uint64_t side = 96;  ///< rows of a tile, and numbers in each

LANEWAY_FN double value_of(int pe, std::uint64_t row, std::uint64_t column) {
    return pe * 1e6 + static_cast<double>(row * side + column);
}

struct exchange {
    lw::symmetric_ref<double> tile;
    lw::symmetric_ref<double> border;          ///< the last column of the device before
    lw::symmetric_ref<double> mirror;          ///< the next device's rows, the last one first
    lw::symmetric_ref<std::uint32_t> reverse;  ///< numbers of rows
    lw::symmetric_ref<std::uint64_t> told;     ///< 0: the border is here; 1: the next device has written its tile
    lw::symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const std::uint64_t lanes = ctx.local_size(), mine = ctx.local_rank();
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        const auto here = tile.local(ctx);
        for (std::uint64_t row = mine; row < side; row += lanes) {
            for (std::uint64_t i = 0; i < side; ++i) here[row * side + i] = value_of(ctx.pe(), row, i);
        }
        // All warps of the device post together, so what each of them has written goes along.
        const auto column = lw::transfer::strided(tile[side - 1], ctx.pe(), side, border[0], next, 1, side, 1);
        if (moves.post_pe(ctx, column.notify(told[0])).code != lw::status::ok) return;
        // Word to the device before that this tile is written: a transfer of nothing tells as well.
        const auto word = lw::transfer::copy(tile[0], ctx.pe(), tile[0], before, 0).notify(told[1]);
        if (moves.post_pe(ctx, word).code != lw::status::ok) return;

        if (moves.wait_signal(ctx, told[1], 1) != lw::status::ok) return;
        if (mine == 0) {
            const auto rows = lw::transfer::gather(tile[0], next, reverse[0], mirror[0], ctx.pe(), side, side);
            const auto sent = moves.post(ctx, rows);
            if (sent.code != lw::status::ok || moves.wait(ctx, sent.value) != lw::status::ok) return;
            check_mirror(ctx, next);
        }
        if (moves.wait_signal(ctx, told[0], 1) != lw::status::ok) return;
        for (std::uint64_t row = mine; row < side; row += lanes) {
            const double found = border.local(ctx)[row];
            if (found != value_of(before, row, side - 1)) lw::atomic_add(ctx, wrong[0], 1);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void check_mirror(Ctx& ctx, int from) const {
        const auto rows = mirror.local(ctx);
        for (std::uint64_t row = 0; row < side; ++row) {
            for (std::uint64_t i = 0; i < side; ++i) {
                const double found = rows[row * side + i];
                if (found != value_of(from, side - 1 - row, i)) lw::atomic_add(ctx, wrong[1], 1);
            }
        }
    }
};

void show(const std::string& devices) {
    lw::options options;
    options.devices = devices;
    lw::runtime runtime(options);
    const auto tile = runtime.allocate<double>(side * side), mirror = runtime.allocate<double>(side * side);
    const auto border = runtime.allocate<double>(side);
    auto reverse = runtime.allocate<std::uint32_t>(side);
    const auto told = runtime.allocate<std::uint64_t>(2), wrong = runtime.allocate<std::uint64_t>(2);
    std::vector<std::uint32_t> rows(side);
    std::iota(rows.rbegin(), rows.rend(), 0u);
    for (int pe = 0; pe < runtime.n_pes(); ++pe) reverse.copy_in(pe, rows);

    lw::transfers moves(runtime.machine());
    runtime.run(exchange{tile.ref(), border.ref(), mirror.ref(), reverse.ref(), told.ref(), wrong.ref()}, moves);

    std::uint64_t borders = 0, mirrors = 0;
    for (int pe = 0; pe < runtime.n_pes(); ++pe) {
        borders += wrong.copy_out(pe)[0];
        mirrors += wrong.copy_out(pe)[1];
    }
    const std::uint64_t each = moves.statistics().transfers / static_cast<unsigned>(runtime.n_pes());
    std::cout << each << " transfers a device, " << borders << " words of borders wrong, " << mirrors
              << " of mirrored tiles\n";
}

}  // namespace example

int main(int argc, char** argv) {
    try {
        example::show(argc > 1 ? argv[1] : "");
    } catch (const lw::error& e) {
        std::cerr << "transfers: " << e.what() << "\n";
        return 1;
    }
    return 0;
}
