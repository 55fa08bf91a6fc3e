// One-sided operations on symmetric memory, from any lane, also in a branch: puts, gets, signals and atomics, carried
// by load, store and atomic over NVLink (direct) or as messages that the owner serves (aggregated).
#pragma once

#include "laneway/base/path.hpp"
#include "laneway/comm/await_others.hpp"
#include "laneway/comm/memory_operation.hpp"
#include "laneway/comm/routes.hpp"
#include "laneway/comm/width.hpp"

namespace laneway {

/// Routes of an application, and those that one-sided operations need.
template <class... Routes>
using with_one_sided =
    routes<Routes..., route<remote_update, serve_memory>, route<remote_signal, serve_memory>,
           route<remote_fetch, serve_fetch>, route<remote_get, serve_get>, route<remote_got, serve_memory>>;

enum class signal_op { set, add };

/// What compares a signal word with the value that is waited for.
enum class compare { equal, not_equal, greater, greater_equal, less, less_equal };

/// A lane's access to the symmetric memory of all PEs, over an endpoint whose mailbox has the one-sided routes; made
/// where it is used: `lw::one_sided remote(ctx, box);`. All members: any lane, also in divergent code, unless they say
/// more; they fail with bad_pe or bad_address, which end the run, and with stopped or timeout when the run ends.
/// Operations on words are atomic and relaxed: fence, quiet and signals order them. The last argument names the path of
/// one operation; without it the options do.
template <class Ctx, class Endpoint>
class one_sided {
public:
    LANEWAY_FN one_sided(Ctx& ctx, Endpoint& endpoint) : ctx_(ctx), endpoint_(endpoint) {
        static_assert(
            requires { endpoint.template served_by<remote_update>(); },
            "lw::one_sided needs the box of a run over runtime.one_sided(...)");
    }

    /// Stores a value. Returns when the source may be reused; the value is there after quiet.
    template <remote_word T>
    LANEWAY_FN status put(symmetric_ptr<T> to, int pe, std::type_identity_t<T> value, path how = path::by_options) {
        return update<memory_op::put>(operation::put, to, pe, value, how);
    }

    /// Stores `count` values, of which the lanes of the width take turns; all of them call it with the same arguments.
    /// `values` may be reused when all have returned. Each word is stored whole, in no order among them: who polls a
    /// word sees it old or new.
    template <remote_word T>
    LANEWAY_FN status put(width lanes, symmetric_ptr<T> to, int pe, const T* values, std::uint64_t count,
                          path how = path::by_options) {
        remote_ptr<T> word{};
        status result = reach(operation::put, to, pe, count, how, word);
        const copy_share mine = share_of(ctx_, endpoint_, lanes);
        for (std::uint64_t i = mine.first; i < count && result == status::ok; i += mine.step) {
            if (word) {
                (void)apply<memory_op::put>(ctx_, word + i, values[i]);
            } else {
                const symmetric_ptr<T> next{to.segment, to.index + i};
                result = send({memory_op::put, next}, pe, word_bits(values[i]));
            }
        }
        return result;
    }

    /// Loads a value and waits for it.
    template <remote_word T>
    LANEWAY_FN answered<T> get(symmetric_ptr<T> from, int pe, path how = path::by_options) {
        return fetch<memory_op::get>(operation::get, from, pe, T{}, T{}, how);
    }

    /// Loads `count` values into own memory, as the bulk put stores them, and waits for those that this lane takes.
    /// Each word is loaded whole. As messages, several are on their way at once, and the lane waits for what get_nbi
    /// has asked for as well.
    template <remote_word T>
    LANEWAY_FN status get(width lanes, T* values, symmetric_ptr<T> from, int pe, std::uint64_t count,
                          path how = path::by_options) {
        remote_ptr<T> word{};
        status result = reach(operation::get, from, pe, count, how, word);
        if (result != status::ok) return result;
        const copy_share mine = share_of(ctx_, endpoint_, lanes);
        if (word) {
            load_words(values, word, count, mine);
            return status::ok;
        }
        if (count > mine.first && count - mine.first <= mine.step) {  // one value of this lane's
            const auto got = ask({memory_op::get, symmetric_ptr<T>{from.segment, from.index + mine.first}}, pe, 0, 0);
            if (got.code == status::ok) values[mine.first] = word_of<T>(got.value);
            return got.code;
        }
        for (copy_share next = mine; next.first < count && result == status::ok;) {
            result = get_some(values, from, pe, count, next);
            next.first += max_values_asked * next.step;
        }
        return result;
    }

