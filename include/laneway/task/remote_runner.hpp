// What lanes do with commands that have arrived: take the one whose queue comes first, run it, and tell its end.
#pragma once

#include "laneway/simt/user_code.hpp"
#include "laneway/task/remote_launches_ref.hpp"
#include "laneway/task/remote_worker.hpp"

namespace laneway {

template <bool Fed, class... Types>
struct remote_queue_ref;

/// A chunk of commands that lanes have taken, and how many behind it in its ring.
struct taken_commands {
    std::uint64_t ticket = 0;
    std::uint32_t queue = 0;
    std::uint32_t shard = 0;
    std::int32_t source = -1;  ///< PE; -1: the host
    std::uint32_t label = 0;   ///< as chunk_label has it; 0: nothing
    std::uint64_t launch = 0;  ///< where it is a kernel: ticket of its launch
    std::uint32_t place = 0;   ///< number of queue, shard and source together
    std::uint32_t slots = 1;   ///< that have been taken, this one the first

    [[nodiscard]] LANEWAY_FN chunk_label what() const { return {label}; }
};

/// Members are called by the lanes of a mask together, any subset of a warp, unless they say more. None waits for what
/// other lanes of the program do.
template <class Ctx, bool Fed, class... Types>
class remote_runner {
    using view = remote_queue_ref<Fed, Types...>;

public:
    LANEWAY_FN explicit remote_runner(const view& all) : all_(all), sender_(all.rings, all.names) {}

    [[nodiscard]] LANEWAY_FN const remote_sender<Ctx, Types...>& sender() const { return sender_; }

    /// Takes commands of the queue with the highest priority that has some; label 0: there are none. `turn`: another
    /// number each time, so that all sources have their turn. Up to `most` slots that lie one behind the other: all but
    /// the first are for other warps of the caller's block.
    LANEWAY_FN taken_commands take(Ctx& ctx, lane_mask mask, std::uint32_t turn, std::uint32_t most = 1) {
        const std::uint32_t places = all_.rings.n_queues * sources(ctx);
        const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        const auto mine = static_cast<std::uint32_t>(rank_in(ctx, mask));
        turn = ctx.shuffle(mask, turn, Ctx::first_lane(mask));  // what each lane has come to may differ
        if (places <= lanes && lanes == Ctx::warp_lanes) {      // each lane has a place of its own
            taken_commands found;
            if (mine < places) found = look_again(ctx, mine);
            return claim_some(ctx, mask, found, turn, most);
        }
        const std::uint32_t share = (places + lanes - 1) / lanes, each = share < at_once ? share : at_once;
        for (std::uint32_t base = 0; base < places; base += lanes * each) {
            const std::uint32_t from = base + mine * each, end = from + each < places ? from + each : places;
            taken_commands found;
            if (from < end) found = look_at_some(ctx, from, end - from, turn);
            if (ctx.ballot(mask, found.label != 0) != 0) return claim_some(ctx, mask, found, 0, most);
        }
        return {};
    }
    /// A chunk that another warp has taken for this one.
    LANEWAY_FN taken_commands handed(Ctx& ctx, lane_mask mask, std::uint32_t place, std::uint64_t ticket) const {
        taken_commands found = place_at(ctx, place, 0);
        found.ticket = ticket;
        found.label = once(ctx, mask, [&] { return ring(ctx, found).poll(ctx, ticket).bits; });
        ctx.sync(mask);  // what one lane has acquired is visible to all
        return found;
    }
    /// Stores the payload of a host thread's command, which nobody has begun to run; what has not landed ends the run,
    /// and the command must not run.
    [[nodiscard]] LANEWAY_FN bool land(Ctx& ctx, lane_mask mask, const taken_commands& taken) const {
        if constexpr (Fed) {
            if (taken.label == 0 || taken.source >= 0) return true;
            come_behind(ctx, all_.names.answers.any());
            come_behind(ctx, all_.inboxes[taken.queue].known);
            remote_posted& posted = *host_slot(taken).template message<remote_posted>();
            if (posted.payload == nullptr) return true;
            const status stored = all_.names.land(
                ctx, posted.template record<remote_header>()->landed, posted.payload->data(),
                {static_cast<std::uint64_t>(rank_in(ctx, mask)), static_cast<std::uint64_t>(Ctx::count_lanes(mask))});
            ctx.sync(mask);
            // Partner: the host's acquire load in staged_payloads. All lanes have read what they need.
            if (elected(ctx, mask)) ctx.store(&posted.payload->is_used, 1u, order::release, scope::system);
            return stored == status::ok;
        }
        return true;
    }
    /// Tells of kernels that have returned. One lane.
    LANEWAY_FN bool finish_launches(Ctx& ctx) const {
        return all_.launches.finish(ctx, [&](const completion_signal& told) {
            all_.names.raise(ctx, all_.names.find(ctx, told), told.value);
            complete(ctx, 1, 1);
        });
    }

