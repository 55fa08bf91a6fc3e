#include "laneway/flow/group.hpp"

#include <algorithm>

#include "flow/context_core.hpp"
#include "laneway/base/error.hpp"

namespace laneway::flow {

namespace {

/// A send of the own buffer that may still be read.
struct open_send {
    std::uint64_t first;
    std::uint64_t end;
    const link* over;
    event sent;
};

/// One member's part in a collective.
struct member_run {
    context& ctx;
    device_stream& stream;
    std::byte* buffer;
    std::size_t element_bytes;
    std::vector<open_send> sends;

    void send(const link& over, const transfer_step& step) {
        const segment what{buffer + step.first * element_bytes, step.count * element_bytes, element_bytes};
        sends.push_back({step.first, step.first + step.count, &over, over.send(what, stream)});
    }

    /// What is still being sent is not overwritten. It does not wait for ever: whoever sends us what comes now has got,
    /// by way of others or not, what we have sent of these elements before.
    void wait_for_sends(const transfer_step& step) {
        std::erase_if(sends, [](const open_send& one) { return one.sent.done() && !one.sent.failure(); });
        for (const auto& sent : sends) {
            if (sent.first < step.first + step.count && step.first < sent.end) stream.wait(sent.sent);
        }
    }

    template <class Take>
    void receive(const link& over, const transfer_step& step, Take&& take) {
        wait_for_sends(step);
        for (std::uint64_t got = 0; got < step.count * element_bytes;) {
            const auto packet = over.receive().get();
            if (!packet) throw usage_error(over.name() + ": was shut down within a collective");
            stream.wait(packet.arrived());
            take(buffer + step.first * element_bytes + packet.info().offset, packet);
            over.release(packet, stream);
            got += packet.bytes();
        }
    }

    void finish() {
        ctx.wait(stream.record(), "a collective");
        for (const auto& sent : sends) sent.over->wait(sent.sent);
    }
};

}  // namespace

group::group(context& of, std::vector<endpoint> members, const link_options& sizes)
    : context_(of), members_(std::move(members)), sizes_(sizes), links_(members_.size() * members_.size()) {
    if (members_.empty()) throw usage_error("a group has one member at least");
    for (std::size_t i = 0; i < members_.size(); ++i) {
        of.core()->require_own(members_[i]);
        if (members_[i].is_router())
            throw usage_error("a group's members are devices or the host, not " + members_[i].name());
        if (std::count(members_.begin(), members_.end(), members_[i]) > 1) {
            throw usage_error(members_[i].name() +
                              " is a member of the group twice: context::add_endpoint makes others");
        }
    }
}

const link& group::link_between(std::size_t from, std::size_t to) {
    auto& made = links_[from * size() + to];
    if (!made) made = std::make_unique<link>(context_, members_[from], members_[to], sizes_);
    return *made;
}

/// All that a schedule needs: its members then only look at them.
void group::make_links(const transfer_schedule& plan) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
        for (const auto& step : plan[i]) {
            if (step.what == transfer_step::kind::send) (void)link_between(i, step.peer);
        }
    }
}

void group::check_root(std::size_t root) const {
    if (root < size()) return;
    throw usage_error("there is no member " + std::to_string(root) + " in a group of " + std::to_string(size()));
}

void group::check_buffers(std::size_t buffers) const {
    if (buffers == size()) return;
    throw usage_error("a collective of " + std::to_string(size()) + " members got " + std::to_string(buffers) +
                      " buffers: it takes one of each");
}

void group::check_buffer(std::size_t member, const void* buffer, std::uint64_t elements) const {
    if (buffer != nullptr || elements == 0) return;
    throw usage_error("member " + std::to_string(member) + " of a collective, " + members_[member].name() +
                      ", has no buffer");
}

void group::start(const std::function<void(std::size_t member, device_stream& stream)>& work) {
    try {
        context_core::workers mine;
        for (std::size_t i = 0; i < size(); ++i) {
            mine.push_back(
                context_.core()->start_worker(members_[i], [i, work](device_stream& stream) { work(i, stream); }));
        }
        context_.core()->join(mine);
    } catch (...) {
        context_.close();  // nothing reads or writes the caller's memory any more
        throw;
    }
}

void group::run(const std::vector<void*>& buffers, const transfer_schedule& plan, std::size_t element_bytes,
                const combiner& combine) {
    check_buffers(buffers.size());
    for (std::size_t i = 0; i < size(); ++i) check_buffer(i, buffers[i], plan[i].size());
    make_links(plan);
    start([&](std::size_t member, device_stream& stream) {
        member_run mine{context_, stream, static_cast<std::byte*>(buffers[member]), element_bytes, {}};
        for (const auto& step : plan[member]) {
            if (step.what == transfer_step::kind::send) {
                mine.send(link_between(member, step.peer), step);
                continue;
            }
            mine.receive(link_between(step.peer, member), step, [&](std::byte* into, const pending_segment& packet) {
                if (step.what == transfer_step::kind::combine) {
                    combine(stream, into, packet);
                } else {
                    stream.copy(into, packet.as<std::byte>(), packet.bytes());
                }
            });
        }
        mine.finish();
    });
}

void group::exchange(const std::vector<const void*>& from, const std::vector<void*>& to,
                     const std::vector<std::vector<std::uint64_t>>& counts, std::size_t element_bytes) {
    const std::size_t n = size();
    check_buffers(from.size());
    check_buffers(to.size());
    const bool square = counts.size() == n &&
                        std::all_of(counts.begin(), counts.end(), [n](const auto& row) { return row.size() == n; });
    if (!square) throw usage_error("all_to_all takes a count for each pair of " + std::to_string(n) + " members");
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            check_buffer(i, from[i], counts[i][j]);
            check_buffer(j, to[j], counts[i][j]);
            if (i != j && counts[i][j] > 0) (void)link_between(i, j);
        }
    }
    start([&](std::size_t me, device_stream& stream) {
        const auto before = [&](const auto& count_of, std::size_t end) {
            std::uint64_t sum = 0;
            for (std::size_t k = 0; k < end; ++k) sum += count_of(k);
            return sum;
        };
        const auto goes = [&](std::size_t j) { return counts[me][j]; };
        const auto comes = [&](std::size_t i) { return counts[i][me]; };
        const auto* const source = static_cast<const std::byte*>(from[me]);
        member_run sending{context_, stream, const_cast<std::byte*>(source), element_bytes, {}};
        member_run taking{context_, stream, static_cast<std::byte*>(to[me]), element_bytes, {}};
        const auto copy = [&](std::byte* into, const pending_segment& packet) {
            stream.copy(into, packet.as<std::byte>(), packet.bytes());
        };
        stream.copy(taking.buffer + before(comes, me) * element_bytes, source + before(goes, me) * element_bytes,
                    counts[me][me] * element_bytes);
        for (std::size_t distance = 1; distance < n; ++distance) {  // no two send to one at the same time
            const std::size_t to_whom = (me + distance) % n;
            if (goes(to_whom) == 0) continue;
            sending.send(link_between(me, to_whom),
                         {transfer_step::kind::send, to_whom, before(goes, to_whom), goes(to_whom)});
        }
        for (std::size_t distance = 1; distance < n; ++distance) {
            const std::size_t from_whom = (me + n - distance) % n;
            if (comes(from_whom) == 0) continue;
            taking.receive(link_between(from_whom, me),
                           {transfer_step::kind::receive, from_whom, before(comes, from_whom), comes(from_whom)}, copy);
        }
        sending.finish();
    });
}

}  // namespace laneway::flow