    /// Loads a value into the own PE's `to`, where it is after quiet.
    template <remote_word T>
    LANEWAY_FN status get_nbi(symmetric_ptr<T> to, symmetric_ptr<T> from, int pe, path how = path::by_options) {
        remote_ptr<T> word{};
        status result = reach(operation::get, from, pe, 1, how, word);
        if (result == status::ok && !exists(ctx_, to)) result = refuse_address(ctx_, operation::get, ctx_.pe(), to);
        if (result != status::ok) return result;
        if (word) {
            ctx_.store(local(ctx_, to), word.load(ctx_), order::relaxed, scope::system);
            return status::ok;
        }
        return ask_for({memory_op::get, from}, pe, {memory_op::put, to});
    }

    /// Stores a value, then stores `signal_value` or adds it to the signal, as the operation says: whoever sees the
    /// signal sees the value.
    template <remote_word T>
    LANEWAY_FN status put_signal(symmetric_ptr<T> to, int pe, std::type_identity_t<T> value,
                                 symmetric_ptr<std::uint64_t> signal, std::uint64_t signal_value,
                                 signal_op how_signal = signal_op::set, path how = path::by_options) {
        remote_ptr<T> word{};
        remote_ptr<std::uint64_t> flag{};
        status result = reach(operation::put, to, pe, 1, how, word);
        if (result == status::ok) result = reach(operation::put, signal, pe, 1, how, flag);
        if (result != status::ok) return result;
        if (!word) {
            return endpoint_.post(
                ctx_, pe,
                remote_signal{{memory_op::put, to},
                              word_bits(value),
                              {how_signal == signal_op::set ? memory_op::put : memory_op::add, signal},
                              signal_value});
        }
        (void)apply<memory_op::put>(ctx_, word, value);
        ctx_.fence(scope::system);  // Partner: the acquire load in test.
        if (how_signal == signal_op::set) {
            (void)apply<memory_op::put>(ctx_, flag, signal_value);
        } else {
            (void)apply<memory_op::add>(ctx_, flag, signal_value);
        }
        return status::ok;
    }

    /// Whether the own PE's signal word has come to stand so against `value`. What was put before the signal is
    /// visible. Says nothing of the end of the run, so loops call wait.
    LANEWAY_FN bool test(symmetric_ptr<std::uint64_t> signal, compare how, std::uint64_t value) {
        (void)endpoint_.progress(ctx_);  // what raises the signal may have to be served by this lane
        if (!exists(ctx_, signal)) return refuse_address(ctx_, operation::signal, ctx_.pe(), signal) == status::ok;
        return stands(signal, how, value);
    }

    /// Waits for the signal; what this block has aggregated is sent meanwhile.
    LANEWAY_SLOW status wait(symmetric_ptr<std::uint64_t> signal, compare how, std::uint64_t value) {
        if (!exists(ctx_, signal)) return refuse_address(ctx_, operation::signal, ctx_.pe(), signal);
        return await_others(ctx_, endpoint_, {operation::signal, ctx_.pe(), value},
                            [&] { return stands(signal, how, value); });
    }

    // Atomic operations on a word of another PE. Without `fetch_` nobody waits: they are done after quiet. With it the
    // call returns what the word held, and waits for that. `bit_` operations take integers.

