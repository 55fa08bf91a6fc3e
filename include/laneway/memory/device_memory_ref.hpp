// Memory that lanes allocate and release while kernels run: what functors, handlers and tasks hold.
#pragma once

#include "laneway/memory/device_heap_ref.hpp"
#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/message_order.hpp"

namespace laneway {

/// A quota of a device_memory: on each PE the memory of that PE. Trivially copyable, the same bits on every PE.
class device_memory_ref {
public:
    device_memory_ref() = default;
    device_memory_ref(symmetric_ref<device_heap_ref> heaps, std::uint32_t region, std::uint32_t quota)
        : heaps_(heaps), region_(region), quota_(quota) {}

    /// At least so many bytes in memory of the own PE, 16 for fewer; they are the caller's until some lane of this PE
    /// releases them, in this run or a later one. Rounded up to a power of two, or to whole pages from more than half a
    /// page on; aligned to that, up to 256. Not cleared. Where the quota, or the PE, has no room, and for more than 256
    /// pages, the run ends with quota_reached, and null comes back, as it does where the run is ending. Any lane, also
    /// in a handler; does not wait for others to release, but while they are faster, under the run's deadline.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN void* allocate(Ctx& ctx, std::size_t bytes) const {
        const device_heap_ref& heap = heap_of(ctx);
        const heap_piece piece = heap.insist(ctx, bytes);
        if (piece.address != nullptr) come_behind(ctx, page_of(ctx, piece.address));
        if (piece.address == nullptr && !piece.contended) {
            const device_heap_layout& layout = heap.layout();
            const std::uint64_t pages =
                ctx.load(layout.counters_of(quota_) + device_heap_layout::pages_allowed, order::relaxed, scope::device);
            const std::uint64_t all = pages << layout.log2_page, at_once = heap.max_bytes();
            (void)fail(ctx, status::quota_reached, operation::allocate_memory, ctx.pe(), bytes,
                       std::uint64_t{quota_} << quota_shift | (bytes > at_once && at_once < all ? at_once : all));
        }
        return piece.address;
    }
    /// The same; only null where there is no room, or where other lanes were faster too often: it waits for them a
    /// bounded number of times, and for nothing else.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN void* try_allocate(Ctx& ctx, std::size_t bytes) const {
        return try_request(ctx, bytes).address;
    }
    /// The same; says which of the two: where it is `contended`, others were faster.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN heap_piece try_request(Ctx& ctx, std::size_t bytes) const {
        const heap_piece got = heap_of(ctx).request(ctx, bytes);
        if (got.address != nullptr) come_behind(ctx, page_of(ctx, got.address));
        return got;
    }

    /// Gives back what a lane of this PE allocated, from whichever quota of this memory, in any order; null is ignored.
    /// The caller has seen the last access of others. What is not the first byte of a live piece ends the run with
    /// not_allocated: a second release is found out where nobody has that memory again. Any lane; does not wait.
    template <class Ctx>
    LANEWAY_FN status release(Ctx& ctx, void* piece) const {
        const device_heap_ref& heap = heap_of(ctx);
        if (piece != nullptr && offset_of(heap, piece) < heap.layout().bytes()) go_before(ctx, page_of(ctx, piece));
        if (heap.deallocate(ctx, piece)) return status::ok;
        return fail(ctx, status::not_allocated, operation::release_memory, ctx.pe(), offset_of(heap, piece),
                    heap.layout().bytes());
    }

    /// The name by which any PE knows elements of a piece: for one-sided operations, and for handlers that allocate.
    /// The size of T is a power of two, no more than the piece has.
    template <class T, class Ctx>
    [[nodiscard]] LANEWAY_FN symmetric_ptr<T> name_of(const Ctx& ctx, const void* piece) const {
        static_assert((sizeof(T) & (sizeof(T) - 1)) == 0, "elements of a size that is no power of two have no index");
        return {region_, offset_of(heap_of(ctx), piece) / sizeof(T)};
    }

private:
    static constexpr int quota_shift = 56;

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN const device_heap_ref& heap_of(const Ctx& ctx) const {
        return *address(ctx, heaps_[quota_]);
    }
    [[nodiscard]] static LANEWAY_FN std::uint64_t offset_of(const device_heap_ref& heap, const void* piece) {
        return reinterpret_cast<std::uintptr_t>(piece) - reinterpret_cast<std::uintptr_t>(heap.layout().region);
    }
    /// Its word: whoever has memory of a page comes behind those who had it before.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN const void* page_of(const Ctx& ctx, const void* piece) const {
        const device_heap_ref& heap = heap_of(ctx);
        return heap.layout().pages + (offset_of(heap, piece) >> heap.layout().log2_page);
    }

    symmetric_ref<device_heap_ref> heaps_;
    std::uint32_t region_ = unnamed_segment;
    std::uint32_t quota_ = 0;
};

}  // namespace laneway
