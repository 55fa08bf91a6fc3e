#include "laneway/flow/topology.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/device_stream.hpp"

namespace laneway::flow {

namespace {

path_info find_path(const device* from, const device* to) {
    const bool from_gpu = from != nullptr && from->is_gpu(), to_gpu = to != nullptr && to->is_gpu();
    if (from_gpu != to_gpu) return {path_kind::host_to_gpu, false, 0};
    if (!from_gpu || from == to) return {path_kind::same_memory, true, 0};
    const auto found = cuda_backend::find_peer(from->id().index, to->id().index);
    if (!found.access) return {path_kind::through_host, false, found.rank};
    // Atomics between GPUs work over NVLink and not over PCIe: a guess, for drivers whose NVML cannot say.
    const bool nvlink = cuda_backend::joined_by_nvlink(from->id().index, to->id().index).value_or(found.native_atomics);
    return {nvlink ? path_kind::nvlink : path_kind::pcie, true, found.rank};
}

}  // namespace

topology::topology(std::vector<std::shared_ptr<device>> devices) : devices_(std::move(devices)) {
    std::vector<const device*> all{nullptr};  // the host
    for (const auto& d : devices_) all.push_back(d.get());
    for (const device* from : all) {
        for (const device* to : all) {
            paths_.push_back(find_path(from, to));
            if (from == nullptr || to == nullptr || from == to) continue;
            // Copies between GPUs go past the host only where each may use the other's memory.
            if (from->is_gpu() && to->is_gpu() && paths_.back().peer_access) {
                cuda_backend::enable_peer_access(from->id().index, to->id().index);
            }
        }
    }
}

std::size_t topology::place(int from, int to) const {
    const int n = static_cast<int>(devices_.size());
    for (const int number : {from, to}) {
        if (number < host_memory || number >= n) {
            throw usage_error("there is no device " + std::to_string(number) + " among " + std::to_string(n));
        }
    }
    return static_cast<std::size_t>(from + 1) * static_cast<std::size_t>(n + 1) + static_cast<std::size_t>(to + 1);
}

std::string topology::name(int device) const {
    return device == host_memory ? "host" : devices_[static_cast<std::size_t>(device)]->name();
}

const path_info& topology::path(int from, int to) const { return paths_[place(from, to)]; }

double topology::bandwidth(int from, int to) const {
    static std::mutex measuring;  // one measurement at a time, as two would share what they measure
    static std::map<std::pair<std::string, std::string>, double> known;
    (void)place(from, to);
    const std::lock_guard lock(measuring);
    const auto [at, first] = known.try_emplace({name(from), name(to)}, 0.0);
    if (first) {
        try {
            at->second = measure(from, to);
        } catch (...) {
            known.erase(at);
            throw;
        }
    }
    return at->second;
}

double topology::measure(int from, int to) const {
    constexpr std::size_t bytes = 32 << 20;  // more than caches of the second level hold, so that memory is measured
    constexpr int copies = 4;
    const auto opened = [&](int d) { return d == host_memory ? open_host() : devices_[static_cast<std::size_t>(d)]; };
    const auto source = opened(from), target = opened(to);
    const bool gpus = source->is_gpu() || target->is_gpu();
    const auto take = [&](const std::shared_ptr<device>& of) -> std::shared_ptr<std::byte> {
        if (!of->is_gpu()) return allocate_host_visible(bytes, gpus);
        return {static_cast<std::byte*>(of->allocate(bytes)),
                [of, size = bytes](std::byte* p) { of->release(p, size); }};
    };
    const auto here = take(source), there = take(target);
    device_stream stream(std::make_shared<stream_engine>(), {target->is_gpu() ? target : source, 0, 1, {}}, "bandwidth",
                         {});
    double best = 0;
    for (int i = 0; i <= copies; ++i) {  // the first one warms up
        const auto start = std::chrono::steady_clock::now();
        stream.copy(there.get(), here.get(), bytes);
        const event copied = stream.record();
        if (!copied.wait_for(std::chrono::seconds(60))) {
            throw timeout_error("measuring " + name(from) + " -> " + name(to) + ": a copy did not end within 60 s");
        }
        if (const auto why = copied.failure()) std::rethrow_exception(why);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (i > 0) best = std::max(best, static_cast<double>(bytes) / taken.count());
    }
    return best;
}

std::vector<std::string> topology::lines() const {
    std::vector<std::string> all;
    const int n = static_cast<int>(devices_.size());
    for (int from = 0; from < n; ++from) {
        for (int to = 0; to < n; ++to) {
            if (from != to) all.push_back(name(from) + " -> " + name(to) + ": " + to_string(path(from, to).kind));
        }
    }
    return all;
}

}  // namespace laneway::flow