    template <remote_word T>
    LANEWAY_FN status add(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value, path how = path::by_options) {
        return update<memory_op::add>(operation::atomic, at, pe, value, how);
    }
    template <remote_word T>
    LANEWAY_FN status min(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value, path how = path::by_options) {
        return update<memory_op::min>(operation::atomic, at, pe, value, how);
    }
    template <remote_word T>
    LANEWAY_FN status max(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value, path how = path::by_options) {
        return update<memory_op::max>(operation::atomic, at, pe, value, how);
    }
    template <remote_integer T>
    LANEWAY_FN status bit_and(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value, path how = path::by_options) {
        return update<memory_op::bit_and>(operation::atomic, at, pe, value, how);
    }
    template <remote_integer T>
    LANEWAY_FN status bit_or(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value, path how = path::by_options) {
        return update<memory_op::bit_or>(operation::atomic, at, pe, value, how);
    }
    template <remote_integer T>
    LANEWAY_FN status bit_xor(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value, path how = path::by_options) {
        return update<memory_op::bit_xor>(operation::atomic, at, pe, value, how);
    }
    template <remote_word T>
    LANEWAY_FN answered<T> fetch_add(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value,
                                     path how = path::by_options) {
        return fetch<memory_op::add>(operation::atomic, at, pe, value, T{}, how);
    }
    template <remote_word T>
    LANEWAY_FN answered<T> fetch_min(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value,
                                     path how = path::by_options) {
        return fetch<memory_op::min>(operation::atomic, at, pe, value, T{}, how);
    }
    template <remote_word T>
    LANEWAY_FN answered<T> fetch_max(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value,
                                     path how = path::by_options) {
        return fetch<memory_op::max>(operation::atomic, at, pe, value, T{}, how);
    }
    template <remote_word T>
    LANEWAY_FN answered<T> exchange(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value,
                                    path how = path::by_options) {
        return fetch<memory_op::exchange>(operation::atomic, at, pe, value, T{}, how);
    }
    template <remote_integer T>
    LANEWAY_FN answered<T> fetch_bit_and(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value,
                                         path how = path::by_options) {
        return fetch<memory_op::bit_and>(operation::atomic, at, pe, value, T{}, how);
    }
    template <remote_integer T>
    LANEWAY_FN answered<T> fetch_bit_or(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value,
                                        path how = path::by_options) {
        return fetch<memory_op::bit_or>(operation::atomic, at, pe, value, T{}, how);
    }
    template <remote_integer T>
    LANEWAY_FN answered<T> fetch_bit_xor(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value,
                                         path how = path::by_options) {
        return fetch<memory_op::bit_xor>(operation::atomic, at, pe, value, T{}, how);
    }
    template <remote_word T>
    LANEWAY_FN status inc(symmetric_ptr<T> at, int pe, path how = path::by_options) {
        return add(at, pe, T{1}, how);
    }
    template <remote_word T>
    LANEWAY_FN answered<T> fetch_inc(symmetric_ptr<T> at, int pe, path how = path::by_options) {
        return fetch_add(at, pe, T{1}, how);
    }
    /// Stores `desired` where the word equals `expected`; returns what it held before.
    template <remote_word T>
    LANEWAY_FN answered<T> compare_exchange(symmetric_ptr<T> at, int pe, std::type_identity_t<T> expected,
                                            std::type_identity_t<T> desired, path how = path::by_options) {
        return fetch<memory_op::compare_exchange>(operation::atomic, at, pe, desired, expected, how);
    }

    /// Orders the lane's puts and updates before it to each PE against those after it. Gathered ones have no order
    /// among themselves, so for them it waits as quiet does.
    LANEWAY_FN status fence() { return quiet(); }

    /// On return the sources of all puts may be reused, and what was aggregated has left.
    LANEWAY_FN status flush() { return endpoint_.drain(ctx_); }

    /// Waits until everything that lanes of this block have put, updated, signalled and asked for is done, and visible
    /// to all: what this lane did, and what mates did before it met them (`sync`). Any set of lanes, together.
    LANEWAY_SLOW status quiet() {
        ctx_.fence(scope::system);
        const status served = endpoint_.quiet(ctx_);
        if (served != status::ok) return served;
        return await_gets(ctx_.converged());
    }

