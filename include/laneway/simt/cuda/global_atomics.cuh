// Atomic updates of words in global memory, as PTX that says where they lie.
//
// Shared memory has few 64-bit atomics. Where a word's address space is not known, as libcu++ leaves it, each update
// waits for the answer whether the hardware could do it at all, some microseconds where the memory is busy. An update
// that is known to be of global memory and whose old value nobody reads is sent and forgotten.
#pragma once

#include "laneway/simt/order.hpp"

namespace laneway::cuda_backend::global_atomics {

// Order and scope are known where an operation is called, so one instruction is left of each function.
#define LANEWAY_ATOM(operation, order, scope, reg)                             \
    asm volatile("atom." order "." scope ".global." operation " %0, [%1], %2;" \
                 : "=" reg(old)                                                \
                 : "l"(__cvta_generic_to_global(word)), reg(value)             \
                 : "memory")
#define LANEWAY_ATOM_OF_ORDER(operation, scope, reg)                                \
    switch (o) {                                                                    \
        case order::relaxed: LANEWAY_ATOM(operation, "relaxed", scope, reg); break; \
        case order::acquire: LANEWAY_ATOM(operation, "acquire", scope, reg); break; \
        case order::release: LANEWAY_ATOM(operation, "release", scope, reg); break; \
        default: LANEWAY_ATOM(operation, "acq_rel", scope, reg); break;             \
    }
#define LANEWAY_GLOBAL_ATOMIC(name, operation, type, reg)                            \
    __device__ __forceinline__ type name(type* word, type value, order o, scope s) { \
        type old;                                                                    \
        if (s == scope::system) {                                                    \
            LANEWAY_ATOM_OF_ORDER(operation, "sys", reg)                             \
        } else {                                                                     \
            LANEWAY_ATOM_OF_ORDER(operation, "gpu", reg)                             \
        }                                                                            \
        return old;                                                                  \
    }
// Overloads by the type of the word; `bits` are those without a sign.
#define LANEWAY_GLOBAL_ATOMICS_OF(name, bits32, bits64)     \
    LANEWAY_GLOBAL_ATOMIC(name, bits32, std::uint32_t, "r") \
    LANEWAY_GLOBAL_ATOMIC(name, bits64, std::uint64_t, "l")
#define LANEWAY_SIGNED_GLOBAL_ATOMICS_OF(name, bits32, bits64) \
    LANEWAY_GLOBAL_ATOMIC(name, bits32, std::int32_t, "r")     \
    LANEWAY_GLOBAL_ATOMIC(name, bits64, std::int64_t, "l")

LANEWAY_GLOBAL_ATOMICS_OF(add, "add.u32", "add.u64")
LANEWAY_SIGNED_GLOBAL_ATOMICS_OF(add, "add.s32", "add.u64")
LANEWAY_GLOBAL_ATOMIC(add, "add.f32", float, "f")
LANEWAY_GLOBAL_ATOMIC(add, "add.f64", double, "d")
LANEWAY_GLOBAL_ATOMICS_OF(bit_and, "and.b32", "and.b64")
LANEWAY_SIGNED_GLOBAL_ATOMICS_OF(bit_and, "and.b32", "and.b64")
LANEWAY_GLOBAL_ATOMICS_OF(bit_or, "or.b32", "or.b64")
LANEWAY_SIGNED_GLOBAL_ATOMICS_OF(bit_or, "or.b32", "or.b64")
LANEWAY_GLOBAL_ATOMICS_OF(bit_xor, "xor.b32", "xor.b64")
LANEWAY_SIGNED_GLOBAL_ATOMICS_OF(bit_xor, "xor.b32", "xor.b64")
LANEWAY_GLOBAL_ATOMICS_OF(max, "max.u32", "max.u64")
LANEWAY_SIGNED_GLOBAL_ATOMICS_OF(max, "max.s32", "max.s64")
LANEWAY_GLOBAL_ATOMICS_OF(min, "min.u32", "min.u64")
LANEWAY_SIGNED_GLOBAL_ATOMICS_OF(min, "min.s32", "min.s64")

#undef LANEWAY_SIGNED_GLOBAL_ATOMICS_OF
#undef LANEWAY_GLOBAL_ATOMICS_OF
#undef LANEWAY_GLOBAL_ATOMIC
#undef LANEWAY_ATOM_OF_ORDER
#undef LANEWAY_ATOM

}  // namespace laneway::cuda_backend::global_atomics
