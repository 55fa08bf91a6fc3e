#include "timeline_text.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <thread>

#include "laneway/base/fault.hpp"

namespace laneway {

namespace {

constexpr int serving_thread = 1;
constexpr int first_wait_thread = 10;

std::array<std::uint64_t, 4> counted(const timeline_sample& s) { return {s.sent, s.served, s.chunks, s.bytes}; }

std::vector<std::vector<std::string>> devices_in(const auto& jobs) {
    std::vector<std::vector<std::string>> devices;
    for (const auto& job : jobs) devices.push_back(job.devices);
    return devices;
}

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown";
}

json_members machine_members() {
    utsname system{};
    (void)uname(&system);
    json_members members;
    members.add("processor", processor());
    members.add("cores", std::uint64_t{std::thread::hardware_concurrency()});
    members.add("system", std::string(system.sysname) + " " + system.release + " " + system.machine);
    return members;
}

std::string list_of(const std::vector<std::string>& json) {
    std::string list;
    for (const std::string& one : json) list += (list.empty() ? "" : ",") + one;
    return "[" + list + "]";
}

std::string number_in_words(const timeline_wait& wait) {
    std::string text = words_of(static_cast<operation>(wait.what)).number;
    const auto at = text.find('#');
    return at == std::string::npos ? text : text.replace(at, 1, std::to_string(wait.number));
}

}  // namespace

timeline_text::timeline_text(const timeline& all)
    : all_(all), devices_(devices_in(all.jobs_)), clocks_(all.runs_, devices_) {}

std::uint64_t timeline_text::since_origin(std::uint64_t ns) const {
    return std::max(ns, all_.origin_ns_) - all_.origin_ns_;
}

std::uint64_t timeline_text::time_of(const run_record& run, std::size_t pe, std::uint64_t device_ns) const {
    return since_origin(clocks_.host_ns(run, pe, device_ns));
}

int timeline_text::process_of(int job, std::size_t pe) const {
    int process = 1 + static_cast<int>(pe);
    for (int before = 0; before < job; ++before) {
        process += static_cast<int>(devices_[static_cast<std::size_t>(before)].size());
    }
    return process;
}

trace_place timeline_text::place_in(rows& track, int process, std::uint64_t begin_ns, std::uint64_t end_ns) {
    const auto free = std::find_if(track.ends.begin(), track.ends.end(), [&](auto end) { return end <= begin_ns; });
    const auto row = static_cast<int>(free - track.ends.begin());
    const trace_place place{process, track.first_thread + row};
    if (free != track.ends.end()) {
        *free = end_ns;
        return place;
    }
    track.ends.push_back(end_ns);
    events_.name_thread(place, row == 0 ? track.name : track.name + " (" + std::to_string(row + 1) + ")");
    return place;
}

/// Phases, parts of them, runs and epochs, each kind in rows of its own.
void timeline_text::add_host() {
    std::vector<timeline_span> spans = all_.spans_;
    for (std::size_t number = 0; number < all_.runs_.size(); ++number) {
        const run_record& run = all_.runs_[number];
        spans.push_back({"runs", run.name + " " + std::to_string(number + 1), run.begin_ns, run.end_ns});
    }
    std::stable_sort(spans.begin(), spans.end(),
                     [](const auto& one, const auto& other) { return one.begin_ns < other.begin_ns; });
    std::map<std::string, rows> tracks;
    for (const timeline_span& span : spans) {
        const int thread = span.track == "phases" ? 0 : 100 * static_cast<int>(tracks.size() + 1);
        rows& track = tracks.try_emplace(span.track, rows{thread, span.track, {}}).first->second;
        const std::uint64_t begin = since_origin(span.begin_ns), end = since_origin(span.end_ns);
        events_.span(place_in(track, 0, begin, end), span.track.c_str(), span.name, begin, end);
    }
}

