// Requests of two-sided messages: handles, what they tell, and the slots of a PE's pool.
#pragma once

#include "laneway/comm/two_sided/message_format.hpp"

namespace laneway {

/// What a receive got, or a probe found.
struct message_status {
    std::uint32_t source = any_source;
    std::uint32_t tag = any_tag;
    std::uint64_t bytes = 0;
    bool cancelled = false;  ///< the receive was taken back: it got nothing

    template <class T>
    [[nodiscard]] LANEWAY_FN std::uint64_t count() const {
        return bytes / sizeof(T);
    }
};

/// What comes from proc_null.
[[nodiscard]] LANEWAY_FN message_status nothing_received() { return {proc_null, any_tag, 0, false}; }

/// Names an operation that goes on; of the PE and the communicator that started it. Trivially copyable.
class message_request {
public:
    message_request() = default;
    LANEWAY_FN message_request(std::uint32_t number, std::uint32_t generation, std::uint32_t communicator)
        : number_(number), generation_(generation), communicator_(communicator) {}
    /// Of what was done when it was started: it takes no place in the pool.
    static LANEWAY_FN message_request finished() { return {finished_number, 0, 0}; }
    /// The same of a receive from proc_null.
    static LANEWAY_FN message_request from_nobody() { return {nobody_number, 0, 0}; }

    /// Whether it names nothing: never set, or taken by a wait for any or a test. Waits pass over it.
    [[nodiscard]] LANEWAY_FN bool is_null() const { return number_ == null_number; }
    [[nodiscard]] LANEWAY_FN bool is_finished() const { return number_ == finished_number || is_from_nobody(); }
    [[nodiscard]] LANEWAY_FN bool is_from_nobody() const { return number_ == nobody_number; }
    [[nodiscard]] LANEWAY_FN std::uint32_t number() const { return number_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t generation() const { return generation_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t communicator() const { return communicator_; }

private:
    static constexpr std::uint32_t null_number = ~std::uint32_t{0}, finished_number = null_number - 1,
                                   nobody_number = null_number - 2;

    std::uint32_t number_ = null_number;
    std::uint32_t generation_ = 0;
    std::uint32_t communicator_ = 0;
};

/// `match`: takes a message out of the queues, which it holds; `matched_receive`: receives what a match holds.
enum class request_kind : std::uint32_t { receive, probe, cancel, send, match, matched_receive };

/// The room of a match that takes messages of any length.
inline constexpr std::uint64_t any_length = ~std::uint64_t{0};

/// State of a slot and its generation, in one word: the number of times that it has been used.
struct request_word {
    static constexpr std::uint32_t free = 0, open = 1, done = 2, nothing = 3, cancelled = 4;

    std::uint64_t bits = 0;

    static LANEWAY_FN std::uint64_t of(std::uint32_t generation, std::uint32_t state) {
        return std::uint64_t{generation} << 32 | state;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t generation() const { return static_cast<std::uint32_t>(bits >> 32); }
    [[nodiscard]] LANEWAY_FN std::uint32_t state() const { return static_cast<std::uint32_t>(bits); }
    [[nodiscard]] LANEWAY_FN bool is_over() const { return state() > open; }
};

/// A place of the pool, in PE memory. Who has claimed it fills it in; who turns the queues says what came of it.
struct alignas(64) request_slot {
    static constexpr std::uint32_t by_lane = 1, by_host = 2;

    std::uint64_t word;  ///< a request_word
    request_kind kind;
    std::uint32_t waited;  ///< by_lane once a lane waits for it; by_host where a host thread does
    match_key key;         ///< asked for; of a send: its destination and tag
    std::uint64_t bytes;   ///< room of a receive, length of a send
    std::byte* data;       ///< of the payload: where it shall go, or is
    std::uint32_t source;  ///< what came
    std::uint32_t tag;
    std::uint64_t length;
    message_form form;      ///< of a send, or of what came
    std::uint32_t shard;    ///< of a send
    std::uint64_t ticket;   ///< the same
    payload_place place;    ///< of a payload that is fetched
    std::uint64_t fetched;  ///< see fetch_queue
    std::uint32_t pieces_done;
    std::uint32_t other;               ///< cancel: which one; match: the message's place; a send: see send_chain
    std::uint32_t other_generation;    ///< cancel: of that
    std::uint32_t before;              ///< a send: see send_chain
    std::uint32_t n_pieces;            ///< of a send
    std::uint32_t answered;            ///< of a send: 1 where the receiver tells when it has been matched, or fetched
    std::uint64_t pieces[max_pieces];  ///< of a send; of a receive: its payload, where that is short
};

/// Whom fault records name: of a tag what it is, in their words.
[[nodiscard]] LANEWAY_FN int peer_of(std::uint32_t source) {
    return source == any_source ? -1 : static_cast<int>(source);
}

}  // namespace laneway
