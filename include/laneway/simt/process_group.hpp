// The processes of a job in step: what a machine and its devices do together with those of the other processes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/bootstrap.hpp"

namespace laneway {

/// All processes call the same functions of the host in the same order, each with the same arguments. Host only; one
/// thread, but for free_later.
class process_group {
public:
    explicit process_group(std::shared_ptr<bootstrap> processes) : processes_(std::move(processes)) {}
    ~process_group() { free_all(); }
    process_group(const process_group&) = delete;
    process_group& operator=(const process_group&) = delete;

    [[nodiscard]] int rank() const { return processes_->rank(); }
    [[nodiscard]] int size() const { return processes_->size(); }
    [[nodiscard]] double timeout_seconds() const { return processes_->timeout_seconds(); }

    /// What each process gives, by rank, when all are at the same call: as refuse() where another one's `call` has
    /// other words. Throws as bootstrap::all_gather does.
    std::vector<contribution> meet(const std::string& call, const contribution& mine, double seconds);
    std::vector<contribution> meet(const std::string& call, const contribution& mine) {
        return meet(call, mine, timeout_seconds());
    }

    /// For calls that differ in `difference`: ends the job, and throws process_error.
    [[noreturn]] void refuse(const std::string& difference);

    /// Before the host writes memory of a PE, or reads some: waits for the others where they may still be reading or
    /// writing it. Between two runs no process is ahead of another by more than one kind of access.
    void before_write() { enter(access::write); }
    void before_read() { enter(access::read); }
    /// All processes have ended what they did to memory of PEs: the next access waits for nobody.
    void forget_accesses() { last_ = access::none; }

    /// Frees memory that other processes have mapped: when all have met again, so that they have let go of it. Any
    /// thread.
    void free_later(std::function<void()> free);

    /// What this process does alone on the way to the next meeting: where it throws, the job is over and the others
    /// learn why, as they would wait in vain.
    template <class Work>
    decltype(auto) alone(Work&& work) {
        return processes_->or_leave(std::forward<Work>(work));
    }
    void leave(const std::string& why) { processes_->leave(why); }

    void alert() { processes_->alert(); }
    [[nodiscard]] bool alerted() { return processes_->alerted(); }

private:
    enum class access { none, read, write };
    void enter(access next);
    void free_all();

    std::shared_ptr<bootstrap> processes_;
    access last_ = access::none;
    std::mutex freeing_;
    std::vector<std::function<void()>> to_free_;
};

}  // namespace laneway
