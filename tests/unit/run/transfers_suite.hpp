// Transfers: what arrives, who is told, by whom and how it is carried out; what cannot be.
#pragma once

#include <random>

#include "laneway/run/transfers.hpp"
#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

class transfers_test : public testing::TestWithParam<std::string> {};

/// PEs that can store into each other's memory; of CPU devices one and three, of checked ones two.
inline std::vector<std::string> transfer_devices() {
    std::vector<std::string> lists = device_lists();
    for (const char* other : {"cuda:0,cpu:1", "cpu:2", "checked:1", "checked:3"}) std::erase(lists, other);
    return lists;
}

/// Options that change from round to round, so that all kinds of service and methods are met.
transfer_options transfer_options_of(const options& o) {
    transfer_options made;
    made.by = o.seed / 2 % 2 == 0 ? transfer_service::supervised : transfer_service::static_blocks;
    made.server_share = 0.001;  // one block
    made.slots = 64;
    made.keys = 8;
    made.method = static_cast<transfer_method>(o.seed % n_transfer_methods);
    made.lane_bytes = 32;
    made.bulk_bytes = 64;
    made.piece_bytes = 512;
    made.engine_bytes = 1024;
    return made;
}

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
        const std::uint64_t lanes = ctx.size() / static_cast<unsigned>(ctx.n_pes()), mine = ctx.rank() % lanes;
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

/// One lane of each PE posts a large copy to the next, and returns.
struct post_large {
    symmetric_ref<std::uint64_t> from;
    symmetric_ref<std::uint64_t> to;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        if (ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) != 0) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        (void)moves.post(ctx, transfer::copy(from[0], ctx.pe(), to[0], next, from.size()));  // a failure ends the run
    }
};

TEST_P(transfers_test, MethodsAreChosenAndWarpsLentByLoad) {
    std::uint64_t lent = 0;
    for (std::uint64_t round = 0; round < 4; ++round) {
        runtime rt(options_of(GetParam(), round));
        constexpr std::uint64_t words = 4096;
        auto from = rt.allocate<std::uint64_t>(words);
        const auto to = rt.allocate<std::uint64_t>(words);
        std::vector<std::uint64_t> values(words);
        std::iota(values.begin(), values.end(), round * words + 1);
        for (int pe = 0; pe < rt.n_pes(); ++pe) from.copy_in(pe, values);
        transfer_options how;
        how.by = round % 2 == 0 ? transfer_service::supervised : transfer_service::static_blocks;
        how.piece_bytes = 512;
        how.engine_bytes = round / 2 * 4096;
        transfers moves(rt.machine(), how);
        rt.run(post_large{from.ref(), to.ref()}, moves);
        const transfer_statistics found = moves.statistics();
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        EXPECT_EQ(found.transfers, pes);
        // Nobody checks the accesses of copy hardware, and within a PE no copy engine is used.
        const bool by_engine = how.engine_bytes != 0 && pes > 1;
        const transfer_method chosen = is_checked(GetParam()) ? transfer_method::warps
                                       : by_engine            ? transfer_method::engine
                                                              : transfer_method::bulk;
        EXPECT_EQ(found.of(chosen).transfers, pes);
        if (chosen != transfer_method::bulk) {
            EXPECT_EQ(found.of(chosen).bytes, pes * words * 8);
        } else {  // warps of a block that find its hardware in use copy themselves
            EXPECT_EQ(found.of(transfer_method::bulk).bytes + found.of(transfer_method::warps).bytes, pes * words * 8);
        }
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(to.copy_out((pe + 1) % rt.n_pes()), values);
        if (how.by == transfer_service::static_blocks) {
            EXPECT_EQ(found.lent_pieces, 0u);
            EXPECT_EQ(found.max_lent, 0u);
        }
        EXPECT_LE(found.lent_pieces, pes * words * 8 / 512);
        lent += found.lent_pieces;
    }
    if (is_checked(GetParam())) {
        EXPECT_GT(lent, 0u);
    }
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
        const std::uint64_t mine = ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes()));
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

/// A lane posts a large copy, and small ones one after the other until it is done.
struct post_small_beside_large {
    symmetric_ref<std::uint64_t> from;
    symmetric_ref<std::uint64_t> to;
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> came;  ///< small ones meanwhile

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        if (ctx.rank() != 0) return;
        const auto large = moves.post(ctx, transfer::copy(from[0], 0, to[0], 0, from.size()));
        if (large.code != status::ok) return;
        std::uint64_t n = 0;
        while (!moves.test(ctx, large.value)) {
            const auto small = moves.post(ctx, transfer::copy(words[0], 0, words[1], 0, 1));
            if (small.code != status::ok || moves.wait(ctx, small.value) != status::ok) return;
            ++n;
        }
        *address(ctx, came[0], 0) = n;
    }
};

