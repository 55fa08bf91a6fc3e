// The context of CUDA GPUs: a lane is a thread.
#pragma once

#include "laneway/simt/context.hpp"
#include "laneway/simt/cuda/word_atomics.cuh"

namespace laneway::cuda_backend {

/// Dynamic shared memory of the block.
__device__ __forceinline__ std::byte* shared_memory() {
    extern __shared__ __align__(128) unsigned char laneway_shared[];
    return reinterpret_cast<std::byte*>(laneway_shared);
}

__device__ __forceinline__ std::uint64_t global_timer_ns() {
    std::uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

class context {
public:
    static constexpr int warp_lanes = 32;
    /// Order of stores of tagged words (queue/tagged_words.hpp): relaxed, as a release waits for all stores
    /// before.
    static constexpr order tagged_order = order::relaxed;
    static constexpr bool fences_to_acquire = true;
    __device__ static int count_lanes(lane_mask mask) { return __popc(mask); }
    __device__ static int first_lane(lane_mask mask) { return __ffs(static_cast<int>(mask)) - 1; }

    __device__ explicit context(const pe_environment& env)
        : env_(env), deadline_ns_(global_timer_ns() + env.timeout_ns) {}

    __device__ int pe() const { return env_.pe; }
    __device__ int n_pes() const { return env_.n_pes; }
    __device__ int block() const { return static_cast<int>(blockIdx.x); }
    __device__ int n_blocks() const { return static_cast<int>(gridDim.x); }
    __device__ int warp() const { return static_cast<int>(threadIdx.x / 32); }
    __device__ int n_warps() const { return static_cast<int>(blockDim.x / 32); }
    // Not kept in the context: what calls functions of their own has that in memory, and would load it each time.
    __device__ int lane() const { return static_cast<int>(threadIdx.x % 32); }
    /// Place among the lanes that run the application's functor, over all PEs of the job and among those of its PE; set
    /// by the runtime.
    __device__ std::uint64_t rank() const { return rank_.before + rank_.local; }
    __device__ std::uint64_t size() const { return rank_.size; }
    __device__ std::uint64_t local_rank() const { return rank_.local; }
    __device__ std::uint64_t local_size() const { return rank_.local_size; }
    __device__ void set_rank(const lane_rank& rank) { rank_ = rank; }
    __device__ std::byte* shared() const { return shared_memory(); }
    __device__ const pe_environment& environment() const { return env_; }

    // __activemask() is taken where the lanes arrive, never after a branch: whatever subset it names is a valid group.
    // The compiler believes that all lanes that run together from then on hold the same mask. They do not where groups
    // of a warp come through one function at different times and meet inside. So the mask is made from something of
    // each lane's own as well, a bit that is always 0: then collectives tell the groups apart. The bit is of a sum, as
    // the compiler knows that of a lane's number alone, and takes clocks for the same in all lanes (docs/design/0079).
    __device__ lane_mask converged() { return __activemask() | static_cast<lane_mask>((lane() + env_.n_pes) >> 31); }
    __device__ bool is_alone() const { return __popc(__activemask()) == 1; }
    __device__ void sync(lane_mask mask) {
        with_mask(mask, [](lane_mask lanes) { __syncwarp(lanes); });
    }
    __device__ void sync_block() { __syncthreads(); }
    __device__ lane_mask ballot(lane_mask mask, bool predicate) {
        return with_mask(mask, [=](lane_mask lanes) { return __ballot_sync(lanes, predicate); });
    }
    template <class Key>
    __device__ lane_mask match(lane_mask mask, Key key) {
        return with_mask(mask, [=](lane_mask lanes) { return __match_any_sync(lanes, key); });
    }
    template <class T>
    __device__ T shuffle(lane_mask mask, T value, int source) {
        return with_mask(mask, [=](lane_mask lanes) {
            if constexpr (std::is_same_v<T, std::uint64_t>) {
                return static_cast<T>(__shfl_sync(lanes, static_cast<unsigned long long>(value), source));
            } else if constexpr (std::is_enum_v<T>) {
                return static_cast<T>(__shfl_sync(lanes, static_cast<std::underlying_type_t<T>>(value), source));
            } else {
                return static_cast<T>(__shfl_sync(lanes, value, source));
            }
        });
    }

    template <class T>
    __device__ T load(const T* word, order o, scope s) {
        return as<T>(word_atomics::load(bits_of(word), o, s));
    }
    template <class T>
    __device__ void store(T* word, std::type_identity_t<T> value, order o, scope s) {
        word_atomics::store(bits_of(word), as<bits<T>>(value), o, s);
    }
    template <class T>
    __device__ T fetch_add(T* word, std::type_identity_t<T> value, order o, scope s) {
        return static_cast<T>(word_atomics::add(number_of(word), value, o, s));
    }
    template <class T>
    __device__ T fetch_or(T* word, std::type_identity_t<T> value, order o, scope s) {
        return static_cast<T>(word_atomics::bit_or(number_of(word), value, o, s));
    }
    template <class T>
    __device__ T fetch_and(T* word, std::type_identity_t<T> value, order o, scope s) {
        return static_cast<T>(word_atomics::bit_and(number_of(word), value, o, s));
    }
    template <class T>
    __device__ T fetch_xor(T* word, std::type_identity_t<T> value, order o, scope s) {
        return static_cast<T>(word_atomics::bit_xor(number_of(word), value, o, s));
    }
    template <class T>
    __device__ T fetch_max(T* word, std::type_identity_t<T> value, order o, scope s) {
        if constexpr (std::is_floating_point_v<T>) {
            return replace(word, o, s, [=](T now) { return now < value ? value : now; });
        } else {
            return static_cast<T>(word_atomics::max(number_of(word), value, o, s));
        }
    }
    template <class T>
    __device__ T fetch_min(T* word, std::type_identity_t<T> value, order o, scope s) {
        if constexpr (std::is_floating_point_v<T>) {
            return replace(word, o, s, [=](T now) { return value < now ? value : now; });
        } else {
            return static_cast<T>(word_atomics::min(number_of(word), value, o, s));
        }
    }
    template <class T>
    __device__ T exchange(T* word, std::type_identity_t<T> value, order o, scope s) {
        return as<T>(word_atomics::exchange(bits_of(word), as<bits<T>>(value), o, s));
    }
    /// On failure `expected` takes the word's value, read relaxed.
    template <class T>
    __device__ bool compare_exchange(T* word, T& expected, std::type_identity_t<T> desired, order o, scope s) {
        const auto wanted = as<bits<T>>(expected);
        const auto old = word_atomics::compare_exchange(bits_of(word), wanted, as<bits<T>>(desired), o, s);
        expected = as<T>(old);
        return old == wanted;
    }

    __device__ void fence(scope s) {
        switch (s) {
            case scope::block: return __threadfence_block();
            case scope::device: return __threadfence();
            default: return __threadfence_system();
        }
    }
    /// An acquire empties the multiprocessor's cache and waits for nothing; a release waits until what the lane has
    /// stored is there, and leaves the cache as it is.
    __device__ void fence(order o, scope s) {
        // Order and scope are known where it is called, so one instruction is left.
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 8)
        if (s != scope::block && (o == order::acquire || o == order::release)) {
            if (o == order::acquire && s == scope::device) asm volatile("fence.acquire.gpu;" ::: "memory");
            if (o == order::acquire && s == scope::system) asm volatile("fence.acquire.sys;" ::: "memory");
            if (o == order::release && s == scope::device) asm volatile("fence.release.gpu;" ::: "memory");
            if (o == order::release && s == scope::system) asm volatile("fence.release.sys;" ::: "memory");
            return;
        }
#endif
        fence(s);
    }

    /// Whether lanes of other blocks reach it: not a lane's own variables, nor memory of the block.
    __device__ static bool is_global(const void* memory) { return __isGlobal(memory) != 0; }

    __device__ std::uint64_t now_ns() { return global_timer_ns(); }
    __device__ bool is_late(std::uint64_t by_ns = 0) { return now_ns() > deadline_ns_ + by_ns; }
    __device__ void pause(unsigned patience = 0, bool /*goes_on*/ = false) { __nanosleep(20u << patience); }
    __device__ void worked() {}

    // Barriers of some warps of a block, by a word of its memory in which the hardware counts who comes (PTX ISA,
    // mbarrier): who waits is woken, where others look again and again. From compute capability 9.0 on.

    __device__ static bool counts_arrivals() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        return true;
#else
        return false;
#endif
    }
    /// One lane, before a barrier of the block: so many arrivals end a phase.
    __device__ void open_arrivals([[maybe_unused]] std::uint64_t* word, [[maybe_unused]] int arrivals) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(word)), "r"(arrivals) : "memory");
