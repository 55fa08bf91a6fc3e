// Two-sided messages: send and receive as MPI programs know them, matched on the devices. The host half of the
// component.
//
//   auto world = runtime.communicator();
//   runtime.run(body, world);
//   // in the body: world.send(ctx, &x, 1, other, tag), world.recv(ctx, &y, 1, lw::any_source, tag)
//
//   auto session = runtime.start(world);         // host threads, each for any rank:
//   world.send(0, &x, 1, 1, tag);                // as rank 0, to rank 1
//   world.recv(1, &y, 1, lw::any_source, tag);   // as rank 1
#pragma once

#include <optional>

#include "laneway/run/communicator_ref.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_messages.hpp"

namespace laneway {

/// Memory of a communicator, and how sessions see it.
class communicator_memory : public session_feed {
public:
    communicator_memory(machine& machine, const communicator_options& options, std::uint32_t number)
        : owner_(machine), memory_(machine, options, number),
          host_(std::make_shared<host_messages>(machine, options, number)) {}

    [[nodiscard]] two_sided_memory& memory() { return memory_; }
    [[nodiscard]] const std::shared_ptr<host_messages>& host() const { return host_; }
    [[nodiscard]] communicator_ref ref(int pe) const {
        return {memory_.ref(pe), in_session_ ? host_->ref(pe) : host_messages_ref{}};
    }

    [[nodiscard]] bool is_on_gpu(int pe) const { return owner_.device(pe)->is_gpu(); }

    /// Throws usage_error for the machine of another runtime, and while a session has the communicator.
    void begin(machine& machine) {
        if (&machine != &owner_) throw usage_error("a communicator belongs to the runtime that has made it");
        refuse_in_session();
        // What a failed run has left is not known.
        if (open_ && !(ended_well_ && memory_.is_passive())) memory_.clear();
        open_ = true;
        ended_well_ = in_session_ = false;
    }
    void end() { open_ = false; }
    void clear() {
        refuse_in_session();
        memory_.clear();
    }

    [[nodiscard]] std::uint64_t filled() const override { return host_->filled(); }
    [[nodiscard]] bool any_wait() const override { return host_->any_wait(); }
    void hand_over() override { host_->hand_over(); }
    void attach(machine& machine, const comm_plan& plan) override {
        begin(machine);
        host_->attach(plan.shut_pe);
        in_session_ = true;
    }
    void connect(resident_program& program) override { host_->connect(program); }
    void take_back() override { host_->take_back(); }
    void disconnect(bool ended_well) noexcept override {
        if (host_->is_connected()) ended_well_ = ended_well;
        in_session_ = false;
        host_->disconnect();
    }

private:
    void refuse_in_session() const {
        if (host_->is_connected()) throw usage_error("the communicator belongs to a session that has not been stopped");
    }

    machine& owner_;
    two_sided_memory memory_;
    std::shared_ptr<host_messages> host_;
    bool open_ = false;        ///< a run or session has begun and, if a run, is not known to have ended well
    bool ended_well_ = false;  ///< that was a session, and it has
    bool in_session_ = false;  ///< one goes on
};

/// Made by runtime::communicator. A handle: copies are the same. Messages that nobody has received stay from run to
/// run; a run that fails clears them. Each communicator has messages of its own.
class communicator {
public:
    using ref_type = communicator_ref;

    communicator(machine& machine, const communicator_options& options, std::uint32_t number)
        : memory_(std::make_shared<communicator_memory>(machine, options, number)) {}

    /// Messages that nobody has received. Host, between runs.
    [[nodiscard]] std::vector<pending_message> pending() const { return memory_->memory().pending(); }
    /// What a PE's engines have done so far. Host, between runs.
    [[nodiscard]] communicator_statistics statistics(int pe) const { return memory_->memory().statistics(pe); }
    /// Of the memory within communicator_options::unexpected_bytes; refused requests are messages that kept their slots
    /// of the ring. Host, between runs.
    [[nodiscard]] quota_statistics unexpected_memory(int pe) const { return memory_->memory().unexpected_memory(pe); }
    /// Drops all messages. Host, between runs.
    void clear() { memory_->clear(); }

    // By host threads, while a session goes on: a thread acts for the rank that it names first. Payloads have
    // communicator_options::host_bytes at most. All throw usage_error for what cannot be, timeout_error past the
    // deadline, and what ended the session.