TEST_P(transfers_test, ALargeCopyHoldsUpNoOther) {
    for (const transfer_service by : {transfer_service::static_blocks, transfer_service::supervised}) {
        options o = options_of(GetParam(), 1);
        o.checked_blocks = 2;
        o.checked_warps = 2;
        runtime rt(o);
        const auto from = rt.allocate<std::uint64_t>(1 << 14), to = rt.allocate<std::uint64_t>(1 << 14);
        const auto words = rt.allocate<std::uint64_t>(2), came = rt.allocate<std::uint64_t>(1);
        transfer_options how;
        how.by = by;
        how.piece_bytes = 512;
        transfers moves(rt.machine(), how);
        rt.run(post_small_beside_large{from.ref(), to.ref(), words.ref(), came.ref()}, moves);
        // How many come depends on time elsewhere.
        if (is_checked(GetParam())) {
            EXPECT_GE(came.copy_out(0)[0], 6u);
        }
    }
}

/// Warps of the first half wait in their bodies, one lane each, for copies that the first posts, fewer at once than
/// these warps are; the others have nothing to do.
struct wait_in_half {
    static constexpr std::uint64_t copies = 24;
    symmetric_ref<std::uint64_t> from;
    symmetric_ref<std::uint64_t> to;
    symmetric_ref<std::uint64_t> told;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const std::uint64_t lanes = ctx.size() / static_cast<unsigned>(ctx.n_pes());
        if (ctx.pe() != 0 || ctx.lane() != 0 || ctx.rank() % lanes >= lanes / 2) return;
        for (std::uint64_t i = 0; i < copies && ctx.rank() == 0; ++i) {
            const auto t = transfer::copy(from[i * 64], 0, to[i * 64], 0, 64).notify(told[0]);
            if (moves.post(ctx, t).code != status::ok) return;
            if (i % 3 == 2 && moves.wait_signal(ctx, told[0], i + 1) != status::ok) return;
        }
        (void)moves.wait_signal(ctx, told[0], copies);  // a failure ends the run
    }
};

TEST_P(transfers_test, AnyWarpWithNothingToDoIsLent) {
    if (!is_checked(GetParam())) GTEST_SKIP() << "which warps are free at a time depends on the device";
    std::uint64_t lent = 0;
    for (std::uint64_t round = 0; round < 2; ++round) {
        options o = options_of(GetParam(), round);
        o.checked_blocks = 5;
        o.checked_warps = 2;
        runtime rt(o);
        const auto from = rt.allocate<std::uint64_t>(64 * 24), to = rt.allocate<std::uint64_t>(64 * 24);
        const auto told = rt.allocate<std::uint64_t>(1);
        transfer_options how;
        how.by = transfer_service::supervised;
        how.piece_bytes = 512;
        transfers moves(rt.machine(), how);
        rt.run(wait_in_half{from.ref(), to.ref(), told.ref()}, moves);
        const transfer_statistics found = moves.statistics();
        lent += found.lent_pieces;
        EXPECT_LE(found.max_lent, 10u);
        EXPECT_TRUE(found.max_lent > 0 || found.lent_pieces == 0);
    }
    EXPECT_GT(lent, 0u);
}

struct wide_element {
    double x[2];
};

/// A lane changes a word of what it has posted, and does not wait.
struct change_too_early {
    symmetric_ref<wide_element> from;
    symmetric_ref<wide_element> to;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        if (ctx.rank() != 0) return;
        (void)moves.post(ctx, transfer::copy(from[0], 0, to[0], 0, 64));
        const symmetric_ptr<double> word{from[0].segment, 11};
        at(ctx, word, 0)[0] = 3.0;
    }
};

TEST_P(transfers_test, ElementsOfAnySizeAreWatched) {
    if (!is_checked(GetParam())) GTEST_SKIP() << "checked devices only";
    int told = 0;
    for (std::uint64_t round = 0; round < 4; ++round) {
        runtime rt(options_of(GetParam(), round));
        const auto from = rt.allocate<wide_element>(64), to = rt.allocate<wide_element>(64);
        transfers moves(rt.machine());
        try {
            rt.run(change_too_early{from.ref(), to.ref()}, moves);
        } catch (const usage_error&) {
            ++told;
        }
    }
    EXPECT_GT(told, 0);
}

