// What happened before something: a vector clock, which holds for each track how far that had come.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace laneway::checked {

/// Numbers what takes its steps one after the other: a lane in its functor, and apart from it the same lane as one that
/// runs handlers for others. Times count from 1.
using track_number = std::uint32_t;

/// Copies share memory, as most lanes know the same.
class clock {
public:
    [[nodiscard]] bool covers(track_number track, std::uint32_t time) const {
        return times_ != nullptr && track < times_->size() && time <= (*times_)[track];
    }
    [[nodiscard]] bool empty() const { return times_ == nullptr; }

    /// Adds what happened before something else.
    void join(const clock& other);
    /// Adds the steps of a track up to a time.
    void raise(track_number track, std::uint32_t time);

private:
    using times = std::vector<std::uint32_t>;

    std::shared_ptr<const times> times_;  ///< by track; null: nothing
};

}  // namespace laneway::checked
