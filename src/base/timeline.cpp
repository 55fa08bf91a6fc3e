#include "laneway/base/timeline.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "laneway/base/draft_file.hpp"
#include "laneway/base/error.hpp"
#include "timeline_text.hpp"

namespace laneway {

namespace {

std::uint64_t records_of(const run_record& run) {
    std::uint64_t records = 0;
    for (const pe_record& pe : run.pes) records += pe.samples.size() + pe.waits.size();
    return records;
}

/// Writes what the environment has asked for, as the process ends.
struct timeline_at_exit {
    std::filesystem::path path;
    std::shared_ptr<timeline> collected = std::make_shared<timeline>();
    pid_t process = getpid();

    explicit timeline_at_exit(std::filesystem::path file) : path(std::move(file)) {}
    ~timeline_at_exit() {
        if (getpid() != process) return;  // a fork has a copy of it
        try {
            collected->write(path);
        } catch (const error& failed) {
            std::fprintf(stderr, "laneway: LANEWAY_TIMELINE: %s\n", failed.what());
        }
    }
};

}  // namespace

std::uint64_t timeline::now_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

timeline::timeline(const capacity& room) : room_(room), origin_ns_(now_ns()) {
    room_.gap_ns = std::max<std::uint64_t>(room.gap_ns, 1);  // else the numbers of samples would have no end
    const auto is_power = [](std::uint32_t count) { return count >= 2 && std::has_single_bit(count); };
    if (!is_power(room.samples) || !is_power(room.waits)) {
        throw usage_error("a timeline has room for a power of two of samples and waits, 2 at least");
    }
}

void timeline::note(const std::string& name, const std::string& value) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(notes_.begin(), notes_.end(), [&](const auto& n) { return n.first == name; });
    if (found != notes_.end()) {
        found->second = value;
    } else {
        notes_.emplace_back(name, value);
    }
}

void timeline::add_span(timeline_span span) {
    const std::lock_guard lock(mutex_);
    if (spans_.size() >= room_.spans) {
        ++left_out_;
    } else {
        spans_.push_back(std::move(span));
    }
}

void timeline::add_stream_span(stream_span span) {
    const std::lock_guard lock(mutex_);
    if (stream_spans_.size() >= room_.spans) {
        ++left_out_;
    } else {
        stream_spans_.push_back(std::move(span));
    }
}

int timeline::enter(const std::vector<std::string>& devices) {
    const std::lock_guard lock(mutex_);
    const auto free = std::find_if(jobs_.begin(), jobs_.end(),
                                   [&](const known_job& j) { return !j.running && j.devices == devices; });
    if (free == jobs_.end()) {
        jobs_.push_back({devices, true});
        return static_cast<int>(jobs_.size()) - 1;
    }
    free->running = true;
    return static_cast<int>(free - jobs_.begin());
}

void timeline::leave(int job) {
    const std::lock_guard lock(mutex_);
    jobs_[static_cast<std::size_t>(job)].running = false;
}

std::size_t timeline::add_run(run_record record) {
    const std::lock_guard lock(mutex_);
    if (runs_.size() >= room_.spans) {
        ++left_out_;
        return runs_.size();
    }
    const std::uint64_t records = records_of(record);
    if (records_ + records > room_.records) {
        ++left_out_;
        // The end of each PE's counters stays: what follows counts on from there.
        for (pe_record& pe : record.pes) {
            pe.waits.clear();
            if (!pe.samples.empty()) pe.samples.erase(pe.samples.begin(), pe.samples.end() - 1);
        }
    }
    records_ += records_of(record);
    runs_.push_back(std::move(record));
    return runs_.size() - 1;
}

void timeline::add_totals(std::size_t run, const run_report& report) {
    const std::lock_guard lock(mutex_);
    if (run >= runs_.size()) return;
    runs_[run].totals = {{"posted", report.posted},   {"direct", report.direct},   {"carried", report.carried},
                         {"served", report.served},   {"chunks", report.chunks()}, {"bytes", report.bytes()},
                         {"replies", report.replies}, {"items", report.items}};
}

timeline::counts timeline::count() const {
    const std::lock_guard lock(mutex_);
    counts all;
    all.runs = runs_.size();
    all.left_out = left_out_;
    all.operations = stream_spans_.size();
    for (const run_record& run : runs_) {
        for (const pe_record& pe : run.pes) {
            all.samples += pe.samples.size();
            all.waits += pe.waits.size();
            all.lasting_waits += pe.lasting_waits;
        }
    }
    return all;
}

std::vector<run_record> timeline::runs() const {
    const std::lock_guard lock(mutex_);
    return runs_;
}

std::vector<timeline_span> timeline::spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
}

std::vector<stream_span> timeline::stream_spans() const {
    const std::lock_guard lock(mutex_);
    return stream_spans_;
}

std::string timeline::json() const {
    const std::lock_guard lock(mutex_);
    return timeline_text(*this).text();
}

void timeline::write(const std::filesystem::path& path) const {
    const std::string text = json();
    draft_file file(path);
    file.write(text.data(), text.size());
    file.commit();
}

std::shared_ptr<timeline> timeline::of_environment(int process) {
    static const char* const name = std::getenv("LANEWAY_TIMELINE");
    if (name == nullptr || *name == '\0') return nullptr;
    static const timeline_at_exit written([process] {
        std::filesystem::path path = name;
        if (process >= 0) path.replace_extension("." + std::to_string(process) + path.extension().string());
        return path;
    }());
    return written.collected;
}

}  // namespace laneway
