// The processes of a job: how they find each other, and what they tell each other beside the devices' own traffic.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "laneway/base/file_handle.hpp"

namespace laneway {

/// What one process gives the others: bytes, and a file of its own where they are of one host.
struct contribution {
    std::string bytes;
    file_handle file;
};

/// One process's link to all of its job. Host only; one thread at a time. Once a call has thrown, the job is over: the
/// others learn why at their next call, and further calls throw process_error.
class bootstrap {
public:
    /// `timeout_seconds`: how long processes wait for each other where a caller says nothing else.
    explicit bootstrap(double timeout_seconds) : timeout_seconds_(timeout_seconds) {}
    virtual ~bootstrap() = default;
    bootstrap(const bootstrap&) = delete;
    bootstrap& operator=(const bootstrap&) = delete;

    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    [[nodiscard]] double timeout_seconds() const { return timeout_seconds_; }

    /// Waits until all processes have called it, and returns what each gave, by rank. Throws timeout_error past the
    /// deadline, process_error for a process that has ended; both name the process.
    [[nodiscard]] virtual std::vector<contribution> all_gather(const contribution& mine, double seconds) = 0;
    void barrier() { (void)all_gather({}, timeout_seconds_); }

    /// Tells the others that this process has failed in what all do until the next all_gather. Does not wait.
    virtual void alert() = 0;
    /// Whether another process has said so since the last all_gather, or has ended. Does not wait.
    [[nodiscard]] virtual bool alerted() = 0;

    /// Ends the job, where this process alone has failed in what all do: the others are told why by the process_error
    /// of their next all_gather. Does not wait; nothing happens where the job is over.
    virtual void leave(const std::string& why) = 0;
    /// Returns what `work` does; where it throws, leaves and says what.
    template <class Work>
    decltype(auto) or_leave(Work&& work) {
        try {
            return work();
        } catch (const std::exception& failed) {
            leave(failed.what());
            throw;
        } catch (...) {
            leave("unknown exception");
            throw;
        }
    }

private:
    double timeout_seconds_;
};

/// Of a job.
inline constexpr int max_processes = 256;

/// A job of this process alone.
std::shared_ptr<bootstrap> lone_process();

/// Process `rank` of `size` of the job `name`, all on this host and of one user: they meet over Unix-domain sockets in
/// the abstract namespace, which leave nothing behind. Waits for the others; throws timeout_error past the deadline,
/// usage_error where the numbers do not fit or the place is taken.
std::shared_ptr<bootstrap> local_processes(const std::string& name, int rank, int size, double timeout_seconds = 60);

/// The job that the environment names: LANEWAY_JOB, LANEWAY_RANK and LANEWAY_SIZE, and LANEWAY_JOB_TIMEOUT in seconds;
/// without LANEWAY_SIZE this process alone. Joined once, and the same for all callers. Throws as local_processes.
std::shared_ptr<bootstrap> processes_of_environment();

}  // namespace laneway
