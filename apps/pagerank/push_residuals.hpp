// The device part of PageRank by residual push: warps that sweep over the words of their vertices, each at its own
// pace.
#pragma once

#include "fixed_rank.hpp"
#include "graph/mirrors.hpp"
#include "graph/row_tiles.hpp"
#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/wait.hpp"
#include "parallel/working_warp.hpp"

namespace laneway::apps {

/// Rank for a word of the PE that a message goes to, or for one of the numbers that it is told, which come behind. What
/// does not fit the bits of a float stays where it was.
struct residual_message {
    std::uint32_t index;
    float amount;
};

/// Words of a PE that lanes and messages add to.
struct residual_words {
    symmetric_ref<std::uint64_t> all;   ///< residuals: one a row, behind them one a mirror
    symmetric_ref<std::uint64_t> told;  ///< of all other PEs' accounts: what they have retired, and taken

    static constexpr std::uint64_t told_numbers = 2;
    /// Most words for which an index fits a message.
    static constexpr std::uint64_t max_words = 0xffffffff - told_numbers;
};

/// Serves messages on the PE that has the word.
struct hear_residual {
    residual_words words;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const residual_message& come) const {
        const bool is_word = come.index < words.all.size();
        const auto word = is_word ? words.all[come.index] : words.told[come.index - words.all.size()];
        (void)atomic_add(ctx, word, static_cast<std::uint64_t>(come.amount), scope::device);
    }
};

/// Sums of a PE; they only grow.
struct push_account {
    std::uint64_t retired = 0;     ///< residual that has been taken, and not been handed on
    std::uint64_t taken = 0;       ///< residual that has gone to ranks
    std::uint64_t looks = 0;       ///< at rows
    std::uint64_t pushes = 0;      ///< of rows
    std::uint64_t adds = 0;        ///< along arcs
    std::uint64_t sent = 0;        ///< sums of mirrors
    std::uint64_t suppressed = 0;  ///< looks at sums that were not sent, as more may come
};

/// One PE's arcs; pointers are PE memory.
struct pushed_rows {
    row_tiles_ref tiles;
    const std::uint32_t* heads = nullptr;         ///< one an arc: the word of its head
    const std::uint32_t* weights = nullptr;       ///< one an arc, where weights count
    const std::uint64_t* outgoing = nullptr;      ///< what each row's arcs weigh together, where weights count
    const std::uint64_t* part_weights = nullptr;  ///< the same of the arcs of each tile's `due`
    const mirror_target* owners = nullptr;        ///< one a mirror: the PE that owns the vertex, and its row there
    const std::uint32_t* mirror_arcs = nullptr;   ///< one a mirror: how many arcs lead to it
    std::uint64_t* dues =
        nullptr;  ///< one a tile: what the row that began before it is to hand on along its arcs there
    std::uint64_t* ranks = nullptr;  ///< one a row: rank that has been handed on; written by the row's lane alone
    push_account* account = nullptr;
    std::uint64_t mirrors = 0;
};

/// When words are taken, and when all ends. All PEs have the same.
struct push_rules {
    std::uint64_t alpha = 0;  ///< in units of rank
    std::uint64_t begun = 0;  ///< residual of all words of all PEs as the run begins
    double taken = 0;         ///< residual that had gone to ranks before
    double tolerance = 0;     ///< all ends when what is left is less than this share of itself and of what is taken
    double row_keeps = 0;     ///< of what is left, for each of its arcs
    double mirror_keeps = 0;  ///< the same for each arc that leads to it
    bool one_sweep = false;   ///< warps make one, and end

    /// Whether so little is left that this suffices, so much being taken. Both sides of the comparison only rise or
    /// fall, in rounded numbers as well: what suffices one PE suffices all that hear of it.
    [[nodiscard]] LANEWAY_FN bool suffices(std::uint64_t left, double all_taken) const {
        return (1 - tolerance) * static_cast<double>(left) < tolerance * all_taken;
    }
};

