// Triggered operations: puts, combinations and signals that are prepared beforehand under a tag, and carried out when
// the tag has been triggered often enough, by any lanes. The host half of the component.
//
//   auto halo = runtime.triggers();
//   halo.prepare(0, 3, 32, lw::trigger_operation::put(rows.ref(), 0, 64, ghost.ref(), 0, 1).signal(arrived.ref()[0]));
//   runtime.run(body, halo);            // body: halo.trigger(ctx, 3), 32 times on PE 0
//
// After GPU-TN (LeBeane and others, GPU Triggered Networking for Intra-Kernel Communications, SC 2017): a list of
// operations with tag, counter and threshold, which lanes trigger by one store.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "laneway/memory/symmetric_array.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_feed.hpp"
#include "laneway/run/host_triggers.hpp"
#include "laneway/run/outside_triggers.hpp"
#include "laneway/run/triggers_ref.hpp"

namespace laneway {

struct trigger_options {
    std::uint32_t tags = 256;    ///< of each PE, at most 2^20; 141 bytes of its memory each
    std::uint32_t chains = 256;  ///< operations of other PEs that may trigger tags of one PE
    std::uint32_t outside = 16;  ///< triggers from outside that a PE may have, see triggers::outside; at most 1,024
    /// Bytes that a lane whose trigger reaches the threshold carries out itself. What is larger waits for warps.
    std::uint64_t alone_bytes = 256;
};

/// The tags of all PEs of a runtime, on the host. One thread, between runs; while a session goes on any thread
/// prepares, disarms and triggers.
class trigger_memory : public session_feed {
public:
    /// Throws usage_error for options that cannot be.
    trigger_memory(machine& machine, const trigger_options& options);

    [[nodiscard]] const laneway::machine& machine_of() const { return machine_; }
    /// From now on operations start things, of which each takes so much. Throws usage_error the second time.
    void keep_items(std::size_t words);
    [[nodiscard]] bool keeps_items() const { return items_.has_value(); }

    /// `item`: what the operation starts; empty for nothing.
    void prepare(int pe, std::uint32_t tag, std::uint32_t threshold, const trigger_operation& op, firing how,
                 std::span<const std::byte> item = {});
    [[noreturn]] static void refuse(int pe, std::uint32_t tag, const std::string& why);
    [[nodiscard]] bool disarm(int pe, std::uint32_t tag);
    void clear();
    void trigger(int pe, std::uint32_t tag, std::uint32_t n);
    [[nodiscard]] std::size_t reserve_outside(int pe, std::uint32_t tag, std::uint32_t n);
    [[nodiscard]] outside_triggers& outside() { return outside_; }
    [[nodiscard]] std::vector<waiting_tag> waiting() const;
    [[nodiscard]] trigger_ref ref() const;
    [[nodiscard]] symmetric_ref<item_word> items() const { return items_->ref(); }
    [[nodiscard]] std::uint64_t held_bytes() const;

    /// Brings to the devices what the host has prepared since the last run.
    void begin(machine& machine);
    void end(run_report& report);
    /// Triggers from outside that have not come, tags that wait for room for what they start, and operations that set
    /// each other off without end.
    [[nodiscard]] std::string account() const override;

    // In a session.
    [[nodiscard]] host_triggers_ref host_ref(int pe) const { return host_.ref(pe); }
    [[nodiscard]] std::uint64_t filled() const override { return host_.filled(); }
    [[nodiscard]] bool any_wait() const override { return host_.any_wait(); }
    void attach(machine& machine, const comm_plan&) override;
    void connect(resident_program& program) override;
    void disconnect(bool ended_well) noexcept override;
    void add_to(run_report& report) const override;
    void add_to(epoch_report& report) const override;

private:
    struct preparation {
        int pe;
        std::uint32_t tag;
        std::uint32_t threshold;
        trigger_operation operation;
        firing how;
        std::vector<std::byte> item;
    };
    struct mirror;