    /// Whether a chunk's function takes a block.
    [[nodiscard]] LANEWAY_FN bool is_for_block(const taken_commands& taken) const { return is_for_block(taken.what()); }

    /// Runs the first slot that has been taken, and tells the end of its commands; returns how many there were that are
    /// done, and are to be counted. With a team, all lanes of the block's working warps, of which `speaks` is one.
    [[nodiscard]] LANEWAY_FN std::uint32_t run(Ctx& ctx, lane_mask mask, const taken_commands& taken,
                                               block_team<Ctx>* team = nullptr, bool speaks = true) const {
        std::uint32_t done = 0;
        if (taken.what().kind() == kernel_kind) {
            launch(ctx, mask, taken);
            return done;
        }
        all_.types.visit(taken.what().kind(), [&]<class Type>(const Type& body) {
            if constexpr (remote_width_of<Type> == width::lane) {
                done = run_on_lanes(ctx, mask, body, taken);
            } else {
                done = run_together(ctx, mask, body, taken, team, speaks);
            }
        });
        return done;
    }
    /// Counts slots whose commands are done.
    LANEWAY_FN void complete(Ctx& ctx, lane_mask mask, std::uint32_t slots, std::uint32_t commands) const {
        ctx.sync(mask);  // all that they did, and the signals, come before
        if (elected(ctx, mask) && slots != 0) complete(ctx, slots, commands);
    }

private:
    static constexpr std::uint32_t at_once = 8;  ///< places that a lane looks at together

    /// Where commands of a queue come from: the shards of all PEs, and the host.
    LANEWAY_FN std::uint32_t sources(const Ctx& ctx) const {
        return all_.rings.n_shards * static_cast<std::uint32_t>(ctx.n_pes()) + (Fed ? 1 : 0);
    }

    [[nodiscard]] LANEWAY_FN bool is_for_block(chunk_label label) const {
        bool found = false;
        if (label.kind() == kernel_kind) return false;
        all_.types.visit(label.kind(), [&]<class Type>(const Type&) { found = remote_width_of<Type> == width::block; });
        return found;
    }

    /// What waits at the first of `n` places that has something. One lane, whose loads are all on their way at once: a
    /// lone lane that waits for a signal and looks at one ring after the other would look away for tens of
    /// microseconds.
    [[nodiscard]] LANEWAY_FN taken_commands look_at_some(Ctx& ctx, std::uint32_t from, std::uint32_t n,
                                                         std::uint32_t first) const {
        if (n == 1) return look(ctx, from, first);
        std::uint64_t heads[at_once];
        for (std::uint32_t k = 0; k < at_once; ++k) {
            const taken_commands at = k < n ? place_at(ctx, from + k, first) : taken_commands{};
            heads[k] = k < n && !is_host(at) ? ctx.load(head(ctx, at), order::relaxed, scope::device) : 0;
        }
        std::uint32_t due = 0;
        for (std::uint32_t k = 0; k < at_once; ++k) {
            if (k >= n) continue;
            const taken_commands at = place_at(ctx, from + k, first);
            if (is_host(at)) {
                due |= std::uint32_t{1} << k;
            } else {
                const chunk_receiver from_there = ring(ctx, at);
                const chunk_label seen = chunk_receiver::label_of(from_there.peek(ctx, heads[k]), heads[k]);
                if (seen.bits != 0) due |= std::uint32_t{1} << k;
            }
        }
        for (std::uint32_t k = 0; k < n; ++k) {
            if ((due >> k & 1) == 0) continue;
            const taken_commands found = look(ctx, from + k, first);
            if (found.label != 0) return found;
        }
        return {};
    }
    /// Where a place is, in the order in which they are served.
    [[nodiscard]] LANEWAY_FN taken_commands place_at(const Ctx& ctx, std::uint32_t place, std::uint32_t first) const {
        taken_commands at;
        const std::uint32_t queue = place / sources(ctx), number = (place + first) % sources(ctx);
        const auto pes = static_cast<std::uint32_t>(ctx.n_pes());
        at.queue = all_.rings.by_priority[queue];
        at.shard = number / pes;
        at.source = static_cast<std::int32_t>(number % pes);
        at.place = queue * sources(ctx) + number;
        return at;
    }
    [[nodiscard]] LANEWAY_FN bool is_host(const taken_commands& at) const { return at.shard == all_.rings.n_shards; }

