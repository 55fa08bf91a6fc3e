// Ties a program to a library with its own CUDA setting: with another one it does not link, and the name that the
// linker misses says why.
#pragma once

#if defined(__CUDACC__) && defined(LANEWAY_HAS_CUDA) && !LANEWAY_HAS_CUDA
#error "nvcc compiles this file, but LANEWAY_HAS_CUDA is 0: the library was built without CUDA"
#endif

namespace laneway {

/// The library defines one of the two.
extern const char library_was_built_with_cuda;
extern const char library_was_built_without_cuda;

// Without the macro, host code that g++ compiles serves both libraries.
#if defined(__CUDACC__) || (defined(LANEWAY_HAS_CUDA) && LANEWAY_HAS_CUDA)
[[gnu::used]] inline const char* const wanted_cuda_setting = &library_was_built_with_cuda;
#elif defined(LANEWAY_HAS_CUDA)
[[gnu::used]] inline const char* const wanted_cuda_setting = &library_was_built_without_cuda;
#endif

}  // namespace laneway