/// Each stream in rows of its own: packets of several buffers overlap.
void timeline_text::add_streams() {
    constexpr int first_thread = 1 << 24, rows_a_stream = 1024;
    std::vector<const stream_span*> spans;
    for (const stream_span& span : all_.stream_spans_) spans.push_back(&span);
    std::stable_sort(spans.begin(), spans.end(),
                     [](const auto* one, const auto* other) { return one->begin_ns < other->begin_ns; });
    std::map<std::pair<int, std::string>, rows> tracks;
    for (const stream_span* span : spans) {
        const int process = span->pe < 0 ? 0 : process_of(span->job, static_cast<std::size_t>(span->pe));
        const int thread = first_thread + rows_a_stream * static_cast<int>(tracks.size());
        rows& track = tracks.try_emplace({process, *span->stream}, rows{thread, *span->stream, {}}).first->second;
        const std::uint64_t begin = since_origin(span->begin_ns), end = since_origin(span->end_ns);
        json_members values;
        if (span->bytes != 0) values.add("bytes", span->bytes);
        const std::string category = std::string("stream ") + span->kind;
        events_.span(place_in(track, process, begin, end), category.c_str(),
                     span->label.empty() ? span->kind : std::string(span->kind) + ", " + span->label, begin, end,
                     values.add("stream", *span->stream));
    }
}

void timeline_text::add_runs() {
    for (std::size_t number = 0; number < all_.runs_.size(); ++number) {
        const run_record& run = all_.runs_[number];
        for (std::size_t pe = 0; pe < run.pes.size(); ++pe) {
            if (!run.pes[pe].samples.empty()) add_pe(run, number, pe);
        }
        add_sums(run);
    }
}

void timeline_text::add_pe(const run_record& run, std::size_t number, std::size_t pe) {
    const auto& samples = run.pes[pe].samples;
    const int process = process_of(run.job, pe);
    const timeline_sample& last = samples.back();
    const std::uint64_t begin = time_of(run, pe, samples.front().time_ns), end = time_of(run, pe, last.time_ns);
    const totals& own = counted_before(run, pe);
    json_members values;
    values.add("run", number + 1).add("sent", last.sent - own[0]).add("served", last.served - own[1]);
    values.add("barriers", last.barriers);
    events_.span({process, 0}, "kernel", run.name + " " + std::to_string(number + 1), begin, end, values);
    const auto returned = std::find_if(samples.begin(), samples.end(),
                                       [&](const timeline_sample& s) { return s.returned == last.returned; });
    if (last.returned != 0) {
        events_.span({process, 0}, "body", "body", begin, time_of(run, pe, returned->time_ns),
                     json_members().add("warps", last.returned));
    }
    add_counters(run, pe);
    add_serving(run, pe);
    add_waits(run, pe);
}

/// What a PE's counters had come to when the run began: those of a program that comes back go on.
timeline_text::totals& timeline_text::counted_before(const run_record& run, std::size_t pe) {
    totals& own = went_on_[{run.name, {run.job, pe}}];
    if (!run.goes_on) own = {};
    return own;
}

/// Counters go on from run to run: they only grow, and end with the sums of all runs.
void timeline_text::add_counters(const run_record& run, std::size_t pe) {
    const auto& samples = run.pes[pe].samples;
    const int process = process_of(run.job, pe);
    totals& before = before_[{run.job, pe}];
    totals& own = counted_before(run, pe);
    const auto value = [&](const timeline_sample& s, std::size_t i) { return before[i] + counted(s)[i] - own[i]; };
    const timeline_sample* told = nullptr;
    for (const timeline_sample& s : samples) {
        const bool news = told == nullptr || &s == &samples.back();
        const std::uint64_t time = time_of(run, pe, s.time_ns);
        if (news || s.sent != told->sent || s.served != told->served) {
            events_.counter(process, "messages", time,
                            json_members().add("sent", value(s, 0)).add("served", value(s, 1)));
        }
        if (news || s.bytes != told->bytes) {
            events_.counter(process, "bytes sent", time, json_members().add("bytes", value(s, 3)));
        }
        if (news || s.returned != told->returned) {
            const std::uint64_t inside = samples.back().returned - s.returned;
            events_.counter(process, "warps in the body", time, json_members().add("warps", inside));
        }
        told = &s;
    }
    const totals end = counted(samples.back());
    for (std::size_t i = 0; i < end.size(); ++i) before[i] += end[i] - own[i];
    own = end;
}

