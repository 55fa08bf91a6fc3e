// Random programs of sends and receives by several lanes of each PE, or warps or blocks, with wildcards, tests, probes
// and receives that are taken back; and what came of them on devices.
#pragma once

#include <random>

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

constexpr std::uint32_t longest = 96;  // words of a message
constexpr std::uint32_t most_steps = 32;
constexpr std::uint32_t most_lanes = 3;
constexpr std::uint32_t script_tags = 3;
constexpr std::uint32_t all_steps = most_lanes * most_steps;  ///< of a PE: lane by lane

enum class action : std::uint32_t { send, receive, test, probe, end };
struct script_step {
    action what = action::end;
    std::uint32_t peer = 0;
    std::uint32_t tag = 0;
    std::uint32_t words = 0;
    bool waits = false;  ///< for the send, or the receive, which takes no request then
};
/// What a receive got, or a probe found. Steps are numbered within the PE.
struct script_result {
    std::uint32_t source = 0, tag = 0, sender_step = 0, cancelled = 0, words = 0;
    std::uint32_t wrong = 0;
    std::uint32_t seen = 0;  ///< 1 more than the step of the test that found the receive over; 0: it was waited for
};

/// Some lanes of each PE do their steps, and take back what they have not got; then the first one receives what is
/// left, and all wait for what they have sent. Or some warps, or blocks, whose first lane then stands for them.
struct run_script {
    symmetric_ref<script_step> steps;
    symmetric_ref<script_result> results;  ///< of receives and probes by step, then of what was left
    symmetric_ref<std::uint64_t> from, to;
    symmetric_ref<std::uint64_t> rest;  ///< messages to this PE, of which lanes take away what they have received
    symmetric_ref<std::uint64_t> done;  ///< lanes that have
    std::uint32_t n_lanes;
    bool takes_back;
    match_rules rules;
    width by = width::lane;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint32_t lane = number_of(ctx);
        if (lane >= n_lanes) return;
        const bool leads = world.share(ctx, by).first == 0;
        const std::uint32_t first = lane * most_steps;
        message_request requests[most_steps];
        std::uint32_t open = 0;
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            if (!step(ctx, world, first, i, requests, open)) return;
        }
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            if (what_of(ctx, first + i) != action::receive || requests[i].is_null()) continue;
            if (takes_back && world.cancel(ctx, requests[i], by) != status::ok) return;
            message_status got;
            if (world.wait(ctx, requests[i], &got, by) != status::ok) return;
            if (leads) note(ctx, first + i, first + i, got, 0);
        }
        if (leads) count_received(ctx, first);
        if (leads && lane == 0 && !receive_rest(ctx, world)) return;
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            if (what_of(ctx, first + i) != action::send) continue;
            if (world.wait(ctx, requests[i], nullptr, by) != status::ok) return;
        }
    }

