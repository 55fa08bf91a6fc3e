// How two-sided messages travel: as chunks of rings that carry nothing else, one message a chunk.
//
// But for messages of 8 bytes or less that have no order, of lanes of a warp that come together: those share a chunk.
//
// A short message travels in tagged words (queue/chunk_ring.hpp), in pieces of 8 bytes: a header, then the payload. So
// does the description of one that is too long for a slot. What lies between takes the slot.
#pragma once

#include "laneway/comm/matching/match_key.hpp"
#include "laneway/queue/chunk_ring.hpp"

namespace laneway {

/// The highest tag of a message.
inline constexpr std::uint32_t max_message_tag = 0x7fff'ffff;

/// Pieces of 8 bytes that fit a chunk's words, and what they leave for a payload.
inline constexpr std::uint32_t max_pieces = chunk_words / tagged_words<std::uint64_t>;
inline constexpr std::uint32_t short_pieces = max_pieces - 1;
inline constexpr std::uint32_t short_bytes = short_pieces * 8;

/// The same of a synchronous message, which brings a word more.
inline constexpr std::uint32_t short_synchronous_bytes = short_bytes - 8;

/// How a message's payload comes; with synchronous_kind, the kind of its chunk.
enum class message_form : std::uint32_t {
    in_words,  ///< with the header, `short_bytes` at most
    in_slot,   ///< behind the header, in the slot
    in_place,  ///< stays where the sender has it, until the receiver fetches it
    together,  ///< several in one slot, a lane_message each; each of them is then as if it had come in words
};

/// The bit in a chunk's kind of a message whose sender waits until it is matched, and is told.
inline constexpr std::uint32_t synchronous_kind = 4;

/// In place of a symmetric segment: memory of the host that all PEs reach; the index is its address.
inline constexpr std::uint32_t host_visible_segment = 0xfffffffd;

/// Where a payload lies that the receiver fetches, and whom it tells; of a synchronous message only the latter.
struct payload_place {
    std::uint64_t index = 0;  ///< of the first byte, in its segment
    std::uint32_t segment = 0;
    std::uint32_t request = 0;     ///< of the sender
    std::uint32_t generation = 0;  ///< of that

    /// Whom it tells, in one word.
    [[nodiscard]] LANEWAY_FN std::uint64_t sender() const { return std::uint64_t{request} << 32 | generation; }
    static LANEWAY_FN payload_place of_sender(std::uint64_t word) {
        return {0, 0, static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
    }
};

/// Short payloads as words of 8 bytes. In loops of a fixed length, so that the words stay in registers.
struct payload_words {
    /// `payload` may lie in any memory of the lane. Words behind it stay as they are.
    static LANEWAY_FN void load(std::uint64_t* words, const std::byte* payload, std::uint64_t bytes) {
        const bool whole = are_whole(payload, bytes);
        for (std::uint32_t i = 0; i < short_pieces; ++i) {
            if (8 * i >= bytes) break;
            if (whole) {
                __builtin_memcpy(words + i, __builtin_assume_aligned(payload + 8 * i, 8), 8);
            } else {
                words[i] = load_bytes(payload + 8 * i, bytes - 8 * i);
            }
        }
    }
    /// One word, of 8 bytes or less.
    [[nodiscard]] static LANEWAY_FN std::uint64_t word_of(const std::byte* payload, std::uint64_t bytes) {
        if (bytes != 8 || !are_whole(payload, bytes)) return load_bytes(payload, bytes);
        std::uint64_t word = 0;
        __builtin_memcpy(&word, __builtin_assume_aligned(payload, 8), 8);
        return word;
    }
    static LANEWAY_FN void store(const std::uint64_t* words, std::byte* payload, std::uint64_t bytes) {
        const bool whole = are_whole(payload, bytes);
        for (std::uint32_t i = 0; i < short_pieces; ++i) {
            if (8 * i >= bytes) break;
            if (whole) {
                const std::uint64_t word = words[i];  // as one word: of an array GPUs would load its bytes
                __builtin_memcpy(__builtin_assume_aligned(payload + 8 * i, 8), &word, 8);
            } else {
                store_bytes(words[i], payload + 8 * i, bytes - 8 * i);
            }
        }
    }

private:
    /// Whether a payload is whole words, aligned as they are.
    static LANEWAY_FN bool are_whole(const std::byte* payload, std::uint64_t bytes) {
        return (reinterpret_cast<std::uintptr_t>(payload) | bytes) % 8 == 0;
    }
    // Others byte by byte, out of line: code that a lane skips has to be fetched as well.
    static LANEWAY_SLOW std::uint64_t load_bytes(const std::byte* from, std::uint64_t left) {
        std::uint64_t word = 0;
        for (std::uint64_t i = 0; i < 8 && i < left; ++i) {
            word |= std::uint64_t{static_cast<std::uint8_t>(from[i])} << i * 8;
        }
        return word;
    }
    static LANEWAY_SLOW void store_bytes(std::uint64_t word, std::byte* to, std::uint64_t left) {
        for (std::uint64_t i = 0; i < 8 && i < left; ++i) to[i] = static_cast<std::byte>(word >> i * 8);
    }
};

/// The words of a message that is not in a slot.
struct message_pieces {
    std::uint64_t words[max_pieces] = {};
    std::uint32_t count = 0;

