// A lane that counts what takes long on GPUs.
#pragma once

#include "unit/warp_threads.hpp"

namespace laneway::test {

/// Counts fences, and operations that have an order of their own. As on GPUs one fence stands for several.
class counting_context : public warp_context {
public:
    static constexpr bool fences_to_acquire = true;
    using warp_context::warp_context;

    int releases = 0, acquires = 0, ordered = 0;

    using warp_context::fence;

    void fence(order o, scope) { ++(o == order::release ? releases : acquires); }
    template <class T>
    T load(const T* word, order o, scope s) {
        return warp_context::load(word, noted(o), s);
    }
    template <class T>
    void store(T* word, std::type_identity_t<T> value, order o, scope s) {
        warp_context::store(word, value, noted(o), s);
    }
    template <class T>
    T fetch_add(T* word, std::type_identity_t<T> value, order o, scope s) {
        return warp_context::fetch_add(word, value, noted(o), s);
    }
    template <class T>
    T fetch_xor(T* word, std::type_identity_t<T> value, order o, scope s) {
        return warp_context::fetch_xor(word, value, noted(o), s);
    }
    template <class T>
    T fetch_max(T* word, std::type_identity_t<T> value, order o, scope s) {
        return warp_context::fetch_max(word, value, noted(o), s);
    }
    template <class T>
    bool compare_exchange(T* word, T& expected, std::type_identity_t<T> desired, order o, scope s) {
        return warp_context::compare_exchange(word, expected, desired, noted(o), s);
    }

private:
    order noted(order o) {
        if (o != order::relaxed) ++ordered;
        return o;
    }
};

/// One such lane, alone on its PE.
struct counting_lane {
    lone_environment alone{0, 1, 30};
    launch_shape shape{1, 1, 64};
    std::barrier<> barrier{1};
    counting_context ctx{cpu::context(alone.get(), 0, 1, nullptr), shape, 0, barrier};
};

}  // namespace laneway::test
