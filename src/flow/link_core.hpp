// The inside of a link: the queue of sends and the buffers of its destination, and how they are matched.
//
// Each link to a device or to the host has a queue of its own, and nothing but that queue's mutex is shared between
// those who send and those who receive: there is no lock for a router. A packet that may go to several receivers
// stands in the queue of each. Whose buffer becomes free first takes it, by one atomic exchange; the others find it
// taken when it comes to their front, and drop it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "flow/context_core.hpp"
#include "flow/packet_copy.hpp"
#include "laneway/base/timeline.hpp"
#include "laneway/flow/link.hpp"

namespace laneway::flow {

/// A packet, in a timeline.
std::string words_of(const packet_info& packet);

/// What the packets of a message share.
struct sent_message {
    sent_message(endpoint from, segment w, event r)
        : source(std::move(from)), whole(std::move(w)), ready(std::move(r)) {}
    /// A packet has been received, or, with why, not been; the last one ends `sent`, with the first failure.
    void end_packet(const std::exception_ptr& why);

    const endpoint source;
    const segment whole;  ///< in the sender's memory
    const event ready;    ///< it is there
    const event sent = event::pending();
    std::atomic<std::size_t> left = 1;  ///< packets, and the send itself

private:
    std::mutex mutex_;
    std::exception_ptr failure_;
};

/// A packet before it has a receiver.
struct send_op {
    send_op(packet_info i, std::shared_ptr<sent_message> of) : info(i), message(std::move(of)) { ++message->left; }
    ~send_op();
    send_op(const send_op&) = delete;
    send_op& operator=(const send_op&) = delete;

    const packet_info info;
    const std::shared_ptr<sent_message> message;
    std::vector<std::weak_ptr<link_core>> takers;  ///< links in whose queues it stands
    std::atomic<bool> taken = false;               ///< partners: the exchanges of all takers
};

/// A packet and those who may take it, before any of them has heard of it.
struct planned_send {
    std::shared_ptr<send_op> op;
    std::vector<std::shared_ptr<link_core>> takers;
};

struct receive_state {
    explicit receive_state(std::weak_ptr<link_core> l)
        : link(std::move(l)), given(event::pending()), arrived(event::pending()) {}
    /// Of a packet that is there already.
    receive_state(std::weak_ptr<link_core> l, pending_segment p)
        : link(std::move(l)), packet(std::move(p)), arrived(packet->arrived()) {}
    /// A packet that nobody has asked for goes back to the link.
    ~receive_state();
    receive_state(const receive_state&) = delete;
    receive_state& operator=(const receive_state&) = delete;

    const std::weak_ptr<link_core> link;
    std::mutex mutex;
    std::optional<pending_segment> packet;
    bool taken = false;   ///< the packet, by the application
    const event given;    ///< the packet is known
    const event arrived;  ///< its bytes are there
};

struct link_core : std::enable_shared_from_this<link_core> {
    link_core(std::shared_ptr<context_core> of, const endpoint& from, const endpoint& to, const link_options& o);
    link_core(const link_core&) = delete;
    link_core& operator=(const link_core&) = delete;
    /// A link that has gone sends nothing more.
    ~link_core();
    /// Makes it a link of the context: allocates the buffers, or makes the router's end of it.
    void open();
    /// Waits for an event of send().
    void wait(const event& sent) const;

    // The source's side.
    event send(const segment& what, const event& ready);
    /// Of a packet that one of the takers is to get.
    static planned_send plan(std::vector<std::shared_ptr<link_core>> takers, const packet_info& info,
                             const std::shared_ptr<sent_message>& message);
    void shutdown();

    // The destination's side, where that is a device or the host.
    void offer(const std::vector<std::shared_ptr<send_op>>& ops);
    /// No more is offered.
    void close();
    std::shared_ptr<receive_state> receive();
    /// A packet was given to a receive that went without having been asked for it: the next one gets it.
    void take_back(const pending_segment& packet);
    void release(const pending_segment& packet, device_stream* stream);
    void unpack(const pending_segment& packet, const target& into, device_stream& stream);
    /// What a deadline's message says of this link.
    [[nodiscard]] std::string account() const;
    /// Of a link behind a router whose inputs have not all been shut down: a receive waits for these.
    [[nodiscard]] std::string open_inputs_text() const;

