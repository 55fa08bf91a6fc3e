// A pool of tasks, as the warps of a PE see it.
//
// The host writes tasks into the slots of shards, rings in memory that it shares with the PE, and counts them in a word
// a shard. The control warp passes these counts on to PE memory, where working warps look at them through a copy a
// block. A warp claims tasks of its block's shard first, then of others; runs them one after the other; stores each
// result where the host reads it; and appends the news that it is done to the ring of its shard. Nothing is shared by
// all workers: each shard has its own words.
#pragma once

#include "laneway/comm/termination.hpp"
#include "laneway/run/component.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/simt/user_code.hpp"
#include "laneway/task/task_failures.hpp"
#include "laneway/task/task_type.hpp"
#include "laneway/task/task_worker.hpp"

namespace laneway {

inline constexpr std::uint32_t max_task_shards = 16;

/// What the warps of a block know of the shards; in shared memory.
struct task_shared {
    alignas(16) std::uint64_t filled[max_task_shards];
    std::uint64_t claimed[max_task_shards];  ///< as far as the block knows

    LANEWAY_FN void open() { *this = {}; }
};

/// Words of a shard in PE memory.
struct task_shard {
    alignas(destructive_bytes) std::uint64_t known;      ///< tasks that the control warp has passed on
    alignas(destructive_bytes) std::uint64_t claimed;    ///< of these, those that warps have claimed
    alignas(destructive_bytes) std::uint64_t announced;  ///< places of news that warps have claimed
};

/// The part of the view that does not depend on the types of task.
struct task_rings_ref {
    std::byte* slots = nullptr;             ///< host-visible: of all shards
    const std::uint64_t* filled = nullptr;  ///< host-visible, a shard each: slots that the host has filled
    std::uint64_t* news = nullptr;          ///< host-visible: task_news of all shards
    task_shard* shards = nullptr;           ///< PE memory
    std::uint64_t* is_open = nullptr;       ///< PE memory: whether the control warp passes on what comes
    task_failures* failures = nullptr;      ///< for CPU devices
    std::uint64_t slots_a_shard = 1;        ///< a power of two
    std::uint64_t news_a_shard = 1;         ///< a power of two; all tasks that the PE has at once find room
    std::uint64_t slot_bytes = 64;
    std::uint32_t n_shards = 1;
    std::uint32_t warps_a_shard = 1;

    LANEWAY_FN task_slot& slot(std::uint32_t shard, std::uint64_t number) const {
        return *reinterpret_cast<task_slot*>(slots + (shard * slots_a_shard + number % slots_a_shard) * slot_bytes);
    }

    /// Lets warps take what the host has filled. One lane a shard.
    template <class Ctx>
    LANEWAY_FN void pass_on(Ctx& ctx, std::uint32_t shard) const {
        // Partner: the host's release store.
        const std::uint64_t now = ctx.load(filled + shard, order::acquire, scope::system);
        std::uint64_t& known = shards[shard].known;
        // Partner: the acquire load in task_agent::claim.
        if (now != ctx.load(&known, order::relaxed, scope::device)) {
            ctx.store(&known, now, order::release, scope::device);
        }
    }
    template <class Ctx>
    LANEWAY_FN void announce(Ctx& ctx, std::uint32_t shard, std::uint32_t record) const {
        const std::uint64_t place = ctx.fetch_add(&shards[shard].announced, 1, order::relaxed, scope::device);
        // Partner: the host's acquire load. Outcomes come before.
        ctx.store(news + shard * news_a_shard + place % news_a_shard, task_news::of(place, news_a_shard, record),
                  order::release, scope::system);
    }
};

template <class Ctx, class Out, class... Types>
class task_agent;

/// Device view of one PE's part of a pool.
template <class... Types>
struct task_pool_ref {
    using routes_type = routes<>;
    static constexpr bool counts_work = true;
    static constexpr bool takes_from_host = true;
    static constexpr std::size_t shared_bytes = sizeof(task_shared);

