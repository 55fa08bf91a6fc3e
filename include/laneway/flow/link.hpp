// Links: what is sent at one end arrives at the other in packets. Host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "laneway/flow/context.hpp"
#include "laneway/flow/copy_rule.hpp"
#include "laneway/flow/endpoint.hpp"
#include "laneway/flow/segment.hpp"

namespace laneway::flow {

struct link_core;

struct link_options {
    std::size_t packet_bytes = 1 << 20;     ///< payload of a packet, at most
    int buffers = 2;                        ///< packets that the destination holds: received, or on their way
    copy_path copies = copy_path::by_rule;  ///< into the buffers; behind a router that of the receiving link counts
    std::optional<copy_rule> rule = {};     ///< for copies by rule; none: as suits the devices
};

/// What of a message a packet holds, as routing policies and receivers see it.
struct packet_info {
    std::uint64_t message = 0;        ///< number of the send on its first link, from 0
    std::uint64_t tag = 0;            ///< segment::tag
    std::uint64_t offset = 0;         ///< bytes of the message before this packet
    std::uint64_t bytes = 0;          ///< of this packet
    std::uint64_t message_bytes = 0;  ///< of the whole message
};

/// A packet that has been given a buffer of the receiver; its bytes may still be on their way. Copies are one packet.
class pending_segment {
public:
    /// The end: no more packets come.
    pending_segment() = default;
    /// The link makes it: `buffer` is its number among those of `owner`, for the `use`th time.
    pending_segment(void* data, const packet_info& info, std::shared_ptr<const endpoint> source, event arrived,
                    const link_core* owner, std::size_t buffer, std::uint64_t use)
        : data_(data), info_(info), source_(std::move(source)), arrived_(std::move(arrived)), owner_(owner),
          buffer_(buffer), use_(use) {}

    /// False at the end: the sender has shut down, and all that it sent has been received.
    explicit operator bool() const { return data_ != nullptr; }
    /// First element, in the destination's memory. Not before arrived().
    template <class T>
    [[nodiscard]] T* as() const {
        return static_cast<T*>(data_);
    }
    /// Elements of this type.
    template <class T>
    [[nodiscard]] std::size_t count() const {
        return info_.bytes / sizeof(T);
    }
    [[nodiscard]] const packet_info& info() const { return info_; }
    [[nodiscard]] std::size_t bytes() const { return info_.bytes; }
    /// The endpoint that has sent it, before all routers.
    [[nodiscard]] const endpoint& source() const { return *source_; }
    /// For streams and host threads: the bytes are there.
    [[nodiscard]] const event& arrived() const { return arrived_; }

private:
    friend struct link_core;

    void* data_ = nullptr;
    packet_info info_;
    std::shared_ptr<const endpoint> source_;
    event arrived_;
    const link_core* owner_ = nullptr;
    std::size_t buffer_ = 0;
    std::uint64_t use_ = 0;
};

struct receive_state;

/// What receive() gives: a packet that is to come. Copies are one receive. When the last of them goes before get(), the
/// packet goes to the next receive; where all have been told of the end, to one that is made later.
class pending_receive {
public:
    pending_receive(std::shared_ptr<link_core> link, std::shared_ptr<receive_state> state)
        : link_(std::move(link)), state_(std::move(state)) {}

    /// Waits until a packet has been given to this receive, not for its bytes. Throws the dataflow's first error, or
    /// timeout_error that names the link.
    [[nodiscard]] pending_segment get() const;
    [[nodiscard]] bool ready() const;
    /// Happens when get() no longer waits, and for a packet its bytes are there: for streams that are to go on then.
    [[nodiscard]] const event& arrived() const;

private:
    std::shared_ptr<link_core> link_;
    std::shared_ptr<receive_state> state_;
};

/// Joins two endpoints; copies are one link. With the last of them it goes, as if it had been shut down. The source
/// sends, the destination receives; a router is the destination of links from its senders and the source of links to
/// its receivers. Any thread. Packets of one sender arrive in their order where they take one road. The destination has
/// `buffers` buffers of `packet_bytes` in its memory; where the source is a device or the host and the destination a
/// router, the link has none: packets go from the sender's memory to the receiver's at once.
class link {
public:
    /// Throws usage_error for a link from an endpoint to itself, a second link between the same two, a link between
    /// two routers, and sizes that cannot be.
    link(context& of, const endpoint& source, const endpoint& destination, const link_options& options = {});

    /// Sends a segment of the source's memory. Returns at once; the event happens when all of it has been received and
    /// the memory can be changed. Throws usage_error after shutdown(), where the router's policy names no destination,
    /// for elements larger than a packet, at links from routers, and where copies by kernel are asked for and no
    /// device's lanes reach both memories; then nothing has been sent.
    [[nodiscard]] event send(const segment& what) const;
    /// The same for what the operations given to `stream` so far have made.
    [[nodiscard]] event send(const segment& what, device_stream& stream) const;
    /// Waits for what send() has returned. Throws the dataflow's first error, or timeout_error that names the link.
    void wait(const event& sent) const;
    /// Nothing more will be sent. Receivers get all that was sent, and then the end. More than once is no error.
    void shutdown() const;

    /// The next packet. Returns at once; receives are served in their order. Throws usage_error at links to routers.
    [[nodiscard]] pending_receive receive() const;
    /// Makes a packet's buffer free for another one, when its bytes have come: now, or when what `stream` has been
    /// given so far is done. Behind a router the next packet has the buffer then. Else it has it at once, and its copy
    /// waits, on GPUs without the host. Throws usage_error for a packet that has been released, or is of another link.
    void release(const pending_segment& packet) const;
    void release(const pending_segment& packet, device_stream& stream) const;

    /// Puts a packet's bytes where its place in the message says, when they have come and the stream's turn is there.
    /// The stream is of the destination's device or of the host; the packet is released behind that, on the stream.
    /// Throws usage_error for a packet of another link, and where the target has not as many bytes as the message.
    void unpack(const pending_segment& packet, const target& into, device_stream& stream) const;

    /// "link host -> cpu:0".
    [[nodiscard]] const std::string& name() const;

    struct counts {
        std::uint64_t messages = 0;  ///< sent at this link's source; 0 where that is a router
        std::uint64_t packets = 0;   ///< given to the destination of this link; 0 where that is a router
        std::uint64_t bytes = 0;     ///< in them
        std::uint64_t released = 0;
        std::uint64_t by_kernel = 0;  ///< of the packets, copied by multiprocessors
        std::uint64_t stale = 0;      ///< sends found in the queue that another destination had taken already
    };
    [[nodiscard]] counts count() const;

private:
    std::shared_ptr<link_core> core_;
};

}  // namespace laneway::flow