/// Follows walks until little enough is left of them. Warps sweep over tiles of rows and over mirrors, each over its
/// own, and at its own pace. A row's lane takes the row's residual where that is worth it, adds it to the rank, and
/// hands alpha of it on along the arcs by adds that nobody waits for. What comes for vertices of other PEs gathers in
/// mirrors; neighbouring ones go to their owner together.
///
/// One number steers it: what is left in all words of all PEs, with what is on its way. That is what there was, less
/// what PEs have retired, which only grows. Who has heard of a part of that takes more to be left than there is, so
/// nobody ends too early. A word is taken when it holds more than its share of what is left. All shares together are
/// less than the whole, so once all has been heard of, and while anything is left, some word holds more than its share:
/// limits fall by themselves, and never so low that nothing is left for a word to gather.
template <bool Weighted>
struct push_residuals {
    /// Most of the work is an atomic for each arc.
    static constexpr double server_share = 0.08;
    static constexpr int cuda_warps = small_block_warps;  ///< a sweep keeps more than 64 registers hold

    symmetric_ref<pushed_rows> rows;  ///< one element
    residual_words words;
    push_rules rules;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const pushed_rows& mine = *rows.local(ctx);
        const auto place = working_warp::of(ctx);
        const bool sweeps = place.number < mine.tiles.n_tiles || first_mirror<Ctx>(place) < mine.mirrors;
        told_counters told;
        if (sweeps || place.number == 0) sweep(ctx, box, mine, place, told);
        // All rows have been left alone: what is due is final.
        if (box.barrier(ctx) == status::ok) (void)sweep_rows<true>(ctx, box, mine, place, told);
    }