/// What one lane of the last PE does wrong.
enum class wrong_transfer : std::uint32_t {
    pe,
    address,
    last_row,
    pitch,
    list,
    word,
    key,
    index,
    large_index,
    huge,
    overlap,
    rows_between,
    rows_that_meet,
    no_word,
    never,
    no_event,
    no_tested_event,
    signal,
    uneven_block,
    uneven_pe
};

struct transfer_wrongly {
    wrong_transfer what;
    symmetric_ref<std::uint32_t> words;
    symmetric_ref<std::uint32_t> indices;
    symmetric_ref<std::uint64_t> arrived;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const bool first_warp = ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) < Ctx::warp_lanes;
        if (what == wrong_transfer::uneven_block || what == wrong_transfer::uneven_pe) {
            if (!first_warp) return;
            const auto t = transfer::copy(words[0], ctx.pe(), words[32], ctx.pe(), 4);
            (void)(what == wrong_transfer::uneven_pe ? moves.post_pe(ctx, t) : moves.post_block(ctx, t));
            return;
        }
        const std::uint64_t lanes = ctx.size() / static_cast<unsigned>(ctx.n_pes());
        if (ctx.pe() == ctx.n_pes() - 1 && ctx.rank() % lanes == 0) (void)act(ctx, moves);  // it ends the run
    }

private:
    template <class Ctx, class Transfers>
    LANEWAY_FN status act(Ctx& ctx, Transfers& moves) const {
        const auto post = [&](const transfer& t) { return moves.post(ctx, t).code; };
        switch (what) {
            case wrong_transfer::pe: return post(transfer::copy(words[0], 0, words[32], ctx.n_pes() + 2, 4));
            case wrong_transfer::address: return post(transfer::copy(words[60], 0, words[0], 0, 5));
            case wrong_transfer::last_row: return post(transfer::strided(words[0], 0, 4, words[8], 0, 20, 4, 2));
            case wrong_transfer::pitch: return post(transfer::strided(words[0], 0, 8, words[32], 0, 2, 2, 3));
            case wrong_transfer::list: return post(transfer::gather(words[0], 0, indices[2], words[32], 0, 3));
            case wrong_transfer::word: return post(transfer::copy(words[0], 0, words[32], 0, 4).notify(arrived[3]));
            case wrong_transfer::no_word: return post(transfer::copy(words[0], 0, words[32], 0, 4).notify({}));
            case wrong_transfer::overlap: return post(transfer::copy(words[0], 0, words[4], 0, 8));
            case wrong_transfer::rows_between: return post(transfer::strided(words[0], 0, 8, words[4], 0, 8, 3, 4));
            case wrong_transfer::rows_that_meet: return post(transfer::strided(words[0], 0, 8, words[14], 0, 8, 3, 4));
            case wrong_transfer::key: return post(transfer::copy(words[0], 0, words[32], 0, 4).under(64));
            case wrong_transfer::huge: return post(transfer::copy(words[0], 0, words[0], 0, ~std::uint64_t{0} / 2));
            case wrong_transfer::index: {
                indices.local(ctx)[1] = 7;
                const auto t = transfer::scatter(words[0], 0, indices[0], words[32], 0, 2, 5).notify(arrived[0]);
                const auto sent = moves.post(ctx, t);
                return sent.code == status::ok ? moves.wait(ctx, sent.value) : sent.code;
            }
            case wrong_transfer::large_index: {
                indices.local(ctx)[1] = 7;
                const auto t = transfer::scatter(words[24], 0, indices[0], words[0], 0, 2, 20).notify(arrived[0]);
                const auto sent = moves.post(ctx, t);
                return sent.code == status::ok ? moves.wait(ctx, sent.value) : sent.code;
            }
            case wrong_transfer::never: return moves.wait(ctx, transfer_event{5, 0});
            case wrong_transfer::no_event: return moves.wait(ctx, transfer_event{});
            case wrong_transfer::no_tested_event: return moves.test(ctx, {}) ? status::ok : status::stopped;
            default: return moves.wait_signal(ctx, arrived[0], 3);
        }
    }
};

struct post_nothing {
    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx&, Transfers&) const {}
};

inline void says_so(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" does not say \"" << part << "\"";
}

