// Transfers: what arrives, and who is told.
#pragma once

#include "transfer_job.hpp"

namespace laneway::test {
namespace {

/// Random transfers between all PEs, each into cells of its own, and what the arrays hold afterwards.
class transfer_plan {
public:
    static constexpr std::uint64_t cell_bytes = 2048, cells = 20, bytes = cell_bytes * cells;
    static constexpr std::uint64_t piece_bytes = 512;

    transfer_plan(int n_pes, std::uint64_t seed, symmetric_ref<std::uint64_t> from, symmetric_ref<std::uint64_t> to,
                  symmetric_ref<std::uint32_t> indices, symmetric_ref<std::uint64_t> arrived)
        : from_(from[0]), to_(to[0]), indices_(indices[0]), arrived_(arrived[0]), random_(seed), n_pes_(n_pes),
          posted(static_cast<std::size_t>(n_pes)), lists(posted.size()), sources(posted.size()),
          wanted(posted.size(), std::vector<std::uint64_t>(bytes / 8)), notices(posted.size()) {
        for (auto& part : sources) {
            for (std::uint64_t i = 0; i < bytes / 8; ++i) part.push_back(random_());
        }
        for (int to_pe = 0; to_pe < n_pes; ++to_pe) {
            for (std::uint64_t cell = 0; cell < cells; ++cell) add(to_pe, cell * cell_bytes);
        }
    }

private:
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_() % n; }

    void add(int to_pe, std::uint64_t cell) {
        switch (below(4)) {
            case 0: return add_of<std::uint8_t>(to_pe, cell);
            case 1: return add_of<std::uint16_t>(to_pe, cell);
            case 2: return add_of<std::uint32_t>(to_pe, cell);
            default: return add_of<std::uint64_t>(to_pe, cell);
        }
    }
    template <class T>
    void add_of(int to_pe, std::uint64_t cell) {
        const int from_pe = static_cast<int>(below(static_cast<std::uint64_t>(n_pes_)));
        const auto by = below(static_cast<std::uint64_t>(n_pes_));
        const std::uint64_t room = cell_bytes / sizeof(T), there = bytes / sizeof(T);
        const std::uint64_t row = 1 + below(below(2) == 0 ? 4 : room / 4), most = room / row;
        const std::uint64_t rows = below(8) == 0 ? 0 : 1 + below(most);
        const std::uint64_t target = cell / sizeof(T), source = below(2) == 0 ? 0 : below(there - rows * row + 1);
        const symmetric_ptr<T> from{from_.segment, source}, to{to_.segment, target};
        transfer made;
        std::vector<std::uint64_t> source_rows(rows), target_rows(rows);
        for (std::uint64_t i = 0; i < rows; ++i) source_rows[i] = target_rows[i] = i * row;
        switch (below(4)) {
            case 0: {
                made = transfer::copy(from, from_pe, to, to_pe, rows * row);
                break;
            }
            case 1: {
                const std::uint64_t spare = rows == 0 ? 0 : room / rows - row;
                const std::uint64_t to_pitch = row + (spare == 0 ? 0 : below(spare));
                const std::uint64_t from_pitch =
                    rows < 2 ? row : row + below((there - source - row) / (rows - 1) - row + 1);
                made = transfer::strided(from, from_pe, from_pitch, to, to_pe, to_pitch, rows, row);
                for (std::uint64_t i = 0; i < rows; ++i) {
                    source_rows[i] = i * from_pitch;
                    target_rows[i] = i * to_pitch;
                }
                break;
            }
            case 2: {
                made = transfer::gather(from, from_pe, list(by, rows, (there - source) / row, false), to, to_pe, rows,
                                        row);
                for (std::uint64_t i = 0; i < rows; ++i) source_rows[i] = last_list_[i] * row;
                break;
            }
            default: {
                made = transfer::scatter(from, from_pe, list(by, rows, most, true), to, to_pe, rows, row);
                for (std::uint64_t i = 0; i < rows; ++i) target_rows[i] = last_list_[i] * row;
                break;
            }
        }
        const auto* const first = reinterpret_cast<const T*>(sources[static_cast<std::size_t>(from_pe)].data());
        auto* const into = reinterpret_cast<T*>(wanted[static_cast<std::size_t>(to_pe)].data());
        for (std::uint64_t i = 0; i < rows; ++i) {
            std::copy_n(first + source + source_rows[i], row, into + target + target_rows[i]);
        }
        if (below(2) == 0) {
            made = made.notify(arrived_, 1 + cell / cell_bytes);
            notices[static_cast<std::size_t>(to_pe)] += 1 + cell / cell_bytes;
        }
        if (below(2) == 0) made = made.under(static_cast<std::uint32_t>(below(8)));
        moved += rows * row * sizeof(T);
        if (rows * row * sizeof(T) <= piece_bytes) {
            of_pieces += 1;
            moved_of_pieces += rows * row * sizeof(T);
        }
        posted[by].push_back(made);
    }
    /// Puts a list of `count` indices below `limit` into the memory of the PE that posts.
    symmetric_ptr<std::uint32_t> list(std::uint64_t by, std::uint64_t count, std::uint64_t limit, bool differ) {
        std::vector<std::uint32_t> all;
        if (differ) {
            all.resize(limit);
            std::iota(all.begin(), all.end(), 0u);
            std::shuffle(all.begin(), all.end(), random_);
            all.resize(count);
        } else {
            for (std::uint64_t i = 0; i < count; ++i) all.push_back(static_cast<std::uint32_t>(below(limit)));
        }
        const symmetric_ptr<std::uint32_t> at{indices_.segment, lists[by].size()};
        lists[by].insert(lists[by].end(), all.begin(), all.end());
        last_list_ = std::move(all);
        return at;
    }

