// Where the messages of the study lie, what they hold, and how they are checked and timed.
//
// A group is a lane, a warp or a block that has messages of its own. A source's message of round i are the words of its
// `out` from word 2 (i mod 32) on, each of which differs from all others there: so messages of neighbouring rounds
// differ in every word, and nobody has to write them again.
#pragma once

#include "laneway/runtime.hpp"
#include "messaging/messaging_study.hpp"

namespace laneway::apps {

struct message_area {
    static constexpr std::uint64_t shifts = 32;
    static constexpr std::uint64_t margin = 2 * shifts;  ///< words of `out` beyond those of a message

    message_pattern pattern = message_pattern::ping_pong;
    width lanes = width::lane;
    std::uint64_t groups = 0;
    std::uint64_t words = 0;   ///< of a message
    std::uint64_t rounds = 0;  ///< and one more that is not timed; 0: groups are counted only
    std::uint64_t window = 1;  ///< buffers for a source's messages
    symmetric_ref<std::uint64_t> out{};
    symmetric_ref<std::uint64_t> in{};
    symmetric_ref<std::uint64_t> place{};    ///< of the PE's groups: first rank, first block, and how many there are
    symmetric_ref<std::uint64_t> times{};    ///< the first start, the last end, and of ping_pong each round
    symmetric_ref<std::uint64_t> right{};    ///< words that came as they should
    symmetric_ref<std::uint64_t> arrived{};  ///< one-sided: messages that have come, by source and group
    symmetric_ref<std::uint64_t> freed{};    ///< and that the receiver has done with, by group of the sender
    symmetric_ref<std::uint64_t> met{};      ///< warps of a block that have come to meetings, by group

    static constexpr std::uint64_t clock_words = 2;  ///< of `times`, before the rounds
    [[nodiscard]] LANEWAY_FN std::uint64_t time_words() const {
        return clock_words + (pattern == message_pattern::ping_pong ? rounds + 1 : 0);
    }

    /// Word k of what a source's group sends in round 0.
    static LANEWAY_FN std::uint64_t word_of(int source, std::uint64_t group, std::uint64_t k) {
        return (static_cast<std::uint64_t>(source) + 1) << 56 | (group + 1) << 28 | k;
    }
    [[nodiscard]] LANEWAY_FN symmetric_ptr<std::uint64_t> to_send(std::uint64_t group, std::uint64_t round) const {
        return out[group * (words + margin) + shift_of(round)];
    }
    /// A group's buffer for the message of a source and round; those of neighbours lie side by side.
    [[nodiscard]] LANEWAY_FN symmetric_ptr<std::uint64_t> buffer(const int source, std::uint64_t group, int n_pes,
                                                                 std::uint64_t round) const {
        const std::uint64_t slot = round % window * static_cast<std::uint64_t>(n_pes) + static_cast<unsigned>(source);
        return in[(slot * groups + group) * words];
    }
    static LANEWAY_FN std::uint64_t shift_of(std::uint64_t round) { return 2 * (round % shifts); }
    /// Whom streams go to.
    [[nodiscard]] LANEWAY_FN int receiver(int n_pes) const {
        return pattern == message_pattern::n_to_1 ? 0 : n_pes - 1;
    }
    /// Whether a PE sends in streams.
    [[nodiscard]] LANEWAY_FN bool streams(int pe) const {
        return pattern == message_pattern::n_to_1 ? pe != 0 : pe == 0;
    }
};

/// A group, as one of its lanes sees it.
template <class Ctx>
class message_group {
public:
    /// `share`: of what the lanes of the group share out.
    LANEWAY_FN message_group(Ctx& ctx, const message_area& area, copy_share share)
        : ctx_(ctx), area_(area), share_(share) {
        const auto lanes = static_cast<std::uint64_t>(Ctx::warp_lanes);
        const std::uint64_t slot = ctx.rank() - area.place.local(ctx)[0];
        const std::uint64_t block = static_cast<std::uint64_t>(ctx.block()) - area.place.local(ctx)[1];
        number_ = area.lanes == width::lane ? slot : area.lanes == width::warp ? slot / lanes : block;
    }

    [[nodiscard]] LANEWAY_FN std::uint64_t number() const { return number_; }
    [[nodiscard]] LANEWAY_FN const copy_share& share() const { return share_; }
    /// Whether this lane speaks for the group.
    [[nodiscard]] LANEWAY_FN bool leads() const { return share_.first == 0; }
    [[nodiscard]] LANEWAY_FN bool takes_part() const { return number_ < area_.groups; }

    /// Instead of a measurement: tells the host how many groups there are, and the lanes their numbers.
    static LANEWAY_FN void count(Ctx& ctx, const message_area& area, copy_share share) {
        const auto block = static_cast<std::uint64_t>(ctx.block());
        ctx.fetch_min(local(ctx, area.place[0]), ctx.rank(), order::relaxed, scope::device);
        ctx.fetch_min(local(ctx, area.place[1]), block, order::relaxed, scope::device);
        if (share.first == 0) atomic_add(ctx, area.place[2], 1);
    }

    /// Checks this lane's share of a message, which came from another PE's group of the same number, or was sent back.
    LANEWAY_FN void check(symmetric_ptr<std::uint64_t> message, int source, std::uint64_t round) {
        const auto words = local(ctx_, message);
        const std::uint64_t first = message_area::word_of(source, number_, message_area::shift_of(round));
        for (std::uint64_t k = share_.first; k < area_.words; k += share_.step) {
            const std::uint64_t word = words[k];
            if (word == first + k) ++right_;
        }
    }

    /// Behind the round that is not timed, and behind the last one.
    LANEWAY_FN void start_clock() {
        if (leads()) ctx_.fetch_min(local(ctx_, area_.times[0]), ctx_.now_ns(), order::relaxed, scope::device);
    }
    LANEWAY_FN void stop_clock() {
        if (leads()) ctx_.fetch_max(local(ctx_, area_.times[1]), ctx_.now_ns(), order::relaxed, scope::device);
    }
    /// Writes a round of ping_pong down.
    LANEWAY_FN void note(std::uint64_t round, std::uint64_t ns) {
        if (leads() && number_ == 0) area_.times.local(ctx_)[message_area::clock_words + round] = ns;
    }
    /// Tells the host how many words were right. Once, by every lane.
    LANEWAY_FN void report() { atomic_add(ctx_, area_.right[0], right_); }

private:
    Ctx& ctx_;
    const message_area& area_;
    copy_share share_;
    std::uint64_t number_ = 0;
    std::uint64_t right_ = 0;
};

}  // namespace laneway::apps