    /// What waits in a ring. One lane.
    [[nodiscard]] LANEWAY_FN taken_commands look(Ctx& ctx, std::uint32_t place, std::uint32_t first) const {
        taken_commands found = place_at(ctx, place, first);
        if (is_host(found)) return look_at_host(ctx, found);
        found.ticket = ctx.load(head(ctx, found), order::relaxed, scope::device);
        return judge(ctx, found, ring(ctx, found).poll(ctx, found.ticket));
    }
    /// The same in the lane's own ring: its head, and what lies where that was last, are on their way at once.
    [[nodiscard]] LANEWAY_FN taken_commands look_again(Ctx& ctx, std::uint32_t place) {
        taken_commands found = place_at(ctx, place, 0);
        if (is_host(found)) return look_at_host(ctx, found);
        const chunk_receiver from = ring(ctx, found);
        const std::uint64_t* const next = head(ctx, found);
        std::uint64_t seen = from.peek(ctx, expected_);
        found.ticket = ctx.load(next, order::relaxed, scope::device);
        if (found.ticket != expected_) {
            expected_ = found.ticket;
            seen = from.peek(ctx, expected_);
        }
        return judge(ctx, found, from.poll(ctx, found.ticket, seen));
    }
    /// What the launch thread has no room for stays where it is, and holds its poster up.
    [[nodiscard]] LANEWAY_FN taken_commands judge(Ctx& ctx, taken_commands found, chunk_label seen) const {
        if (seen.bits == 0 || (seen.kind() == kernel_kind && !all_.launches.has_room(ctx))) return {};
        found.label = seen.bits;
        return found;
    }
    [[nodiscard]] LANEWAY_FN taken_commands look_at_host(Ctx& ctx, taken_commands found) const {
        if constexpr (Fed) {
            const auto& inbox = all_.inboxes[found.queue];
            found.source = -1;
            found.ticket = ctx.load(inbox.taken, order::relaxed, scope::device);
            // Partner: the release store in inbox_ref::pass_on.
            if (found.ticket >= ctx.load(inbox.known, order::acquire, scope::device)) return {};
            // Atomic: who claims it before this lane may have given the slot back. Then this one's claim fails.
            const std::uint32_t kind = ctx.load(&host_slot(found).kind, order::relaxed, scope::system);
            if (kind == kernel_kind && !all_.launches.has_room(ctx)) return {};
            found.label = chunk_label::of(1, kind).bits;
            return found;
        }
        return {};
    }