/// Stretches between samples in which the PE has served something.
void timeline_text::add_serving(const run_record& run, std::size_t pe) {
    const auto& samples = run.pes[pe].samples;
    const int process = process_of(run.job, pe);
    for (std::size_t i = 1; i < samples.size();) {
        std::size_t j = i;
        while (j < samples.size() && samples[j].served > samples[j - 1].served) ++j;
        if (j > i) {
            events_.span({process, serving_thread}, "serving", "serving", time_of(run, pe, samples[i - 1].time_ns),
                         time_of(run, pe, samples[j - 1].time_ns),
                         json_members().add("served", samples[j - 1].served - samples[i - 1].served));
        }
        i = j + 1;
    }
}

timeline_text::rows& timeline_text::block_rows(int process, std::uint32_t block) {
    constexpr int rows_a_block = 2048;  // more warps than a block has
    const auto found = blocks_.find({process, block});
    if (found != blocks_.end()) return found->second;
    const int first = first_wait_thread + rows_a_block * threads_[process]++;
    return blocks_[{process, block}] = {first, "waits of block " + std::to_string(block), {}};
}

void timeline_text::add_waits(const run_record& run, std::size_t pe) {
    const int process = process_of(run.job, pe);
    const pe_record& record = run.pes[pe];
    for (const timeline_wait& wait : record.waits) {
        const std::uint64_t begin = time_of(run, pe, wait.start_ns);
        const std::uint64_t end = std::max(begin, time_of(run, pe, wait.end_ns));
        json_members values;
        if (wait.peer >= 0) values.add("peer", static_cast<std::uint64_t>(wait.peer));
        values.add("for", number_in_words(wait)).add("block", std::uint64_t{wait.place >> 12});
        values.add("warp", std::uint64_t{wait.place >> 6 & 63}).add("lane", std::uint64_t{wait.place & 63});
        events_.span(place_in(block_rows(process, wait.place >> 12), process, begin, end), "wait",
                     words_of(static_cast<operation>(wait.what)).doing, begin, end, values);
    }
}

/// What all PEs have on their way, and the work that PE 0 knows to be open.
void timeline_text::add_sums(const run_record& run) {
    struct look {
        std::uint64_t time_ns;
        std::size_t pe;
        const timeline_sample* sample;
    };
    std::vector<look> looks;
    for (std::size_t pe = 0; pe < run.pes.size(); ++pe) {
        if (run.pes[pe].samples.empty()) return;  // of another process: nobody knows here
        for (const auto& s : run.pes[pe].samples) looks.push_back({time_of(run, pe, s.time_ns), pe, &s});
    }
    std::stable_sort(looks.begin(), looks.end(),
                     [](const look& one, const look& other) { return one.time_ns < other.time_ns; });
    const auto unserved = [](const timeline_sample& s) {
        return static_cast<std::int64_t>(s.sent) - static_cast<std::int64_t>(s.served);
    };
    // A program that comes back has counted before: no PE begins with nothing.
    std::vector<std::int64_t> on_their_way;
    for (const pe_record& pe : run.pes) on_their_way.push_back(unserved(pe.samples.front()));
    std::int64_t sum = std::accumulate(on_their_way.begin(), on_their_way.end(), std::int64_t{0}), told = -1;
    std::uint64_t open = ~std::uint64_t{0};
    for (const look& l : looks) {
        const std::int64_t now = unserved(*l.sample);
        sum += now - std::exchange(on_their_way[l.pe], now);
        // Not seen but concluded: a run ends well only when nothing is left, whichever PE's sample comes last.
        const bool nothing_left = !run.failed && &l == &looks.back();
        // PEs are looked at one after the other, so a message may show as served and not yet as sent.
        const std::int64_t shown = nothing_left ? 0 : std::max<std::int64_t>(0, sum);
        if (std::exchange(told, shown) != shown) {
            events_.counter(0, "messages in flight", l.time_ns,
                            json_members().add("messages", static_cast<std::uint64_t>(shown)));
        }
        const std::uint64_t left = nothing_left ? 0 : l.sample->open;
        if ((l.pe == 0 || nothing_left) && std::exchange(open, left) != left) {
            events_.counter(0, "work open", l.time_ns, json_members().add("pieces", left));
        }
    }
}

