// Sessions: a program of components that stays on the devices, and that host threads post to and call.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/comm/comm_resources.hpp"
#include "laneway/comm/mailbox_handle.hpp"
#include "laneway/run/component_messages.hpp"
#include "laneway/run/host_inbox.hpp"
#include "laneway/run/program.hpp"
#include "laneway/run/resident_program.hpp"
#include "laneway/run/staged_payloads.hpp"

namespace laneway {

/// Elements of a message's payload; void where it has none. `List`: that carries it.
template <class List, class Message>
struct posted_element_of {
    using type = void;
};
template <class List, class Message>
requires(List::template has<Message>) struct posted_element_of<List, Message>
    : element_of<typename List::template handler<Message>> {
};
template <class List, class Message>
using posted_element = typename posted_element_of<List, Message>::type;

/// Host's access to a program that stays on the devices; made by runtime::start. Any thread may post, call and quiesce.
/// Each of these waits for the deadline of the options at most, and throws timeout_error past it. When the program has
/// failed, every call throws what ended it; another session can be started once this one has been stopped.
///
/// `Views`: of the components, in their order. Where two mailboxes carry messages of the same type, calls name the one
/// that they mean: `session.post(box, pe, message)`.
template <class Routes, class... Views>
class session {
    using list = route_list<Routes>;

public:
    /// `identities`: of the components. `launch(session)` runs the program until it ends by itself, and returns the
    /// seconds that it took.
    template <class Launch>
    session(machine& machine, const options& options, const comm_plan& plan, std::unique_ptr<comm_resources> resources,
            std::vector<const void*> identities, std::vector<std::shared_ptr<session_feed>> feeds, const Launch& launch)
        : chunk_bytes_(plan.chunk_bytes), resources_(std::move(resources)), identities_(std::move(identities)),
          inboxes_(machine, inbox_message_bytes<list>, list::answer_words * 4, inbox_slots,
                   pe_with(options, injected_fault::shut_inbox), pe_with(options, injected_fault::losing_inbox)),
          payloads_(machine, list::any_payload ? payload_bytes : 0, "a session"), feeds_(std::move(feeds)),
          n_pes_(machine.n_pes()), program_(machine, options, all_feeds(), [this, launch] {
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
        refuse_ambiguous<Message>();
        post_message(pe, message);
    }
    /// The same of a mailbox that is named. Throws usage_error where the session does not have it.
    template <class Box, class Message>
    void post(const mailbox_handle<Box>& box, int pe, const Message& message) {
        of_mailbox<Message>(box, [&]<class Carried>() { post_message(pe, Carried{message}); });
    }

    /// Posts a message with a payload, of which `data` may be reused on return. Waits while there is no room for it,
    /// and throws usage_error where there never is: a payload that a lane could not send in one chunk needs a handler
    /// that allocates. What that rejects is dropped.
    template <class Message>
    void post(int pe, const Message& header, const posted_element<list, Message>* data, std::uint64_t count) {
        refuse_ambiguous<Message>();
        post_payload(pe, header, data, count);
    }
    template <class Box, class Message>
    void post(const mailbox_handle<Box>& box, int pe, const Message& header,
              const posted_element<route_list<Box>, Message>* data, std::uint64_t count) {
        of_mailbox<Message>(box, [&]<class Carried>() { post_payload(pe, Carried{header}, data, count); });
    }

    /// Posts what a component has made: `session.post(list.proposal(vertex, key))`.
    template <class Message>
    void post(const addressed_message<Message>& made) {
        post(made.pe, made.message);
    }

    /// Posts a message whose handler answers, and waits for the answer.
    template <class Message>
    auto call(int pe, const Message& message) {
        refuse_ambiguous<Message>();
        return call_for(pe, message);
    }
    template <class Box, class Message>
    auto call(const mailbox_handle<Box>& box, int pe, const Message& message) {
        using answer = typename route_list<Box>::template handler<Message>::answer;
        answer given{};
        of_mailbox<Message>(box, [&]<class Carried>() {
            const auto carried = call_for(pe, Carried{message});
            if constexpr (std::is_same_v<decltype(carried), const answer>) {
                given = carried;
            } else {
                given = carried.message;
            }
        });
        return given;
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
    static constexpr std::size_t payload_bytes = 1 << 20;  ///< that no lane has served yet

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
    static constexpr void refuse_ambiguous() {
        static_assert(list::template has<Message>, "no mailbox of the session carries messages of this type");
        static_assert(!(needs_its_mailbox<Message, Views> || ...),
                      "two mailboxes of the session carry messages of this type: name the one that is meant, as in "
                      "post(box, pe, message)");
    }

    /// Calls `use.template operator()<Carried>()`: what a mailbox's messages of this type are carried as.
    template <class Message, class Box, class Use>
    void of_mailbox(const mailbox_handle<Box>& box, const Use& use) {
        static_assert(route_list<Box>::template has<Message>, "the mailbox does not carry messages of this type");
        static_assert((std::is_same_v<typename host_mailbox<Views>::routes_type, Box> || ...),
                      "the session has no such mailbox");
        std::size_t at = 0;
        const bool found = (is_mailbox<Views, Message>(box, at++, use) || ...);
        if (!found) throw usage_error("the session has no such mailbox");
    }
    template <class View, class Message, class Box, class Use>
    bool is_mailbox(const mailbox_handle<Box>& box, std::size_t at, const Use& use) {
        if constexpr (std::is_same_v<typename host_mailbox<View>::routes_type, Box>) {
            if (identities_[at] != box.identity()) return false;
            use.template operator()<typename host_mailbox<View>::template carried<Message>>();
            return true;
        }
        return false;
    }

    template <class Message>
    void post_message(int pe, const Message& message) {
        static_assert(!list::template takes_payload<Message>,
                      "messages of this type have a payload: post(pe, header, data, count)");
        const resident_program::visit mine(program_);
        leave(pe, list::template kind<Message>, message, 0, program_.waiting(), [] {});
    }

    template <class Message, class Element>
    void post_payload(int pe, const Message& header, const Element* data, std::uint64_t count) {
        static_assert(list::template takes_payload<Message>, "messages of this type have no payload");
        refuse_pe(pe);
        if (count > longest<Message, Element>()) {
            throw usage_error("a payload of " + std::to_string(bytes_of<Element>(count)) +
                              " bytes, where options::chunk_bytes leaves room for " +
                              std::to_string(longest<Message, Element>() * sizeof(Element)));
        }
        const resident_program::visit mine(program_);
        const auto waiting = program_.waiting();
        staged_payloads::room room(payloads_, {reinterpret_cast<const std::byte*>(data), count * sizeof(Element)},
                                   waiting);
        leave(pe, list::template kind<Message>, posted_payload<Message>{room.staged(), count, header}, 0, waiting,
              [&] { room.hand_over(); });
    }
    /// Elements that a message may carry: those that a lane could send.
    template <class Message, class Element>
    [[nodiscard]] std::uint64_t longest() const {
        if constexpr (allocating<typename list::template handler<Message>>) {
            return ~std::uint64_t{0} / sizeof(Element);
        } else {
            const auto shape = chunk_shape<granule<Message>>::fitting(chunk_bytes_);
            return variable_shape<Message, Element>::longest(shape.messages());
        }
    }

    template <class Message>
    auto call_for(int pe, const Message& message) {
        using handler = typename list::template handler<Message>;
        static_assert(answering<handler>, "the handler of this type gives no answer: `using answer = R;`");
        const resident_program::visit mine(program_);
        const auto waiting = program_.waiting();
        const host_inboxes::awaited answer(inboxes_, waiting);
        leave(pe, list::template kind<Message>, message, answer.reply(), waiting, [] {});
        while (!answer.wait(waiting)) waiting();  // it failed, as the program does
        return *reinterpret_cast<const typename handler::answer*>(answer.answer());
    }

    void refuse_pe(int pe) const {
        if (pe >= 0 && pe < n_pes_) return;
        throw usage_error("PE " + std::to_string(pe) + " does not exist: the session has " + std::to_string(n_pes_) +
                          (n_pes_ == 1 ? " PE" : " PEs"));
    }

    /// Leaves a message, as it lies in a slot, and calls `before()` when it is about to be seen.
    template <class Record, class Before>
    void leave(int pe, std::uint32_t kind, const Record& record, std::uint32_t reply, const while_waiting& waiting,
               const Before& before) {
        refuse_pe(pe);
        {
            host_inboxes::place place(inboxes_, pe, waiting);
            place.slot().kind = kind;
            place.slot().reply = reply;
            *place.slot().template message<Record>() = record;
            before();
            place.publish();
        }
        program_.wake();
    }

    std::size_t chunk_bytes_;
    std::unique_ptr<comm_resources> resources_;
    std::vector<const void*> identities_;
    host_inboxes inboxes_;
    staged_payloads payloads_;
    std::vector<std::shared_ptr<session_feed>> feeds_;
    int n_pes_;
    double seconds_ = 0;
    bool comes_back_ = false;
    std::atomic<bool> is_connected_ = true;
    resident_program program_;
};

/// The program and the session over these views of components.
template <class Body, class List>
struct session_parts;
template <class Body, class... Views>
struct session_parts<Body, view_list<Views...>> {
    using routes_type = routes_of<Views...>;
    using program = laneway::program<Body, host_inbox_ref<route_list<routes_type>>, Views...>;
    using session = laneway::session<routes_type, Views...>;
};

}  // namespace laneway
