// The patterns of the study by loads and stores, and by one-sided operations: the program keeps the flags, and knows
// who may write which buffer.
#pragma once

#include "messaging/message_area.hpp"

namespace laneway::apps {

/// A group's way to the others. All members: all lanes of the group, with the same arguments; false where the run ends.
template <class Ctx, class Box>
class one_sided_messages {
public:
    LANEWAY_FN one_sided_messages(Ctx& ctx, Box& box, const message_area& area, message_model model,
                                  message_group<Ctx>& group)
        : ctx_(ctx), box_(box), remote_(ctx, box), area_(area), model_(model), group_(group) {}
    one_sided_messages(const one_sided_messages&) = delete;
    one_sided_messages& operator=(const one_sided_messages&) = delete;

    /// Sends the message that lies at `from`: into the other's buffer, or it is announced, and fetched by the other.
    LANEWAY_FN bool send(symmetric_ptr<std::uint64_t> from, int to, std::uint64_t round) {
        const auto target = area_.buffer(ctx_.pe(), group_.number(), ctx_.n_pes(), round);
        const auto flag = arrived(ctx_.pe());
        if (model_ == message_model::put && area_.words == 1 && area_.lanes == width::lane) {
            const std::uint64_t value = local(ctx_, from)[0];
            return remote_.put_signal(target, to, value, flag, round + 1) == status::ok;
        }
        if (model_ == message_model::store) copy(at(ctx_, target, to), local(ctx_, from));
        if (model_ == message_model::put) {
            const std::uint64_t* const values = address(ctx_, from, ctx_.pe());
            if (remote_.put(area_.lanes, target, to, values, area_.words) != status::ok) return false;
        }
        return raise(flag, to, round + 1);
    }

    /// Waits for the message of a round, which then lies in the own buffer. `from`: where it lies with its source.
    LANEWAY_FN bool receive(symmetric_ptr<std::uint64_t> from, int source, std::uint64_t round) {
        if (!await(arrived(source), source, round + 1)) return false;
        const auto target = area_.buffer(source, group_.number(), ctx_.n_pes(), round);
        if (model_ == message_model::load) copy(local(ctx_, target), at(ctx_, from, source));
        if (model_ == message_model::get) {
            std::uint64_t* const values = address(ctx_, target, ctx_.pe());
            return remote_.get(area_.lanes, values, from, source, area_.words) == status::ok;
        }
        return true;
    }

    /// Tells a sender of a stream that the message of a round has been read.
    LANEWAY_FN bool free(int source, std::uint64_t round) { return raise(freed(), source, round + 1); }
    /// Waits until there is a buffer for the message of a round.
    LANEWAY_FN bool await_buffer(int receiver, std::uint64_t round) {
        return round < area_.window || await(freed(), receiver, round - area_.window + 1);
    }

private:
    [[nodiscard]] LANEWAY_FN symmetric_ptr<std::uint64_t> arrived(int source) const {
        return area_.arrived[static_cast<std::uint64_t>(source) * area_.groups + group_.number()];
    }
    [[nodiscard]] LANEWAY_FN symmetric_ptr<std::uint64_t> freed() const { return area_.freed[group_.number()]; }

    /// Several loads are on their way at once, as in bulk gets.
    template <class To, class From>
    LANEWAY_FN void copy(const To& to, const From& from) {
        constexpr int batch = 4;
        const copy_share& mine = group_.share();
        for (std::uint64_t k = mine.first; k < area_.words; k += batch * mine.step) {
            std::uint64_t words[batch];
            for (int i = 0; i < batch; ++i) {
                const std::uint64_t at = k + static_cast<unsigned>(i) * mine.step;
                if (at < area_.words) words[i] = from[at];
            }
            for (int i = 0; i < batch; ++i) {
                const std::uint64_t at = k + static_cast<unsigned>(i) * mine.step;
                if (at < area_.words) to[at] = words[i];
            }
        }
    }

    /// Lanes of the group meet, with what they have stored.
    LANEWAY_FN bool meet() {
        if (area_.lanes == width::lane) return true;
        ctx_.sync(full_warp<Ctx>);
        if (area_.lanes == width::warp) return true;
        meetings_ += static_cast<std::uint64_t>(box_.team().warps);
        const auto word = local(ctx_, area_.met[group_.number()]);
        // Partner: itself, and the acquire load below, in other warps.
        if (ctx_.lane() == 0) ctx_.fetch_add(word, 1, order::acq_rel, scope::device);
        return wait_together(
                   ctx_, full_warp<Ctx>, {operation::barrier},
                   [&] { return ctx_.load(word, order::acquire, scope::device) >= meetings_; }, [] {}) == status::ok;
    }

