// Atomics of host memory for CPU contexts.
#pragma once

#include <atomic>

#include "laneway/simt/order.hpp"

namespace laneway::cpu {

constexpr std::memory_order to_std(order o) {
    switch (o) {
        case order::acquire: return std::memory_order_acquire;
        case order::release: return std::memory_order_release;
        case order::acq_rel: return std::memory_order_acq_rel;
        default: return std::memory_order_relaxed;
    }
}

/// Mixed into CPU contexts. Scopes are ignored: all CPU lanes share one coherent memory. `Derived::step()` is called
/// before each operation, so that a scheduler may switch there.
template <class Derived>
class atomics {
public:
    template <class T>
    T load(const T* word, order o, scope) {
        self().step();
        return std::atomic_ref<T>(*const_cast<T*>(word)).load(to_std(o));
    }
    template <class T>
    void store(T* word, std::type_identity_t<T> value, order o, scope) {
        self().step();
        std::atomic_ref<T>(*word).store(value, to_std(o));
    }
    template <class T>
    T fetch_add(T* word, std::type_identity_t<T> value, order o, scope) {
        self().step();
        return std::atomic_ref<T>(*word).fetch_add(value, to_std(o));
    }
    template <class T>
    T fetch_or(T* word, std::type_identity_t<T> value, order o, scope) {
        self().step();
        return std::atomic_ref<T>(*word).fetch_or(value, to_std(o));
    }
    template <class T>
    T fetch_and(T* word, std::type_identity_t<T> value, order o, scope) {
        self().step();
        return std::atomic_ref<T>(*word).fetch_and(value, to_std(o));
    }
    template <class T>
    T fetch_xor(T* word, std::type_identity_t<T> value, order o, scope) {
        self().step();
        return std::atomic_ref<T>(*word).fetch_xor(value, to_std(o));
    }
    template <class T>
    T exchange(T* word, std::type_identity_t<T> value, order o, scope) {
        self().step();
        return std::atomic_ref<T>(*word).exchange(value, to_std(o));
    }
    /// Where the word is no larger already, this is a relaxed load.
    template <class T>
    T fetch_min(T* word, std::type_identity_t<T> value, order o, scope) {
        return replace_while(word, value, o, [value](T seen) { return value < seen; });
    }
    /// Where the word is no smaller already, this is a relaxed load.
    template <class T>
    T fetch_max(T* word, std::type_identity_t<T> value, order o, scope) {
        return replace_while(word, value, o, [value](T seen) { return seen < value; });
    }
    /// On failure `expected` takes the word's value, read relaxed.
    template <class T>
    bool compare_exchange(T* word, T& expected, std::type_identity_t<T> desired, order o, scope) {
        self().step();
        return std::atomic_ref<T>(*word).compare_exchange_strong(expected, desired, to_std(o),
                                                                 std::memory_order_relaxed);
    }

    /// Orders all accesses of this lane before it against all after it, for everyone.
    void fence(scope) {
        self().step();
#if defined(__SANITIZE_THREAD__)
        // ThreadSanitizer knows no fences; an atomic that all fences share orders them among themselves.
        static std::atomic<unsigned> meeting{0};
        meeting.fetch_add(1, std::memory_order_acq_rel);
#else
        std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    }
    void fence([[maybe_unused]] order o, [[maybe_unused]] scope s) {
#if defined(__SANITIZE_THREAD__)
        fence(s);
#else
        self().step();
        std::atomic_thread_fence(to_std(o));
#endif
    }

private:
    template <class T, class Wanted>
    T replace_while(T* word, T value, order o, Wanted&& wanted) {
        self().step();
        std::atomic_ref<T> ref(*word);
        T seen = ref.load(std::memory_order_relaxed);
        while (wanted(seen) && !ref.compare_exchange_weak(seen, value, to_std(o), std::memory_order_relaxed)) {
        }
        return seen;
    }
    Derived& self() { return static_cast<Derived&>(*this); }
};

}  // namespace laneway::cpu
