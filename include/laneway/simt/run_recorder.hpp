// The host's part of the timeline of a machine's runs: memory for what PEs write down, and fetching it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/base/timeline.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/environment.hpp"
#include "laneway/simt/pe_timeline.hpp"
#include "laneway/simt/run_label.hpp"

namespace laneway {

/// Host only; not thread-safe, as the machine that it belongs to.
class run_recorder {
public:
    /// `own`: the PEs that this process runs, which alone are recorded. Their environments learn where to write.
    run_recorder(std::shared_ptr<timeline> kept_in, const std::vector<std::shared_ptr<device>>& devices,
                 const std::vector<std::size_t>& own, std::vector<pe_environment>& environments);
    ~run_recorder();
    run_recorder(const run_recorder&) = delete;
    run_recorder& operator=(const run_recorder&) = delete;

    /// Clears the logs, before lanes start.
    void begin(const run_label& label);
    /// Fetches the logs, when all lanes have ended: where some may not have, `abandoned`, they stay unread. A device
    /// that is lost has none. Never throws for the sake of a timeline.
    void end(bool failed, bool abandoned);
    /// The last run's report.
    void add_totals(const run_report& report) { kept_in_->add_totals(last_, report); }

private:
    /// On a device of its own: where a job has several processes, they allocate, copy and clear together, and each
    /// records its own PEs alone.
    struct pe_logs {
        std::size_t pe;
        std::shared_ptr<device> memory;
        buffer<timeline_sample> samples;
        buffer<timeline_wait> waits;
        buffer<pe_timeline> head;
    };
    [[nodiscard]] pe_record fetch(const pe_logs& logs) const;
    template <class T>
    [[nodiscard]] static std::vector<T> fetch(const pe_logs& logs, const buffer<T>& log, std::uint64_t records);

    std::shared_ptr<timeline> kept_in_;
    std::size_t n_pes_;
    int job_;
    std::vector<pe_logs> logs_;
    run_record run_;        ///< that goes on
    std::size_t last_ = 0;  ///< number of the last one
};

}  // namespace laneway
