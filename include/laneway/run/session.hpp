// Sessions: a program of components that stays on the devices, and that host threads post to and call.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "laneway/base/held_mutex.hpp"
#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/base/wait_limit.hpp"
#include "laneway/comm/comm_resources.hpp"
#include "laneway/run/host_inbox.hpp"

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
    /// Throws usage_error on a thread that uses the devices, as stop would wait for it.
    void refuse_within_use() const;

private:
    using clock = std::chrono::steady_clock;

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
    bool past_deadline_ = false;
    bool stopping_ = false;  ///< a thread is at it
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

/// Host's access to a program that stays on the devices; made by runtime::start. Any thread may post, call and quiesce.
/// Each of these waits for the deadline of the options at most, and throws timeout_error past it. When the program has
/// failed, every call throws what ended it; another session can be started once this one has been stopped.
template <class Routes>
class session {
    using list = route_list<Routes>;

public:
    /// `launch(session)` runs the program until it ends by itself, and returns the seconds that it took.
    template <class Launch>
    session(machine& machine, const options& options, std::unique_ptr<comm_resources> resources,
            std::vector<std::shared_ptr<session_feed>> feeds, const Launch& launch)
        : resources_(std::move(resources)),
          inboxes_(machine, list::message_bytes, list::answer_words * 4, inbox_slots,
                   pe_with(options, injected_fault::shut_inbox), pe_with(options, injected_fault::losing_inbox)),
          feeds_(std::move(feeds)), n_pes_(machine.n_pes()), program_(machine, options, all_feeds(), [this, launch] {
              seconds_ += launch(*this);
              comes_back_ = true;
          }) {
        try {
            for (const auto& feed : feeds_) feed->connect(program_);
        } catch (...) {
            disconnect(false);
            throw;
        }
    }
    /// Stops it. A session whose program goes on even so cannot be destroyed, and neither can one by a function that
    /// while_away calls: then the process ends, and says so.
    ~session() {
        try {
            stop();
        } catch (...) {
            // Whoever wants to know calls stop.
        }
        program_.end();
        disconnect(!program_.has_failed());
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    /// Posts a message of a mailbox to a PE, as a lane would. Waits while the PE's inbox is full.
    template <class Message>
    void post(int pe, const Message& message) {
        static_assert(list::template has<Message>, "no mailbox of the session carries messages of this type");
        static_assert(!list::template takes_payload<Message>, "host threads post messages without a payload");
        const resident_program::visit mine(program_);
        leave(pe, message, 0, program_.waiting());
    }

    /// The same for what a component has made: `session.post(list.proposal(vertex, key))`.
    template <class Message>
    void post(const addressed_message<Message>& made) {
        post(made.pe, made.message);
    }

    /// Posts a message whose handler answers, and waits for the answer.
    template <class Message>
    auto call(int pe, const Message& message) {
        static_assert(list::template has<Message>, "no mailbox of the session carries messages of this type");
        using handler = typename list::template handler<Message>;
        static_assert(answering<handler>, "the handler of this type gives no answer: `using answer = R;`");
        const resident_program::visit mine(program_);
        const auto waiting = program_.waiting();
        const host_inboxes::awaited answer(inboxes_, waiting);
        leave(pe, message, answer.reply(), waiting);
        while (!answer.wait(waiting)) waiting();  // it failed, as the program does
        return *reinterpret_cast<const typename handler::answer*>(answer.answer());
    }

    /// Closes an epoch: returns when all that has been posted so far, and all that followed from it, is done
    /// everywhere. Throws device_fault where its audit finds that a message was lost; the session has failed then.
    epoch_report quiesce() {
        const resident_program::visit mine(program_);
        epoch_report report = program_.quiesce();
        for (const auto& feed : feeds_) feed->add_to(report);
        return report;
    }
    /// Gives the devices back when all is done; the next post or call takes them again. Copies, allocations and runs by
    /// the thread that has started the session do so by themselves.
    void release() {
        while_away([] {});
    }
    /// The same, and calls `use` before the session can take them again.
    void while_away(const std::function<void()>& use) { program_.while_away(use); }
    /// Waits until all is done and ends the session: what other threads have begun is done and answered, and what they
    /// begin from now on throws usage_error, as does a call by a function that while_away calls. The report is that of
    /// the session, whose messages are audited as after a run.
    run_report stop() {
        program_.refuse_within_use();
        const bool first = is_connected_;
        try {
            program_.stop();
            if (is_connected_) {
                for (const auto& feed : feeds_) feed->audit();
            }
        } catch (...) {
            if (program_.is_over()) disconnect(!program_.has_failed());
            throw;
        }
        disconnect(true);
        run_report report = resources_->report(seconds_);
        if (first) {
            for (const auto& feed : feeds_) feed->add_to(report);
        }
        return report;
    }

    [[nodiscard]] epoch_words epochs() const { return program_.epochs(); }
    [[nodiscard]] host_inbox_ref<list> inbox(int pe) const { return {inboxes_.ref(pe)}; }
    [[nodiscard]] comm_resources& resources() { return *resources_; }
    /// Whether the program has been on the devices before. Called as it is launched.
    [[nodiscard]] bool comes_back() const { return comes_back_; }

private:
    static constexpr std::uint64_t inbox_slots = 1024;

    [[nodiscard]] std::vector<host_feed*> all_feeds() {
        std::vector<host_feed*> all{&inboxes_};
        for (const auto& feed : feeds_) all.push_back(feed.get());
        return all;
    }

    /// The program has ended: lets the feeds go.
    void disconnect(bool ended_well) noexcept {
        if (!is_connected_.exchange(false)) return;  // another session may have them
        for (const auto& feed : feeds_) feed->disconnect(ended_well);
    }

    template <class Message>
    void leave(int pe, const Message& message, std::uint32_t reply, const while_waiting& waiting) {
        if (pe < 0 || pe >= n_pes_) {
            throw usage_error("PE " + std::to_string(pe) + " does not exist: the session has " +
                              std::to_string(n_pes_) + (n_pes_ == 1 ? " PE" : " PEs"));
        }
        {
            host_inboxes::place place(inboxes_, pe, waiting);
            place.slot().kind = list::template kind<Message>;
            place.slot().reply = reply;
            *place.slot().template message<Message>() = message;
            place.publish();
        }
        program_.wake();
    }

    std::unique_ptr<comm_resources> resources_;
    host_inboxes inboxes_;
    std::vector<std::shared_ptr<session_feed>> feeds_;
    int n_pes_;
    double seconds_ = 0;
    bool comes_back_ = false;
    std::atomic<bool> is_connected_ = true;
    resident_program program_;
};

}  // namespace laneway
