#include "laneway/simt/run_recorder.hpp"

#include <algorithm>
#include <utility>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

std::vector<std::string> names_of(const std::vector<std::shared_ptr<device>>& devices) {
    std::vector<std::string> names;
    for (const auto& d : devices) names.push_back(d->name());
    return names;
}

}  // namespace

run_recorder::run_recorder(std::shared_ptr<timeline> kept_in, const std::vector<std::shared_ptr<device>>& devices,
                           const std::vector<std::size_t>& own, std::vector<pe_environment>& environments)
    : kept_in_(std::move(kept_in)), n_pes_(devices.size()), job_(kept_in_->enter(names_of(devices))) {
    const timeline::capacity& room = kept_in_->room();
    try {
        for (const std::size_t pe : own) {
            const auto memory = open_device(devices[pe]->id());
            logs_.push_back({pe, memory, {memory, room.samples}, {memory, room.waits}, {memory, 1}});
            environments[pe].timeline = logs_.back().head.data();
        }
    } catch (...) {
        kept_in_->leave(job_);
        throw;
    }
}

run_recorder::~run_recorder() { kept_in_->leave(job_); }

void run_recorder::begin(const run_label& label) {
    const timeline::capacity& room = kept_in_->room();
    for (pe_logs& logs : logs_) {
        pe_timeline head;
        head.samples = logs.samples.data();
        head.waits = logs.waits.data();
        head.gap_ns = room.gap_ns;
        head.max_samples = room.samples;
        head.max_waits = room.waits;
        logs.head.copy_in(&head, 1);
    }
    run_ = {};
    run_.name = label.name;
    run_.goes_on = label.goes_on;
    run_.job = job_;
    run_.pes.resize(n_pes_);
    run_.begin_ns = timeline::now_ns();
}

/// What has been written into a log, of `records` in all.
template <class T>
std::vector<T> run_recorder::fetch(const pe_logs& logs, const buffer<T>& log, std::uint64_t records) {
    std::vector<T> found(std::min<std::uint64_t>(log.size(), records));
    if (!found.empty()) logs.memory->copy_out(found.data(), log.data(), found.size() * sizeof(T));
    return found;
}

pe_record run_recorder::fetch(const pe_logs& logs) const {
    const pe_timeline head = logs.head.copy_out()[0];
    pe_record record;
    if (head.last.time_ns == 0) return record;  // the program has no control warp that samples
    record.samples = fetch(logs, logs.samples, head.n_samples);
    record.samples.push_back(head.last);
    std::stable_sort(record.samples.begin(), record.samples.end(),
                     [](const auto& one, const auto& other) { return one.time_ns < other.time_ns; });
    record.lasting_waits = head.n_waits;
    record.waits = fetch(logs, logs.waits, head.n_waits);
    std::sort(record.waits.begin(), record.waits.end(),
              [](const auto& one, const auto& other) { return one.start_ns < other.start_ns; });
    return record;
}

void run_recorder::end(bool failed, bool abandoned) {
    run_.end_ns = timeline::now_ns();
    run_.failed = failed;
    for (const pe_logs& logs : logs_) {
        if (abandoned) {
            logs.memory->abandon();
            continue;
        }
        try {
            run_.pes[logs.pe] = fetch(logs);
        } catch (const error&) {
            // The device is lost, and what the run throws says so.
        }
    }
    last_ = kept_in_->add_run(std::exchange(run_, {}));
}

}  // namespace laneway
