// The program of a session on its devices: it comes when there is work, leaves on request, and ends with the session.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "laneway/base/held_mutex.hpp"
#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/base/wait_limit.hpp"
#include "laneway/run/host_inbox.hpp"
#include "laneway/simt/run_limits.hpp"

namespace laneway {

/// What an epoch of a session did: all work that existed when the host closed it.
struct epoch_report {
    std::uint64_t number = 0;  ///< grows; the session closes epochs of its own to leave the devices
    double seconds = 0;        ///< from the call of quiesce until all was done
    std::uint64_t posted = 0;  ///< messages that host threads have posted, or called with, since the last epoch
    /// Messages that went from PE to PE since the last epoch that was told, as run_report counts them. As many were
    /// served: each epoch is audited, as are the messages that PEs took from host threads.
    std::uint64_t carried = 0;
    std::uint64_t served = 0;  ///< of the carried ones, those whose handler has run
    /// As run_report::waiting_tags, when the last epoch was closed; 64 of a PE at most.
    std::vector<waiting_tag> waiting_tags;
    std::uint64_t waiting_tags_left_out = 0;  ///< how many more there were, of all PEs
};

/// Whether nothing was lost until an epoch was done, before which host threads had left so many messages. Throws
/// device_fault, which names the epoch, where something was.
void audit_epoch(std::uint64_t epoch, std::uint64_t left, const epoch_totals& all);

/// Keeps a program on the devices, on a thread of its own, and knows when it is there. Any thread may use it.
class resident_program {
public:
    /// Puts the program on the devices and returns when it ends there by itself; throws as machine::run does.
    using launch = std::function<void()>;

    /// A host thread at work with the program. Throws usage_error once stop has been called; who came before is let
    /// end.
    class visit {
    public:
        explicit visit(resident_program& program);
        ~visit() { --program_.visits_; }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

    private:
        resident_program& program_;
    };

    /// `start` is called at once, and again whenever there is work, until stop. The thread that makes it may use the
    /// devices' memory, for which the program leaves them.
    /// `feeds` outlive it.
    resident_program(machine& machine, const options& options, std::vector<host_feed*> feeds, launch start);
    ~resident_program();
    resident_program(const resident_program&) = delete;
    resident_program& operator=(const resident_program&) = delete;

    [[nodiscard]] epoch_words epochs() const;
    /// A message has been left, or an epoch closed: puts the program back on the devices where it is not there.
    void wake();
    /// Throws usage_error once stop has been called.
    void refuse_after_stop() const;
    /// Throws what ended the program, if it has failed.
    void refuse_after_failure();
    [[nodiscard]] bool has_failed() const { return has_failed_; }
    /// For a thread that waits for the program: throws once it has failed, and what interrupts the thread. Past the
    /// deadline, from now, it ends the program and throws timeout_error.
    [[nodiscard]] while_waiting waiting();
    /// Waits until `done()`, for what the program does: brings it back where it has left the devices. Throws as
    /// waiting.
    void await(const std::function<bool()>& done);
    /// Throws device_fault where the audit fails, which ends the program.
    epoch_report quiesce();
    /// Has the program leave the devices when all is done, and calls `use` before it can come back.
    void while_away(const std::function<void()>& use);
    /// Ends the program when all is done and all visits are over, for good. Throws as waiting. Waits for what others
    /// use the devices for; so they must not wait for it. Where the program, or who uses the devices, goes on past the
    /// deadline, it throws timeout_error, and can be called again.
    void stop();
    /// For an owner that goes: the same, but throws nothing. Ends the process, by std::terminate, where the program
    /// goes on: what it uses would go.
    void end() noexcept;
    /// Whether the program has ended for good.
    [[nodiscard]] bool is_over() const { return over_; }
    /// Throws usage_error on a thread that uses the devices: `what`, which it has called, would wait for it.
    void refuse_within_use(const std::string& what) const;

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds grace{1};
    static constexpr std::chrono::milliseconds look{20};
    // Places in words_.
    static constexpr std::size_t done_at = destructive_bytes;
    static constexpr std::size_t totals_at = 2 * destructive_bytes;
    static constexpr std::size_t all_words = totals_at + epoch_words::kept * sizeof(epoch_totals);

    void keep();
    [[nodiscard]] std::uint64_t filled() const;
    [[nodiscard]] bool any_wait() const;
    void hand_over();
    void do_all();
    void stay();
    void leave();
    [[nodiscard]] device::hold hold_devices();
    void await_other_stop(std::unique_lock<std::mutex>& lock);
    void leave_for_good(std::unique_lock<std::mutex>& lock);
    void finish(std::unique_lock<std::mutex>& lock);
    [[nodiscard]] bool expel(std::unique_lock<std::mutex>& lock);
    template <class Left>
    void await_leave(std::unique_lock<std::mutex>& lock, const Left& left);
    std::uint64_t close_epoch();
    void account(epoch_report& report, std::uint64_t left);
    [[noreturn]] void end_with(std::unique_lock<std::mutex>& lock, const std::exception_ptr& failure);
    [[nodiscard]] std::uint64_t done() const;
    void throw_failure();
    [[noreturn]] void pass_deadline();
    [[nodiscard]] wait_limit limit_of_waits() const { return wait_limit(wait_limit::seconds(timeout_seconds_)); }
    /// Of a wait for others to meet the deadline, and for the machine to give up what does not.
    [[nodiscard]] wait_limit last_limit() const {
        return wait_limit(wait_limit::seconds(timeout_seconds_) + time_to_give_up);
    }
    [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t at) const {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(words_.get() + at));
    }
    [[noreturn]] void throw_late(const char* what) const;
    [[nodiscard]] std::exception_ptr late() const;
    [[nodiscard]] std::exception_ptr with_accounts(const std::exception_ptr& failure) const;

    machine& machine_;
    double timeout_seconds_;
    std::uint64_t lease_ns_;
    std::vector<host_feed*> feeds_;
    launch start_;
    std::shared_ptr<timeline> timeline_;  ///< of the options; may be null
    std::shared_ptr<std::byte> words_;    ///< asked, done and totals, see epoch_words
    held_mutex using_;  ///< held by who uses the devices, and until the program is about to; before mutex_
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> resident_ = false;
    std::atomic<bool> has_failed_ = false;
    bool wanted_ = true;
    std::atomic<bool> closing_ = false;
    std::atomic<bool> over_ = false;  ///< it has ended for good
    std::atomic<int> visits_ = 0;
    std::optional<wait_limit> past_deadline_;  ///< until when the program must have left then
    bool stopping_ = false;                    ///< a thread is at it
    bool stopped_ = false;
    std::atomic<bool> given_up_ = false;         ///< it does not come back
    std::atomic<std::uint64_t> left_after_ = 0;  ///< the last epoch that was done when the program left the devices
    int leaving_ = 0;                            ///< threads that wait for it to leave
    std::uint64_t epoch_ = 0;                    ///< the last that was closed
    std::uint64_t told_ = 0;                     ///< messages in the epochs so far
    epoch_totals totals_;                        ///< when the last epoch was told
    std::exception_ptr failure_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::thread thread_;
};

}  // namespace laneway
