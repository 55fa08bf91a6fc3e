// Copying by hardware that moves blocks of memory by itself: on GPUs of compute capability 9.0 and above that of a
// multiprocessor (TMA), asked for by one lane; on CPU devices memcpy. Devices that check accesses one by one have none.
#pragma once

#include "laneway/simt/bulk_staging.hpp"
#if defined(__CUDACC__)
#include "laneway/simt/cuda/bulk_copy.cuh"
#endif
#if !defined(__CUDACC_RTC__)
#include "laneway/simt/cpu/bulk_copy.hpp"
#endif