    [[noreturn]] static void refuse(const preparation& p, const std::string& why) { refuse(p.pe, p.tag, why); }
    [[noreturn]] static void refuse_second(const preparation& p);
    [[noreturn]] void refuse_chain(const preparation& p, int to) const;
    [[noreturn]] static void refuse_count(const preparation& p, std::uint64_t count);
    void must_exist(int pe, std::uint32_t tag, int named) const;
    void must_have_tag(int pe, std::uint32_t tag) const;
    void must_be_possible(const preparation& p) const;
    void prepare_in_session(const preparation& p);
    [[nodiscard]] bool disarm_in_session(int pe, std::uint32_t tag);
    void forget_prepared(int pe, std::uint32_t tag);
    void replace_spent(const preparation& by);
    [[nodiscard]] trigger_slot slot(int pe, std::uint32_t tag) const;
    void apply(mirror& all, const preparation& p) const;
    void apply_new();
    void forget();

    machine& machine_;
    trigger_options options_;
    symmetric_array<trigger_slot> slots_;
    symmetric_array<trigger_counters> counters_;
    symmetric_array<std::uint32_t> shared_;
    symmetric_array<std::uint32_t> left_;
    symmetric_array<trigger_cell> cells_;
    symmetric_array<std::uint64_t> calls_;
    std::size_t item_words_ = 0;  ///< of a tag
    std::optional<symmetric_array<item_word>> items_;
    host_triggers host_;
    outside_triggers outside_;
    std::mutex preparing_;  ///< held by threads of a session that change these
    std::vector<preparation> prepared_;
    std::size_t applied_ = 0;  ///< of these, to the devices
    bool open_ = false;        ///< a run has begun and is not known to have ended well
    bool in_session_ = false;  ///< that was one
};

template <class... Takers>
class starting_triggers;

/// Host's access to triggered operations; made by runtime::triggers. A handle: copies are the same. Counts and
/// preparations stay from run to run; a run that fails clears what lanes have counted and prepared.
class triggers {
public:
    using ref_type = triggers_component_ref<starter_list<>>;
    using session_ref_type = triggers_session_ref<starter_list<>>;

    triggers(machine& machine, const trigger_options& options)
        : triggers(std::make_shared<trigger_memory>(machine, options)) {}

    /// The same tags for operations that also post messages of mailboxes and submit tasks of pools, which are part of
    /// the same runs and sessions. Their handlers and tasks may hold tags(), so this comes after they are made; once.
    /// Throws usage_error where one belongs to another runtime.
    template <class... Takers>
    [[nodiscard]] starting_triggers<Takers...> with(const Takers&... takers) const;

    /// Gives a PE's tag its operation, from the next run on. Triggers that came before count. Throws usage_error for a
    /// PE, tag, threshold or range that cannot be, and for a tag that has one, unless it has fired once for all.
    /// While a session of these triggers goes on, any thread of the host may call it, and the tag has its operation
    /// when it returns: it waits for the PE to say so, and throws as trigger does as well.
    void prepare(int pe, std::uint32_t tag, std::uint32_t threshold, const trigger_operation& op,
                 firing how = firing::once) {
        memory_->prepare(pe, tag, threshold, op, how);
    }
    /// Takes the operation from a tag, so that another one can be prepared; triggers that no round has used stay.
    /// False, and nothing has happened, where it has none, or its round is open. Between runs, and, as prepare, by any
    /// thread of the host while a session goes on.
    bool disarm(int pe, std::uint32_t tag) { return memory_->disarm(pe, tag); }
    /// Takes all operations and counts from all tags. What streams have been given before counts for nothing. Throws
    /// usage_error while a session of these triggers goes on.
    void clear() { memory_->clear(); }
    /// Adds to the count of a PE's tag, while a session goes on. Any thread of the host. Waits while the PE has as many
    /// of these as it can hold. Throws usage_error for what cannot be, and where no session goes on, timeout_error past
    /// the deadline, and what ended the session.
    void trigger(int pe, std::uint32_t tag, std::uint32_t n = 1) { memory_->trigger(pe, tag, n); }
    /// Reserves a word by which streams or kernels outside the program trigger a PE's tag, `n` times for each of their
    /// triggers. Between runs; for good. Throws usage_error for what cannot be, and past trigger_options::outside.
    [[nodiscard]] outside_trigger outside(int pe, std::uint32_t tag, std::uint32_t n = 1) {
        return {memory_, memory_->reserve_outside(pe, tag, n)};
    }
    /// Tags with triggers that no round has used, and those prepared that have never fired: no error, but often one.
    [[nodiscard]] std::vector<waiting_tag> waiting() const { return memory_->waiting(); }
    /// For handlers of messages, which trigger by `lw::trigger(ctx, ref, tag)` or `lw::trigger_on(ctx, ref, pe, tag)`.
    /// The component must be part of the run.
    [[nodiscard]] trigger_ref tags() const { return memory_->ref(); }

