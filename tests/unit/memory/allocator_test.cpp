#include "allocator_suite.hpp"  // on the host and on CPU devices

#include "device_heap_pieces.hpp"
#include "sub_allocator_pieces.hpp"

namespace laneway::test {

LANEWAY_ALLOCATORS(sub_allocators);
LANEWAY_ALLOCATORS(device_heaps);

}  // namespace laneway::test