    /// See endpoint::barrier; it covers everything that was put and asked for, direct as well.
    LANEWAY_FN status barrier() {
        ctx_.fence(scope::system);
        return endpoint_.barrier(ctx_);
    }

private:
    /// Whether a signal word stands so against the value. Loaded with acquire only then, as has_come does.
    LANEWAY_FN bool stands(symmetric_ptr<std::uint64_t> signal, compare how, std::uint64_t value) {
        const auto look = [&](order o) {
            const std::uint64_t seen = ctx_.load(local(ctx_, signal), o, scope::system);
            switch (how) {
                case compare::equal: return seen == value;
                case compare::not_equal: return seen != value;
                case compare::greater: return seen > value;
                case compare::greater_equal: return seen >= value;
                case compare::less: return seen < value;
                default: return seen <= value;
            }
        };
        // Partner: the fences of put_signal and of serve_memory.
        return look(order::relaxed) && look(order::acquire);
    }

    LANEWAY_FN const serve_memory& server() const { return endpoint_.template served_by<remote_update>(); }
    /// Gets in flight of all lanes that the PE has; those of a block lie together.
    LANEWAY_FN lane_gets* gets() const { return server().gets.local(ctx_); }
    LANEWAY_FN std::uint64_t first_of_block() const {
        return static_cast<std::uint64_t>(ctx_.block()) * static_cast<std::uint64_t>(ctx_.n_warps() * Ctx::warp_lanes);
    }
    /// This lane among all that the PE has.
    LANEWAY_FN std::uint64_t own_lane() const {
        return first_of_block() + static_cast<std::uint64_t>(ctx_.warp() * Ctx::warp_lanes + ctx_.lane());
    }

    /// Asks a PE to send a word.
    LANEWAY_FN status ask_for(memory_target from, int pe, memory_target to) {
        const std::uint64_t lane = own_lane();
        lane_gets& mine = gets()[lane];
        // Only this lane writes it. Partner: the loads in await_gets, of mates that it has met since.
        ctx_.store(&mine.asked, mine.asked + 1, order::relaxed, scope::block);
        return endpoint_.post(ctx_, pe, remote_get{from, to, lane});
    }

    /// The next values of this lane's share, max_values_asked at most. They come into memory of the PE and are copied
    /// from there: where a get fails, what is still on its way must not meet memory that its caller has given up.
    template <class T>
    LANEWAY_SLOW status get_some(T* values, symmetric_ptr<T> from, int pe, std::uint64_t count, copy_share next) {
        const lane_gets& mine = gets()[own_lane()];
        const int asked_of = has_come_to(mine, mine.asked) ? pe : -1;  // or another get may be what does not come
        const std::uint64_t first_place = own_lane() * max_values_asked;
        status result = status::ok;
        std::uint64_t n = 0;
        for (std::uint64_t i = next.first; i < count && n < max_values_asked && result == status::ok; i += next.step) {
            const symmetric_ptr<T> word{from.segment, from.index + i};
            result = ask_for({memory_op::get, word}, pe, {memory_op::put, server().values[first_place + n++]});
        }
        if (result != status::ok) return result;
        result = await_others(ctx_, endpoint_, {operation::get, asked_of, mine.asked},
                              [&] { return has_come_to(mine, mine.asked); });
        if (result != status::ok) return result;
        ctx_.fence(order::acquire, scope::device);  // Partner: the fence of serve_memory.
        const std::uint64_t* const come = server().values.local(ctx_);
        std::uint64_t bits[max_values_asked];  // all loads are on their way before the first value is stored
        for (std::uint64_t k = 0; k < max_values_asked; ++k) {
            bits[k] = k < n ? ctx_.load(&come[first_place + k], order::relaxed, scope::device) : 0;
        }
        for (std::uint64_t k = 0; k < n; ++k) values[next.first + k * next.step] = word_of<T>(bits[k]);
        return status::ok;
    }

