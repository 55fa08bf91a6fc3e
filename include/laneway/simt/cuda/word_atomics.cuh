// Atomics of words of 4 or 8 bytes, as PTX.
//
// libcu++'s atomic_ref gives the same instructions, but its header is a quarter of what nvcc reads of a small program
// in each of three passes, and it leaves open where a word lies. Shared memory has few 64-bit atomics: where a word's
// address space is not known, each update waits for the answer whether the hardware could do it at all, some
// microseconds where the memory is busy. An update that is known to be of global memory and whose old value nobody
// reads is sent and forgotten. Words of a block's shared memory are used at the block's scope only, so the scope tells.
#pragma once

#include "laneway/simt/order.hpp"

namespace laneway::cuda_backend::word_atomics {

// Order and scope are known where an operation is called, so one instruction is left of each function. An access has
// one order beside relaxed.
#define LANEWAY_OF_SCOPE(instruction, ...)                                        \
    switch (s) {                                                                  \
        case scope::block: instruction("cta", "cta", __VA_ARGS__); break;         \
        case scope::device: instruction("gpu", "gpu.global", __VA_ARGS__); break; \
        default: instruction("sys", "sys.global", __VA_ARGS__); break;            \
    }
#define LANEWAY_OF_ORDER(instruction, ...)                               \
    switch (o) {                                                         \
        case order::relaxed: instruction("relaxed", __VA_ARGS__); break; \
        case order::acquire: instruction("acquire", __VA_ARGS__); break; \
        case order::release: instruction("release", __VA_ARGS__); break; \
        default: instruction("acq_rel", __VA_ARGS__); break;             \
    }

#define LANEWAY_LOAD(order, scope, bits, reg) \
    asm volatile("ld." order "." scope "." bits " %0, [%1];" : "=" reg(value) : "l"(word) : "memory")
#define LANEWAY_LOAD_AT(scope, space, bits, reg)   \
    if (o == order::acquire) {                     \
        LANEWAY_LOAD("acquire", scope, bits, reg); \
    } else {                                       \
        LANEWAY_LOAD("relaxed", scope, bits, reg); \
    }
#define LANEWAY_STORE(order, scope, bits, reg) \
    asm volatile("st." order "." scope "." bits " [%0], %1;" ::"l"(word), reg(value) : "memory")
#define LANEWAY_STORE_AT(scope, space, bits, reg)   \
    if (o == order::release) {                      \
        LANEWAY_STORE("release", scope, bits, reg); \
    } else {                                        \
        LANEWAY_STORE("relaxed", scope, bits, reg); \
    }
#define LANEWAY_EXCHANGE(order, scope, bits, reg)                       \
    asm volatile("atom.exch." order "." scope "." bits " %0, [%1], %2;" \
                 : "=" reg(old)                                         \
                 : "l"(word), reg(value)                                \
                 : "memory")
#define LANEWAY_EXCHANGE_AT(scope, space, bits, reg) LANEWAY_OF_ORDER(LANEWAY_EXCHANGE, scope, bits, reg)
#define LANEWAY_COMPARE(order, scope, bits, reg)                           \
    asm volatile("atom.cas." order "." scope "." bits " %0, [%1], %2, %3;" \
                 : "=" reg(old)                                            \
                 : "l"(word), reg(expected), reg(desired)                  \
                 : "memory")
#define LANEWAY_COMPARE_AT(scope, space, bits, reg) LANEWAY_OF_ORDER(LANEWAY_COMPARE, scope, bits, reg)

/// What every word can do; compare_exchange returns what the word held.
#define LANEWAY_WORD(type, bits, reg)                                                                             \
    __device__ __forceinline__ type load(const type* word, order o, scope s) {                                    \
        type value;                                                                                               \
        LANEWAY_OF_SCOPE(LANEWAY_LOAD_AT, bits, reg);                                                             \
        return value;                                                                                             \
    }                                                                                                             \
    __device__ __forceinline__ void store(type* word, type value, order o, scope s) {                             \
        LANEWAY_OF_SCOPE(LANEWAY_STORE_AT, bits, reg);                                                            \
    }                                                                                                             \
    __device__ __forceinline__ type exchange(type* word, type value, order o, scope s) {                          \
        type old;                                                                                                 \
        LANEWAY_OF_SCOPE(LANEWAY_EXCHANGE_AT, bits, reg);                                                         \
        return old;                                                                                               \
    }                                                                                                             \
    __device__ __forceinline__ type compare_exchange(type* word, type expected, type desired, order o, scope s) { \
        type old;                                                                                                 \
        LANEWAY_OF_SCOPE(LANEWAY_COMPARE_AT, bits, reg);                                                          \
        return old;                                                                                               \
    }
LANEWAY_WORD(std::uint32_t, "b32", "r")
LANEWAY_WORD(std::uint64_t, "b64", "l")

#define LANEWAY_UPDATE(order, space, operation, reg)                    \
    asm volatile("atom." order "." space "." operation " %0, [%1], %2;" \
                 : "=" reg(old)                                         \
                 : "l"(address), reg(value)                             \
                 : "memory")
#define LANEWAY_UPDATE_AT(scope, space, operation, reg) LANEWAY_OF_ORDER(LANEWAY_UPDATE, space, operation, reg)
#define LANEWAY_UPDATE_OF(name, operation, type, reg)                                                                  \
    __device__ __forceinline__ type name(type* word, type value, order o, scope s) {                                   \
        const auto address = s == scope::block ? reinterpret_cast<std::size_t>(word) : __cvta_generic_to_global(word); \
        type old;                                                                                                      \
        LANEWAY_OF_SCOPE(LANEWAY_UPDATE_AT, operation, reg);                                                           \
        return old;                                                                                                    \
    }
// Overloads by the type of the word; `bits` are those without a sign.
#define LANEWAY_UPDATES_OF(name, bits32, bits64)        \
    LANEWAY_UPDATE_OF(name, bits32, std::uint32_t, "r") \
    LANEWAY_UPDATE_OF(name, bits64, std::uint64_t, "l")
#define LANEWAY_SIGNED_UPDATES_OF(name, bits32, bits64) \
    LANEWAY_UPDATE_OF(name, bits32, std::int32_t, "r")  \
    LANEWAY_UPDATE_OF(name, bits64, std::int64_t, "l")

LANEWAY_UPDATES_OF(add, "add.u32", "add.u64")
LANEWAY_SIGNED_UPDATES_OF(add, "add.s32", "add.u64")
LANEWAY_UPDATE_OF(add, "add.f32", float, "f")
LANEWAY_UPDATE_OF(add, "add.f64", double, "d")
LANEWAY_UPDATES_OF(bit_and, "and.b32", "and.b64")
LANEWAY_SIGNED_UPDATES_OF(bit_and, "and.b32", "and.b64")
LANEWAY_UPDATES_OF(bit_or, "or.b32", "or.b64")
LANEWAY_SIGNED_UPDATES_OF(bit_or, "or.b32", "or.b64")
LANEWAY_UPDATES_OF(bit_xor, "xor.b32", "xor.b64")
LANEWAY_SIGNED_UPDATES_OF(bit_xor, "xor.b32", "xor.b64")
LANEWAY_UPDATES_OF(max, "max.u32", "max.u64")
LANEWAY_SIGNED_UPDATES_OF(max, "max.s32", "max.s64")
LANEWAY_UPDATES_OF(min, "min.u32", "min.u64")
LANEWAY_SIGNED_UPDATES_OF(min, "min.s32", "min.s64")

#undef LANEWAY_SIGNED_UPDATES_OF
#undef LANEWAY_UPDATES_OF
#undef LANEWAY_UPDATE_OF
#undef LANEWAY_UPDATE_AT
#undef LANEWAY_UPDATE
#undef LANEWAY_WORD
#undef LANEWAY_COMPARE_AT
#undef LANEWAY_COMPARE
#undef LANEWAY_EXCHANGE_AT
#undef LANEWAY_EXCHANGE
#undef LANEWAY_STORE_AT
#undef LANEWAY_STORE
#undef LANEWAY_LOAD_AT
#undef LANEWAY_LOAD
#undef LANEWAY_OF_ORDER
#undef LANEWAY_OF_SCOPE

}  // namespace laneway::cuda_backend::word_atomics
