// A part of what the host does, as timelines and profilers show it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "laneway/base/timeline.hpp"
#include "laneway/simt/cuda/profiler_range.hpp"

namespace laneway {

/// From its construction to its end. Host.
class timeline_part {
public:
    /// `kept_in` may be null: then profilers alone see it.
    timeline_part(std::shared_ptr<timeline> kept_in, const char* name)
        : range_(name), kept_in_(std::move(kept_in)), name_(name), begin_ns_(kept_in_ ? timeline::now_ns() : 0) {}
    ~timeline_part() {
        if (kept_in_) kept_in_->add_span({"parts", name_, begin_ns_, timeline::now_ns()});
    }
    timeline_part(const timeline_part&) = delete;
    timeline_part& operator=(const timeline_part&) = delete;

private:
    profiler_range range_;
    std::shared_ptr<timeline> kept_in_;
    const char* name_;
    std::uint64_t begin_ns_;
};

}  // namespace laneway
