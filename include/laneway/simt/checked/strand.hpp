// A strand: what runs in program order, and what is known to have happened before it.
#pragma once

#include "laneway/simt/checked/clock.hpp"
#include "laneway/simt/order.hpp"

namespace laneway::checked {

/// A lane's functor, or one handler that a lane runs for others: two handlers have no order, whichever lanes run them.
/// Orders are those of the C++ memory model: a fence makes the relaxed stores behind it, and messages, carry what was
/// before it, and makes what relaxed loads have brought count.
class strand {
public:
    /// `first`: its time on the track when it starts; `before`: what had happened, and goes on with what it sends.
    strand(track_number track, std::uint32_t first, const clock& before = {})
        : track_(track), first_(first), now_(first), told_(first - 1), seen_(before), fenced_(before) {}

    [[nodiscard]] track_number track() const { return track_; }
    [[nodiscard]] std::uint32_t now() const { return now_; }

    /// Whether it comes after a step of some track.
    [[nodiscard]] bool follows(track_number track, std::uint32_t time) const {
        return (track == track_ && time >= first_) || seen_.covers(track, time);
    }

    /// Something that others may have to come after happens now.
    void act() { acted_ = true; }

    /// What happened before `cause` has happened before the next step.
    void learn(const clock& cause) { seen_.join(cause); }
    /// The same from the next fence on.
    void hear(const clock& cause) { heard_.join(cause); }
    /// The same, and what it sends carries it.
    void pass_on(const clock& cause) {
        seen_.join(cause);
        fenced_.join(cause);
    }

    /// All that has happened up to here; what comes next is later.
    clock tell() {
        if (acted_) told_ = now_++;
        acted_ = false;
        clock all = seen_;
        if (told_ >= first_) all.raise(track_, told_);
        return all;
    }

    /// Of both halves, or of one.
    void fence(order o = order::acq_rel) {
        if (o != order::release) {
            seen_.join(heard_);
            heard_ = {};
        }
        if (o != order::acquire) fenced_ = tell();
    }
    /// What relaxed stores and messages carry.
    [[nodiscard]] const clock& fenced() const { return fenced_; }

private:
    track_number track_;
    std::uint32_t first_;
    std::uint32_t now_;
    std::uint32_t told_;  ///< the last time that tell has told
    bool acted_ = false;  ///< since then
    clock seen_;
    clock heard_;
    clock fenced_;
};

}  // namespace laneway::checked
