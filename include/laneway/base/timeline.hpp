// The timeline of a job: what its devices did when, for Perfetto and `laneway report`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/report.hpp"
#include "laneway/base/timeline_records.hpp"

namespace laneway {

/// What one PE has written down of a run.
struct pe_record {
    std::vector<timeline_sample> samples;  ///< in order of time, the last one at the end of the run; empty: nothing
    std::vector<timeline_wait> waits;      ///< the newest of those that lasted, in order of their start
    std::uint64_t lasting_waits = 0;       ///< all of them
};

/// One run of the devices, or one stay of a session's program on them. Times are those of the host's steady clock.
struct run_record {
    std::string name = "run";
    int job = 0;  ///< see timeline::enter
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool failed = false;
    bool goes_on = false;        ///< the PEs' counters begin where they ended in the last record of this name and job
    std::vector<pe_record> pes;  ///< by PE; nothing of PEs of other processes, and of a run that was abandoned
    std::vector<std::pair<std::string, std::uint64_t>> totals;  ///< of the run's report
};

/// Something that the host did, by its steady clock.
struct timeline_span {
    std::string track;  ///< "phases", "parts", "epochs": spans of a kind
    std::string name;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
};

/// Something that a device did in a stream of a dataflow, or that a link of it held there, by the host's clock.
struct stream_span {
    int job = 0;                                ///< see timeline::enter
    int pe = -1;                                ///< the device's place in the job; -1: the host
    std::shared_ptr<const std::string> stream;  ///< what stands in rows of its own
    const char* kind = "";                      ///< "copy", "kernel", "wait", "call", "packet"
    std::string label;                          ///< besides the kind; may be empty
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t bytes = 0;  ///< that it moved, or holds
};

/// Collects what runs do while it stands in options::timeline of the jobs that run them: of each PE its counters over
/// time, and the waits of its lanes that last; of dataflows what streams do; of the host its phases. Sizes are bounded:
/// of a long run fewer samples are kept, evenly over its time, of many waits the newest, and of very many runs the
/// later ones have neither. What is missing is told. Host, any thread.
class timeline {
public:
    /// What there is room for; powers of two for a PE of a run.
    struct capacity {
        std::uint32_t samples = 2048;
        std::uint32_t waits = 4096;
        std::uint64_t records = std::uint64_t{1} << 20;  ///< samples and waits, all together
        std::size_t spans = std::size_t{1} << 18;        ///< runs, spans, and those of streams, each
        std::uint64_t gap_ns = 10'000;                   ///< between two samples of a PE, at least
    };
    struct counts {
        std::uint64_t runs = 0, samples = 0;
        std::uint64_t waits = 0;          ///< that are kept,
        std::uint64_t lasting_waits = 0;  ///< of so many
        std::uint64_t operations = 0;     ///< of streams, and packets
        std::uint64_t left_out = 0;       ///< runs without samples and waits, and spans, as there was no room
    };

    timeline() : timeline(capacity{}) {}
    explicit timeline(const capacity& room);

    /// The host's clock. CPU devices have the same.
    [[nodiscard]] static std::uint64_t now_ns();
    [[nodiscard]] const capacity& room() const { return room_; }

    /// Something that is told with the timeline: the program, a parameter. The last value of a name counts.
    void note(const std::string& name, const std::string& value);
    void add_span(timeline_span span);
    void add_stream_span(stream_span span);

    /// A job with these devices begins; one that has ended and had the same gives it its number.
    [[nodiscard]] int enter(const std::vector<std::string>& devices);
    void leave(int job);
    /// Returns the number of the run, for add_totals.
    std::size_t add_run(run_record record);
    /// What a run's report says.
    void add_totals(std::size_t run, const run_report& report);

    [[nodiscard]] counts count() const;
    /// What has been recorded so far, in order of the runs' ends.
    [[nodiscard]] std::vector<run_record> runs() const;
    [[nodiscard]] std::vector<timeline_span> spans() const;
    [[nodiscard]] std::vector<stream_span> stream_spans() const;
    /// All of it as text: Chrome's trace event format, in one object of JSON.
    [[nodiscard]] std::string json() const;
    /// Writes json() to a file, which appears whole or not at all. Throws usage_error where it cannot be written.
    void write(const std::filesystem::path& path) const;

    /// The one that takes what the runtimes of this process do whose options have none: where the environment names a
    /// file in LANEWAY_TIMELINE, which is written when the process ends by itself; else null. `process`: number of
    /// this one in a job of several, each of which writes a file of its own, else -1.
    [[nodiscard]] static std::shared_ptr<timeline> of_environment(int process);

private:
    friend class timeline_text;
    struct known_job {
        std::vector<std::string> devices;
        bool running = false;
    };

    capacity room_;
    std::uint64_t origin_ns_;
    mutable std::mutex mutex_;
    std::vector<std::pair<std::string, std::string>> notes_;
    std::vector<timeline_span> spans_;
    std::vector<stream_span> stream_spans_;
    std::vector<known_job> jobs_;
    std::vector<run_record> runs_;
    std::uint64_t records_ = 0;
    std::uint64_t left_out_ = 0;
};

}  // namespace laneway
