// Symmetric memory: an array that every PE holds a part of, under one name.
#pragma once

#include "laneway/simt/call_site.hpp"
#include "laneway/simt/fail.hpp"

namespace laneway {

/// Where a PE's part of a segment lies; null where there is none, or out of reach.
[[nodiscard]] LANEWAY_FN void* base_of_segment(const pe_environment& env, std::uint32_t segment, int pe) {
    return env.segments[static_cast<std::size_t>(segment) * static_cast<std::size_t>(env.n_pes) +
                        static_cast<std::size_t>(pe)];
}
template <class Ctx>
[[nodiscard]] LANEWAY_FN void* base_of_segment(const Ctx& ctx, std::uint32_t segment, int pe) {
    return base_of_segment(ctx.environment(), segment, pe);
}

/// Names one element of a symmetric array, on whichever PE it is looked at.
template <class T>
struct symmetric_ptr {
    std::uint32_t segment = unnamed_segment;
    std::uint64_t index = 0;
};

/// Device view of a symmetric array: trivially copyable, the same bits on every PE.
template <class T>
class symmetric_ref {
public:
    symmetric_ref() = default;
    LANEWAY_FN symmetric_ref(std::uint32_t segment, std::uint64_t size) : segment_(segment), size_(size) {}

    [[nodiscard]] LANEWAY_FN symmetric_ptr<T> operator[](std::uint64_t index) const { return {segment_, index}; }
    [[nodiscard]] LANEWAY_FN std::uint64_t size() const { return size_; }

    /// The PE's own part, `size()` elements: a T*. On checked devices something that can be used as one, and sees what
    /// is done with it (checked/pointer.hpp): keep it in `auto`, and what is read from it in a variable of its type.
    /// Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN auto local(const Ctx& ctx, call_site_of<Ctx> where = call_site_of<Ctx>::current()) const {
        return at(ctx, ctx.pe(), where);
    }
    /// The same of another PE's part, where its memory can be reached by load and store, else null. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN auto at(const Ctx& ctx, int pe,
                                     [[maybe_unused]] call_site_of<Ctx> where = call_site_of<Ctx>::current()) const {
        if constexpr (checks_accesses<Ctx>) {
            return ctx.template element<T>(segment_, pe, size_, 0, where);
        } else {
            return static_cast<T*>(base_of_segment(ctx, segment_, pe));
        }
    }

private:
    std::uint32_t segment_ = unnamed_segment;
    std::uint64_t size_ = 0;
};

/// Whether the array that the element belongs to holds `count` elements from there on. Any lane.
template <class T>
[[nodiscard]] LANEWAY_FN bool exists(const pe_environment& env, symmetric_ptr<T> element, std::uint64_t count = 1) {
    if (element.segment >= env.n_segments) return false;
    const std::uint64_t held = env.segment_bytes[element.segment] / sizeof(T);
    return element.index <= held && count <= held - element.index;
}
template <class Ctx, class T>
[[nodiscard]] LANEWAY_FN bool exists(const Ctx& ctx, symmetric_ptr<T> element, std::uint64_t count = 1) {
    return exists(ctx.environment(), element, count);
}

/// Ends the run for elements of a PE that do not exist, from `first` on. Any lane; returns bad_address.
template <class Ctx, class T>
LANEWAY_FN status refuse_address(Ctx& ctx, operation what, int pe, symmetric_ptr<T> first) {
    const auto& env = ctx.environment();
    const std::uint64_t held = first.segment < env.n_segments ? env.segment_bytes[first.segment] / sizeof(T) : 0;
    return fail(ctx, status::bad_address, what, pe, first.index > held ? first.index : held, held);
}

/// Ends the run for an element that exists, of a PE whose memory this one cannot load and store. Any lane; returns
/// bad_address.
template <class Ctx, class T>
LANEWAY_FN status refuse_unreachable(Ctx& ctx, operation what, int pe, symmetric_ptr<T> element) {
    const std::uint64_t held = ctx.environment().segment_bytes[element.segment] / sizeof(T);
    return fail(ctx, status::bad_address, what, pe, element.index, held);
}

/// Address of the element in a PE's part, null where its memory cannot be reached. Any lane. For bodies and handlers:
/// the library takes remote_address (transport/remote_ptr.hpp) for parts of other PEs.
template <class Ctx, class T>
[[nodiscard]] LANEWAY_FN T* address(const Ctx& ctx, symmetric_ptr<T> element, int pe) {
    T* const part = static_cast<T*>(base_of_segment(ctx, element.segment, pe));
    return part == nullptr ? nullptr : part + element.index;
}

/// The same in the own PE's part. Any lane.
template <class Ctx, class T>
[[nodiscard]] LANEWAY_FN T* address(const Ctx& ctx, symmetric_ptr<T> element) {
    return address(ctx, element, ctx.pe());
}
/// Null also where there is no such array.
template <class T>
[[nodiscard]] LANEWAY_FN T* address(const pe_environment& env, symmetric_ptr<T> element) {
    if (element.segment >= env.n_segments) return nullptr;
    T* const part = static_cast<T*>(base_of_segment(env, element.segment, env.pe));
    return part == nullptr ? nullptr : part + element.index;
}

/// Address of the element in a PE's part, as symmetric_ref::at gives it. Any lane.
template <class Ctx, class T>
[[nodiscard]] LANEWAY_FN auto at(const Ctx& ctx, symmetric_ptr<T> element, int pe,
                                 [[maybe_unused]] call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
    if constexpr (checks_accesses<Ctx>) {
        return ctx.template element<T>(element.segment, pe, ~std::uint64_t{0}, element.index, where);
    } else {
        return address(ctx, element, pe);
    }
}

/// The same in the own PE's part. Any lane.
template <class Ctx, class T>
[[nodiscard]] LANEWAY_FN auto local(const Ctx& ctx, symmetric_ptr<T> element,
                                    [[maybe_unused]] call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
    return at(ctx, element, ctx.pe(), where);
}

/// Adds to the own PE's element and returns what it held. Any lane; relaxed: it orders nothing else. As lanes of other
/// PEs may work on the word by direct one-sided operations, it is atomic for them as well. `reach`: scope::device where
/// nobody but lanes of the own PE does, as in programs that send messages only.
template <class Ctx, class T>
LANEWAY_FN T atomic_add(Ctx& ctx, symmetric_ptr<T> element, std::type_identity_t<T> value, scope reach = scope::system,
                        call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
    return ctx.fetch_add(local(ctx, element, where), value, order::relaxed, reach);
}

}  // namespace laneway