    symmetric_ptr<std::uint64_t> from_, to_;
    symmetric_ptr<std::uint32_t> indices_;
    symmetric_ptr<std::uint64_t> arrived_;
    std::mt19937_64 random_;
    int n_pes_;
    std::vector<std::uint32_t> last_list_;

public:
    std::vector<std::vector<transfer>> posted;        ///< by PE
    std::vector<std::vector<std::uint32_t>> lists;    ///< of indices, by PE
    std::vector<std::vector<std::uint64_t>> sources;  ///< what arrays hold, by PE
    std::vector<std::vector<std::uint64_t>> wanted;   ///< afterwards
    std::vector<std::uint64_t> notices;               ///< sum of what is added to each PE's word
    std::uint64_t moved = 0;                          ///< bytes
    std::uint64_t of_pieces = 0;                      ///< transfers that are no larger than a piece
    std::uint64_t moved_of_pieces = 0;                ///< their bytes
};

/// The lanes of each PE share its transfers out, in twos, wait for them in one way or another, and look at what they
/// have moved.
struct post_planned {
    symmetric_ref<transfer> posted;
    symmetric_ref<std::uint64_t> arrived;
    symmetric_ref<std::uint64_t> wrong;
    symmetric_ref<std::uint64_t> counts;  ///< 0: transfers, 1: sum of notices

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const std::uint64_t lanes = ctx.local_size(), mine = ctx.local_rank();
        const std::uint64_t all = *address(ctx, counts[0], ctx.pe());
        for (std::uint64_t i = mine; i < all; i += lanes) {
            const transfer t = *address(ctx, posted[i], ctx.pe());
            const auto sent = moves.post(ctx, t);
            if (sent.code != status::ok) return;
            if (i % 3 == 0) {
                if (moves.wait(ctx, sent.value) != status::ok) return;
                if (!moves.test(ctx, sent.value) || !is_there(ctx, t)) atomic_add(ctx, wrong[0], 1);
            } else if (i % 3 == 1 && t.key() != transfer::no_key) {
                if (moves.wait_key(ctx, t.key()) != status::ok) return;
                if (!moves.test(ctx, sent.value) || !is_there(ctx, t)) atomic_add(ctx, wrong[0], 1);
            }
        }
        const std::uint64_t notices = *address(ctx, counts[1], ctx.pe());
        if (mine == 0 && moves.wait_signal(ctx, arrived[0], notices) != status::ok) return;
    }

private:
    /// Whether what has been moved without an index list is visible; the rest is looked at after the run. Words of
    /// eight bytes are read so that checked devices see it.
    template <class Ctx>
    static LANEWAY_FN bool is_there(Ctx& ctx, const transfer& t) {
        if (t.form() != transfer::shape::rows) return true;
        const std::byte* const from = address(ctx, t.from(), t.from_pe());
        const std::byte* const to = address(ctx, t.to(), t.to_pe());
        for (std::uint64_t row = 0; row < t.rows(); ++row) {
            for (std::uint64_t i = 0; i < t.row_bytes() && t.element_bytes() == 8; i += 8) {
                const auto at = (t.to().index + row * t.to_pitch() + i) / 8;
                const symmetric_ptr<std::uint64_t> word{t.to().segment, at};
                const std::uint64_t found = laneway::at(ctx, word, t.to_pe())[0];
                if (found != *reinterpret_cast<const std::uint64_t*>(from + row * t.from_pitch() + i)) return false;
            }
            for (std::uint64_t i = 0; i < t.row_bytes(); ++i) {
                if (from[row * t.from_pitch() + i] != to[row * t.to_pitch() + i]) return false;
            }
        }
        return true;
    }
};

