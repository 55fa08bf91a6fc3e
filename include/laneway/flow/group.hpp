// Collectives over large buffers, made of links: for buffers of devices and of the host. Host only.
//
//   lw::flow::group all(ctx, ctx.devices());
//   all.all_reduce<float>(buffers, count, lw::flow::plus{});          // buffers[i]: of member i
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "laneway/flow/link.hpp"
#include "laneway/flow/transfer_schedule.hpp"
#include "laneway/simt/user_code.hpp"

namespace laneway::flow {

/// Operators of reductions; any functor that devices can call will do, if it is associative and commutative.
struct plus {
    template <class T>
    LANEWAY_FN T operator()(T a, T b) const {
        return static_cast<T>(a + b);
    }
};
struct minimum {
    template <class T>
    LANEWAY_FN T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
struct maximum {
    template <class T>
    LANEWAY_FN T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};

/// Combines what has come with what is there.
template <class T, class Combine>
struct combine_elements {
    T* into;
    const T* with;
    std::uint64_t count;
    Combine combine;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < count; i += ctx.size()) {
            into[i] = call_needs_LANEWAY_FN(combine, into[i], with[i]);
        }
    }
};

/// Endpoints that do collectives together: devices, the host, also several of one device. Links between two members are
/// made when they first need one. Calls return when the collective is done; one at a time. Every member has one buffer
/// in its memory, in which data is found and results are left; buffers[i] is member i's. Results do not depend on
/// timing: what is combined with what follows from shape and members. Throws usage_error for wrong arguments, else as
/// context::join, and the context is closed then.
class group {
public:
    group(context& of, std::vector<endpoint> members, const link_options& sizes = {});

    [[nodiscard]] std::size_t size() const { return members_.size(); }

    /// `count` elements of the root, to all.
    template <class T>
    void broadcast(const std::vector<T*>& buffers, std::uint64_t count, std::size_t root, shape how = shape::tree) {
        check_root(root);
        run_plain(buffers, plan_broadcast(how, size_of<T>(count), root));
    }
    /// Block i of the root's buffer, `count` elements, to block i of member i's: directly, or by a tree, where other
    /// blocks of those between are overwritten.
    template <class T>
    void scatter(const std::vector<T*>& buffers, std::uint64_t count, std::size_t root, shape how = shape::direct) {
        check_root(root);
        run_plain(buffers, plan_scatter(how, size_of<T>(count), root));
    }
    /// Block i of member i's buffer to block i of the root's; in the shapes of scatter.
    template <class T>
    void gather(const std::vector<T*>& buffers, std::uint64_t count, std::size_t root, shape how = shape::direct) {
        check_root(root);
        run_plain(buffers, plan_gather(how, size_of<T>(count), root));
    }
    /// Block i of member i's buffer, `count` elements, to block i of all.
    template <class T>
    void all_gather(const std::vector<T*>& buffers, std::uint64_t count, shape how = shape::ring) {
        run_plain(buffers, plan_all_gather(how, size_of<T>(count)));
    }
    /// `count` elements of all, combined in the root's buffer; the others' are overwritten where the shape is not
    /// direct.
    template <class T, class Combine>
    void reduce(const std::vector<T*>& buffers, std::uint64_t count, std::size_t root, const Combine& combine,
                shape how = shape::tree) {
        check_root(root);
        run_combining(buffers, plan_reduce(how, size_of<T>(count), root), combine);
    }
    /// Blocks of `count` elements of all, block i combined in block i of member i; other blocks are overwritten.
    template <class T, class Combine>
    void reduce_scatter(const std::vector<T*>& buffers, std::uint64_t count, const Combine& combine,
                        shape how = shape::ring) {
        run_combining(buffers, plan_reduce_scatter(how, size_of<T>(count)), combine);
    }
    /// `count` elements of all, combined in all buffers.
    template <class T, class Combine>
    void all_reduce(const std::vector<T*>& buffers, std::uint64_t count, const Combine& combine,
                    shape how = shape::ring) {
        run_combining(buffers, plan_all_reduce(how, size_of<T>(count)), combine);
    }
    /// Member i sends counts[i][j] elements to member j. They lie one behind the other in from[i], in the order of j,
    /// and come to lie in to[j] in the order of i. They go there directly, or round a ring, where each member sends to
    /// the next alone: what it passes on lies in memory that the call takes meanwhile. Where there are several, from[i]
    /// and to[i] do not overlap.
    template <class T>
    void all_to_all(const std::vector<const T*>& from, const std::vector<T*>& to,
                    const std::vector<std::vector<std::uint64_t>>& counts, shape how = shape::direct) {
        exchange({from.begin(), from.end()}, {to.begin(), to.end()}, counts, sizeof(T), how);
    }

private:
    /// Combines a packet's elements into the member's buffer, on a stream of its device.
    using combiner = std::function<void(device_stream& stream, void* into, const pending_segment& packet)>;

    template <class T>
    [[nodiscard]] transfer_size size_of(std::uint64_t count) const {
        return {members_.size(), count, std::max<std::uint64_t>(sizes_.packet_bytes / sizeof(T), 1)};
    }
    template <class T>
    void run_plain(const std::vector<T*>& buffers, const transfer_schedule& plan) {
        run({buffers.begin(), buffers.end()}, plan, sizeof(T), {});
    }
    template <class T, class Combine>
    void run_combining(const std::vector<T*>& buffers, const transfer_schedule& plan, const Combine& combine) {
        static_assert(trivially_copyable<T> && trivially_copyable<Combine>, "both are copied to the devices");
        run({buffers.begin(), buffers.end()}, plan, sizeof(T),
            [combine](device_stream& stream, void* into, const pending_segment& packet) {
                stream.run(combine_elements<T, Combine>{static_cast<T*>(into), packet.template as<T>(),
                                                        packet.template count<T>(), combine});
            });
    }
    void check_root(std::size_t root) const;
    void run(const std::vector<void*>& buffers, const transfer_schedule& plan, std::size_t element_bytes,
             const combiner& combine);
    void exchange(const std::vector<const void*>& from, const std::vector<void*>& to,
                  const std::vector<std::vector<std::uint64_t>>& counts, std::size_t element_bytes, shape how);
    void check_exchange(const std::vector<const void*>& from, const std::vector<void*>& to,
                        const std::vector<std::vector<std::uint64_t>>& counts, shape how) const;
    void check_buffers(std::size_t buffers) const;
    void check_buffer(std::size_t member, const void* buffer, std::uint64_t elements) const;
    void start(const std::function<void(std::size_t member, device_stream& stream)>& work);
    [[nodiscard]] const link& link_between(std::size_t from, std::size_t to);
    void make_links(const transfer_schedule& plan);

    context& context_;
    std::vector<endpoint> members_;
    link_options sizes_;
    std::vector<std::unique_ptr<link>> links_;  ///< [from * size + to]
};

}  // namespace laneway::flow