    /// Takes what one of the lanes has found, in the queue of the first one. The lanes of the mask, together.
    LANEWAY_FN taken_commands claim_some(Ctx& ctx, lane_mask mask, taken_commands found, std::uint32_t turn,
                                         std::uint32_t most) const {
        lane_mask seen = ctx.ballot(mask, found.label != 0);
        if (seen == 0) return {};
        const std::uint32_t queue = ctx.shuffle(mask, found.queue, Ctx::first_lane(seen));
        seen = ctx.ballot(mask, found.label != 0 && found.queue == queue);
        const lane_mask above = seen & (~lane_mask{0} << turn % static_cast<std::uint32_t>(Ctx::warp_lanes));
        const int leader = Ctx::first_lane(above != 0 ? above : seen);
        found.place = ctx.shuffle(mask, found.place, leader);
        found.ticket = ctx.shuffle(mask, found.ticket, leader);
        if (most > 1) most = part_of_waiting(ctx, mask, found.place, found.ticket, most);
        found.slots = most;
        if (ctx.lane() != leader || !claim(ctx, found)) found.label = 0;
        found.label = ctx.shuffle(mask, found.label, leader);
        found.queue = queue;
        found.shard = ctx.shuffle(mask, found.shard, leader);
        found.source = ctx.shuffle(mask, found.source, leader);
        if (found.what().kind() == kernel_kind) found.launch = ctx.shuffle(mask, found.launch, leader);
        ctx.sync(mask);  // what the leader has acquired is visible to all
        return found;
    }
    /// How many slots of a ring, from a ticket on that has arrived, a block should take at once: its part of those that
    /// have arrived, so that other blocks have theirs. What a block or the launch thread runs is taken one by one. The
    /// lanes of the mask, together.
    LANEWAY_FN std::uint32_t part_of_waiting(Ctx& ctx, lane_mask mask, std::uint32_t place, std::uint64_t ticket,
                                             std::uint32_t most) const {
        const taken_commands at = place_at(ctx, place, 0);
        if (is_host(at)) return 1;
        const chunk_receiver from = ring(ctx, at);
        const std::uint64_t mine = ticket + static_cast<std::uint64_t>(rank_in(ctx, mask));
        const std::uint64_t seen = from.peek(ctx, mine);
        const chunk_label label = chunk_receiver::label_of(seen, mine);
        const bool small = label.bits != 0 && label.kind() != kernel_kind && !is_for_block(label);
        const lane_mask others = mask & ~ctx.ballot(mask, small);
        const lane_mask run = others == 0 ? mask : mask & ((others & (~others + 1)) - 1);
        const auto waiting = static_cast<std::uint32_t>(Ctx::count_lanes(run));
        const std::uint32_t places = all_.rings.n_queues * sources(ctx);
        const std::uint32_t blocks = (static_cast<std::uint32_t>(ctx.n_blocks()) + places - 1) / places;
        const std::uint32_t part = waiting == 0 ? 1 : (waiting + blocks - 1) / blocks;
        return part < most ? part : most;
    }
    /// One lane, which has seen them.
    LANEWAY_FN bool claim(Ctx& ctx, taken_commands& found) const {
        std::uint64_t* next_one = nullptr;
        if constexpr (Fed) {
            if (found.source < 0) next_one = all_.inboxes[found.queue].taken;
        }
        if (next_one == nullptr) next_one = head(ctx, found);
        const auto take = [&] {
            std::uint64_t next = found.ticket;
            return ctx.compare_exchange(next_one, next, next + found.slots, order::relaxed, scope::device);
        };
        return found.what().kind() == kernel_kind ? all_.launches.take(ctx, found.launch, take) : take();
    }
    LANEWAY_FN chunk_receiver ring(const Ctx& ctx, const taken_commands& of) const {
        return all_.rings.receiver(ctx, of.queue, of.shard, of.source);
    }
    LANEWAY_FN std::uint64_t* head(const Ctx& ctx, const taken_commands& of) const {
        return all_.rings.head(ctx, of.queue, of.shard, of.source);
    }
    LANEWAY_FN inbox_slot& host_slot(const taken_commands& taken) const {
        const auto& inbox = all_.inboxes[taken.queue];
        return *reinterpret_cast<inbox_slot*>(inbox.slots + taken.ticket % inbox.capacity * inbox.slot_bytes);
    }

    /// Command i of a chunk. Any lane; false when the run ends.
    template <class Record>
    [[nodiscard]] LANEWAY_FN bool read(Ctx& ctx, const taken_commands& taken, std::uint32_t i, Record& record) const {
        if constexpr (Fed) {
            if (taken.source < 0) {
                record = *host_slot(taken).template message<remote_posted>()->template record<Record>();
                return true;
            }
        }
        const chunk_receiver from = ring(ctx, taken);
        if (taken.what().in_words()) return from.load_words(ctx, taken.ticket, i, record);
        record = reinterpret_cast<const Record*>(from.slot(taken.ticket))[i];
        return true;
    }
    /// All lanes have read what they need: the slot may hold other commands.
    LANEWAY_FN void give_back(Ctx& ctx, lane_mask mask, const taken_commands& taken) const {
        if constexpr (Fed) {
            if (taken.source < 0) {
                ctx.sync(mask);
                // Partner: the host's acquire load in host_inboxes::place.
                if (elected(ctx, mask)) {
                    ctx.store(&host_slot(taken).free_for, taken.ticket + all_.inboxes[taken.queue].capacity,
                              order::release, scope::system);
                }
                return;
            }
        }
        const chunk_receiver from = ring(ctx, taken);
        if (taken.what().in_words()) return from.release_relaxed(ctx, mask, taken.ticket);
        from.release(ctx, mask, taken.ticket);
    }

    template <class Type>
    LANEWAY_FN void call(Ctx& ctx, lane_mask mask, const Type& body,
                         const remote_record<typename Type::arguments>& record, const taken_commands& taken,
                         block_team<Ctx>* team) const {
        remote_worker<Ctx, Types...> worker(ctx, sender_, all_.names, record.header, taken.source, mask, team);
        const user_code what{user_code::remote, taken.what().kind(), taken.source};
        if constexpr (requires { body(ctx, record.arguments, worker); }) {
            run_user_code(ctx, what, body, ctx, record.arguments, worker);
        } else {
            run_user_code(ctx, what, body, ctx, record.arguments);
        }
    }