    /// `payload` may lie in any memory of the lane.
    static LANEWAY_FN message_pieces of_short(std::uint32_t tag, const std::byte* payload, std::uint32_t bytes) {
        message_pieces made;
        made.words[0] = std::uint64_t{tag} << 32 | bytes;
        payload_words::load(made.words + 1, payload, bytes);
        made.count = 1 + (bytes + 7) / 8;
        return made;
    }
    /// The same of a synchronous message of short_synchronous_bytes at most.
    static LANEWAY_FN message_pieces of_short(std::uint32_t tag, const std::byte* payload, std::uint32_t bytes,
                                              const payload_place& at) {
        message_pieces made = of_short(tag, payload, bytes);
        made.words[max_pieces - 1] = at.sender();
        made.count = max_pieces;
        return made;
    }
    static LANEWAY_FN message_pieces of_place(std::uint32_t tag, std::uint64_t bytes, const payload_place& at) {
        message_pieces made;
        made.words[0] = std::uint64_t{tag} << 32 | at.request;
        made.words[1] = bytes;
        made.words[2] = std::uint64_t{at.segment} << 32 | at.generation;
        made.words[3] = at.index;
        made.count = 4;
        return made;
    }
};

/// At the start of a slot; the payload follows.
struct slot_header {
    static constexpr std::uint32_t bytes_used = 16;

    std::uint32_t tag;
    std::uint32_t bytes;
    std::uint64_t sender;  ///< of a synchronous message: payload_place::sender
};
static_assert(sizeof(slot_header) == slot_header::bytes_used);

/// One of the messages that share a slot.
struct alignas(16) lane_message {
    static constexpr std::uint32_t max_bytes = 8;  ///< of its payload
    static constexpr std::uint32_t most = 32;      ///< in a slot: their states are bits of a word

    std::uint32_t tag;
    std::uint32_t bytes;
    std::uint64_t word;

    /// So many fit into a slot.
    [[nodiscard]] static LANEWAY_FN std::uint32_t max_in(const chunk_sender& ring) {
        const auto fit = ring.slot_bytes / static_cast<std::uint32_t>(sizeof(lane_message));
        return fit < most ? fit : most;
    }
    /// A bit for each of so many.
    [[nodiscard]] static LANEWAY_FN std::uint32_t all_of(std::uint32_t n) { return ~std::uint32_t{0} >> (most - n); }
};

/// A message that has come, as the lane sees it that deals with it.
struct incoming_message {
    match_key key;
    message_form form = message_form::in_words;
    std::uint64_t bytes = 0;
    std::uint64_t words[short_pieces] = {};  ///< in_words: its payload
    const std::byte* payload = nullptr;      ///< in_slot: that
    payload_place place;                     ///< in_place: that; synchronous: whom the receiver tells
    bool synchronous = false;
    std::uint32_t number = 0;   ///< among those that share its slot
    std::uint32_t sharing = 0;  ///< how many do; 0: it has the slot to itself

    /// The payload of one that came in words; to any memory of the lane.
    LANEWAY_FN void copy_words_to(std::byte* to) const { payload_words::store(words, to, bytes); }
};

}  // namespace laneway