private:
    /// Of the lane, the warp or the block. Blocks that run the functor are the last ones.
    template <class Ctx>
    LANEWAY_FN std::uint32_t number_of(Ctx& ctx) const {
        if (by == width::block) return static_cast<std::uint32_t>(ctx.n_blocks() - 1 - ctx.block());
        const auto lane = static_cast<std::uint32_t>(ctx.local_rank());
        return by == width::lane ? lane : lane / static_cast<std::uint32_t>(Ctx::warp_lanes);
    }
    template <class Ctx>
    LANEWAY_FN void count_received(Ctx& ctx, std::uint32_t first) const {
        std::uint64_t received = 0;
        for (std::uint32_t i = first; i < first + most_steps; ++i) {
            const script_result r = results.local(ctx)[i];
            received += what_of(ctx, i) == action::receive && r.cancelled == 0 ? 1 : 0;
        }
        atomic_add(ctx, rest[0], ~received + 1);
        ctx.fence(scope::device);
        atomic_add(ctx, done[0], 1);
    }
    template <class Ctx>
    LANEWAY_FN action what_of(Ctx& ctx, std::uint32_t at) const {
        const script_step now = steps.local(ctx)[at];
        return now.what;
    }
    /// What is left when all lanes have what they have.
    template <class Ctx, class World>
    LANEWAY_FN bool receive_rest(Ctx& ctx, World& world) const {
        const auto now = [&](symmetric_ref<std::uint64_t> word) {
            return ctx.load(address(ctx, word[0], ctx.pe()), order::acquire, scope::device);
        };
        message_status got;
        for (bool found = false; now(done) < n_lanes;) {  // and makes progress meanwhile
            if (world.iprobe(ctx, ctx.pe(), 0, found, got) != status::ok) return false;
        }
        const std::uint64_t left = now(rest);
        for (std::uint32_t i = 0; i < left; ++i) {
            match_key next{any_source, any_tag};
            if (rules.no_any_source && !find_rest(ctx, world, next)) return false;
            if (world.recv(ctx, to[0], longest, next.source, next.tag, &got) != status::ok) return false;
            note(ctx, all_steps + i, 0, got, 0);
        }
        return true;
    }
    /// Where no receive may ask for any: looks until there is a message, source by source, and tag by tag.
    template <class Ctx, class World>
    LANEWAY_FN bool find_rest(Ctx& ctx, World& world, match_key& next) const {
        const std::uint32_t tags = rules.no_any_tag ? script_tags * n_lanes : 1;
        const auto n = static_cast<std::uint32_t>(ctx.n_pes());
        bool found = false;
        message_status what;
        for (std::uint32_t i = 0; !found; ++i) {
            next = {i / tags % n, rules.no_any_tag ? i % tags : any_tag};
            if (world.iprobe(ctx, next.source, next.tag, found, what) != status::ok) return false;
        }
        return true;
    }
    /// `first`: the lane's first step.
    template <class Ctx, class World>
    LANEWAY_FN bool step(Ctx& ctx, World& world, std::uint32_t first, std::uint32_t i, message_request* requests,
                         std::uint32_t& open) const {
        const std::uint32_t at = first + i;
        const script_step now = steps.local(ctx)[at];
        const bool leads = world.share(ctx, by).first == 0;
        const std::int64_t peer = now.peer, tag = now.tag;
        message_status got;
        switch (now.what) {
            case action::send: return send(ctx, world, at, now, requests[i]) == status::ok;
            case action::receive:
                if (now.waits) {
                    if (world.recv(ctx, to[at * longest], longest, peer, tag, &got, by) != status::ok) return false;
                    if (leads) note(ctx, at, at, got, 0);
                    return true;
                }
                open = i;
                return world.irecv(ctx, to[at * longest], longest, peer, tag, requests[i], by) == status::ok;
            case action::test: {
                bool over = false;
                const bool had = !requests[open].is_null();
                if (what_of(ctx, first + open) != action::receive || !had) return true;
                if (world.test(ctx, requests[open], over, &got, by) != status::ok) return false;
                if (over && leads) note(ctx, first + open, first + open, got, at + 1);
                return true;
            }
            case action::probe: {
                bool found = false;
                message_status what;
                if (world.iprobe(ctx, peer, tag, found, what, by) != status::ok) return false;
                if (found && leads) {
                    results.local(ctx)[at] =
                        script_result{what.source, what.tag, 0, 0, static_cast<std::uint32_t>(what.bytes / 8), 0};
                }
                return true;
            }
            default: return true;
        }
    }
    template <class Ctx, class World>
    LANEWAY_FN status send(Ctx& ctx, World& world, std::uint32_t at, const script_step& now,
                           message_request& sent) const {
        const auto me = static_cast<std::uint64_t>(ctx.pe());
        for (std::uint32_t w = 0; w < now.words && world.share(ctx, by).first == 0; ++w) {
            from.local(ctx)[at * longest + w] = me << 32 | at << 16 | w;
        }
        const auto what = from[at * longest];
        if (now.waits) return world.send(ctx, what, now.words, now.peer, now.tag, by);
        return at % 5 == 0 ? world.issend(ctx, what, now.words, now.peer, now.tag, sent, by)
                           : world.isend(ctx, what, now.words, now.peer, now.tag, sent, by);
    }
    template <class Ctx>
    LANEWAY_FN void note(Ctx& ctx, std::uint32_t at, std::uint32_t buffer, const message_status& got,
                         std::uint32_t seen) const {
        script_result r;
        r.seen = seen;
        r.cancelled = got.cancelled ? 1 : 0;
        if (!got.cancelled) {
            r.source = got.source;
            r.tag = got.tag;
            r.words = static_cast<std::uint32_t>(got.bytes / 8);
            const std::uint64_t first = to.local(ctx)[buffer * longest];
            r.sender_step = static_cast<std::uint32_t>(first >> 16 & 0xffff);
            for (std::uint32_t w = 0; w < r.words; ++w) {
                const std::uint64_t found = to.local(ctx)[buffer * longest + w];
                r.wrong += found == first + w && found >> 32 == got.source ? 0 : 1;
            }
        }
        results.local(ctx)[at] = r;
    }
};