    // As a component, see run/component.hpp.
    [[nodiscard]] std::uint64_t held_bytes(int) const { return memory_->held_bytes(); }
    void begin(machine& machine, const comm_plan&, const run_deadline&) const { memory_->begin(machine); }
    void end(run_report& report) const { memory_->end(report); }
    [[nodiscard]] std::string account() const { return memory_->account(); }
    [[nodiscard]] ref_type ref(int) const { return {memory_->ref(), {}}; }
    [[nodiscard]] session_ref_type session_ref(int pe) const { return {{memory_->ref(), {}}, memory_->host_ref(pe)}; }
    [[nodiscard]] std::shared_ptr<session_feed> feed() const { return memory_; }
    void refuse_beside(const std::vector<present_component>&) const {
        if (!memory_->keeps_items()) return;
        throw usage_error("triggers that start messages or tasks: the run or session gets what with() has returned");
    }

protected:
    explicit triggers(std::shared_ptr<trigger_memory> memory) : memory_(std::move(memory)) {}

    std::shared_ptr<trigger_memory> memory_;
};

/// Triggers whose operations may also start what `Takers` take; made by triggers::with.
template <class... Takers>
class starting_triggers : public triggers {
    using starters = starter_list<typename Takers::starter_type...>;
    static constexpr std::size_t item_words = trigger_items<starters>::words;

public:
    using ref_type = triggers_component_ref<starters>;
    using session_ref_type = triggers_session_ref<starters>;
    using triggers::prepare;

    explicit starting_triggers(const std::shared_ptr<trigger_memory>& memory, const Takers&... takers)
        : triggers(memory), takers_(takers...) {
        (refuse_others(takers, memory->machine_of()), ...);
        memory->keep_items(item_words);
        const auto tell = [&]<class Taker>([[maybe_unused]] const Taker& taker) {
            if constexpr (requires { taker.trigger_by(memory->ref()); }) taker.trigger_by(memory->ref());
        };
        (tell(takers), ...);
    }

    /// As above, for an operation that starts a message, or a task of the tag's own PE.
    template <class Item, bool WhenDone>
    void prepare(int pe, std::uint32_t tag, std::uint32_t threshold, const starting_operation<Item, WhenDone>& op,
                 firing how = firing::once) {
        const trigger_operation numbered = numbered_operation<starters>(op);
        if (starters::template stays<Item> && numbered.pe() != pe) {
            memory_->refuse(pe, tag, "a task starts on the PE of its tag: have it triggered there by then()");
        }
        memory_->prepare(pe, tag, threshold, numbered, how, std::as_bytes(std::span(&op.item, 1)));
    }

    // As a component.
    [[nodiscard]] ref_type ref(int pe) const { return {memory_->ref(), items(pe)}; }
    [[nodiscard]] session_ref_type session_ref(int pe) const { return {ref(pe), memory_->host_ref(pe)}; }
    void refuse_beside(const std::vector<present_component>& all) const {
        std::apply([&](const Takers&... each) { (refuse_without(each, all), ...); }, takers_);
    }

private:
    /// Messages find their handler by their type, which names the one mailbox only where it is there, and first.
    template <class Taker>
    static void refuse_without(const Taker& taker, const std::vector<present_component>& all) {
        const present_component* found = nullptr;
        for (const present_component& each : all) {
            if (found == nullptr && each.identity == identity_of(taker)) found = &each;
        }
        if (found == nullptr) {
            throw usage_error(std::string("triggers ") +
                              (has_feed<Taker> ? "submit tasks of a pool" : "post messages of a mailbox") +
                              " that is not part of the same run or session");
        }
        if (found->renamed) {
            throw usage_error(
                "triggers post messages of a mailbox that stands behind another component with the same types of "
                "message: let it come first");
        }
    }
    [[nodiscard]] trigger_items<starters> items(int pe) const {
        return {std::apply([&](const Takers&... each) { return starters_of(each.starter(pe)...); }, takers_),
                memory_->items()};
    }

    std::tuple<Takers...> takers_;
};

template <class... Takers>
starting_triggers<Takers...> triggers::with(const Takers&... takers) const {
    static_assert(sizeof...(Takers) > 0, "with(box, pool): what operations start");
    return starting_triggers<Takers...>(memory_, takers...);
}

}  // namespace laneway