    task_rings_ref rings;
    task_types<Types...> types;

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN task_agent<Ctx, Out, Types...> agent(Ctx&, Out& out, const roles& mine, std::byte* shared) const {
        return {*this, out, reinterpret_cast<task_shared*>(shared),
                static_cast<std::uint32_t>(mine.team_number) % rings.n_shards};
    }

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx&, keyed_reply&) const {}  // the program's own counter has it
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        for (auto s = static_cast<std::uint32_t>(ctx.lane()); s < rings.n_shards; s += Ctx::warp_lanes) {
            sum.created += ctx.load(&rings.shards[s].known, order::relaxed, scope::device);  // its own warp's store
        }
    }
    template <class Ctx>
    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const {
        if ((orders & termination_command::look) != 0) {
            for (std::uint32_t s = 0; s < rings.n_shards; ++s) rings.pass_on(ctx, s);
        }
        const bool open = (orders & termination_command::open) != 0;
        ctx.store(rings.is_open, open ? std::uint64_t{1} : 0, order::relaxed, scope::device);
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}
};

/// What works on a pool. Members are called as component.hpp says.
template <class Ctx, class Out, class... Types>
class task_agent {
public:
    static constexpr bool polls = true;
    static constexpr bool attends = true;

    LANEWAY_FN task_agent(const task_pool_ref<Types...>& pool, Out& out, task_shared* shared, std::uint32_t own)
        : pool_(pool), out_(out), shared_(shared), own_(own) {}

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0) shared_->open();
    }
    LANEWAY_FN void close(Ctx&) const {}

    LANEWAY_FN void attend(Ctx& ctx) {
        if (ctx.load(pool_.rings.is_open, order::relaxed, scope::device) == 0) return;
        for (auto s = static_cast<std::uint32_t>(ctx.lane()); s < pool_.rings.n_shards; s += Ctx::warp_lanes) {
            pool_.rings.pass_on(ctx, s);
        }
    }

    LANEWAY_FN void refresh(Ctx& ctx) {
        for (std::uint32_t s = 0; s < pool_.rings.n_shards; ++s) {
            // Relaxed: they only say that looking is worth while.
            const task_shard& shard = pool_.rings.shards[s];
            ctx.store(&shared_->claimed[s], ctx.load(&shard.claimed, order::relaxed, scope::device), order::relaxed,
                      scope::block);
            ctx.store(&shared_->filled[s], ctx.load(&shard.known, order::relaxed, scope::device), order::relaxed,
                      scope::block);
        }
    }

    LANEWAY_FN bool poll(Ctx& ctx) {
        claimed_tasks mine;
        const auto count = once(ctx, full_warp<Ctx>, [&] { return find(ctx, mine); });
        if (count == 0) return false;
        mine.shard = ctx.shuffle(full_warp<Ctx>, mine.shard, 0);
        mine.first = ctx.shuffle(full_warp<Ctx>, mine.first, 0);
        ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read the slots
        for (std::uint32_t i = 0; i < count; ++i) run(ctx, mine.shard, mine.first + i);
        if (ctx.lane() == 0) out_.complete(ctx, count);
        return true;
    }

