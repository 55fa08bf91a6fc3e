#include "laneway/simt/stream_recorder.hpp"

#include <algorithm>
#include <utility>

#include "laneway/base/timeline.hpp"
#include "laneway/simt/device_stream.hpp"

namespace laneway {

namespace {

const char* words_of(stream_work kind) {
    switch (kind) {
        case stream_work::copy: return "copy";
        case stream_work::kernel: return "kernel";
        case stream_work::wait: return "wait";
        default: return "call";
    }
}

}  // namespace

stream_recorder::stream_recorder(stream_log log, std::string stream)
    : log_(std::move(log)), stream_(std::make_shared<const std::string>(std::move(stream))) {}

void stream_recorder::note(stream_backend& by, stream_work kind, std::uint64_t begin_ns, std::string label,
                           std::uint64_t bytes) {
    by.stamp([self = shared_from_this(), kind, begin_ns, label = std::move(label), bytes](std::uint64_t ns) mutable {
        self->end(kind, begin_ns, ns, std::move(label), bytes);
    });
}

void stream_recorder::end(stream_work kind, std::uint64_t begin_ns, std::uint64_t end_ns, std::string label,
                          std::uint64_t bytes) {
    const std::uint64_t begin = std::min(end_ns, std::max(begin_ns, std::exchange(last_ns_, end_ns)));
    if (kind == stream_work::wait && end_ns - begin < min_wait_ns) return;
    log_.kept_in->add_stream_span({log_.job, log_.pe, stream_, words_of(kind), std::move(label), begin, end_ns, bytes});
}

}  // namespace laneway