#endif
    }
    /// Releases what comes before it, at block scope.
    __device__ void arrive([[maybe_unused]] std::uint64_t* word) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(word)) : "memory");
#endif
    }
    /// Whether the phase of this parity, 0 for the first, has ended; acquires what came before its arrivals. Waits for
    /// it for some microseconds.
    __device__ bool have_arrived([[maybe_unused]] std::uint64_t* word, [[maybe_unused]] std::uint32_t parity) {
        std::uint32_t ended = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        constexpr std::uint32_t max_wait_ns = 2000;  // then who waits looks whether the run is ending
        asm volatile(
            "{\n .reg .pred p;\n mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2, %3;\n"
            " selp.u32 %0, 1, 0, p;\n}"
            : "=r"(ended)
            : "r"(shared_address(word)), "r"(parity), "r"(max_wait_ns)
            : "memory");
#endif
        return ended != 0;
    }

private:
    __device__ __forceinline__ static std::uint32_t shared_address(const void* of_block) {
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(of_block));
    }
    /// Where the compiler does not know a mask, it has all lanes compare theirs before each collective. Most masks are
    /// whole warps.
    template <class Collective>
    __device__ __forceinline__ static decltype(auto) with_mask(lane_mask mask, Collective&& collective) {
        return mask == ~lane_mask{0} ? collective(~lane_mask{0}) : collective(mask);
    }
    template <class T>
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    /// The same bytes as another type.
    template <class To, class From>
    __device__ __forceinline__ static To as(From value) {
        static_assert(sizeof(From) == sizeof(To), "atomics of GPUs are of words of 4 or 8 bytes");
        To same;
        memcpy(&same, &value, sizeof same);
        return same;
    }
    template <class T>
    __device__ __forceinline__ static bits<T>* bits_of(T* word) {
        return reinterpret_cast<bits<T>*>(word);
    }
    template <class T>
    __device__ __forceinline__ static const bits<T>* bits_of(const T* word) {
        return reinterpret_cast<const bits<T>*>(word);
    }
    /// As the type of its width and sign that updates are made for.
    template <class T>
    __device__ __forceinline__ static auto number_of(T* word) {
        if constexpr (std::is_floating_point_v<T>) {
            return word;
        } else {
            static_assert(sizeof(T) == sizeof(bits<T>), "atomics of GPUs are of words of 4 or 8 bytes");
            using number = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
            return reinterpret_cast<std::conditional_t<std::is_signed_v<T>, number, bits<T>>*>(word);
        }
    }
    /// For operations that GPUs do not have. Returns what the word held.
    template <class T, class Change>
    __device__ __forceinline__ T replace(T* word, order o, scope s, const Change& change) {
        T now = load(word, order::relaxed, s);
        while (!compare_exchange(word, now, change(now), o, s)) {
        }
        return now;
    }

    // A copy: the address of the kernel's parameter, kept in an object that functions of their own are given, meets
    // itself at every merge of the code, and nvcc crashes where these are many (docs/design/0146).
    const pe_environment env_;
    lane_rank rank_;
    std::uint64_t deadline_ns_;
};

}  // namespace laneway::cuda_backend