    /// Sends elements, which may be changed on return: they have been copied.
    template <class T>
    host_message isend(int rank, const T* data, std::uint64_t count, std::int64_t destination, std::int64_t tag) {
        static_assert(trivially_copyable<T>);
        return {memory_->host(), {rank, request_kind::send, destination, tag, bytes_of<T>(count), data}, nullptr};
    }
    /// The same; it is over when a receive has got the message, however short it is.
    template <class T>
    host_message issend(int rank, const T* data, std::uint64_t count, std::int64_t destination, std::int64_t tag) {
        static_assert(trivially_copyable<T>);
        return {memory_->host(), {rank, request_kind::send, destination, tag, bytes_of<T>(count), data, true}, nullptr};
    }
    /// Receives `count` elements at most, which are there when the operation has been waited for.
    template <class T>
    host_message irecv(int rank, T* data, std::uint64_t count, std::int64_t source, std::int64_t tag) {
        static_assert(trivially_copyable<T>);
        return {memory_->host(), {rank, request_kind::receive, source, tag, bytes_of<T>(count)}, data};
    }
    template <class T>
    void send(int rank, const T* data, std::uint64_t count, std::int64_t destination, std::int64_t tag) {
        (void)isend(rank, data, count, destination, tag).wait();
    }
    template <class T>
    void ssend(int rank, const T* data, std::uint64_t count, std::int64_t destination, std::int64_t tag) {
        (void)issend(rank, data, count, destination, tag).wait();
    }
    template <class T>
    message_status recv(int rank, T* data, std::uint64_t count, std::int64_t source, std::int64_t tag) {
        return irecv(rank, data, count, source, tag).wait();
    }
    template <class T>
    message_status sendrecv(int rank, const T* from, std::uint64_t from_count, std::int64_t destination,
                            std::int64_t send_tag, T* to, std::uint64_t to_count, std::int64_t source,
                            std::int64_t receive_tag) {
        host_message receive = irecv(rank, to, to_count, source, receive_tag);
        host_message sent = isend(rank, from, from_count, destination, send_tag);
        (void)sent.wait();
        return receive.wait();
    }
    /// The message that a receive of this source and tag would get, if there is one.
    [[nodiscard]] std::optional<message_status> iprobe(int rank, std::int64_t source, std::int64_t tag) {
        return host_message::look(memory_->host(), {rank, request_kind::probe, source, tag}, false);
    }
    /// Waits for one.
    message_status probe(int rank, std::int64_t source, std::int64_t tag) {
        return *host_message::look(memory_->host(), {rank, request_kind::probe, source, tag}, true);
    }
    /// Takes the message that a receive of this source and tag would get out of the queues, if there is one: nobody
    /// else gets it. It keeps one of communicator_options::host_operations until it is received. Throws usage_error,
    /// and leaves the message, where it is longer than communicator_options::host_bytes. What it had taken when it was
    /// interrupted, the next one that fits gets.
    [[nodiscard]] std::optional<matched_host_message> improbe(int rank, std::int64_t source, std::int64_t tag) {
        return matched_host_message::look(memory_->host(), {rank, request_kind::match, source, tag}, false);
    }
    /// Waits for one.
    [[nodiscard]] matched_host_message mprobe(int rank, std::int64_t source, std::int64_t tag) {
        return *matched_host_message::look(memory_->host(), {rank, request_kind::match, source, tag}, true);
    }
    /// Receives it, which has to be done before the session is stopped.
    template <class T>
    static host_message imrecv(T* data, std::uint64_t count, matched_host_message message) {
        static_assert(trivially_copyable<T>);
        return message.receive(data, bytes_of<T>(count));
    }
    template <class T>
    static message_status mrecv(T* data, std::uint64_t count, matched_host_message message) {
        return imrecv(data, count, std::move(message)).wait();
    }
    /// Waits for one of several operations that nobody has waited for yet, and says which; their number where there is
    /// none.
    static std::size_t wait_any(std::vector<host_message>& all, message_status& got) {
        return host_message::wait_any(all, got);
    }
    static void wait_all(std::vector<host_message>& all) {
        for (host_message& one : all) (void)one.wait();
    }
    /// Waits for one at least, and takes all that are over; none where there is none that nobody has waited for.
    static std::vector<completed_message> wait_some(std::vector<host_message>& all) {
        return host_message::some(all, true);
    }
    /// The same without waiting.
    static std::vector<completed_message> test_some(std::vector<host_message>& all) {
        return host_message::some(all, false);
    }
    /// Whether one, or each, of those that nobody has waited for is over: wait_any, or wait_all, does not wait then.
    [[nodiscard]] static bool test_any(const std::vector<host_message>& all) { return host_message::is_any_over(all); }
    [[nodiscard]] static bool test_all(const std::vector<host_message>& all) { return host_message::are_all_over(all); }

    // As a component, see run/component.hpp.
    [[nodiscard]] std::uint64_t held_bytes(int) const { return memory_->memory().held_bytes(); }
    /// Lanes of a body wait for what flushing warps do.
    [[nodiscard]] double server_share(int pe) const { return memory_->is_on_gpu(pe) ? share_for_flushers : 0; }
    void begin(machine& machine, const comm_plan&, const run_deadline&) const { memory_->begin(machine); }
    void end(const run_report&) const { memory_->end(); }
    [[nodiscard]] std::string account() const { return memory_->memory().account(); }
    [[nodiscard]] ref_type ref(int pe) const { return memory_->ref(pe); }
    [[nodiscard]] std::shared_ptr<session_feed> feed() const { return memory_; }

private:
    std::shared_ptr<communicator_memory> memory_;
};

}  // namespace laneway