struct script {
    std::vector<std::vector<script_step>> steps;
    std::vector<std::uint64_t> messages;  ///< to each PE
    std::uint32_t n_lanes = 1;
    match_rules rules{};  ///< receives keep to them
};

/// How receives say what they want: in any way; or so that MPI knows one outcome, or none.
enum class wanting { anything, one_source, one_lane };

/// `one_lane`: where there are several lanes, tags say which one sends and which one receives.
script random_script(std::mt19937& random, int pes, std::uint32_t n_lanes, wanting how, const match_rules& rules) {
    script made;
    made.n_lanes = n_lanes;
    made.rules = rules;
    made.messages.resize(static_cast<std::size_t>(pes));
    made.steps.resize(static_cast<std::size_t>(pes), std::vector<script_step>(all_steps));
    const std::uint32_t n = static_cast<std::uint32_t>(pes);
    const auto any = [&] { return static_cast<std::uint32_t>(random() % n_lanes); };
    for (std::uint32_t pe = 0; pe < n; ++pe) {
        for (std::uint32_t i = 0; i < n_lanes * most_steps; ++i) {
            script_step& s = made.steps[pe][i];
            const auto kind = random() % 8;
            const std::uint32_t lane = i / most_steps;
            s.peer = static_cast<std::uint32_t>(random() % n);
            s.tag = static_cast<std::uint32_t>(random() % script_tags);
            const bool sends = kind < 3 && i % most_steps < most_steps / 2 + 8;
            if (how == wanting::one_lane)
                s.tag = (s.tag * n_lanes + (sends ? lane : any())) * n_lanes + (sends ? any() : lane);
            if (sends) {
                s.what = action::send;
                s.words = 1 + static_cast<std::uint32_t>(random() % longest / (1 + random() % 8));
                ++made.messages[s.peer];
                continue;
            }
            s.what = kind < 5 ? action::receive : kind == 5 ? action::probe : action::test;
            if (s.what != action::receive) continue;
            if (how == wanting::anything && !rules.no_any_source && random() % 3 == 0) s.peer = any_source;
            const bool may = how == wanting::anything || (how == wanting::one_lane && n_lanes == 1);
            if (may && !rules.no_any_tag && random() % 3 == 0) s.tag = any_tag;
        }
    }
    return made;
}

using results_of_pes = std::vector<std::vector<script_result>>;

results_of_pes run_on(options o, const script& program, communicator_options how, bool takes_back,
                      width by = width::lane) {
    how.rules = program.rules;
    o.cpu_threads = std::max(o.cpu_threads, static_cast<int>(program.n_lanes));
    runtime rt(o);
    auto steps = rt.allocate<script_step>(all_steps);
    const auto results = rt.allocate<script_result>(all_steps * 8);
    const auto from = rt.allocate<std::uint64_t>(all_steps * longest),
               to = rt.allocate<std::uint64_t>(all_steps * longest);
    auto rest = rt.allocate<std::uint64_t>(1);
    const auto done = rt.allocate<std::uint64_t>(1);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        steps.copy_in(pe, program.steps[static_cast<std::size_t>(pe)]);
        rest.copy_in(pe, {program.messages[static_cast<std::size_t>(pe)]});
    }
    auto world = rt.communicator(how);
    rt.run(run_script{steps.ref(), results.ref(), from.ref(), to.ref(), rest.ref(), done.ref(), program.n_lanes,
                      takes_back, program.rules, by},
           world);
    EXPECT_TRUE(world.pending().empty()) << world.account();
    results_of_pes all;
    for (int pe = 0; pe < rt.n_pes(); ++pe) all.push_back(results.copy_out(pe));
    return all;
}

}  // namespace
}  // namespace laneway::test
