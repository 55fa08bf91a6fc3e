#include "flow/link_core.hpp"

#include <algorithm>

#include "flow/router_core.hpp"
#include "laneway/base/error.hpp"

namespace laneway::flow {

void sent_message::end_packet(const std::exception_ptr& why) {
    if (why) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = why;
    }
    // Partner: the decrements of the other packets, before which they have said why.
    if (left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    failure_ ? sent.fail(failure_) : sent.complete();
}

send_op::~send_op() {
    if (taken) return;
    message->end_packet(std::make_exception_ptr(usage_error("a packet from " + message->source.name() +
                                                            " was not received: its link has been closed or is gone")));
}

receive_state::~receive_state() {
    if (taken || !packet || !*packet) return;
    if (const auto owner = link.lock()) owner->take_back(*packet);
}

link_core::link_core(std::shared_ptr<context_core> of, const endpoint& from, const endpoint& to, const link_options& o)
    : context(std::move(of)), source(from), destination(to), sizes(o),
      name("link " + from.name() + " -> " + to.name()) {
    context->require_own(from);
    context->require_own(to);
    if (from == to) throw usage_error(name + ": a link joins two endpoints, and not one with itself");
    if (from.is_router() && to.is_router()) {
        throw usage_error(name + ": a link between two routers: one router can have all inputs and outputs of both");
    }
    if (sizes.packet_bytes == 0) throw usage_error(name + ": packet_bytes must be above 0");
    if (sizes.buffers < 1) throw usage_error(name + ": buffers must be above 0");
}

link_core::~link_core() {
    if (opened_ && destination.is_router() && !shut_) destination.router()->close_input();
}

void link_core::open() {
    context->add_link(source, destination, name, shared_from_this());
    if (destination.is_router()) {
        destination.router()->add_input(name);
        opened_ = true;
        return;
    }
    for (int i = 0; i < sizes.buffers; ++i) {
        buffers_.push_back({context->take_buffer(destination.device(), sizes.packet_bytes)});
        free_.push_back(static_cast<std::size_t>(i));
    }
    if (source.is_router()) source.router()->add_output(shared_from_this());
}

std::size_t link_core::packet_limit() const {
    if (!destination.is_router()) return sizes.packet_bytes;
    return std::min(sizes.packet_bytes, destination.router()->packet_limit());
}

/// What each packet of a message holds: whole elements, or whole rows where one fits, as many as the smallest receiver
/// takes.
std::vector<packet_info> link_core::cut(const segment& what, std::uint64_t message) const {
    if (what.element_bytes == 0 || what.bytes % what.element_bytes != 0) {
        throw usage_error(name + ": a segment of " + std::to_string(what.bytes) + " bytes has no whole elements of " +
                          std::to_string(what.element_bytes) + " bytes");
    }
    if (what.where && what.where->bytes() != what.bytes) {
        throw usage_error(name + ": a segment of " + std::to_string(what.bytes) + " bytes whose layout has " +
                          std::to_string(what.where->bytes()));
    }
    if (what.data == nullptr && what.bytes > 0) throw usage_error(name + ": a segment without memory");
    const std::size_t room = packet_limit();
    const bool in_rows = what.where && !what.where->is_scattered() && what.where->row_bytes() <= room;
    const std::size_t unit = in_rows ? what.where->row_bytes() : what.element_bytes;
    const std::size_t limit = room / unit * unit;
    if (limit == 0) {
        throw usage_error(name + ": packets of " + std::to_string(room) + " bytes hold no element of " +
                          std::to_string(unit));
    }
    std::vector<packet_info> packets;
    for (std::size_t at = 0; at < what.bytes || packets.empty(); at += limit) {
        packets.push_back({message, what.tag, at, std::min(limit, what.bytes - at), what.bytes});
    }
    return packets;
}

planned_send link_core::plan(std::vector<std::shared_ptr<link_core>> takers, const packet_info& info,
                             const std::shared_ptr<sent_message>& message) {
    for (const auto& taker : takers) taker->require_path(message->source, message->whole);
    auto op = std::make_shared<send_op>(info, message);
    op->takers.assign(takers.begin(), takers.end());
    return {std::move(op), std::move(takers)};
}

event link_core::send(const segment& what, const event& ready) {
    context->check();
    if (source.is_router()) throw usage_error(name + ": a router only passes on what its inputs send");
    std::uint64_t message = 0;
    {
        const std::lock_guard lock(mutex);
        if (shut_) throw usage_error(name + ": a send after shutdown()");
        message = counts.messages++;
        ++sending_;
    }
    const auto done = [this] {
        const std::lock_guard lock(mutex);
        return --sending_ == 0 && shut_;
    };
    try {
        // All of it is planned before anything of it can be taken: a send that throws has sent nothing.
        const auto shared = std::make_shared<sent_message>(source, what, ready);
        if (destination.is_router()) {
            std::vector<planned_send> planned;
            for (const packet_info& info : cut(what, message)) destination.router()->plan(info, shared, planned);
            for (const planned_send& each : planned) {
                for (const auto& taker : each.takers) taker->offer({each.op});
            }
        } else {
            std::vector<std::shared_ptr<send_op>> ops;
            for (const packet_info& info : cut(what, message)) {
                ops.push_back(plan({shared_from_this()}, info, shared).op);
            }
            offer(ops);
        }
        shared->end_packet({});
        if (done()) close();
        return shared->sent;
    } catch (...) {
        if (done()) close();
        throw;
    }
}

void link_core::shutdown() {
    if (source.is_router()) throw usage_error(name + ": a router's links are shut down when all its inputs are");
    {
        const std::lock_guard lock(mutex);
        if (std::exchange(shut_, true) || sending_ > 0) return;  // the last send that goes on closes
    }
    close();
}

void link_core::close() {
    if (destination.is_router()) return destination.router()->close_input();
    closing_ = true;
    match();
}

void link_core::offer(const std::vector<std::shared_ptr<send_op>>& ops) {
    {
        const std::lock_guard lock(mutex);
        sends_.insert(sends_.end(), ops.begin(), ops.end());
    }
    match();
}

void link_core::drop_stale() {
    while (!sends_.empty() && sends_.front()->taken) {
        sends_.pop_front();
        ++counts.stale;
    }
}

void link_core::match() {
    {
        const std::lock_guard lock(mutex);
        if (matching_) {
            match_again_ = true;
            return;
        }
        matching_ = true;
    }
    for (bool again = true; again;) {
        while (match_one()) {
        }
        const std::lock_guard lock(mutex);
        again = std::exchange(match_again_, false);
        matching_ = again;
    }
    end_receives();
}

std::size_t link_core::take_free() {
    const auto unread = std::find_if(free_.begin(), free_.end(), [&](std::size_t b) { return !buffers_[b].is_read(); });
    const auto found = unread == free_.end() ? free_.begin() : unread;
    const std::size_t buffer = *found;
    free_.erase(found);
    return buffer;
}

bool link_core::match_one() {
    std::shared_ptr<send_op> op;
    std::size_t buffer = 0;
    std::uint64_t use = 0;
    packet_buffer before;
    {
        const std::lock_guard lock(mutex);
        drop_stale();
        if (sends_.empty() || free_.empty()) return false;
        op = std::move(sends_.front());
        sends_.pop_front();
        if (op->taken.exchange(true)) {
            ++counts.stale;
            return true;
        }
        buffer = take_free();
        buffers_[buffer].filled = true;
        use = ++buffers_[buffer].uses;
        before = buffers_[buffer];
        ++counts.packets;
        counts.bytes += op->info.bytes;
        if (context->job.timeline) note_packet(buffer, op->info);
    }
    const event arrived = carry(op, before);
    {
        std::unique_lock lock(mutex);
        buffers_[buffer].copied_on = before.copied_on;
        const std::shared_ptr<const endpoint> from(op->message, &op->message->source);
        arrived_.emplace_back(before.memory.get(), op->info, from, arrived, this, buffer, use);
        hand_out(std::move(lock));
    }
    for (const auto& taker : op->takers) {
        const auto other = taker.lock();
        if (other && other.get() != this && other->closing()) other->match();  // this may have been its last
    }
    return true;
}

void link_core::give(receive_state& to, const pending_segment& packet) {
    {
        const std::lock_guard lock(to.mutex);
        to.packet = packet;
    }
    to.given.complete();
    const event all = to.arrived, bytes = packet.arrived();
    bytes.watch([all, bytes] {
        if (const auto native = bytes.native()) all.enter_queue(native);
    });
    if (const auto native = bytes.native()) all.enter_queue(native);
    bytes.then([all, bytes] {
        const auto why = bytes.failure();
        why ? all.fail(why) : all.complete();
    });
}

void link_core::hand_out(std::unique_lock<std::mutex> lock) {
    for (;;) {
        std::shared_ptr<receive_state> waiting;
        while (!waiting && !receives_.empty() && !arrived_.empty()) {
            waiting = receives_.front().lock();
            receives_.pop_front();
        }
        if (!waiting) return;
        const pending_segment packet = std::move(arrived_.front());
        arrived_.pop_front();
        lock.unlock();
        give(*waiting, packet);
        waiting.reset();  // may give it back
        lock.lock();
    }
}

void link_core::take_back(const pending_segment& packet) {
    std::unique_lock lock(mutex);
    arrived_.push_front(packet);
    hand_out(std::move(lock));
}

void link_core::end_receives() {
    std::deque<std::weak_ptr<receive_state>> left;
    {
        const std::lock_guard lock(mutex);
        drop_stale();
        // While another thread matches, a packet may be on its way from the queue to a receive: that one ends them.
        if (!closing_ || matching_ || !sends_.empty()) return;
        ended_ = true;
        left.swap(receives_);
    }
    for (const auto& each : left) {
        if (const auto receive = each.lock()) give(*receive, {});
    }
}

std::shared_ptr<receive_state> link_core::receive() {
    if (destination.is_router()) throw usage_error(name + ": a router receives for its outputs; receive from those");
    context->check();
    std::unique_lock lock(mutex);
    while (!receives_.empty() && receives_.front().expired()) receives_.pop_front();
    if (receives_.empty() && !arrived_.empty()) {
        auto made = std::make_shared<receive_state>(weak_from_this(), std::move(arrived_.front()));
        arrived_.pop_front();
        return made;
    }
    auto made = std::make_shared<receive_state>(weak_from_this());
    if (arrived_.empty() && ended_) {
        lock.unlock();
        give(*made, {});
        return made;
    }
    receives_.push_back(made);
    hand_out(std::move(lock));
    return made;
}

stream_span link_core::begin_release(const pending_segment& packet) {
    if (!packet) throw usage_error(name + ": the end of the packets has no buffer to release");
    if (packet.owner_ != this) throw usage_error(name + ": a release of a packet of another link");
    const std::lock_guard lock(mutex);
    packet_buffer& buffer = buffers_[packet.buffer_];
    if (buffer.uses != packet.use_ || !buffer.filled) throw usage_error(name + ": a packet was released twice");
    buffer.filled = false;
    ++counts.released;
    return std::move(buffer.held);
}

void link_core::note_packet(std::size_t buffer, const packet_info& info) {
    const stream_log log = context->log_of(destination.device());
    buffers_[buffer].held = {log.job, log.pe, held_in_, "packet", words_of(info), timeline::now_ns(), 0, info.bytes};
}

void link_core::end_hold(std::size_t buffer, stream_span held) {
    if (!context->job.timeline) return;
    held.end_ns = timeline::now_ns();
    {
        const std::lock_guard lock(mutex);
        std::uint64_t& before = buffers_[buffer].held_until_ns;
        held.begin_ns = std::max(held.begin_ns, before);  // it may have waited for the packet before
        before = held.end_ns;
    }
    context->job.timeline->add_stream_span(std::move(held));
}

void link_core::free_buffer(std::size_t buffer) {
    {
        const std::lock_guard lock(mutex);
        free_.push_back(buffer);
    }
    match();
}

void link_core::release(const pending_segment& packet, device_stream* stream) {
    const std::size_t buffer = packet.buffer_;
    stream_span held = begin_release(packet);
    const event read = stream == nullptr ? event() : stream->record();
    {
        const std::lock_guard lock(mutex);
        buffers_[buffer].arrived = packet.arrived_;  // also before its bytes have come: two copies would mix
        buffers_[buffer].read = read;
    }
    // A router's packets go to whoever has room first: there a buffer is free when the host knows that it is. Else the
    // copy of the next packet waits for what reads this one, on a GPU without the host.
    // What is still being read keeps the link, and so its memory, as does what is on its way there.
    const bool at_once = !source.is_router();
    if (at_once && !context->job.timeline) {
        read.then([self = shared_from_this()] {});
        return free_buffer(buffer);
    }
    const event over = when_all({packet.arrived_, read});
    over.then([self = shared_from_this(), over, buffer, at_once, held = std::move(held)] {
        if (over.failure()) return;
        self->end_hold(buffer, held);
        if (!at_once) self->free_buffer(buffer);
    });
    if (at_once) free_buffer(buffer);
}

void link_core::wait(const event& sent) const {
    context->wait(
        sent, [this] { return name + ": a send was not received within " + context->seconds() + ": " + account(); });
}

std::string link_core::account() const {
    if (destination.is_router()) return destination.router()->account();
    const std::lock_guard lock(mutex);
    std::size_t filled = 0, read = 0;
    for (const packet_buffer& buffer : buffers_) {
        const bool is_read = buffer.is_read();  // and perhaps waited for by the next packet
        read += is_read ? 1 : 0;
        filled += !is_read && buffer.filled ? 1 : 0;
    }
    return std::to_string(sends_.size()) + " packets wait for a buffer; of " + std::to_string(buffers_.size()) +
           " buffers " + std::to_string(buffers_.size() - filled - read) + " are free, " + std::to_string(filled) +
           " hold packets that nobody has released, " + std::to_string(read) + " are still being read";
}

std::string link_core::open_inputs_text() const {
    const int open = source.is_router() ? source.router()->count_open_inputs() : 0;
    if (open == 0) return {};
    return "; " + std::to_string(open) + (open == 1 ? " input" : " inputs") +
           " of the router may still send: see shutdown";
}

}  // namespace laneway::flow