    /// Waits until what lanes of the block have asked for has come. The lanes of the mask, together, which share out
    /// the lanes of the block.
    LANEWAY_FN status await_gets(lane_mask mask) {
        const lane_gets* const all = gets() + first_of_block();
        const auto lanes = static_cast<std::uint64_t>(ctx_.n_warps() * Ctx::warp_lanes);
        const auto step = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
        auto next = static_cast<std::uint64_t>(rank_in(ctx_, mask));
        // What a lane asks for later does not count: it may ask again and again.
        const auto asked_by = [&](std::uint64_t lane) {
            return lane < lanes ? ctx_.load(&all[lane].asked, order::relaxed, scope::block) : 0;
        };
        std::uint32_t asked = asked_by(next);
        bounded_spin spin;
        for (;;) {
            while (next < lanes && has_come_to(all[next], asked)) asked = asked_by(next += step);
            if (ctx_.ballot(mask, next < lanes) == 0) break;
            status going = endpoint_.help(ctx_, mask);
            if (going == status::ok) going = spin.next(ctx_, {operation::get, -1, asked});
            if (ctx_.ballot(mask, going != status::ok) != 0) return status::stopped;
        }
        ctx_.fence(order::acquire, scope::device);  // Partner: the fence of serve_memory.
        ctx_.sync(mask);                            // what a lane has acquired is visible to its mates
        return status::ok;
    }

    /// Whether so much of what a lane has asked for has come.
    LANEWAY_FN bool has_come_to(const lane_gets& of_lane, std::uint32_t asked) {
        return static_cast<std::int32_t>(ctx_.load(&of_lane.come, order::relaxed, scope::device) - asked) >= 0;
    }

    /// Several loads are on their way at once.
    template <class T>
    LANEWAY_FN void load_words(T* values, remote_ptr<T> word, std::uint64_t count, copy_share mine) {
        constexpr int batch = 4;
        for (std::uint64_t i = mine.first; i < count; i += batch * mine.step) {
            T loaded[batch];
            for (int k = 0; k < batch; ++k) {
                const std::uint64_t at = i + static_cast<unsigned>(k) * mine.step;
                if (at < count) loaded[k] = apply<memory_op::get>(ctx_, word + at, T{});
            }
            for (int k = 0; k < batch; ++k) {
                const std::uint64_t at = i + static_cast<unsigned>(k) * mine.step;
                if (at < count) values[at] = loaded[k];
            }
        }
    }

    /// Checks PE and elements, and finds the word if the operation takes the direct path; null: it is to be aggregated.
    template <class T>
    LANEWAY_FN status reach(operation what, symmetric_ptr<T> at, int pe, std::uint64_t count, path how,
                            remote_ptr<T>& word) {
        if (const status going = endpoint_.progress(ctx_); going != status::ok) return going;
        if (pe < 0 || pe >= ctx_.n_pes()) return fail(ctx_, status::bad_pe, what, pe);
        if (!exists(ctx_, at, count)) return refuse_address(ctx_, what, pe, at);
        if (how == path::by_options) how = endpoint_.default_path();
        if (how != path::aggregated || pe == ctx_.pe()) word = remote_address(ctx_, at, pe);
        return status::ok;
    }

    LANEWAY_SLOW status send(memory_target target, int pe, std::uint64_t value) {
        return endpoint_.post(ctx_, pe, remote_update{target, value});
    }

    LANEWAY_SLOW answered<std::uint64_t> ask(memory_target target, int pe, std::uint64_t value,
                                             std::uint64_t expected) {
        return endpoint_.call(ctx_, pe, remote_fetch{target, value, expected});
    }

    template <memory_op Op, class T>
    LANEWAY_FN status update(operation what, symmetric_ptr<T> at, int pe, T value, path how) {
        remote_ptr<T> word{};
        const status found = reach(what, at, pe, 1, how, word);
        if (found != status::ok) return found;
        if (!word) return send({Op, at}, pe, word_bits(value));
        (void)apply<Op>(ctx_, word, value);
        return status::ok;
    }

    template <memory_op Op, class T>
    LANEWAY_FN answered<T> fetch(operation what, symmetric_ptr<T> at, int pe, T value, T expected, path how) {
        remote_ptr<T> word{};
        const status found = reach(what, at, pe, 1, how, word);
        if (found != status::ok) return {found, T{}};
        if (!word) {
            const auto answer = ask({Op, at}, pe, word_bits(value), word_bits(expected));
            return {answer.code, word_of<T>(answer.value)};
        }
        return {status::ok, apply<Op>(ctx_, word, value, expected)};
    }

    Ctx& ctx_;
    Endpoint& endpoint_;
};

}  // namespace laneway