TEST_P(transfers_test, WhatCannotBeIsNamed) {
    options o = options_of(GetParam(), 0);
    o.cpu_threads = 2;
    o.checked_warps = 3;
    o.timeout_seconds = is_checked(GetParam()) ? 0.02 : 0.1;
    runtime rt(o);
    const auto words = rt.allocate<std::uint32_t>(64), indices = rt.allocate<std::uint32_t>(4);
    const auto arrived = rt.allocate<std::uint64_t>(1);
    transfers moves(rt.machine());
    const auto run = [&](wrong_transfer what) {
        rt.run(transfer_wrongly{what, words.ref(), indices.ref(), arrived.ref()}, moves);
    };
    const auto told_of = [&](wrong_transfer what) { return thrown<device_fault>([&] { run(what); }); };
    const std::string last = "PE " + std::to_string(rt.n_pes() - 1);
    const std::string bad = "an address outside symmetric memory while posting a transfer to ";
    says_so(told_of(wrong_transfer::pe),
            "no such PE while posting a transfer to PE " + std::to_string(rt.n_pes() + 2) + ": the job has");
    says_so(told_of(wrong_transfer::address), bad + "PE 0: element 64, where there are 0 to 63");
    says_so(told_of(wrong_transfer::last_row), bad + "PE 0: element 68, where there are 0 to 63");
    says_so(told_of(wrong_transfer::huge), bad + "PE 0: element 64, where there are 0 to 63");
    says_so(told_of(wrong_transfer::pitch),
            "rows that overlap while posting a transfer to PE 0: 8 bytes from row to row, and a row has 12");
    says_so(told_of(wrong_transfer::list), bad + last + ": element 4, where there are 0 to 3");
    says_so(told_of(wrong_transfer::word), bad + "PE 0: element 3, where there are 0 to 0");
    says_so(told_of(wrong_transfer::key),
            "no such index while using a key of transfers: key 64, where there are 0 to 63");
    says_so(told_of(wrong_transfer::index),
            "no such index while carrying out a transfer with PE 0: index 7, where there are 0 to 5");
    says_so(told_of(wrong_transfer::large_index),
            "no such index while carrying out a transfer with PE 0: index 7, where there are 0 to 2");
    EXPECT_EQ(arrived.copy_out(0)[0], 0u) << "what has not been moved is told of";
    says_so(told_of(wrong_transfer::no_word), bad + "PE 0");
    const std::string meet = "rows that overlap while posting a transfer to PE 0: ";
    says_so(told_of(wrong_transfer::overlap), meet + "16 bytes from row to row, and a row has 32");
    says_so(told_of(wrong_transfer::rows_that_meet), meet + "8 bytes from row to row, and a row has 16");
    EXPECT_NO_THROW(run(wrong_transfer::rows_between));
    says_so(told_of(wrong_transfer::no_tested_event), "no such index while waiting for a transfer: transfer");
    says_so(told_of(wrong_transfer::no_event), "no such index while waiting for a transfer: transfer");
    const auto waited_for = [&](wrong_transfer what) { return thrown<timeout_error>([&] { run(what); }); };
    says_so(waited_for(wrong_transfer::never),
            "deadline passed while waiting for a transfer of " + last + ": transfer 5; the deadline is");
    says_so(waited_for(wrong_transfer::never), "; transfers: 0 posted, 0 done");
    says_so(waited_for(wrong_transfer::signal), "deadline passed while waiting for a signal on " + last + ": value 3");
    says_so(told_of(wrong_transfer::uneven_pe), "was never posted: only 1 working warp came to it");
    if (is_checked(GetParam())) {
        says_so(waited_for(wrong_transfer::uneven_block), "deadline passed while posting a transfer: transfer 1");
    }
    EXPECT_NO_THROW(rt.run(post_nothing{}, moves));  // nothing is left of that
    EXPECT_EQ(moves.statistics().transfers, 0u);
}

TEST_P(transfers_test, OptionsThatCannotBeAreRefused) {
    runtime rt(options_of(GetParam(), 0));
    const auto refused = [&](auto&& change, const std::string& why) {
        transfer_options how;
        change(how);
        says_so(thrown<usage_error>([&] { transfers(rt.machine(), how); }), why);
    };
    refused([](auto& how) { how.slots = 32; }, "transfers: slots: 64 to 65536, not 32");
    refused([](auto& how) { how.slots = 65; }, "transfers: slots: a power of two, not 65");
    refused([](auto& how) { how.keys = 0; }, "transfers: keys: 1 to 65536, not 0");
    refused([](auto& how) { how.piece_bytes = 600; }, "transfers: piece_bytes: a multiple of 512, not 600");
    refused([](auto& how) { how.method = transfer_method::engine; }, "transfers: the method of copy engines asks for");
    refused([](auto& how) { how.server_share = 1; }, "transfers: server_share: between 0 and 1");
}

INSTANTIATE_TEST_SUITE_P(devices, transfers_test, testing::ValuesIn(transfer_devices()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(transfers_test);

}  // namespace
}  // namespace laneway::test
