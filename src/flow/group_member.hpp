// A member's sends and receives within a collective of a group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/flow/context.hpp"
#include "laneway/flow/link.hpp"
#include "laneway/flow/transfer_schedule.hpp"

namespace laneway::flow {

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

    /// What is still being sent is not overwritten. It does not wait for ever: what is waited for was sent in a round
    /// before, so it has a receive that waits for rounds before that alone.
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

}  // namespace laneway::flow
