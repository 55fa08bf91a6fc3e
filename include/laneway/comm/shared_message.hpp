// Messages that share aggregation buffers with those of other types.
//
// Each type of message has aggregation buffers of its own, so chunks shrink with the number of types where shared
// memory is short, and a chunk's label numbers 16 of them. Types of which few messages are on their way share one set
// instead: there a message is carried as one of variable length, and a header before it names its type.
#pragma once

#include "laneway/comm/handler_check.hpp"
#include "laneway/queue/chunk_ring.hpp"

namespace laneway {

/// A handler's own word on whether its messages share aggregation buffers: `static constexpr bool shares_buffers`.
template <class Handler>
concept saying_whether_it_shares = requires {
    { Handler::shares_buffers } -> std::convertible_to<bool>;
};

/// Whether messages of this handler's type share aggregation buffers, in a program of `Types` types: as it says, else
/// if there are more than 16 types. Those with a payload never do.
template <class Handler, std::size_t Types>
inline constexpr bool shares_buffers = Types > max_chunk_kinds && !taking_payload<Handler>;
template <saying_whether_it_shares Handler, std::size_t Types>
inline constexpr bool shares_buffers<Handler, Types> = Handler::shares_buffers;

/// Before a message that shares aggregation buffers, with the granules that it takes: one granule. `Bytes`: of the
/// longest such message.
template <std::size_t Bytes>
struct shared_message {
    std::uint32_t kind;
    std::uint32_t token[2];  ///< of a request, low half first; see request
};

/// Where those messages lie in a chunk, in granules.
struct shared_shape {
    static constexpr std::uint32_t granules_of(std::size_t bytes) {
        return static_cast<std::uint32_t>((bytes + 15) / 16);
    }
    /// Of a message and its header, where the message takes `count`.
    [[nodiscard]] static constexpr std::uint32_t granules(std::uint32_t count) { return 1 + count; }
    /// Payload of the smallest chunk that holds a message of `bytes`.
    [[nodiscard]] static constexpr std::size_t min_chunk_bytes(std::size_t bytes) {
        return chunk_bytes_for(granules(granules_of(bytes)));
    }
};

/// Stands among the handlers of chunks for those of all types that share aggregation buffers.
struct shared_handlers {
    using element = granule<shared_message<0>>;
};

}  // namespace laneway