private:
    struct claimed_tasks {
        std::uint32_t shard = 0;
        std::uint64_t first = 0;
    };

    /// Claims tasks of the first shard that has some, from the own one on; how many. One lane.
    LANEWAY_FN std::uint32_t find(Ctx& ctx, claimed_tasks& mine) {
        for (std::uint32_t i = 0; i < pool_.rings.n_shards; ++i) {
            mine.shard = (own_ + i) % pool_.rings.n_shards;
            if (ctx.load(&shared_->filled[mine.shard], order::relaxed, scope::block) <=
                ctx.load(&shared_->claimed[mine.shard], order::relaxed, scope::block)) {
                continue;
            }
            const std::uint32_t count = claim(ctx, mine);
            if (count != 0) return count;
        }
        return 0;
    }

    /// Claims one task, or more where the shard holds many for each of its warps.
    LANEWAY_FN std::uint32_t claim(Ctx& ctx, claimed_tasks& mine) {
        task_shard& shard = pool_.rings.shards[mine.shard];
        mine.first = ctx.load(&shard.claimed, order::relaxed, scope::device);
        for (;;) {
            // Partner: the release store in task_rings_ref::pass_on. What the host has stored is seen behind it.
            const std::uint64_t known = ctx.load(&shard.known, order::acquire, scope::device);
            if (mine.first >= known) {
                ctx.store(&shared_->claimed[mine.shard], known, order::relaxed, scope::block);
                return 0;
            }
            const std::uint64_t share = (known - mine.first) / (2 * pool_.rings.warps_a_shard);
            const std::uint64_t count = share < 1 ? 1 : share < max_claim ? share : max_claim;
            if (ctx.compare_exchange(&shard.claimed, mine.first, mine.first + count, order::relaxed, scope::device)) {
                return static_cast<std::uint32_t>(count);
            }
        }
    }

    /// Runs what a slot holds, and announces that it is done. The whole warp.
    LANEWAY_FN void run(Ctx& ctx, std::uint32_t shard, std::uint64_t number) {
        task_slot& slot = pool_.rings.slot(shard, number);
        const std::uint32_t record = slot.record, count = slot.count, first = slot.first;
        const std::byte* const behind = reinterpret_cast<const std::byte*>(&slot) + task_slot::header_bytes;
        pool_.types.visit(slot.type, [&]<class Type>(const Type& body) {
            using arguments = typename Type::arguments;
            if (count == 0) {
                const arguments given = *reinterpret_cast<const arguments*>(behind);
                std::byte* const outcome = slot.outcome;
                give_back(ctx, slot, number);
                const std::uint32_t status = call(ctx, body, given, record, 0, outcome + task_slot::result_at);
                if (ctx.lane() == 0) *reinterpret_cast<std::uint32_t*>(outcome) = status;
            } else {
                const task_piece piece = *reinterpret_cast<const task_piece*>(behind);
                give_back(ctx, slot, number);
                for (std::uint32_t i = 0; i < count && (i % 16 != 15 || !ends(ctx)); ++i) {
                    const arguments given = reinterpret_cast<const arguments*>(piece.arguments)[i];
                    const std::uint32_t status = call(ctx, body, given, record, first + i,
                                                      piece.results + i * result_bytes_of<typename Type::result>);
                    if (ctx.lane() == 0) piece.statuses[i] = status;
                }
            }
        });
        ctx.sync(full_warp<Ctx>);  // what all lanes have stored comes before the news
        // Where the program is ending, a body may have left its waits before they were over.
        if (ctx.lane() == 0 && !stopped(ctx)) pool_.rings.announce(ctx, own_, record);
    }

    /// Whether the program is ending, for all lanes alike. The whole warp.
    static LANEWAY_FN bool ends(Ctx& ctx) {
        return once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{stopped(ctx)}; }) != 0;
    }

    /// All lanes have read the slot: the host may fill it again.
    LANEWAY_FN void give_back(Ctx& ctx, task_slot& slot, std::uint64_t number) const {
        ctx.sync(full_warp<Ctx>);
        // Partner: the host's acquire load.
        if (ctx.lane() == 0) {
            ctx.store(&slot.free_for, number + pool_.rings.slots_a_shard, order::release, scope::system);
        }
    }

    /// Runs one task. Returns its status to all lanes: that of the first lane that has failed.
    template <class Type>
    LANEWAY_FN std::uint32_t call(Ctx& ctx, const Type& body, const typename Type::arguments& given,
                                  std::uint32_t record, std::uint32_t index, std::byte* result) {
        task_worker<Ctx> worker(ctx, index);
        std::uint32_t status = task_status::done;
        if constexpr (catching<Ctx>) {
            const auto run = [&] { invoke(ctx, body, given, worker, result); };
            if (pool_.rings.failures->catches(record, index, run)) status = task_status::threw;
        } else {
            invoke(ctx, body, given, worker, result);
        }
        if (status == task_status::done) status = worker.status();
        const lane_mask failed = ctx.ballot(full_warp<Ctx>, status != task_status::done);
        return failed == 0 ? status : ctx.shuffle(full_warp<Ctx>, status, Ctx::first_lane(failed));
    }

    template <class Type>
    static LANEWAY_FN void invoke(Ctx& ctx, const Type& body, const typename Type::arguments& given,
                                  task_worker<Ctx>& worker, std::byte* result) {
        using result_type = typename Type::result;
        const auto run = [&]() -> result_type {
            if constexpr (requires { body(ctx, given, worker); }) {
                return call_needs_LANEWAY_FN(body, ctx, given, worker);
            } else {
                return call_needs_LANEWAY_FN(body, ctx, given);
            }
        };
        if constexpr (std::is_void_v<result_type>) {
            run();
        } else {
            const result_type value = run();
            if (worker.lane() == 0) *reinterpret_cast<result_type*>(result) = value;
        }
    }

    static constexpr std::uint64_t max_claim = 32;

    const task_pool_ref<Types...>& pool_;
    Out& out_;
    task_shared* shared_;
    std::uint32_t own_;  ///< the shard of this block
};

}  // namespace laneway
