// Channels as users see them: where kernels put the elements that other kernels, or they themselves, consume.
#pragma once

#include <type_traits>

#include "laneway/queue/channel_queue.hpp"

namespace laneway {

/// Names a channel of elements of type T; made by channel_graph::channel, trivially copyable.
template <class T>
struct channel {
    std::uint32_t number = 0;
};

/// Elements of a channel that one lane has reserved and not yet made ready. They lie one behind the other but where the
/// memory that they lie in ends.
template <class T>
class reserved_elements {
public:
    reserved_elements() = default;
    /// `data`: for `width` elements, so many bytes apart.
    LANEWAY_FN reserved_elements(std::byte* data, std::uint32_t width, std::uint32_t element_bytes, std::uint32_t queue,
                                 std::uint64_t first, std::uint32_t count)
        : data_(data), width_(width), element_bytes_(element_bytes), queue_(queue), first_(first), count_(count) {}

    /// Whether there are any; false where the channel had no space.
    explicit LANEWAY_FN operator bool() const { return count_ != 0; }
    [[nodiscard]] LANEWAY_FN std::uint32_t size() const { return count_; }
    [[nodiscard]] LANEWAY_FN T& operator[](std::uint32_t i) const {
        const auto index = static_cast<std::size_t>((first_ + i) & (width_ - 1));
        return *reinterpret_cast<T*>(data_ + index * element_bytes_);
    }

    /// The first `count` of them.
    [[nodiscard]] LANEWAY_FN reserved_elements first_of(std::uint32_t count) const {
        return {data_, width_, element_bytes_, queue_, first_, count};
    }

    /// Which queue of the PE they lie in, or the tag of those on the warp's own stack, and from which position on.
    [[nodiscard]] LANEWAY_FN std::uint32_t queue() const { return queue_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t first() const { return first_; }

private:
    std::byte* data_ = nullptr;
    std::uint32_t width_ = 1;
    std::uint32_t element_bytes_ = sizeof(T);
    std::uint32_t queue_ = 0;
    std::uint64_t first_ = 0;
    std::uint32_t count_ = 0;
};

/// What a kernel returns of the element that it was given. `yield`: it found no space for what it wanted to produce.
/// The element keeps its space, with what the kernel has written into it, and is consumed again later. `again`: so it
/// is as well, though the kernel has done a part of its work.
enum class outcome : std::uint32_t { done, yield, again };

/// What a policy knows of one queue: a level of a channel, in a shard of its PE.
struct channel_load {
    std::uint32_t channel;
    std::uint32_t level;
    std::uint32_t levels;  ///< of the channel
    std::uint32_t depth;   ///< what is deeper depends on nothing that is less deep
    std::uint32_t ready;   ///< elements that wait, at least 1
    std::uint32_t width;   ///< elements that it has room for
    bool is_short;         ///< the warp has lately found no space somewhere
};

/// The default order in which queues are served: the deepest first when space runs short, as only what is deeper can
/// make space; else the fullest first. A policy is a trivially copyable functor that returns a priority below 2^32, the
/// highest of which is served; 0: not now. Queues that hold as many elements as their channel wants dispatched together
/// (channel_options::at_least) come before all others, whatever their priorities are. `bool goes(const channel_load&)
/// const`, where the policy has it, says of one that holds fewer that it may go like these.
struct deepest_or_fullest_first {
    /// A warp goes on with what its last dispatch has produced while that fills a warp, and does not ask.
    static constexpr bool follows = true;

    LANEWAY_FN std::uint32_t operator()(const channel_load& load) const {
        if (load.is_short) return load.depth + 1;
        return static_cast<std::uint32_t>((std::uint64_t{load.ready} << 16) / load.width) + 1;
    }
};

/// Whether a policy lets warps follow what they have produced.
template <class Policy>
inline constexpr bool follows = false;
template <class Policy>
requires requires { Policy::follows; }
inline constexpr bool follows<Policy> = Policy::follows;

}  // namespace laneway
