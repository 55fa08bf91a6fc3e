#include "laneway/flow/group.hpp"

#include <algorithm>

#include "flow/context_core.hpp"
#include "flow/group_member.hpp"
#include "laneway/base/error.hpp"

namespace laneway::flow {

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

}  // namespace laneway::flow
