// What a checked device knows of one lane: who it is, what has happened before what it does now, and its accesses to
// symmetric memory.
#pragma once

#include <string>
#include <vector>

#include "laneway/simt/checked/race_watch.hpp"
#include "laneway/simt/checked/scheduler.hpp"

namespace laneway::checked {

class lane_history {
public:
    /// A read that may still turn out to be a write: what it would be, and what it would have no order with.
    struct look {
        access mine;
        std::optional<access> other;
        std::uint64_t barriers = 0;
        bool watched = false;
    };

    lane_history(scheduler& sched, race_watch& watch, bool switches_at_plain, const pe_environment& env,
                 const lane_position& position)
        : sched_(sched), watch_(watch), switches_at_plain_(switches_at_plain), env_(env),
          position_(position), strands_{{watch.add_lane(position), 1}} {}

    [[nodiscard]] const lane_position& position() const { return position_; }
    [[nodiscard]] const pe_environment& environment() const { return env_; }
    /// Whether a handler runs of a message that has come from elsewhere.
    [[nodiscard]] bool serves() const { return strands_.size() > 1; }
    /// "PE 1 (checked:1) block 0 warp 1 lane 2 was still in a handler of messages of PE 0".
    [[nodiscard]] std::string still_in() const;
    [[nodiscard]] bool stopping() const { return env_.control->stop != 0; }

    // Accesses.

    /// Where the options say so, other lanes may run here, before a plain access.
    void switch_plainly() {
        if (switches_at_plain_) sched_.step();
    }
    /// Before a plain access.
    look begin_plain(const void* word, std::size_t bytes, const std::source_location& where);
    /// The plain access is made, as a read or as a write. Throws usage_error where it has no order with another.
    void end_plain(const look& begun, access_kind kind);
    /// After an atomic one.
    void atomic(const void* word, std::size_t bytes, access_kind kind, order o, const std::source_location& where);

    // Order.

    void fence(order o = order::acq_rel) { now().fence(o); }
    clock tell() { return now().tell(); }
    void learn(const clock& cause) { now().learn(cause); }
    /// The lane leaves the `number`th barrier of all lanes.
    void leave_barrier(std::uint64_t number) { watch_.pass_barrier(number); }
    /// What its PE has posted has been served.
    void leave_quiet() { now().pass_on(watch_.ended(env_.pe)); }

    // Messages. `at` is where one lies, or a buffer of several, which then carry the same.

    /// A message is put beside others.
    void carry(const void* at) { watch_.carry(now(), at, false); }
    /// A message is put alone, in place of what was there.
    void carry_alone(const void* at) { watch_.carry(now(), at, true); }
    /// The messages of a buffer move on to another.
    void hand_on(const void* from, const void* to) { watch_.hand_on(from, to); }
    /// The answer to a call has come.
    void hear(const void* at) { now().hear(watch_.carried(at)); }
    /// A handler run in place has posted what this lane will send itself.
    void keep_forward() { kept_.join(now().fenced()); }
    /// Handlers that this lane runs next serve what lies there, which a PE has posted.
    void arrive(const void* at, int source) {
        arrived_ = watch_.carried(at);
        source_ = source;
    }
    /// Starts to run a handler of what has arrived, or to send on what lies somewhere, or what has been kept: in no
    /// order with what the lane does else.
    void begin_served() { begin(arrived_); }
    void begin_forward(const void* at) { begin(watch_.carried(at)); }
    void begin_pending() { begin(kept_); }
    void end_served();

private:
    strand& now() { return strands_.back(); }
    void begin(const clock& before);

    scheduler& sched_;
    race_watch& watch_;
    bool switches_at_plain_;
    const pe_environment& env_;
    lane_position position_;
    std::vector<strand> strands_;    ///< of the functor, then those of handlers that have not ended
    std::uint32_t next_served_ = 1;  ///< time on the track of handlers
    clock arrived_;
    clock kept_;
    int source_ = 0;
};

}  // namespace laneway::checked
