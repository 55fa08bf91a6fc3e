// Sessions: a program of components that stays on the devices, and that host threads post to and call.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/comm/comm_resources.hpp"
#include "laneway/run/host_inbox.hpp"
#include "laneway/run/resident_program.hpp"

namespace laneway {

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
        program_.refuse_within_use("stop");
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
