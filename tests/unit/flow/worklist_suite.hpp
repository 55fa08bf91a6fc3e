// The priority worklist: no key is lost, none is handed out twice, and the termination detector' counters add up.
#pragma once

#include "laneway/flow/priority_worklist_memory.hpp"
#include "laneway/flow/worklist_consumer.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

struct worklist_words {
    std::uint64_t producers_done;
    std::uint32_t twice;  ///< keys of an id that were handed out before
    std::uint32_t ended;
};

/// Half of the blocks lower keys at random, the others take what is pending; the control warp raises the threshold
/// whenever nothing below it is left, and ends the run when all places that were ever filled have been emptied.
template <class Key>
struct worklist_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint32_t keys = 60;

    priority_worklist_ref<Key> list;
    worklist_words* words = nullptr;
    std::uint64_t* handed = nullptr;  ///< one an id: bit k where key k was handed out
    std::uint32_t ids = 0;
    std::uint32_t lowers = 0;  ///< a lane
    std::uint64_t seed = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        auto* shared = reinterpret_cast<worklist_shared*>(ctx.shared());
        const auto producers = static_cast<std::uint32_t>(ctx.n_blocks()) - list.rings;
        const auto block = static_cast<std::uint32_t>(ctx.block());
        worklist_consumer<Key> mine(list, block < producers ? 0 : block - producers, shared);
        if (ctx.warp() == 0 && ctx.lane() == 0) mine.open(ctx);
        ctx.sync_block();
        if (block < producers) {
            produce(ctx);
            if (block == 0 && ctx.warp() == 0 && ctx.lane() == 0) control(ctx, producers);
        } else {
            consume(ctx, mine);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void produce(Ctx& ctx) const {
        std::uint64_t state =
            seed * 1000 + static_cast<std::uint64_t>((ctx.block() * ctx.n_warps() + ctx.warp()) * 64 + ctx.lane());
        for (std::uint32_t i = 0; i < lowers; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const auto id = static_cast<std::uint32_t>((state >> 33) % ids);
            const auto key = static_cast<Key>((state >> 40) % keys);
            const std::uint64_t bound = list.current_threshold(ctx);
            if (i % 3 != 0) {
                list.lower(ctx, id, key, bound);
                continue;
            }
            const Key seen = ctx.load(list.words + id, order::relaxed, scope::device);
            // What a producer claims it hands out itself: it stands in no ring, and is not counted.
            if (list.offer(ctx, id, key, bound, seen, true) == priority_worklist_ref<Key>::offered::claimed) {
                hand_out(ctx, id, key);
            }
        }
        // Partner: the acquire load in control.
        ctx.fetch_add(&words->producers_done, 1, order::release, scope::device);
    }

    template <class Ctx>
    LANEWAY_FN void hand_out(Ctx& ctx, std::uint32_t id, Key key) const {
        const auto bit = std::uint64_t{1} << key;
        if ((ctx.fetch_or(handed + id, bit, order::relaxed, scope::device) & bit) != 0) {
            ctx.fetch_add(&words->twice, 1, order::relaxed, scope::device);
        }
    }

    template <class Ctx>
    LANEWAY_FN void consume(Ctx& ctx, worklist_consumer<Key>& mine) const {
        bounded_spin spin;
        for (;;) {
            if (ctx.lane() == 0) mine.refresh(ctx);
            const std::uint64_t bound = once(ctx, full_warp<Ctx>, [&] { return mine.bound(ctx); });
            const auto taken = mine.take(ctx, bound, [](std::uint32_t) {});
            if (taken.active) hand_out(ctx, taken.id, taken.key);
            const lane_mask popped = ctx.ballot(full_warp<Ctx>, taken.popped);
            if (popped != 0) {
                if (ctx.lane() == 0) {
                    // Partner: the acquire load in control.
                    ctx.fetch_add(&mine_block(ctx).completed, static_cast<std::uint64_t>(Ctx::count_lanes(popped)),
                                  order::release, scope::device);
                }
                continue;
            }
            const status going = spin.next(ctx, {operation::user_code, -1, 0});
            const bool ended = ctx.load(&words->ended, order::relaxed, scope::device) != 0 || going != status::ok;
            if (ctx.ballot(full_warp<Ctx>, ended) != 0) return;
        }
    }

    template <class Ctx>
    LANEWAY_FN worklist_block& mine_block(const Ctx& ctx) const {
        return list
            .blocks[static_cast<std::uint32_t>(ctx.block()) + list.rings - static_cast<std::uint32_t>(ctx.n_blocks())];
    }

    template <class Ctx>
    LANEWAY_FN void control(Ctx& ctx, std::uint32_t producers) const {
        const auto lanes =
            static_cast<std::uint64_t>(producers) * static_cast<std::uint64_t>(ctx.n_warps() * Ctx::warp_lanes);
        bounded_spin spin;
        for (;;) {
            const bool done = ctx.load(&words->producers_done, order::acquire, scope::device) == lanes;
            std::uint64_t completed = 0, far_taken = 0, near = 0, far = 0;
            for (std::uint32_t r = 0; r < list.rings; ++r) {
                completed += ctx.load(&list.blocks[r].completed, order::acquire, scope::device);
                far_taken += ctx.load(&list.blocks[r].far_taken, order::relaxed, scope::device);
            }
            for (std::uint32_t r = 0; r < list.rings; ++r) {
                near += list.near(r).pushes(ctx);
                far += list.far(r).pushes(ctx);
            }
            if (done && completed == near + far) break;
            const std::uint64_t open = near + far - completed;
            if (open <= far - far_taken) {
                const std::uint64_t now = list.current_threshold(ctx);
                ctx.store(list.threshold, now + 7, order::relaxed, scope::device);
            }
            if (spin.next(ctx, {operation::run_to_end, -1, open}) != status::ok) break;
        }
        ctx.store(&words->ended, 1u, order::relaxed, scope::device);
    }
};