    const std::shared_ptr<context_core> context;
    const endpoint source;
    const endpoint destination;
    const link_options sizes;
    const std::string name;

    mutable std::mutex mutex;
    link::counts counts;

    /// Gives free buffers to sends; one thread at a time does it, for all who call it meanwhile.
    void match();
    [[nodiscard]] bool closing() const { return closing_; }

private:
    /// A buffer of the destination, and what became of the packets that it has held.
    struct packet_buffer {
        std::shared_ptr<std::byte> memory;
        bool filled = false;              ///< with a packet that nobody has released
        std::uint64_t uses = 0;           ///< so that a packet of an earlier use is told apart
        const void* copied_on = nullptr;  ///< identity of the stream of the last packet's copy
        event arrived = {};               ///< of the last packet that was released, its bytes,
        event read = {};                  ///< and what reads them
        stream_span held = {};            ///< the packet that it holds, where a timeline is kept,
        std::uint64_t held_until_ns = 0;  ///< and when the one before was read

        [[nodiscard]] bool is_read() const { return !arrived.done() || !read.done(); }
    };

    [[nodiscard]] std::vector<packet_info> cut(const segment& what, std::uint64_t message) const;
    [[nodiscard]] std::size_t packet_limit() const;
    [[nodiscard]] bool match_one();
    /// Copies a packet into a buffer, behind what `before` says of it, and says there which stream does.
    [[nodiscard]] event carry(const std::shared_ptr<send_op>& op, packet_buffer& before);
    /// Of the free buffers one that nothing reads any more, or else the first. Under the mutex.
    [[nodiscard]] std::size_t take_free();
    /// The device whose kernels can copy from a sender's memory; none where no lanes reach both.
    [[nodiscard]] std::optional<int> kernel_device(const endpoint& sender, const void* data) const;
    /// The device whose kernels copy a packet; none: the copy engine does.
    [[nodiscard]] std::optional<int> copier_of(const sent_message& message, const packet_copy& what) const;
    [[nodiscard]] copy_rule rule_for(const endpoint& sender) const;
    /// Throws usage_error where copies by kernel are asked for and cannot be.
    void require_path(const endpoint& sender, const segment& whole) const;
    static void give(receive_state& to, const pending_segment& packet);
    /// Gives what has arrived to the receives that wait, both in their order; under the mutex, which it releases.
    void hand_out(std::unique_lock<std::mutex> lock);
    void end_receives();
    /// Throws where the packet cannot be released. Returns what it holds in a timeline.
    [[nodiscard]] stream_span begin_release(const pending_segment& packet);
    void free_buffer(std::size_t buffer);
    /// Of a timeline: a packet's buffer is not read any more.
    void end_hold(std::size_t buffer, stream_span held);
    /// Of a timeline: a packet has got a buffer. Under the mutex.
    void note_packet(std::size_t buffer, const packet_info& info);
    /// `by`: the device whose kernels copy; none: the copy engine.
    [[nodiscard]] device_stream& stream_from(const endpoint& sender, std::optional<int> by);
    /// Under the mutex: drops sends in front that another link has taken.
    void drop_stale();

    std::uint64_t sending_ = 0;  ///< sends that are being put into queues
    bool shut_ = false;
    bool opened_ = false;  ///< as an input of a router

    std::deque<std::shared_ptr<send_op>> sends_;
    std::vector<packet_buffer> buffers_;
    std::shared_ptr<const std::string> held_in_ = std::make_shared<const std::string>("buffers of " + name);
    std::deque<std::size_t> free_;                       ///< that the next packets get
    std::deque<std::weak_ptr<receive_state>> receives_;  ///< those that wait belong to the application
    std::deque<pending_segment> arrived_;
    /// By the sender's endpoint, and whether kernels copy; of the thread that matches.
    std::map<std::pair<std::uint32_t, bool>, device_stream> streams_;
    std::atomic<bool> closing_ = false;
    bool ended_ = false;
    bool matching_ = false;
    bool match_again_ = false;
};

}  // namespace laneway::flow
