// Host half of elements that travel between PEs: how many rooms there are, and the channels where they arrive.
#pragma once

#include <string>
#include <vector>

#include "laneway/task/channel_memory.hpp"

namespace laneway {

struct channel_graph_options {
    /// Elements of each level that a PE may have sent that are not consumed yet, where kernels receive; rounded up to a
    /// power of two. Each PE keeps memory for those of all PEs.
    std::uint32_t rooms = 256;
    /// Memory of a PE in which its warps keep what they produce, until it is full, beside the channels. Elements there
    /// are no part of a channel's width; 0: warps keep nothing. Not in a session.
    std::uint64_t stack_bytes = 0;
};

/// Adds a channel for what arrives for each of the first `of_user` channels whose kernel, by number, `receives`, with
/// `rooms` of each of `pes` PEs. Throws usage_error where these are too many channels.
void add_remote(std::vector<channel_plan>& plans, std::size_t of_user, const std::vector<bool>& receives, int pes,
                std::uint32_t rooms);

/// "; sent to channel 0 of PE 1 and not consumed: 2; PE 0 has 2 of 2 rooms out (all)": for a graph that did not come to
/// its end; empty where there is nothing.
std::string remote_text(const channel_store& store);

}  // namespace laneway
