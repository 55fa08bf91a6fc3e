#include "laneway/simt/checked/clock.hpp"

#include <algorithm>

namespace laneway::checked {

namespace {

bool within(const std::vector<std::uint32_t>& part, const std::vector<std::uint32_t>& whole) {
    if (part.size() > whole.size()) return false;
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (part[i] > whole[i]) return false;
    }
    return true;
}

}  // namespace

void clock::join(const clock& other) {
    if (other.times_ == nullptr || other.times_ == times_) return;
    if (times_ == nullptr || within(*times_, *other.times_)) {
        times_ = other.times_;
        return;
    }
    if (within(*other.times_, *times_)) return;
    times both(std::max(times_->size(), other.times_->size()));
    std::copy(times_->begin(), times_->end(), both.begin());
    for (std::size_t i = 0; i < other.times_->size(); ++i) both[i] = std::max(both[i], (*other.times_)[i]);
    times_ = std::make_shared<const times>(std::move(both));
}

void clock::raise(track_number track, std::uint32_t time) {
    if (covers(track, time)) return;
    times raised = times_ == nullptr ? times{} : *times_;
    if (raised.size() <= track) raised.resize(track + 1);
    raised[track] = time;
    times_ = std::make_shared<const times>(std::move(raised));
}

}  // namespace laneway::checked
