#include "workspace.hpp"

#include <algorithm>

#include "laneway/flow/context.hpp"
#include "laneway/runtime.hpp"

namespace laneway::apps {

namespace {

/// A call takes a few dozen at most.
constexpr std::uint64_t enough_segments = 4096;

/// One number a PE.
template <class Count>
std::vector<std::uint64_t> count_pes(runtime& devices, Count&& count) {
    std::vector<std::uint64_t> counts;
    for (int pe = 0; pe < devices.n_pes(); ++pe) counts.push_back(count(*devices.machine().device(pe)));
    return counts;
}

}  // namespace

workspace::workspace(options job, std::uint64_t kept_bytes) : job_(std::move(job)), kept_bytes_(kept_bytes) {}

workspace::~workspace() = default;

const std::shared_ptr<runtime>& workspace::devices() {
    if (runtime_ && runtime_->machine().segments_left() < enough_segments) {
        copied_before_ = copied_bytes();
        pieces_.clear();
        runtime_.reset();
    }
    if (!runtime_) {
        const timeline_part part(job_.timeline, "opening the devices");
        runtime_ = std::make_shared<runtime>(job_);
    }
    return runtime_;
}

int workspace::n_pes() { return devices()->n_pes(); }

std::shared_ptr<flow::context> workspace::take_dataflow() {
    if (dataflow_) return std::exchange(dataflow_, {});
    const timeline_part part(job_.timeline, "opening the devices");
    return std::make_shared<flow::context>(job_);
}

void workspace::keep(const std::shared_ptr<flow::context>& open) {
    if (parse_devices(job_.devices).front().kind != device_kind::checked) dataflow_ = open;
}

bool workspace::lost() const { return runtime_ && runtime_->machine().abandoned(); }

void workspace::forget(const void* owner) {
    std::erase_if(pieces_, [&](const kept_piece& p) { return p.owner == owner; });
}

bool workspace::keeps(const void* owner) const {
    return std::any_of(pieces_.begin(), pieces_.end(), [&](const kept_piece& p) { return p.owner == owner; });
}

std::vector<std::uint64_t> workspace::held_bytes() const {
    if (!runtime_) return {};
    return count_pes(*runtime_, [](const device& d) { return d.held_bytes(); });
}

std::vector<std::uint64_t> workspace::copied_bytes() const {
    if (!runtime_) return copied_before_;
    auto copied = count_pes(*runtime_, [](const device& d) { return d.copied_in_bytes(); });
    for (std::size_t pe = 0; pe < copied_before_.size(); ++pe) copied[pe] += copied_before_[pe];
    return copied;
}

std::shared_ptr<void> workspace::find(const void* owner, const piece_key& key) {
    const auto found = std::find_if(pieces_.begin(), pieces_.end(),
                                    [&](const kept_piece& p) { return p.owner == owner && p.key == key; });
    if (found == pieces_.end()) return {};
    pieces_.splice(pieces_.begin(), pieces_, found);
    return found->memory;
}

void workspace::add(const void* owner, const piece_key& key, std::shared_ptr<void> memory) {
    pieces_.push_front({owner, key, std::move(memory)});
}

void workspace::trim() {
    const auto full = [&] {
        const auto held = held_bytes();
        return std::any_of(held.begin(), held.end(), [&](std::uint64_t bytes) { return bytes > kept_bytes_; });
    };
    while (!pieces_.empty() && full()) pieces_.pop_back();
}

}  // namespace laneway::apps