std::string timeline_text::account_of(const run_record& run, std::size_t number) const {
    std::vector<std::string> pes;
    for (std::size_t pe = 0; pe < run.pes.size(); ++pe) {
        const pe_record& record = run.pes[pe];
        json_members members;
        const timeline_sample last = record.samples.empty() ? timeline_sample{} : record.samples.back();
        members.add("sent", last.sent).add("served", last.served).add("chunks", last.chunks).add("bytes", last.bytes);
        members.add("barriers", last.barriers).add("samples", record.samples.size());
        members.add("lasting_waits", record.lasting_waits).add("kept_waits", record.waits.size());
        members.add("clock", std::string(clocks_.kind(run, pe)));
        pes.push_back(members.add("clock_error_ns", clocks_.error_ns(run, pe)).text());
    }
    json_members sums;
    for (const auto& [name, value] : run.totals) sums.add(name.c_str(), value);
    json_members members;
    members.add("number", number + 1).add("name", run.name).add("job", static_cast<std::uint64_t>(run.job));
    members.add("begin_ns", since_origin(run.begin_ns)).add("end_ns", since_origin(run.end_ns));
    members.put("failed", run.failed ? "true" : "false").put("goes_on", run.goes_on ? "true" : "false");
    return members.put("totals", sums.text()).put("pes", list_of(pes)).text();
}

std::string timeline_text::account() const {
    std::vector<std::string> jobs, runs;
    for (const auto& devices : devices_) {
        std::vector<std::string> names;
        for (const std::string& name : devices) names.push_back(json_text(name));
        jobs.push_back(list_of(names));
    }
    for (std::size_t i = 0; i < all_.runs_.size(); ++i) runs.push_back(account_of(all_.runs_[i], i));
    json_members notes;
    for (const auto& [name, value] : all_.notes_) notes.add(name.c_str(), value);
    json_members members;
    members.add("format", std::string("laneway timeline")).add("version", std::uint64_t{1});
    members.put("machine", machine_members().text()).put("notes", notes.text());
    members.put("jobs", list_of(jobs)).put("runs", list_of(runs)).add("left_out", all_.left_out_);
    return members.text();
}

std::string timeline_text::text() {
    events_.name_process(0, "host");
    for (std::size_t job = 0; job < devices_.size(); ++job) {
        for (std::size_t pe = 0; pe < devices_[job].size(); ++pe) {
            const int process = process_of(static_cast<int>(job), pe);
            events_.name_process(process, "PE " + std::to_string(pe) + " (" + devices_[job][pe] + ")");
            events_.name_thread({process, 0}, "kernel");
            events_.name_thread({process, serving_thread}, "serving");
        }
    }
    add_host();
    add_runs();
    add_streams();
    const std::string said = account();
    return "{\"displayTimeUnit\":\"ms\",\n\"otherData\":" + said + ",\n\"traceEvents\":" + events_.text() + "}\n";
}

}  // namespace laneway