TEST_P(transfers_test, RandomTransfersArriveAndTellSo) {
    repeat_rounds(GetParam(), (rounds_of(GetParam()) + 7) / 8, [](const options& o) {
        runtime rt(o);
        constexpr std::uint64_t words = transfer_plan::bytes / 8;
        auto from = rt.allocate<std::uint64_t>(words), to = rt.allocate<std::uint64_t>(words);
        auto indices = rt.allocate<std::uint32_t>(1 << 18);
        auto arrived = rt.allocate<std::uint64_t>(1), wrong = rt.allocate<std::uint64_t>(1);
        auto counts = rt.allocate<std::uint64_t>(2);
        auto posted = rt.allocate<transfer>(transfer_plan::cells * 3);
        const transfer_plan plan(rt.n_pes(), o.seed, from.ref(), to.ref(), indices.ref(), arrived.ref());
        std::uint64_t all = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto p = static_cast<std::size_t>(pe);
            auto list = plan.lists[p];
            auto own = plan.posted[p];
            all += own.size();
            counts.copy_in(pe, {own.size(), plan.notices[p]});
            ASSERT_LE(list.size(), indices.size());
            list.resize(indices.size());
            own.resize(posted.size());
            from.copy_in(pe, plan.sources[p]);
            indices.copy_in(pe, list);
            posted.copy_in(pe, own);
        }
        const transfer_options how = transfer_options_of(o);
        transfers moves(rt.machine(), how);
        rt.run(post_planned{posted.ref(), arrived.ref(), wrong.ref(), counts.ref()}, moves);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto p = static_cast<std::size_t>(pe);
            EXPECT_EQ(to.copy_out(pe), plan.wanted[p]) << "PE " << pe;
            EXPECT_EQ(arrived.copy_out(pe)[0], plan.notices[p]);
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
        }
        const transfer_statistics found = moves.statistics();
        EXPECT_EQ(found.transfers, all);
        std::uint64_t transfers = 0, moved = 0;
        for (const transfer_count& count : found.by) {
            transfers += count.transfers;
            moved += count.bytes;
        }
        EXPECT_EQ(transfers, all);
        EXPECT_EQ(moved, plan.moved);
        if (how.method == transfer_method::warps) {
            EXPECT_EQ(found.of(how.method).transfers, all);
            EXPECT_EQ(found.of(how.method).bytes, plan.moved);
        } else if (how.method == transfer_method::lanes) {  // what is more than a piece is no lane's
            EXPECT_EQ(found.of(how.method).transfers, plan.of_pieces);
            EXPECT_EQ(found.of(how.method).bytes, plan.moved_of_pieces);
        }
    });
}

