// Addresses of other PEs' symmetric memory, which only a transport turns into pointers.
//
// Whoever holds one names an operation: of one word, atomic at system scope, or of plain elements, for bulk. In the
// mapped model each is one instruction of the lane. A transport that does not map a PE's memory gives null for it, and
// the operation then goes as a message that the owner serves (comm/memory_operation.hpp), or is refused: so nothing
// that is done with these addresses has to be carried.
#pragma once

#include "laneway/memory/symmetric.hpp"

namespace laneway {

/// Trivially copyable, as large as a pointer, and like one without a value until it is given one; `{}` is null. Any
/// lane; nothing waits but what returns a value, for that.
template <class T>
class remote_ptr {
public:
    remote_ptr() = default;
    LANEWAY_FN explicit remote_ptr(T* at) : at_(at) {}
    template <class Other>
    requires std::is_convertible_v<Other*, T*> LANEWAY_FN remote_ptr(remote_ptr<Other> other)
        : at_(other.at_) {}  // NOLINT(google-explicit-constructor): as of pointers

    /// Whether lanes of this PE reach the memory.
    LANEWAY_FN explicit operator bool() const { return at_ != nullptr; }
    [[nodiscard]] LANEWAY_FN remote_ptr operator+(std::uint64_t elements) const { return remote_ptr(at_ + elements); }
    template <class Other>
    [[nodiscard]] LANEWAY_FN remote_ptr<Other> as() const {
        return remote_ptr<Other>(reinterpret_cast<Other*>(at_));
    }
    /// For alignment.
    [[nodiscard]] LANEWAY_FN std::uintptr_t address_bits() const { return reinterpret_cast<std::uintptr_t>(at_); }
    /// A member of what lies there.
    template <class Owner, class Member>
    [[nodiscard]] LANEWAY_FN remote_ptr<Member> operator->*(Member Owner::*member) const {
        return remote_ptr<Member>(&(at_->*member));
    }

    // Atomic at system scope: lanes of other PEs may work on the word at the same time. `o`: as the context's atomics
    // have it; their callers name the partners.

    template <class Ctx>
    LANEWAY_FN std::remove_const_t<T> load(Ctx& ctx, order o = order::relaxed) const {
        return ctx.load(at_, o, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN void store(Ctx& ctx, std::type_identity_t<T> value, order o = order::relaxed) const {
        ctx.store(at_, value, o, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN T fetch_add(Ctx& ctx, std::type_identity_t<T> value, order o = order::relaxed) const {
        return ctx.fetch_add(at_, value, o, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN T fetch_min(Ctx& ctx, std::type_identity_t<T> value, order o = order::relaxed) const {
        return ctx.fetch_min(at_, value, o, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN T fetch_max(Ctx& ctx, std::type_identity_t<T> value, order o = order::relaxed) const {
        return ctx.fetch_max(at_, value, o, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN T fetch_and(Ctx& ctx, std::type_identity_t<T> value, order o = order::relaxed) const {
        return ctx.fetch_and(at_, value, o, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN T fetch_or(Ctx& ctx, std::type_identity_t<T> value, order o = order::relaxed) const {
        return ctx.fetch_or(at_, value, o, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN T fetch_xor(Ctx& ctx, std::type_identity_t<T> value, order o = order::relaxed) const {
        return ctx.fetch_xor(at_, value, o, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN T exchange(Ctx& ctx, std::type_identity_t<T> value, order o = order::relaxed) const {
        return ctx.exchange(at_, value, o, scope::system);
    }
    /// As the context's: `expected` is what the word held.
    template <class Ctx>
    LANEWAY_FN bool compare_exchange(Ctx& ctx, T& expected, std::type_identity_t<T> desired,
                                     order o = order::relaxed) const {
        return ctx.compare_exchange(at_, expected, desired, o, scope::system);
    }

    // Plain: nobody else works on the element at the same time.

    [[nodiscard]] LANEWAY_FN std::remove_const_t<T> read(std::uint64_t element = 0) const { return at_[element]; }
    LANEWAY_FN void write(const T& value, std::uint64_t element = 0) const { at_[element] = value; }

    /// Names the element to checked devices (simt/message_order.hpp).
    [[nodiscard]] LANEWAY_FN const void* place() const { return at_; }

private:
    template <class Other>
    friend class remote_ptr;
    friend class remote_copy;

    T* at_;
};

/// Elements of a PE's part on checked devices, which see each access (checked/pointer.hpp); as remote_ptr has them.
template <class Pointer, class T>
class watched_elements {
public:
    watched_elements() = default;
    LANEWAY_FN explicit watched_elements(const Pointer& first) : first_(first) {}

    [[nodiscard]] LANEWAY_FN T read(std::uint64_t element = 0) const {
        const T value = first_[element];
        return value;
    }
    LANEWAY_FN void write(const T& value, std::uint64_t element = 0) const { first_[element] = value; }

private:
    Pointer first_;
};

/// Address of an element of a PE's part; null where the transport does not map it. Any lane.
template <class Ctx, class T>
[[nodiscard]] LANEWAY_FN remote_ptr<T> remote_address(const Ctx& ctx, symmetric_ptr<T> element, int pe) {
    return remote_ptr<T>(address(ctx, element, pe));
}

/// The same, for elements that are read and written plainly: with `read` and `write` as of remote_ptr.
template <class Ctx, class T>
[[nodiscard]] LANEWAY_FN auto remote_elements(const Ctx& ctx, symmetric_ptr<T> first, int pe,
                                              [[maybe_unused]] call_site_of<Ctx> where) {
    if constexpr (checks_accesses<Ctx>) {
        const auto watched = at(ctx, first, pe, where);
        return watched_elements<std::remove_const_t<decltype(watched)>, T>(watched);
    } else {
        return remote_address(ctx, first, pe);
    }
}

}  // namespace laneway
