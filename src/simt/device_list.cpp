#include "laneway/simt/device_list.hpp"

#include <algorithm>
#include <charconv>
#include <thread>

#include "laneway/base/error.hpp"
#include "laneway/base/one_line.hpp"
#include "laneway/simt/cuda/support.hpp"

namespace laneway {

namespace {

constexpr int max_devices = 256;  // every pair of them has rings: about 1.5 GB at most where all are CPU devices

const char* kind_name(device_kind kind) {
    switch (kind) {
        case device_kind::cuda: return "cuda";
        case device_kind::cpu: return "cpu";
        default: return "checked";
    }
}

int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

[[noreturn]] void refuse(std::string_view part, const std::string& why) {
    throw usage_error("devices: \"" + one_line(std::string(part)) + "\": " + why);
}

int parse_number(std::string_view part, std::string_view digits) {
    int value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc{} || end != digits.data() + digits.size() || value < 0) {
        refuse(part, "expected cuda, cuda:0, cuda:0-3, cpu, cpu:4 or checked:2");
    }
    return value;
}

void add_gpus(std::vector<device_id>& list, std::string_view part, std::string_view range, bool all) {
    const auto found = cuda_backend::survey();
    const int count = static_cast<int>(found.gpus.size());
    if (count == 0) refuse(part, "no GPU: " + found.why_none);
    int first = 0;
    int last = count - 1;
    if (!all) {
        const auto dash = range.find('-');
        first = parse_number(part, range.substr(0, dash));
        last = dash == std::string_view::npos ? first : parse_number(part, range.substr(dash + 1));
        if (last < first) refuse(part, "the range ends before it begins");
        if (last >= count) refuse(part, "this host has GPUs 0 to " + std::to_string(count - 1));
    }
    for (int i = first; i <= last; ++i) {
        const device_id id{device_kind::cuda, i};
        if (std::find(list.begin(), list.end(), id) != list.end()) refuse(part, to_string(id) + " is named twice");
        list.push_back(id);
    }
}

void add_cpus(std::vector<device_id>& list, std::string_view part, device_kind kind, int count) {
    if (count < 1 || count > max_devices) refuse(part, "between 1 and " + std::to_string(max_devices) + " devices");
    int next = 0;
    for (const auto& id : list) next += id.kind == kind ? 1 : 0;
    for (int i = 0; i < count; ++i) list.push_back({kind, next + i});
}

void add_part(std::vector<device_id>& list, std::string_view part) {
    const auto colon = part.find(':');
    const std::string_view kind = part.substr(0, colon);
    const bool bare = colon == std::string_view::npos;
    const std::string_view rest = bare ? std::string_view{} : part.substr(colon + 1);
    if (kind == "cuda") {
        add_gpus(list, part, rest, bare);
    } else if (kind == "cpu") {
        add_cpus(list, part, device_kind::cpu, bare ? std::min(cores(), max_devices) : parse_number(part, rest));
    } else if (kind == "checked") {
        add_cpus(list, part, device_kind::checked, bare ? 2 : parse_number(part, rest));
    } else {
        refuse(part, "expected cuda, cuda:0, cuda:0-3, cpu, cpu:4 or checked:2");
    }
}

}  // namespace

std::string to_string(const device_id& id) { return std::string(kind_name(id.kind)) + ":" + std::to_string(id.index); }

std::vector<device_finding> find_devices() {
    std::vector<device_finding> findings;
    const auto found = cuda_backend::survey();
    for (std::size_t i = 0; i < found.gpus.size(); ++i) {
        findings.push_back({"cuda:" + std::to_string(i), found.gpus[i], true, {}});
    }
    if (found.gpus.empty()) findings.push_back({"cuda", "NVIDIA GPUs", false, found.why_none});
    findings.push_back({"cpu", std::to_string(cores()) + " cores; cpu:N makes N CPU devices", true, {}});
    findings.push_back({"checked", "CPU devices under the seeded scheduler, for tests; checked:N", true, {}});
    return findings;
}

std::vector<device_id> parse_devices(std::string_view text) {
    std::vector<device_id> list;
    if (text.empty()) text = cuda_backend::survey().gpus.empty() ? "cpu" : "cuda";
    for (std::size_t at = 0; at <= text.size();) {
        const auto comma = std::min(text.find(',', at), text.size());
        if (comma == at) refuse(text, "a name is missing between commas, or at an end");
        add_part(list, text.substr(at, comma - at));
        at = comma + 1;
    }
    const auto checked = [](const device_id& id) { return id.kind == device_kind::checked; };
    if (std::any_of(list.begin(), list.end(), checked) && !std::all_of(list.begin(), list.end(), checked)) {
        throw usage_error("devices: checked devices run under one scheduler and cannot stand beside others");
    }
    if (list.size() > max_devices) throw usage_error("devices: more than " + std::to_string(max_devices));
    return list;
}

}  // namespace laneway