/// Who posts together.
enum class level : std::uint32_t { warp, block, pe };

/// All lanes of a group write their words of a range, and the group posts the range to the next PE, more often than
/// transfers of all warps may be under way; then each lane looks at what all of its group have written.
struct write_and_post {
    static constexpr std::uint32_t rounds = 18;
    level by;
    std::uint64_t run;                  ///< from 1 on
    symmetric_ref<std::uint64_t> told;  ///< how many have come of what whole PEs have posted
    symmetric_ref<std::uint32_t> from;  ///< for each round a word for each lane of the grid
    symmetric_ref<std::uint32_t> to;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const auto of_warp = static_cast<std::uint64_t>(Ctx::warp_lanes);
        const auto of_block = of_warp * static_cast<std::uint64_t>(ctx.n_warps());
        const auto of_grid = of_block * static_cast<std::uint64_t>(ctx.n_blocks());
        const std::uint64_t block = of_block * static_cast<std::uint64_t>(ctx.block());
        const std::uint64_t warp = block + of_warp * static_cast<std::uint64_t>(ctx.warp());
        const std::uint64_t mine = warp + static_cast<std::uint64_t>(ctx.lane());
        const std::uint64_t first = by == level::warp ? warp : by == level::block ? block : 0;
        const std::uint64_t count = by == level::warp ? of_warp : by == level::block ? of_block : of_grid;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        transfer_event events[rounds];
        for (std::uint32_t round = 0; round < rounds; ++round) {
            const std::uint64_t base = round * of_grid;
            from.local(ctx)[base + mine] = static_cast<std::uint32_t>(base + mine + 1);
            const auto t = transfer::copy(from[base + first], ctx.pe(), to[base + first], next, count).notify(told[0]);
            const auto sent = by == level::warp    ? moves.post_warp(ctx, t)
                              : by == level::block ? moves.post_block(ctx, t)
                                                   : moves.post_pe(ctx, t);
            if (sent.code != status::ok) return;
            events[round] = sent.value;
        }
        for (std::uint32_t round = 0; round < rounds; ++round) {
            if (moves.wait(ctx, events[round]) != status::ok) return;
            const std::uint64_t base = round * of_grid;
            bool right = true;
            for (std::uint64_t i = base + first; i < base + first + count; ++i) {
                const std::uint32_t written = from.local(ctx)[i], arrived = to.at(ctx, next)[i];
                right = right && written == arrived && (i != base + mine || written == i + 1);
            }
            if (!right) atomic_add(ctx, wrong[0], 1);
        }
        if (by != level::pe) return;
        // Where it goes to, the word alone tells.
        if (moves.wait_signal(ctx, told[0], run * rounds) != status::ok) return;
        for (std::uint64_t i = mine; i < rounds * of_grid; i += 5) {
            const std::uint32_t arrived = to.local(ctx)[i];
            if (arrived != 0 && arrived != i + 1) atomic_add(ctx, wrong[0], 1);  // 0: of lanes that run no body
        }
    }
};

TEST_P(transfers_test, WhatAGroupHasWrittenGoesAlong) {
    repeat_rounds(GetParam(), (rounds_of(GetParam()) + 19) / 20, [](const options& o) {
        for (const level by : {level::warp, level::block, level::pe}) {
            SCOPED_TRACE("level " + std::to_string(static_cast<int>(by)));
            runtime rt(o);
            const auto from = rt.allocate<std::uint32_t>(1 << 18), to = rt.allocate<std::uint32_t>(1 << 18);
            const auto wrong = rt.allocate<std::uint64_t>(1);
            transfers moves(rt.machine(), transfer_options_of(o));
            const auto told = rt.allocate<std::uint64_t>(1);
            for (std::uint64_t run = 1; run <= 2; ++run) {  // what the first run has left tells the second nothing
                rt.run(write_and_post{by, run, told.ref(), from.ref(), to.ref(), wrong.ref()}, moves);
                for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
                EXPECT_GT(moves.statistics().transfers, 0u);
            }
        }
    });
}

