// Which member of a group sends which elements to whom, and when, in a collective over large buffers. Host only.
#pragma once

#include <cstdint>
#include <vector>

namespace laneway::flow {

/// How the data of a collective travels.
enum class shape {
    direct,  ///< each sends to each that needs it: one hop, where all pairs have links of their own
    ring,    ///< each sends to the next: every link carries the same, and pieces follow each other
    tree,    ///< binomial: as many rounds as the logarithm of the members
};

/// A member's share in one transfer. Elements are numbered from the start of each member's buffer.
struct transfer_step {
    enum class kind : std::uint8_t {
        send,
        receive,  ///< stores what comes
        combine,  ///< combines what comes with what is there
    };

    kind what;
    std::size_t peer;     ///< from whom, or to whom
    std::uint64_t first;  ///< element of the own buffer
    std::uint64_t count;

    friend bool operator==(const transfer_step&, const transfer_step&) = default;
};

/// The steps of each member, in its order. Between two members, sends and receives come in the same order.
using transfer_schedule = std::vector<std::vector<transfer_step>>;

/// Of how many elements, in pieces of how many, among so many members.
struct transfer_size {
    std::size_t members;
    std::uint64_t count;  ///< of the whole buffer, or of one member's block
    std::uint64_t piece;  ///< what is passed on at once where data takes several hops
};

/// All `count` elements of the root, to all.
transfer_schedule plan_broadcast(shape how, const transfer_size& size, std::size_t root);
/// All `count` elements of all, combined at the root. The others' buffers hold partial results afterwards, where the
/// shape is not direct.
transfer_schedule plan_reduce(shape how, const transfer_size& size, std::size_t root);
/// Block i of the root's buffer to block i of member i; and the other way round. By a tree, blocks lie on their way in
/// their places in the buffers of other members. Throws usage_error for a ring.
transfer_schedule plan_scatter(shape how, const transfer_size& size, std::size_t root);
transfer_schedule plan_gather(shape how, const transfer_size& size, std::size_t root);
/// Block i of member i to block i of all.
transfer_schedule plan_all_gather(shape how, const transfer_size& size);
/// Block i of all, combined in block i of member i. Other blocks hold partial results afterwards.
transfer_schedule plan_reduce_scatter(shape how, const transfer_size& size);
/// All `count` elements of all, combined at all.
transfer_schedule plan_all_reduce(shape how, const transfer_size& size);

}  // namespace laneway::flow
