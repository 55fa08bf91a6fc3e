// A ring all-reduce that is prepared once and runs by triggers alone, in any number of rounds.
//
// The array has a chunk for each PE. In n - 1 steps each PE sends a chunk to the next one, which adds it to its own;
// then each has one chunk summed up, and in n - 1 more steps the sums go round. Each step's arrival triggers the next,
// so no lane has anything to do with it but those that carry it out (Thakur, Rabenseifner and Gropp, Optimization of
// Collective Communication Operations in MPICH, IJHPCA 2005, for the algorithm).
#pragma once

#include "laneway/run/triggers.hpp"

namespace laneway {

/// Device view of a ring all-reduce; the same on every PE.
struct ring_all_reduce_ref {
    symmetric_ref<std::uint64_t> done;
    std::uint32_t first_tag = 0;

    /// One lane of each PE, when the PE's data is written, and the lanes that wrote it have met this one.
    template <class Ctx, class Triggers>
    LANEWAY_FN status start(Ctx& ctx, Triggers& triggers) const {
        status going = triggers.trigger(ctx, send(0));
        for (std::uint32_t step = 0; step < steps(ctx) && going == status::ok; ++step) {
            going = triggers.trigger(ctx, add(ctx, step));
        }
        return going;
    }
    /// Waits until the PE's `round`th all-reduce, from 1, has ended: sums are there and may be changed. Any lane; as
    /// triggers_agent::wait_signal.
    template <class Ctx, class Triggers>
    LANEWAY_FN status wait(Ctx& ctx, Triggers& triggers, std::uint64_t round) const {
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        status going = triggers.wait_signal(ctx, done[0], round * pes);
        for (std::uint32_t step = 0; step < steps(ctx) && going == status::ok; ++step) {
            going = triggers.wait_fired(ctx, pass(ctx, step), round);  // until sums that this PE sends are read
        }
        return going;
    }

    // Tags of step s: it sends a chunk, adds one to its own, passes a sum on.
    [[nodiscard]] LANEWAY_FN std::uint32_t send(std::uint32_t s) const { return first_tag + s; }
    [[nodiscard]] static LANEWAY_FN std::uint32_t n_tags(int pes) {
        return pes == 1 ? 1 : 3 * static_cast<std::uint32_t>(pes - 1);
    }

private:
    template <class Ctx>
    static LANEWAY_FN std::uint32_t steps(const Ctx& ctx) {
        return static_cast<std::uint32_t>(ctx.n_pes() - 1);
    }
    template <class Ctx>
    LANEWAY_FN std::uint32_t add(const Ctx& ctx, std::uint32_t s) const {
        return first_tag + steps(ctx) + s;
    }
    template <class Ctx>
    LANEWAY_FN std::uint32_t pass(const Ctx& ctx, std::uint32_t s) const {
        return first_tag + 2 * steps(ctx) + s;
    }
};

/// Adds up `count` elements of an array over all PEs, in place, for all of them with the same bits. Host owner; it must
/// outlive the runs. Uses ring_all_reduce_ref::n_tags(n_pes) tags of each PE, from `first_tag` on.
template <remote_word T>
class ring_all_reduce {
public:
    /// Throws usage_error as triggers::prepare.
    ring_all_reduce(machine& machine, triggers& tags, symmetric_ref<T> data, std::uint64_t count,
                    std::uint32_t first_tag = 0)
        : n_(machine.n_pes()), count_(count), data_(data), staged_(machine, chunk_size() * static_cast<unsigned>(n_)),
          done_(machine, 1), first_tag_(first_tag) {
        for (int pe = 0; pe < n_; ++pe) prepare(tags, pe);
    }

    [[nodiscard]] ring_all_reduce_ref ref() const { return {done_.ref(), first_tag_}; }

    /// In a session: an all-reduce of what the PEs' arrays hold. The sums are there, and may be changed, at the end of
    /// the epoch. Any thread of the host, when the last one has ended. Throws as triggers::trigger; then some steps
    /// have been started and others have not, and it must be made anew.
    void start(triggers& tags) const {
        for (int pe = 0; pe < n_; ++pe) {
            tags.trigger(pe, first_tag_);
            for (int step = 0; step < n_ - 1; ++step) {
                tags.trigger(pe, first_tag_ + static_cast<std::uint32_t>(n_ - 1 + step));
            }
        }
    }

private:
    /// Elements, so many that chunks begin at words of 16 bytes.
    [[nodiscard]] std::uint64_t chunk_size() const {
        const auto pes = static_cast<std::uint64_t>(n_);
        return ((count_ + pes - 1) / pes + 3) / 4 * 4;
    }
    [[nodiscard]] std::uint64_t first_of(int chunk) const {
        const std::uint64_t first = static_cast<std::uint64_t>((chunk + n_) % n_) * chunk_size();
        return first < count_ ? first : count_;
    }
    [[nodiscard]] std::uint64_t size_of(int chunk) const {
        const std::uint64_t left = count_ - first_of(chunk);
        return left < chunk_size() ? left : chunk_size();
    }

    void prepare(triggers& tags, int pe) {
        const auto done = done_.ref()[0];
        if (n_ == 1) {
            tags.prepare(0, first_tag_, 1, trigger_operation::nothing(0).signal(done), firing::each_round);
            return;
        }
        const int next = (pe + 1) % n_, steps = n_ - 1;
        const auto tag = [&](int kind, int step) {
            return first_tag_ + static_cast<std::uint32_t>(kind * steps + step);
        };
        enum { send, add, pass };
        for (int s = 0; s < steps; ++s) {
            const bool last = s == steps - 1;
            const int sent = pe - s, summed = pe - 1 - s, passed = pe + 1 - s;
            const std::uint64_t slot = static_cast<std::uint64_t>(s) * chunk_size();
            tags.prepare(pe, tag(send, s), 1,
                         trigger_operation::put(data_, first_of(sent), size_of(sent), staged_.ref(), slot, next)
                             .then(next, tag(add, s)),
                         firing::each_round);
            // Two triggers: the chunk has come, and the PE's own data is written.
            auto adds = trigger_operation::combine<memory_op::add>(staged_.ref(), slot, size_of(summed), data_,
                                                                   first_of(summed), pe);
            adds = last ? adds.signal(done).then(pe, tag(pass, 0)) : adds.then(pe, tag(send, s + 1));
            tags.prepare(pe, tag(add, s), 2, adds, firing::each_round);
            auto passes =
                trigger_operation::put(data_, first_of(passed), size_of(passed), data_, first_of(passed), next)
                    .signal(done);
            if (!last) passes = passes.then(next, tag(pass, s + 1));
            tags.prepare(pe, tag(pass, s), 1, passes, firing::each_round);
        }
    }

    int n_;
    std::uint64_t count_;
    symmetric_ref<T> data_;
    symmetric_array<T> staged_;
    symmetric_array<std::uint64_t> done_;  ///< chunks whose sums are here, of all rounds
    std::uint32_t first_tag_;
};

}  // namespace laneway