/// Each lane posts more copies to the next PE than there are slots, then waits for each, and for those of the PE
/// before, of which the word alone tells.
struct post_laps {
    static constexpr std::uint64_t max_words = 66;  ///< more than a piece
    std::uint64_t run;                              ///< from 1 on
    std::uint64_t each;                             ///< lane posts
    symmetric_ref<std::uint64_t> told;              ///< of each lane
    symmetric_ref<std::uint64_t> from;
    symmetric_ref<std::uint64_t> to;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const std::uint64_t mine = ctx.local_rank();
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        transfer_event events[256];
        for (std::uint64_t i = 0; i < each; ++i) {
            const std::uint64_t first = (mine * each + i) * max_words;
            for (std::uint64_t k = 0; k < words(mine + i); ++k) from.local(ctx)[first + k] = value(ctx.pe(), first + k);
            const auto sent = moves.post(
                ctx, transfer::copy(from[first], ctx.pe(), to[first], next, words(mine + i)).notify(told[mine]));
            if (sent.code != status::ok) return;
            events[i] = sent.value;
        }
        for (std::uint64_t i = 0; i < each; ++i) {
            if (moves.wait(ctx, events[i]) != status::ok) return;
            check(ctx, next, ctx.pe(), mine, i);
        }
        if (moves.wait_signal(ctx, told[mine], run * each) != status::ok) return;
        for (std::uint64_t i = 0; i < each; ++i) check(ctx, ctx.pe(), before, mine, i);
    }

private:
    static LANEWAY_FN std::uint64_t words(std::uint64_t i) { return i % 8 == 7 ? max_words : 1 + i % 8; }
    LANEWAY_FN std::uint64_t value(int pe, std::uint64_t at) const {
        return run << 40 | static_cast<std::uint64_t>(pe + 1) << 32 | at;
    }
    template <class Ctx>
    LANEWAY_FN void check(Ctx& ctx, int pe, int of, std::uint64_t mine, std::uint64_t i) const {
        const std::uint64_t first = (mine * each + i) * max_words;
        for (std::uint64_t k = 0; k < words(mine + i); ++k) {
            const std::uint64_t found = to.at(ctx, pe)[first + k];
            if (found != value(of, first + k)) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(transfers_test, SlotsAreUsedAgainAndNoticesComeBehindTheData) {
    repeat_rounds(GetParam(), (rounds_of(GetParam()) + 19) / 20, [](const options& o) {
        const bool on_gpu = GetParam().starts_with("cuda");
        const std::uint64_t each = on_gpu ? 1 : is_checked(GetParam()) ? 17 : 200, lanes = on_gpu ? 1 << 18 : 1 << 6;
        runtime rt(o);
        const std::uint64_t words = lanes * each * post_laps::max_words;
        const auto from = rt.allocate<std::uint64_t>(words), to = rt.allocate<std::uint64_t>(words);
        const auto told = rt.allocate<std::uint64_t>(lanes), wrong = rt.allocate<std::uint64_t>(1);
        transfers moves(rt.machine(), transfer_options_of(o));
        for (std::uint64_t run = 1; run <= 2; ++run) {
            rt.run(post_laps{run, each, told.ref(), from.ref(), to.ref(), wrong.ref()}, moves);
            for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
        }
        EXPECT_GT(moves.statistics().transfers, 64u * static_cast<std::uint64_t>(rt.n_pes()));
    });
}

INSTANTIATE_TEST_SUITE_P(devices, transfers_test, testing::ValuesIn(transfer_devices()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(transfers_test);

}  // namespace
}  // namespace laneway::test
