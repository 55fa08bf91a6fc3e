// The message that goes round, and what a PE does with it.
#pragma once

#include "laneway/runtime.hpp"
#include "parallel/computing_time.hpp"
#include "parallel/served_run.hpp"
#include "ping_pong/ping_pong.hpp"

namespace laneway::apps {

/// Looks at the message that has come to a PE after `hops` of them, and writes the next one; returns how many words are
/// wrong, as far as this lane has looked. All lanes of a warp, together.
template <class Ctx, class Words>
LANEWAY_FN std::uint64_t pass_on(Ctx& ctx, Words in, Words out, std::uint64_t words, std::uint64_t hops) {
    std::uint64_t wrong = 0;
    for (auto i = static_cast<std::uint64_t>(ctx.lane()); i < words; i += Ctx::warp_lanes) {
        const std::uint64_t word = in[i];
        wrong += word == i + hops ? 0 : 1;
        out[i] = word + 1;
    }
    ctx.sync(full_warp<Ctx>);
    return wrong;
}

/// Words of a PE's account: its clock of computing_time, and how many words of messages were wrong.
inline constexpr std::uint64_t message_account_words = 2;

/// Device view of the messages in symmetric memory.
struct message_ref {
    symmetric_ref<std::uint64_t> in;
    symmetric_ref<std::uint64_t> out;
    symmetric_ref<std::uint64_t> arrived;  ///< messages, of all rounds
    symmetric_ref<std::uint64_t> account;
    std::uint32_t rounds = 0;

    /// One warp of each PE passes messages on. `wait(signal, value)` and `send()` are called by its lanes together.
    template <class Ctx, class Wait, class Send>
    LANEWAY_FN void pass_all(Ctx& ctx, Wait&& wait, Send&& send) const {
        if (working_warp::of(ctx).number != 0) return;
        computing_time spent;
        std::uint64_t wrong = 0;
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes()), pe = static_cast<std::uint64_t>(ctx.pe());
        for (std::uint64_t round = 0; round < rounds; ++round) {
            // PE 0 has the first message from the host.
            if (!all_go_on(ctx, wait(arrived[0], round + (ctx.pe() == 0 ? 0 : 1)))) return;
            spent.of(ctx, [&] { wrong += pass_on(ctx, in.local(ctx), out.local(ctx), in.size(), round * pes + pe); });
            if (!all_go_on(ctx, send())) return;
        }
        std::uint64_t* const words = address(ctx, account[0], ctx.pe());
        spent.add_to(ctx, 1, words);
        if (wrong > 0) ctx.fetch_add(words + 1, wrong, order::relaxed, scope::device);
    }
};

/// In symmetric memory, on the host.
class message {
public:
    message(runtime& rt, const ping_pong_options& options);

    [[nodiscard]] message_ref ref() const { return {in_.ref(), out_.ref(), arrived_.ref(), account_.ref(), rounds_}; }
    /// What came of it, but for the seconds of the run.
    [[nodiscard]] ping_pong_result take() const;

private:
    int n_pes_;
    std::uint32_t rounds_;
    symmetric_array<std::uint64_t> in_;
    symmetric_array<std::uint64_t> out_;
    symmetric_array<std::uint64_t> arrived_;
    symmetric_array<std::uint64_t> account_;
};

/// The first message.
std::vector<std::uint64_t> first_message(std::uint64_t words);

// One function a style. In symmetric memory each returns the seconds of its run.
double pass_by_triggers(runtime& rt, const message& all);
served_run pass_by_service(runtime& rt, const message& all, bool by_host_threads);
ping_pong_result pass_by_host(const ping_pong_options& options);
ping_pong_result pass_by_streams(const ping_pong_options& options);

}  // namespace laneway::apps