    /// Sets another PE's word when all lanes of the group have done what comes before it: they have also read what they
    /// got until then.
    LANEWAY_FN bool raise(symmetric_ptr<std::uint64_t> flag, int pe, std::uint64_t value) {
        if (!meet()) return false;
        if (!group_.leads()) return true;
        if (by_operations()) {
            ctx_.fence(scope::system);  // Partner: the acquire load in one_sided::test.
            return remote_.put(flag, pe, value) == status::ok;
        }
        ctx_.store(at(ctx_, flag, pe), value, order::release, scope::system);  // Partner: the acquire load in await.
        return true;
    }
    LANEWAY_FN bool await(symmetric_ptr<std::uint64_t> flag, int peer, std::uint64_t value) {
        if (by_operations()) {
            const status waited = remote_.wait(flag, compare::greater_equal, value);
            ctx_.fence(scope::block);  // costs little, and ThreadSanitizer orders fences with fences only
            return waited == status::ok;
        }
        const auto word = local(ctx_, flag);
        return wait_until(ctx_, {operation::signal, peer, value},
                          [&] { return ctx_.load(word, order::acquire, scope::system) >= value; }) == status::ok;
    }
    [[nodiscard]] LANEWAY_FN bool by_operations() const {
        return model_ == message_model::put || model_ == message_model::get;
    }

    Ctx& ctx_;
    Box& box_;
    one_sided<Ctx, Box> remote_;
    const message_area& area_;
    message_model model_;
    message_group<Ctx>& group_;
    std::uint64_t meetings_ = 0;  ///< warps that have come to all so far
};

/// The body: every lane of every PE.
struct by_one_sided {
    message_area area;
    message_model model;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const copy_share share = share_of(ctx, box, area.lanes);
        if (area.rounds == 0) return message_group<Ctx>::count(ctx, area, share);
        message_group<Ctx> group(ctx, area, share);
        if (!group.takes_part()) return;
        one_sided_messages<Ctx, Box> others(ctx, box, area, model, group);
        switch (area.pattern) {
            case message_pattern::ping_pong: ping_pong(ctx, others, group); break;
            case message_pattern::all_to_all: all_to_all(ctx, others, group); break;
            default: area.streams(ctx.pe()) ? send_stream(ctx, others, group) : receive_streams(ctx, others, group);
        }
        group.report();
    }

private:
    template <class Ctx, class Others>
    LANEWAY_FN void ping_pong(Ctx& ctx, Others& others, message_group<Ctx>& group) const {
        const int last = ctx.n_pes() - 1, other = last - ctx.pe();
        if (ctx.pe() != 0 && ctx.pe() != last) return;
        for (std::uint64_t round = 0; round <= area.rounds; ++round) {
            const auto first = area.to_send(group.number(), round);
            const auto echo = area.buffer(0, group.number(), ctx.n_pes(), round);  // with the last PE
            const std::uint64_t start = ctx.now_ns();
            if (ctx.pe() == 0 && !others.send(first, other, round)) return;
            if (!others.receive(ctx.pe() == 0 ? echo : first, other, round)) return;
            if (ctx.pe() == last && !others.send(echo, other, round)) return;
            group.note(round, ctx.now_ns() - start);
            if (ctx.pe() != 0) continue;
            group.check(area.buffer(last, group.number(), ctx.n_pes(), round), 0, round);
            if (round == 0) group.start_clock();
        }
        if (ctx.pe() == 0) group.stop_clock();
    }

    template <class Ctx, class Others>
    LANEWAY_FN void send_stream(Ctx& ctx, Others& others, message_group<Ctx>& group) const {
        const int to = area.receiver(ctx.n_pes());
        for (std::uint64_t round = 0; round <= area.rounds; ++round) {
            if (!others.await_buffer(to, round)) return;
            if (!others.send(area.to_send(group.number(), round), to, round)) return;
        }
    }

    template <class Ctx, class Others>
    LANEWAY_FN void receive_streams(Ctx& ctx, Others& others, message_group<Ctx>& group) const {
        if (ctx.pe() != area.receiver(ctx.n_pes())) return;
        for (std::uint64_t round = 0; round <= area.rounds; ++round) {
            for (int source = 0; source < ctx.n_pes(); ++source) {
                if (!area.streams(source)) continue;
                if (!others.receive(area.to_send(group.number(), round), source, round)) return;
                group.check(area.buffer(source, group.number(), ctx.n_pes(), round), source, round);
                if (!others.free(source, round)) return;
            }
            if (round == 0) group.start_clock();
        }
        group.stop_clock();
    }

    /// Who sends a message of the next but one round has got one of the next from the same PE, which has read by then
    /// what came in this one: two buffers are enough, and nobody has to free them.
    template <class Ctx, class Others>
    LANEWAY_FN void all_to_all(Ctx& ctx, Others& others, message_group<Ctx>& group) const {
        const int n = ctx.n_pes();
        for (std::uint64_t round = 0; round <= area.rounds; ++round) {
            for (int step = 1; step < n; ++step) {
                const int to = (ctx.pe() + step) % n, source = (ctx.pe() + n - step) % n;
                if (!others.send(area.to_send(group.number(), round), to, round)) return;
                if (!others.receive(area.to_send(group.number(), round), source, round)) return;
                group.check(area.buffer(source, group.number(), n, round), source, round);
            }
            if (round == 0) group.start_clock();
        }
        group.stop_clock();
    }
};

}  // namespace laneway::apps