private:
    static constexpr unsigned tiles_to_tell = 8;  ///< that a warp sweeps before it tells others
    static constexpr double down = 1 - 0x1p-50;   ///< what arcs get, rounded, is no more than what is handed on

    /// What a PE's first warp has told the others of the account.
    struct told_counters {
        std::uint64_t retired = 0;
        std::uint64_t taken = 0;
    };
    /// Of a lane in a tile. `retired` of one lane may be less than nothing; what the warp's lanes have together is not.
    struct tile_sums {
        std::uint64_t retired = 0;
        std::uint64_t taken = 0;
        std::uint64_t pushes = 0;
        std::uint64_t adds = 0;
    };

    template <class Ctx, class Box>
    LANEWAY_FN void sweep(Ctx& ctx, Box& box, const pushed_rows& mine, const working_warp& place,
                          told_counters& told) const {
        bounded_spin spin(2);
        for (bool goes_on = true; goes_on;) {
            bool worked = sweep_rows<false>(ctx, box, mine, place, told);
            worked = send_mirrors(ctx, box, mine, place) || worked;
            goes_on = left(ctx, mine) != 0 && !rules.one_sweep;
            tell(ctx, box, mine, place, told, !goes_on);
            bool ends = box.help(ctx, full_warp<Ctx>) != status::ok;
            if (worked) spin = bounded_spin(2);
            if (!worked && !ends) ends = spin.next(ctx, {}) != status::ok;
            goes_on = all_go_on(ctx, ends ? status::stopped : status::ok) && goes_on;
        }
    }

    /// What is left, as far as this PE has heard; 0 where that is little enough, or the run is ending. The whole warp,
    /// together.
    template <class Ctx>
    LANEWAY_FN std::uint64_t left(Ctx& ctx, const pushed_rows& mine) const {
        return once(ctx, full_warp<Ctx>, [&]() -> std::uint64_t {
            if (stopped(ctx)) return 0;
            const std::uint64_t* const told = words.told.local(ctx);
            const auto seen = [&](const std::uint64_t& word) { return ctx.load(&word, order::relaxed, scope::device); };
            const std::uint64_t rest = rules.begun - seen(mine.account->retired) - seen(told[0]);
            const double taken = rules.taken + static_cast<double>(seen(mine.account->taken) + seen(told[1]));
            return rules.suffices(rest, taken) ? 0 : rest;
        });
    }
    LANEWAY_FN static std::uint64_t share_of_left(std::uint64_t rest, double share) {
        return static_cast<std::uint64_t>(static_cast<double>(rest) * share);
    }

    /// Whether there was anything to push. `OnlyDues`: rows keep what they hold. The whole warp, together.
    template <bool OnlyDues, class Ctx, class Box>
    LANEWAY_FN bool sweep_rows(Ctx& ctx, Box& box, const pushed_rows& mine, const working_warp& place,
                               told_counters& told) const {
        bool worked = false;
        std::uint64_t looks = 0;
        unsigned tiles = 0;
        for (std::uint64_t tile = place.number; tile < mine.tiles.n_tiles; tile += place.warps) {
            const std::uint64_t rest = OnlyDues ? 1 : left(ctx, mine);
            if (rest == 0) break;
            const std::uint64_t keeps = share_of_left(rest, rules.row_keeps);
            tile_sums sums;
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool begins) {
                std::uint64_t share = 0;
                const bool due = !begins && arcs.count != 0;
                begins = begins && !OnlyDues;
                looks += begins ? 1 : 0;
                if (begins) share = take_row(ctx, mine, row, keeps, sums);
                if (due) share = take_due(ctx, mine, tile, arcs.count, sums);
                if (ctx.ballot(full_warp<Ctx>, share != 0) == 0) return;
                const bool cut = begins && share != 0 && arcs.begin + arcs.count < mine.tiles.offsets[row + 1];
                hand_to_tiles(ctx, mine, row, share, cut, sums);
                hand_on(ctx, mine, {arcs.begin, share == 0 ? 0 : arcs.count}, share, sums);
            });
            worked = add_up(ctx, mine, sums) || worked;
            if (OnlyDues || ++tiles % tiles_to_tell != 0) continue;
            tell(ctx, box, mine, place, told, false);
            if (Ctx::warp_lanes == 1) (void)box.help(ctx, full_warp<Ctx>);  // nobody else hears the others
        }
        looks = warp_sum(ctx, looks);
        if (ctx.lane() == 0) (void)ctx.fetch_add(&mine.account->looks, looks, order::relaxed, scope::device);
        return worked;
    }

    /// What a word holds, if that is more than it may keep. Only this lane takes from it, while others add.
    template <class Ctx>
    LANEWAY_FN static std::uint64_t take(Ctx& ctx, std::uint64_t* word, std::uint64_t keeps) {
        // Relaxed: the word is its own data.
        const std::uint64_t held = ctx.load(word, order::relaxed, scope::device);
        if (held <= keeps) return 0;
        (void)ctx.fetch_add(word, 0 - held, order::relaxed, scope::device);
        return held;
    }

    /// What a row hands on now: for each arc, or for a weight of 1, a double's bits.
    template <class Ctx>
    LANEWAY_FN std::uint64_t take_row(Ctx& ctx, const pushed_rows& mine, std::uint64_t row, std::uint64_t keeps,
                                      tile_sums& sums) const {
        const std::uint64_t arcs = mine.tiles.offsets[row + 1] - mine.tiles.offsets[row];
        const std::uint64_t held = take(ctx, words.all.local(ctx) + row, keeps * (arcs == 0 ? 1 : arcs));
        if (held == 0) return 0;
        mine.ranks[row] += held;
        sums.retired += held;
        sums.taken += held;
        ++sums.pushes;
        const std::uint64_t handed_on = multiply_ranks(rules.alpha, held);
        if constexpr (Weighted) return weighed(handed_on, mine.outgoing[row]);
        return arcs == 0 ? 0 : handed_on / arcs;
    }
    /// The same of a row that began in an earlier tile, and has `arcs` of its arcs in this one.
    template <class Ctx>
    LANEWAY_FN std::uint64_t take_due(Ctx& ctx, const pushed_rows& mine, std::uint64_t tile, std::uint32_t arcs,
                                      tile_sums& sums) const {
        const std::uint64_t due = take(ctx, mine.dues + tile, 0);
        if (due == 0) return 0;
        sums.retired += due;
        if constexpr (Weighted) return weighed(due, mine.part_weights[tile]);
        return due / arcs;
    }
    LANEWAY_FN static std::uint64_t weighed(std::uint64_t handed_on, std::uint64_t weight) {
        if (weight == 0) return 0;
        const double share = static_cast<double>(handed_on) / static_cast<double>(weight) * down;
        return __builtin_bit_cast(std::uint64_t, share);
    }

    /// A row that is `cut` goes on behind the tile: each tile there has its part of what the row hands on, for whoever
    /// sweeps it. One lane's at most. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN void hand_to_tiles(Ctx& ctx, const pushed_rows& mine, std::uint64_t row, std::uint64_t share, bool cut,
                                  tile_sums& sums) const {
        const lane_mask owner = ctx.ballot(full_warp<Ctx>, cut);
        if (owner == 0) return;
        row = ctx.shuffle(full_warp<Ctx>, row, Ctx::first_lane(owner));
        share = ctx.shuffle(full_warp<Ctx>, share, Ctx::first_lane(owner));
        const tile_span span = mine.tiles.span(row);
        for (auto part = 1 + static_cast<std::uint64_t>(ctx.lane()); part < span.count; part += Ctx::warp_lanes) {
            const std::uint64_t tile = span.first + part;
            std::uint64_t due = share * mine.tiles.part(row, tile).count;
            if constexpr (Weighted) due = amount_of(share, mine.part_weights[tile]);
            (void)ctx.fetch_add(mine.dues + tile, due, order::relaxed, scope::device);
            sums.retired -= due;
        }
    }
    LANEWAY_FN static std::uint64_t amount_of(std::uint64_t share, std::uint64_t weight) {
        return static_cast<std::uint64_t>(__builtin_bit_cast(double, share) * static_cast<double>(weight));
    }

    /// Adds the lanes' shares to the words at the ends of their arcs. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN void hand_on(Ctx& ctx, const pushed_rows& mine, const arc_range& arcs, std::uint64_t share,
                            tile_sums& sums) const {
        std::uint64_t* const residuals = words.all.local(ctx);
        const std::uint32_t* const heads = mine.heads;
        [[maybe_unused]] const std::uint32_t* const weights = mine.weights;
        for_each_arc(ctx, arcs, share, [&](const arc_batch& batch, std::uint64_t its) {
            std::uint32_t head[arc_batch::most];
            std::uint64_t amount[arc_batch::most];
            for (int k = 0; k < arc_batch::most; ++k) {  // all loads on their way before the first add
                if (k >= batch.count) continue;
                const std::uint64_t arc = batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k);
                head[k] = heads[arc];
                amount[k] = its;
                if constexpr (Weighted) amount[k] = amount_of(its, weights[arc]);
            }
            for (int k = 0; k < arc_batch::most; ++k) {
                if (k >= batch.count) continue;
                (void)ctx.fetch_add(residuals + head[k], amount[k], order::relaxed, scope::device);
                sums.retired -= amount[k];
            }
            sums.adds += static_cast<unsigned>(batch.count);
        });
    }

    /// Makes known what the warp has done in a tile; whether it was anything but to look. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN bool add_up(Ctx& ctx, const pushed_rows& mine, const tile_sums& sums) const {
        std::uint64_t all[] = {sums.retired, sums.taken, sums.pushes, sums.adds};
        warp_sums(ctx, all);
        if (ctx.lane() == 0) {
            std::uint64_t* const to[] = {&mine.account->retired, &mine.account->taken, &mine.account->pushes,
                                         &mine.account->adds};
            for (int i = 0; i < 4; ++i) {
                if (all[i] != 0) (void)ctx.fetch_add(to[i], all[i], order::relaxed, scope::device);
            }
        }
        return (all[0] | all[1] | all[3]) != 0;
    }

    template <class Ctx>
    LANEWAY_FN static std::uint64_t first_mirror(const working_warp& place) {
        return place.number * static_cast<unsigned>(Ctx::warp_lanes);
    }

    /// Sends what has gathered in mirrors where that is worth it; whether it was anywhere. The whole warp, together.
    template <class Ctx, class Box>
    LANEWAY_FN bool send_mirrors(Ctx& ctx, Box& box, const pushed_rows& mine, const working_warp& place) const {
        if (first_mirror<Ctx>(place) >= mine.mirrors) return false;
        const std::uint64_t rest = left(ctx, mine);
        if (rest == 0) return false;
        const std::uint64_t keeps = share_of_left(rest, rules.mirror_keeps);
        std::uint64_t sums[] = {0, 0};
        for (std::uint64_t mirror = place.lane(ctx); mirror < mine.mirrors; mirror += place.lanes(ctx)) {
            send_mirror(ctx, box, mine, mirror, keeps, sums[0], sums[1]);
        }
        warp_sums(ctx, sums);
        if (ctx.lane() == 0) {
            (void)ctx.fetch_add(&mine.account->sent, sums[0], order::relaxed, scope::device);
            (void)ctx.fetch_add(&mine.account->suppressed, sums[1], order::relaxed, scope::device);
        }
        return sums[0] != 0;
    }
    template <class Ctx, class Box>
    LANEWAY_FN void send_mirror(Ctx& ctx, Box& box, const pushed_rows& mine, std::uint64_t mirror, std::uint64_t keeps,
                                std::uint64_t& sent, std::uint64_t& suppressed) const {
        std::uint64_t* const word = words.all.local(ctx) + mine.tiles.rows + mirror;
        const std::uint64_t held = ctx.load(word, order::relaxed, scope::device);
        if (held == 0) return;
        if (held <= keeps * mine.mirror_arcs[mirror]) {
            ++suppressed;
            return;
        }
        ++sent;
        const std::uint64_t amount = leading_bits(held);
        (void)ctx.fetch_add(word, 0 - amount, order::relaxed, scope::device);
        const mirror_target owner = mine.owners[mirror];
        // A post that fails ends the run.
        (void)box.post(ctx, static_cast<int>(owner.pe), residual_message{owner.index, static_cast<float>(amount)});
    }
    /// Those that a float has room for.
    LANEWAY_FN static std::uint64_t leading_bits(std::uint64_t number) {
        constexpr std::uint64_t room = 24;
        const auto bits = number == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(number));
        return bits <= room ? number : number >> (bits - room) << (bits - room);
    }

    /// Of the PE's warps the first tells the other PEs how the account has grown since: in as many bits as a float has,
    /// or to the last bit where this is the `last` that it says. The whole warp, together.
    template <class Ctx, class Box>
    LANEWAY_FN void tell(Ctx& ctx, Box& box, const pushed_rows& mine, const working_warp& place, told_counters& told,
                         bool last) const {
        if (place.number != 0 || ctx.n_pes() == 1) return;
        const auto seen = [&](const std::uint64_t& word) {
            return once(ctx, full_warp<Ctx>, [&] { return ctx.load(&word, order::relaxed, scope::device); });
        };
        const std::uint64_t retired = seen(mine.account->retired), taken = seen(mine.account->taken);
        do {
            told.retired += tell_more(ctx, box, 0, retired - told.retired);
            told.taken += tell_more(ctx, box, 1, taken - told.taken);
        } while (last && (told.retired != retired || told.taken != taken));
    }
    /// Returns how much of it has been told.
    template <class Ctx, class Box>
    LANEWAY_FN std::uint64_t tell_more(Ctx& ctx, Box& box, std::uint64_t number, std::uint64_t more) const {
        const std::uint64_t amount = leading_bits(more);
        if (amount == 0) return 0;
        const auto index = static_cast<std::uint32_t>(words.all.size() + number);
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) {
            if (pe == ctx.pe()) continue;
            (void)box.post(ctx, pe, residual_message{index, static_cast<float>(amount)});
        }
        return amount;
    }
};

}  // namespace laneway::apps
