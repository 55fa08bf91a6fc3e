// What a message costs by the model that a program communicates in: a global address space of loads and stores,
// one-sided operations with a notification, and two-sided messages; the comparison of Klenk's dissertation (Heidelberg,
// 2017, chapters 5.2 to 5.4), between lanes of kernels.
#pragma once

#include "laneway/runtime.hpp"

namespace laneway::apps {

/// store: plain stores into the receiver's memory, a fence and a flag. load: a flag, then plain loads from the
/// sender's. put, get: the same by one-sided operations, notified by a signal. two_sided: send and receive with a tag,
/// in MPI's order. unordered: the same where messages may overtake each other; each has a tag of its own.
enum class message_model : std::uint32_t { store, load, put, get, two_sided, unordered };

/// ping_pong: between PE 0 and the last, there and back. stream: from PE 0 to the last, as fast as buffers become free.
/// n_to_1: the same from all others to PE 0. all_to_all: every PE exchanges a message with each other one, round after
/// round.
enum class message_pattern : std::uint32_t { ping_pong, stream, n_to_1, all_to_all };

/// By the names of the command line; throw usage_error for others.
message_model parse_message_model(const std::string& name);
message_pattern parse_message_pattern(const std::string& name);
width parse_width(const std::string& name);

struct messaging_options {
    static constexpr std::uint64_t max_bytes = std::uint64_t{1} << 26;
    static constexpr std::uint32_t max_window = 16;
    static constexpr std::uint64_t max_rounds = std::uint64_t{1} << 31;
    static constexpr int max_pes = 64;
    static constexpr std::uint64_t max_messages = std::uint64_t{1} << 21;  ///< of all groups of a PE
    static constexpr std::uint64_t min_rounds = 10;

    options job;
    message_model model = message_model::store;
    message_pattern pattern = message_pattern::ping_pong;
    width lanes = width::lane;  ///< which share a message: a group
    std::uint64_t groups =
        1;  ///< of each PE, each with messages of its own; as many as there are where they are fewer; 0: all
    std::uint64_t bytes = 8;  ///< of a message, a multiple of 8
    /// That are timed, behind one that is not; fewer, but min_rounds, where several groups had more than
    /// max_messages.
    std::uint64_t rounds = 1000;
    std::uint32_t window = 8;  ///< in streams: buffers that a receiver has for each sender's group
    /// two_sided and unordered, but for n_to_1, which receives from any source: see communicator_options
    std::uint32_t engines = 1;
};

/// Rounds of a measurement with so many groups on each PE.
std::uint64_t timed_rounds(const messaging_options& options, std::uint64_t groups);

struct messaging_result {
    std::vector<double> round_trip_ns;  ///< ping_pong: of each round of PE 0's first group, by its own clock
    std::uint64_t groups = 0;           ///< of each PE that took part
    std::uint64_t available = 0;        ///< groups that each PE has
    std::uint64_t rounds = 0;           ///< that were timed
    std::uint64_t messages = 0;         ///< timed; of all_to_all those that PE 0 received
    /// From the end of the first group's round that is not timed to the last group's end, by the clock of the PE that
    /// received them; of ping_pong PE 0's.
    double seconds = 0;
};

/// Measures, and checks every word of every message. Throws usage_error for what cannot be, which n_to_1 by unordered
/// messages is, as none of these are received from any source; device_fault where
/// something has been lost or arrived wrong, and as runtime::run does.
messaging_result measure_messaging(const messaging_options& options);

}  // namespace laneway::apps
