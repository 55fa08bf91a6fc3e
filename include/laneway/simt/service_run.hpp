// The host services of one run: as threads of the process, or as fibers among the lanes of a checked run.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "laneway/simt/host_service.hpp"

namespace laneway {

/// Lives as long as the run. Threads keep alive what they use, so that one that does not return can be left behind.
class service_run {
public:
    /// Opens the services.
    explicit service_run(std::vector<std::shared_ptr<host_service>> services);
    /// Ends the threads, or leaves those behind that do not return within a second.
    ~service_run();
    service_run(const service_run&) = delete;
    service_run& operator=(const service_run&) = delete;

    /// Starts the threads that are due; throws system_error where one cannot be started. Before the launch, and again
    /// and again until the lanes have ended.
    void start_due();
    /// The same as functions to be run as fibers, which end after end().
    [[nodiscard]] std::vector<std::function<void(host_context&)>> bodies() const;

    /// Says that no lane runs any more: each thread serves what has arrived and ends. Any thread.
    void end();
    /// After end(): serves on this thread what has arrived for threads that were never started.
    void serve_unstarted();
    /// Whether a service threw. Any thread.
    [[nodiscard]] bool failed() const;
    /// After end(): whether all threads have returned; waits for that no longer than `wait`.
    [[nodiscard]] bool returned(std::chrono::steady_clock::duration wait) const;
    /// Joins the threads if all have returned by now; otherwise leaves them behind and returns false. Once: later
    /// calls, and returned() behind it, wait for nothing.
    [[nodiscard]] bool join();
    /// What the first failing service threw; null: none did.
    [[nodiscard]] std::exception_ptr thrown() const;
    /// What a run ends with that something else ended `first`, or nothing (null). To an error of CUDA's is added what a
    /// service threw, and what services had on the GPU.
    [[nodiscard]] std::exception_ptr reason(const std::exception_ptr& first) const;

    /// What the services carry between PEs.
    [[nodiscard]] std::vector<checked::carried_memory> carries() const;
    [[nodiscard]] bool empty() const;
    [[nodiscard]] std::string account() const;
    void audit() const;

private:
    struct state;
    struct place {
        std::shared_ptr<host_service> service;
        int thread;
    };
    void start_one(const place& one);

    std::shared_ptr<state> state_;
    std::vector<place> unstarted_;
};

}  // namespace laneway