/// The least key that the program's lanes give each id: what must have been handed out last.
template <class Key>
std::vector<Key> min_keys(std::uint32_t ids, std::uint32_t lowers, std::uint64_t seed, int blocks, int warps,
                          int lanes) {
    std::vector<Key> least(ids, worklist_word<Key>::unreached);
    for (int lane = 0; lane < blocks * warps * lanes; ++lane) {
        std::uint64_t state = seed * 1000 + static_cast<std::uint64_t>(lane / lanes * 64 + lane % lanes);
        for (std::uint32_t i = 0; i < lowers; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const auto key = static_cast<Key>((state >> 40) % worklist_program<Key>::keys);
            least[(state >> 33) % ids] = std::min(least[(state >> 33) % ids], key);
        }
    }
    return least;
}

template <class Key>
void keys_are_handed_out_once(const std::string& devices) {
    every_round_within(devices, [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto& device = machine.device(0);
        launch_shape shape = small_grid(machine);
        shape.blocks = is_checked(devices) ? 3 : 4;
        const std::uint32_t rings = static_cast<std::uint32_t>(1 + o.seed % 2);
        const auto producers = shape.blocks - static_cast<int>(rings);
        const std::uint32_t ids = is_checked(devices) ? static_cast<std::uint32_t>(1 + o.seed % 9) : 1000;
        const std::uint32_t lowers = is_checked(devices) ? 12 : 3000;
        const std::uint64_t first = o.seed % 3 * 10;
        priority_worklist<Key> list(device, ids, rings);
        list.reset(first);
        buffer<worklist_words> words(device, 1);
        buffer<std::uint64_t> handed(device, ids);
        run_programs(machine, shape, o.timeout_seconds, [&](int) {
            return worklist_program<Key>{list.ref(), words.data(), handed.data(), ids, lowers, o.seed};
        });
        EXPECT_EQ(words.copy_out()[0].twice, 0u);
        const int lanes = warp_lanes_of(*device);
        const auto least = min_keys<Key>(ids, lowers, o.seed, producers, shape.warps_per_block, lanes);
        EXPECT_EQ(list.keys(), least);
        const auto bits = handed.copy_out();
        for (std::uint32_t id = 0; id < ids; ++id) {
            if (least[id] == worklist_word<Key>::unreached) {
                EXPECT_EQ(bits[id], 0u);
            } else {
                EXPECT_EQ(bits[id] & (~bits[id] + 1), std::uint64_t{1} << least[id])
                    << "the least key was not handed out";
            }
        }
    });
}

class worklist_test : public testing::TestWithParam<std::string> {};

TEST_P(worklist_test, EveryLeastKeyIsHandedOutAndNoneTwice32) { keys_are_handed_out_once<std::uint32_t>(GetParam()); }
TEST_P(worklist_test, EveryLeastKeyIsHandedOutAndNoneTwice64) { keys_are_handed_out_once<std::uint64_t>(GetParam()); }

TEST_P(worklist_test, StartsWithItsFirstIdsAndForgetsThemOnReset) {
    const machine machine(GetParam());
    priority_worklist<std::uint32_t> list(machine.device(0), 10, 3);
    list.reset(5);
    const std::vector<std::uint32_t> unreached(10, worklist_word<std::uint32_t>::unreached);
    for (const std::vector<std::uint32_t>& first : {std::vector<std::uint32_t>{7}, {0, 3, 4, 9}, {}}) {
        list.start_with(first, 2);
        std::vector<std::uint32_t> keys = unreached;
        for (const std::uint32_t id : first) keys[id] = 2;
        EXPECT_EQ(list.keys(), keys);
        list.reset(5);
        EXPECT_EQ(list.keys(), unreached);
    }
}

LANEWAY_ON_DEVICES(worklist_test, lone_device());

}  // namespace laneway::test
