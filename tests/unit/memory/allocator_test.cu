#include "allocator_suite.hpp"  // on GPUs

#include "device_heap_pieces.hpp"
#include "stream_ordered_pieces.cuh"

namespace laneway::test {

LANEWAY_ALLOCATORS(device_heaps);
LANEWAY_ALLOCATORS(stream_ordered_allocators);

}  // namespace laneway::test
