// What every device header needs: fixed-width integers and the marker of functions that run on any device.
#pragma once

#if defined(__CUDACC_RTC__)
#include <cuda/std/concepts>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
namespace std {
using namespace cuda::std;
}
#else
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "laneway runs on GPUs of architecture 80 or newer: compile with -arch=sm_90, or that of your GPU"
#endif

// LANEWAY_FN marks a function that a lane of any device may run; on GPUs it is inlined, so that state stays in
// registers. LANEWAY_SLOW marks one that waits, or that runs once a chunk: it stays a function of its own, as a program
// that posts from many places would grow with every one; it is a template's, or a member of one. One template serves
// contexts whose members are host-only (CPU devices) and device-only (GPUs); which of them it calls is known at
// instantiation, but nvcc warns of both, also in the functors of applications, so these warnings are off wherever the
// library is included. Where the library calls an application it must not be so: of a function without LANEWAY_FN a GPU
// would run nothing, in silence. There such a call is an error, between LANEWAY_STRICT_BEGIN and LANEWAY_STRICT_END.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 20011, 20012, 20013, 20014, 20015
#define LANEWAY_STRICT_BEGIN _Pragma("nv_diagnostic push") _Pragma("nv_diag_error 20011, 20013, 20014, 20015")
#define LANEWAY_STRICT_END _Pragma("nv_diagnostic pop")
#else
#define LANEWAY_STRICT_BEGIN
#define LANEWAY_STRICT_END
#endif
#if defined(__CUDA_ARCH__)
#define LANEWAY_HOST_PASS 0
#define LANEWAY_FN __host__ __device__ __forceinline__
#define LANEWAY_SLOW __host__ __device__ __noinline__
#define LANEWAY_NOT_UNROLLED _Pragma("unroll 1")
#define LANEWAY_UNROLLED _Pragma("unroll")
#elif defined(__CUDACC__)
#define LANEWAY_HOST_PASS 1
#define LANEWAY_FN __host__ __device__ inline
#define LANEWAY_SLOW __host__ __device__
#else
#define LANEWAY_HOST_PASS 1
#define LANEWAY_FN inline
#define LANEWAY_SLOW
#endif
#if !defined(LANEWAY_NOT_UNROLLED)  // before a loop that GPUs run seldom: compilers make four of each
#define LANEWAY_NOT_UNROLLED
#define LANEWAY_UNROLLED  // of a constant length, over what lies in registers
#endif

namespace laneway {

/// nvcc goes through a file once for the host and once for the GPU. There nothing that CPU devices run is needed: it
/// would be instantiated, and dropped.
inline constexpr bool compiled_for_host = LANEWAY_HOST_PASS != 0;

/// Bytes that no two writers should share: two 64-byte lines, as adjacent-line prefetch and GPU L2 sectors pair them.
inline constexpr std::size_t destructive_bytes = 128;

template <class T>
concept trivially_copyable = std::is_trivially_copyable_v<T>;

}  // namespace laneway

namespace lw = laneway;