    /// A function for single lanes: a command each.
    template <class Type>
    LANEWAY_FN std::uint32_t run_on_lanes(Ctx& ctx, lane_mask mask, const Type& body,
                                          const taken_commands& taken) const {
        const std::uint32_t count = taken.what().messages();
        const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        for (std::uint32_t base = 0; base < count; base += lanes) {
            const std::uint32_t i = base + static_cast<std::uint32_t>(rank_in(ctx, mask));
            remote_record<typename Type::arguments> record{};
            const bool mine = i < count && read(ctx, taken, i, record);
            if (base + lanes >= count) give_back(ctx, mask, taken);
            const completion_signal told = record.header.told();
            const remote_told to = mine ? all_.names.find(ctx, told) : remote_told{};
            if (mine) call(ctx, lane_mask{1} << ctx.lane(), body, record, taken, nullptr);
            ctx.sync(mask);
            if (mine && !threw(ctx)) raise_together(ctx, told, to);
        }
        return count;
    }
    /// Lanes that raise the same signal do so with one add.
    LANEWAY_FN void raise_together(Ctx& ctx, const completion_signal& told, const remote_told& to) const {
        const lane_mask here = ctx.converged();
        const bool adds = told.pe >= 0;
        const std::uint64_t alone = std::uint64_t{1} << 63 | static_cast<unsigned>(ctx.lane());
        const lane_mask same = ctx.match(here, adds ? static_cast<std::uint64_t>(told.pe) << 32 | told.index : alone);
        const auto sum =
            reduce(ctx, same, std::uint64_t{told.value}, [](std::uint64_t a, std::uint64_t b) { return a + b; });
        ctx.sync(same);
        if (elected(ctx, same)) all_.names.raise(ctx, to, sum);
    }

    /// A function that lanes run together. The slot of a team's command is kept until it has run, as the warps come to
    /// it one by one.
    template <class Type>
    LANEWAY_FN std::uint32_t run_together(Ctx& ctx, lane_mask mask, const Type& body, const taken_commands& taken,
                                          block_team<Ctx>* team, bool speaks) const {
        remote_record<typename Type::arguments> record{};
        const bool all_have_it = ctx.ballot(mask, !read(ctx, taken, 0, record)) == 0;
        if (team == nullptr) give_back(ctx, mask, taken);
        const completion_signal told = record.header.told();
        const bool tells = speaks && all_have_it && elected(ctx, mask);
        const remote_told to = tells ? all_.names.find(ctx, told) : remote_told{};
        if (all_have_it) call(ctx, mask, body, record, taken, team);
        if (team == nullptr) {
            ctx.sync(mask);
        } else if (!team->sync(ctx)) {
            return 0;
        } else if (speaks) {
            give_back(ctx, mask, taken);
        }
        if (!speaks || !all_have_it) return 0;
        if (tells && !threw(ctx)) all_.names.raise(ctx, to, told.value);
        return 1;
    }

    /// A kernel of the host's. It is done when finish_launches finds that it has returned.
    LANEWAY_FN void launch(Ctx& ctx, lane_mask mask, const taken_commands& taken) const {
        remote_record<remote_bytes> record{};
        const bool have_it = elected(ctx, mask) && read(ctx, taken, 0, record);
        give_back(ctx, mask, taken);
        if (have_it) {
            remote_launch request{record.header.kernel, taken.source, nullptr, 0, record.arguments};
            const remote_landed& landed = record.header.landed;
            if (landed.buffer != remote_landed::no_buffer) {
                const memory_target& first = all_.names.buffer(ctx, landed.buffer).first;
                request.landed = first.visit([&]<class T>() {
                    auto at = first.template element<T>();
                    at.index += landed.at;
                    request.landed_bytes = std::uint64_t{landed.count} * sizeof(T);
                    return reinterpret_cast<std::byte*>(address(ctx, at));
                });
            }
            all_.launches.push(ctx, taken.launch, request, record.header.told());
        }
        ctx.sync(mask);
    }

    /// The commands of some slots are done. One lane, which knows of all that they did.
    LANEWAY_FN void complete(Ctx& ctx, std::uint64_t slots, std::uint64_t commands) const {
        remote_counts& counts = all_.rings.counts_of(ctx);
        ctx.fetch_add(&counts.run, commands, order::relaxed, scope::device);
        // Partner: the acquire load of the termination detector. What the commands created has been counted before.
        ctx.fetch_add(&counts.completed, slots, order::release, scope::device);
    }

    const view& all_;
    remote_sender<Ctx, Types...> sender_;
    std::uint64_t expected_ = 0;  ///< head of the lane's own ring, as it was last
};

}  // namespace laneway
