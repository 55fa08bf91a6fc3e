// A timeline as text: one object of JSON, with Chrome's trace events and an account of what was recorded.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/timeline.hpp"
#include "timeline_clocks.hpp"
#include "trace_events.hpp"

namespace laneway {

/// Works on what the timeline holds, under its lock. Process 0 of the trace is the host; each PE of each job is one
/// more.
class timeline_text {
public:
    explicit timeline_text(const timeline& all);
    [[nodiscard]] std::string text();

private:
    /// Rows of spans that do not overlap, made as they are needed.
    struct rows {
        int first_thread;
        std::string name;
        std::vector<std::uint64_t> ends;
    };
    using key = std::pair<int, std::size_t>;  ///< job and PE
    using totals = std::array<std::uint64_t, 4>;

    [[nodiscard]] int process_of(int job, std::size_t pe) const;
    trace_place place_in(rows& track, int process, std::uint64_t begin_ns, std::uint64_t end_ns);
    rows& block_rows(int process, std::uint32_t block);
    [[nodiscard]] std::uint64_t since_origin(std::uint64_t ns) const;
    [[nodiscard]] std::uint64_t time_of(const run_record& run, std::size_t pe, std::uint64_t device_ns) const;
    void add_host();
    void add_runs();
    void add_streams();
    void add_pe(const run_record& run, std::size_t number, std::size_t pe);
    [[nodiscard]] totals& counted_before(const run_record& run, std::size_t pe);
    void add_counters(const run_record& run, std::size_t pe);
    void add_serving(const run_record& run, std::size_t pe);
    void add_waits(const run_record& run, std::size_t pe);
    void add_sums(const run_record& run);
    [[nodiscard]] std::string account() const;
    [[nodiscard]] std::string account_of(const run_record& run, std::size_t number) const;

    const timeline& all_;
    std::vector<std::vector<std::string>> devices_;  ///< of each job
    timeline_clocks clocks_;
    trace_events events_;
    std::map<std::pair<int, std::uint32_t>, rows> blocks_;
    std::map<int, int> threads_;                             ///< of a process, for waits, so far
    std::map<key, totals> before_;                           ///< counted by the runs before
    std::map<std::pair<std::string, key>, totals> went_on_;  ///< by programs that come back, at their last end
};

}  // namespace laneway
